package engine

// segment is a piece of a dict: a table of entries sorted by hash, in which an
// entry stands at the place its hash points to or a little behind it (linear
// probing without wrap-around, so the table as a whole stays in hash order).
// It is never larger than segmentMax, so growing, splitting or copying one is
// a matter of microseconds whatever the size of the keyspace.
type segment struct {
	// hashes[i] belongs to entries[i]; it means nothing where that is nil.
	hashes  []uint32
	entries []*Entry
	count   int
	// span is the number of places hashes are spread over; the tables are
	// longer by segmentSlack for what is pushed beyond the end.
	span int
	// depth is the number of leading hash bits all entries share.
	depth uint8
	// cutEpoch is the last cut that holds on to this segment: a txn that changes
	// it while that cut is being written must copy it first.
	cutEpoch uint64
}

const (
	segmentMin   = 6
	segmentMax   = 4096
	segmentSlack = 8
)

func newSegment(depth uint8, span int) *segment {
	return &segment{
		hashes:  make([]uint32, span+segmentSlack),
		entries: make([]*Entry, span+segmentSlack),
		span:    span,
		depth:   depth,
	}
}

// home is the place a hash points to.
func (s *segment) home(hash uint32) int {
	return int(uint64(hash<<s.depth) * uint64(s.span) >> 32)
}

// find returns the place of key, or -1.
func (s *segment) find(hash uint32, key []byte) int {
	for i := s.home(hash); i < len(s.entries); i++ {
		e := s.entries[i]
		if e == nil || s.hashes[i] > hash {
			return -1
		}
		if s.hashes[i] == hash && e.Key() == string(key) {
			return i
		}
	}
	return -1
}

// insert adds an entry whose key is not in the segment. It reports false, and
// changes nothing, when the table is too full.
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

// removeAt takes out the entry at place i and closes the gap.
func (s *segment) removeAt(i int) {
	for i+1 < len(s.entries) && s.entries[i+1] != nil && s.home(s.hashes[i+1]) <= i {
		s.entries[i], s.hashes[i] = s.entries[i+1], s.hashes[i+1]
		i++
	}
	s.entries[i] = nil
	s.count--
}

// rebuilt returns a copy with another span.
func (s *segment) rebuilt(span int) *segment {
	for {
		n := newSegment(s.depth, span)
		if n.takeAll(s, 0, ^uint32(0)) {
			return n
		}
		span += span/4 + segmentSlack
	}
}

// takeAll inserts all entries of from with a hash in [low, high]. They come
// sorted, so each goes right behind the one before it.
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
	build := func(from, to uint32) *segment {
		for span := s.span/2 + s.span/8; ; span += span/4 + segmentSlack {
			n := newSegment(depth, span)
			if n.takeAll(s, from, to) {
				return n
			}
		}
	}
	return build(prefix, mid-1), build(mid, mid+(bit-1))
}

// copied returns a copy for a txn to change while a cut holds on to this one.
func (s *segment) copied() *segment {
	n := *s
	n.hashes = append([]uint32(nil), s.hashes...)
	n.entries = append([]*Entry(nil), s.entries...)
	n.cutEpoch = 0
	return &n
}
