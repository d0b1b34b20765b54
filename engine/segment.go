package engine

// segment is a piece of a dict: a table of entries sorted by hash. An entry is at the place that
// its hash points to or slightly behind it (linear probing without wrap-around, so the whole table
// stays in hash order). A segment is never larger than segmentMax, so growing, splitting or copying
// one takes microseconds, whatever the size of the keyspace.
type segment struct {
	// hashes[i] is the hash of entries[i]. It is 0 exactly if entries[i] is nil.
	hashes  []uint32
	entries []*Entry
	count   int
	// span is the number of places over which hashes are spread. The tables are longer, by
	// segmentSlack at first, for entries that are pushed beyond the end.
	span int
	// depth is the number of leading hash bits that all entries share.
	depth uint8
	// cutEpoch is the last cut that keeps this segment. A txn that changes the segment while that
	// cut is being written must copy it first.
	cutEpoch uint64
}

const (
	segmentMin   = 6
	segmentMax   = 4096
	segmentSlack = 8
)

func newSegment(depth uint8, span, slack int) *segment {
	return &segment{
		hashes:  make([]uint32, span+slack),
		entries: make([]*Entry, span+slack),
		span:    span,
		depth:   depth,
	}
}

// home is the place that a hash points to.
func (s *segment) home(hash uint32) int {
	return int(uint64(hash<<s.depth) * uint64(s.span) >> 32)
}

// find returns the place of key, or -1.
func (s *segment) find(hash uint32, key []byte) int {
	// The entries are not read until a hash matches. Each read would be a cache miss, and those
	// were a fifth of a SET's time.
	for i, h := range s.hashes[s.home(hash):] {
		if h == hash {
			if at := s.home(hash) + i; s.entries[at].Key() == string(key) {
				return at
			}
		} else if h > hash || h == 0 {
			return -1
		}
	}
	return -1
}

// insert adds an entry whose key is not in the segment. It returns false, and changes nothing, if
// the table is too full.
func (s *segment) insert(hash uint32, e *Entry) bool {
	i := s.home(hash)
	for i < len(s.entries) && s.entries[i] != nil && s.hashes[i] <= hash {
		i++
	}
	free := i
	for free < len(s.entries) && s.entries[free] != nil {
		free++
	}
	if free >= len(s.entries) {
		return false
	}
	copy(s.entries[i+1:free+1], s.entries[i:free])
	copy(s.hashes[i+1:free+1], s.hashes[i:free])
	s.entries[i], s.hashes[i] = e, hash
	s.count++
	return true
}

// removeAt removes the entry at place i and closes the gap.
func (s *segment) removeAt(i int) {
	for i+1 < len(s.entries) && s.entries[i+1] != nil && s.home(s.hashes[i+1]) <= i {
		s.entries[i], s.hashes[i] = s.entries[i+1], s.hashes[i+1]
		i++
	}
	s.entries[i], s.hashes[i] = nil, 0
	s.count--
}

// full reports whether the segment must grow before another entry is added. Beyond nine tenths,
// runs become long.
func (s *segment) full() bool { return s.count*10 >= s.span*9 }

// larger returns a copy with more room: with a greater span if the segment is full, otherwise only
// with more slack, because then many equal hashes are at its end.
func (s *segment) larger() *segment {
	if s.full() {
		return s.rebuilt(s.span + s.span/2 + 2)
	}
	return s.part(s.depth, s.span, 2*(len(s.entries)-s.span), 0, ^uint32(0))
}

// rebuilt returns a copy with another span.
func (s *segment) rebuilt(span int) *segment {
	return s.part(s.depth, span, segmentSlack, 0, ^uint32(0))
}

// part returns a segment with the entries that have a hash in [low, high], and
// with at least the given slack.
func (s *segment) part(depth uint8, span, slack int, low, high uint32) *segment {
	for {
		n := newSegment(depth, span, slack)
		if n.takeAll(s, low, high) {
			return n
		}
		slack *= 2
	}
}

// takeAll inserts all entries of from with a hash in [low, high]. They are sorted, so each goes
// right behind the one before it.
func (s *segment) takeAll(from *segment, low, high uint32) bool {
	next := 0
	for i, e := range from.entries {
		h := from.hashes[i]
		if e == nil || h < low || h > high {
			continue
		}
		at := max(next, s.home(h))
		if at >= len(s.entries) {
			return false
		}
		s.entries[at], s.hashes[at] = e, h
		s.count++
		next = at + 1
	}
	return true
}

// split returns the two halves by the next hash bit.
func (s *segment) split(prefix uint32) (low, high *segment) {
	depth := s.depth + 1
	bit := uint32(1) << (32 - depth)
	mid := prefix | bit
	span := s.span/2 + s.span/8
	low = s.part(depth, span, segmentSlack, prefix, mid-1)
	high = s.part(depth, span, segmentSlack, mid, mid+(bit-1))
	return low, high
}

// copied returns a copy for a txn to change while a cut keeps this one.
func (s *segment) copied() *segment {
	n := *s
	n.hashes = append([]uint32(nil), s.hashes...)
	n.entries = append([]*Entry(nil), s.entries...)
	n.cutEpoch = 0
	return &n
}
