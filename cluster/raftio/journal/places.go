package journal

// place is the position of an entry, and its length.
type place struct {
	position uint64
	bytes    uint32
}

// places are the places of the entries of one group, from index first on, without a gap.
type places struct {
	first uint64
	at    []place
}

func (p *places) empty() bool { return len(p.at) == 0 }

// ends are the indexes of the first and the last entry, or 0 if there is none.
func (p *places) ends() (first, last uint64) {
	if p.empty() {
		return 0, 0
	}
	return p.first, p.first + uint64(len(p.at)) - 1
}

func (p *places) find(index uint64) (place, bool) {
	if index < p.first || index-p.first >= uint64(len(p.at)) {
		return place{}, false
	}
	return p.at[index-p.first], true
}

// push adds the entry behind the last one. If the log is empty, it may have any index.
func (p *places) push(index uint64, at place) {
	if p.empty() {
		p.first = index
	}
	p.at = append(p.at, at)
}

// move records a new place of an entry.
func (p *places) move(index uint64, at place) { p.at[index-p.first] = at }

// cutBelow removes the entries below index and returns their places.
func (p *places) cutBelow(index uint64) []place {
	if p.empty() || index <= p.first {
		return nil
	}
	n := min(index-p.first, uint64(len(p.at)))
	gone := p.at[:n:n]
	p.at, p.first = p.at[n:], p.first+n
	// A slice keeps the memory of elements that were cut off its front.
	if cap(p.at) > 4*len(p.at) {
		p.at = append(make([]place, 0, 2*len(p.at)), p.at...)
	}
	return gone
}

// cutFrom removes the entries from index on and returns their places.
func (p *places) cutFrom(index uint64) []place {
	if p.empty() {
		return nil
	}
	n := uint64(0)
	if index > p.first {
		n = min(index-p.first, uint64(len(p.at)))
	}
	gone := append([]place(nil), p.at[n:]...)
	p.at = p.at[:n]
	return gone
}
