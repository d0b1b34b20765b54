package journal

import "sort"

const (
	// blockRecordsMax and blockBytesMax bound a block, and so how much space on disk a single live
	// entry keeps. A block has at least one record.
	blockRecordsMax = 1024
	blockBytesMax   = 4 << 20
)

// block counts the records from begin up to the begin of the next block.
type block struct {
	begin uint64
	// records counts all records, live those that hold an entry that still exists.
	records, live int
	bytes         int64
}

func (b *block) full() bool { return b.records >= blockRecordsMax || b.bytes >= blockBytesMax }

// space records how much of the journal is live, block by block. The next record goes into the last
// block, unless it is full.
type space struct {
	// begin is the position at which the journal begins, end that of the next record.
	begin, end uint64
	blocks     []block
	// bytes is the length of all records, liveBytes that of the live ones.
	bytes, liveBytes int64
}

func newSpace(begin uint64) space { return space{begin: begin, end: begin} }

// at returns the number of the block of a record.
func (s *space) at(position uint64) int {
	return sort.Search(len(s.blocks), func(i int) bool { return s.blocks[i].begin > position }) - 1
}

// grow counts a record that was added at the end.
func (s *space) grow(p place) {
	if n := len(s.blocks); n == 0 || s.blocks[n-1].full() {
		s.blocks = append(s.blocks, block{begin: p.position})
	}
	b := &s.blocks[len(s.blocks)-1]
	b.records++
	b.bytes += int64(p.bytes)
	s.bytes += int64(p.bytes)
	s.end = p.position + 1
}

// use counts a record as live.
func (s *space) use(p place) {
	s.blocks[s.at(p.position)].live++
	s.liveBytes += int64(p.bytes)
}

// free counts records as no longer live.
func (s *space) free(gone ...place) {
	for _, p := range gone {
		s.blocks[s.at(p.position)].live--
		s.liveBytes -= int64(p.bytes)
	}
}

// nextLive returns the first position, from one on, whose block has a live record, or s.end if
// there is none.
func (s *space) nextLive(position uint64) uint64 {
	if position >= s.end {
		return s.end
	}
	for i := s.at(position); i < len(s.blocks); i++ {
		if s.blocks[i].live > 0 {
			return max(position, s.blocks[i].begin)
		}
	}
	return s.end
}

// deadFront returns how many blocks at the front are full and have no live record, and their length
// in bytes.
func (s *space) deadFront() (n int, bytes int64) {
	for n < len(s.blocks) && s.blocks[n].live == 0 && s.blocks[n].full() {
		bytes += s.blocks[n].bytes
		n++
	}
	return n, bytes
}

// cut removes n blocks from the front.
func (s *space) cut(n int) {
	for i := range n {
		s.bytes -= s.blocks[i].bytes
	}
	s.blocks = append([]block(nil), s.blocks[n:]...)
	s.begin = s.end
	if len(s.blocks) > 0 {
		s.begin = s.blocks[0].begin
	}
}
