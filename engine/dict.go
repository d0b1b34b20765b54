package engine

// dict holds the entries of one database in one lock slot. It is an extendible hash table: the
// leading bits of a key's 32-bit hash choose a segment from the directory, and a segment that grows
// too large splits in two. So the cost of an insert is bounded. The table is always in hash order,
// so SCAN cursors mean the same on every node and after every restart. A snapshot keeps the table
// by keeping its segments.
type dict struct {
	// dir has 1<<depth places. A segment of depth d fills 1<<(depth-d) of them.
	dir   []*segment
	depth uint8
	count int
}

func (d *dict) place(hash uint32) int {
	if d.depth == 0 {
		return 0
	}
	return int(hash >> (32 - d.depth))
}

func (d *dict) find(hash uint32, key []byte) *Entry {
	if d == nil || d.count == 0 {
		return nil
	}
	s := d.dir[d.place(hash)]
	if i := s.find(hash, key); i >= 0 {
		return s.entries[i]
	}
	return nil
}

// own returns the segment for hash, which is copied first if the cut keeps it.
func (d *dict) own(hash uint32, cutEpoch uint64) *segment {
	p := d.place(hash)
	s := d.dir[p]
	if cutEpoch == 0 || s.cutEpoch != cutEpoch {
		return s
	}
	return d.replace(p, s.copied())
}

// replace puts s at all places of the segment at place p.
func (d *dict) replace(p int, s *segment) *segment {
	old := d.dir[p]
	width := 1 << (d.depth - old.depth)
	first := p &^ (width - 1)
	for i := first; i < first+width; i++ {
		d.dir[i] = s
	}
	return s
}

// put stores e under its key and returns the entry it replaces, if any.
func (d *dict) put(hash uint32, key []byte, e *Entry, cutEpoch uint64) *Entry {
	if d.dir == nil {
		d.dir = []*segment{newSegment(0, segmentMin, segmentSlack)}
	}
	s := d.own(hash, cutEpoch)
	if i := s.find(hash, key); i >= 0 {
		old := s.entries[i]
		s.entries[i] = e
		return old
	}
	for {
		if !s.full() && s.insert(hash, e) {
			d.count++
			return nil
		}
		s = d.grow(hash, s)
	}
}

// grow makes room in the segment for hash and returns the new segment.
func (d *dict) grow(hash uint32, s *segment) *segment {
	p := d.place(hash)
	if s.count < segmentMax || s.depth == 24 {
		return d.replace(p, s.larger())
	}
	if s.depth == d.depth {
		d.double()
		p = d.place(hash)
	}
	width := 1 << (d.depth - s.depth)
	first := p &^ (width - 1)
	prefix := uint32(0)
	if d.depth > 0 {
		prefix = uint32(first) << (32 - d.depth)
	}
	low, high := s.split(prefix)
	for i := 0; i < width/2; i++ {
		d.dir[first+i] = low
		d.dir[first+width/2+i] = high
	}
	return d.dir[p]
}

// double makes the directory twice as long.
func (d *dict) double() {
	dir := make([]*segment, 2*len(d.dir))
	for i, s := range d.dir {
		dir[2*i], dir[2*i+1] = s, s
	}
	d.dir, d.depth = dir, d.depth+1
}

// remove removes key and returns its entry, or nil.
func (d *dict) remove(hash uint32, key []byte, cutEpoch uint64) *Entry {
	if d == nil || d.count == 0 {
		return nil
	}
	if d.dir[d.place(hash)].find(hash, key) < 0 {
		return nil
	}
	s := d.own(hash, cutEpoch)
	i := s.find(hash, key)
	e := s.entries[i]
	s.removeAt(i)
	d.count--
	if d.count == 0 {
		*d = dict{}
	} else if s.span > 4*segmentMin && s.count < s.span/4 {
		d.replace(d.place(hash), s.rebuilt(s.span/2))
	}
	return e
}

// walk calls f for every entry with a hash of at least from, in hash order,
// until f returns false.
func (d *dict) walk(from uint32, f func(hash uint32, e *Entry) bool) {
	if d == nil || d.count == 0 {
		return
	}
	for p := d.place(from); p < len(d.dir); {
		s := d.dir[p]
		for i := s.home(max(from, d.low(p))); i < len(s.entries); i++ {
			if e := s.entries[i]; e != nil && s.hashes[i] >= from && !f(s.hashes[i], e) {
				return
			}
		}
		p = d.next(p)
	}
}

// low is the smallest hash that belongs to place p.
func (d *dict) low(p int) uint32 {
	if d.depth == 0 {
		return 0
	}
	return uint32(p) << (32 - d.depth)
}

// next is the place behind the segment at p.
func (d *dict) next(p int) int {
	width := 1 << (d.depth - d.dir[p].depth)
	return p&^(width-1) + width
}

// segments returns the segments in hash order, each once.
func (d *dict) segments() []*segment {
	if d == nil || d.count == 0 {
		return nil
	}
	var all []*segment
	for p := 0; p < len(d.dir); p = d.next(p) {
		all = append(all, d.dir[p])
	}
	return all
}
