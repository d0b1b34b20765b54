package stream

import "encoding/binary"

// Pending is an entry that was delivered and not acknowledged.
type Pending struct {
	ID ID
	// DeliveredMs is when it was last delivered, Deliveries the number of deliveries.
	DeliveredMs int64
	Deliveries  uint64
	// Consumer is the number of the consumer to which it was delivered.
	Consumer int
}

// appendRecord appends the record of a group's tree.
func (p *Pending) appendRecord(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(p.ID.AppendKey(dst), uint64(p.DeliveredMs))
	dst = binary.AppendUvarint(dst, p.Deliveries)
	return binary.AppendUvarint(dst, uint64(p.Consumer))
}

func pendingOf(record []byte) (p Pending) {
	p.ID = IDOf(record)
	p.DeliveredMs = int64(binary.BigEndian.Uint64(record[IDBytes:]))
	record = record[IDBytes+8:]
	n, width := binary.Uvarint(record)
	p.Deliveries = n
	n, _ = binary.Uvarint(record[width:])
	p.Consumer = int(n)
	return p
}

// Pending is the number of the group's pending entries.
func (g *Group) Pending() int { return g.pending.Len() }

// FindPending returns the pending entry of an ID. It returns false if there is none.
func (g *Group) FindPending(id ID) (Pending, bool) {
	var buf [IDBytes]byte
	record := g.pending.Get(id.AppendKey(buf[:0]))
	if record == nil {
		return Pending{}, false
	}
	return pendingOf(record), true
}

// PendingFrom walks over pending entries from an ID on. The stream must not change during the walk.
func (g *Group) PendingFrom(from ID, yield func(p Pending) bool) {
	var buf [IDBytes]byte
	for _, record := range g.pending.From(g.pending.Rank(from.AppendKey(buf[:0]))) {
		if !yield(pendingOf(record)) {
			return
		}
	}
}

// PendingOf is PendingFrom for the entries of one consumer.
func (g *Group) PendingOf(no int, from ID, yield func(p Pending) bool) {
	var buf [IDBytes]byte
	tree := g.consumers[no].pending
	for _, key := range tree.From(tree.Rank(from.AppendKey(buf[:0]))) {
		record := g.pending.Get(key)
		if !yield(pendingOf(record)) {
			return
		}
	}
}

// NextPending is the first pending entry from an ID on. It returns false if there is none.
func (g *Group) NextPending(from ID) (next Pending, ok bool) {
	g.PendingFrom(from, func(p Pending) bool { next, ok = p, true; return false })
	return next, ok
}

// LastPending is the last pending entry. It returns false if there is none.
func (g *Group) LastPending() (Pending, bool) {
	if n := g.pending.Len(); n > 0 {
		return pendingOf(g.pending.At(n - 1)), true
	}
	return Pending{}, false
}
