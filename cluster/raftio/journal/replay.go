package journal

import (
	"fmt"

	"github.com/hashicorp/raft"
)

// replay reads the whole journal and finds the place of each entry.
//
// Dead records may have been cut off with the front. So replay may meet an entry whose predecessors
// come only later, as copies, and a copy whose original is gone.
func (j *Journal) replay() error {
	first, err := j.store.FirstIndex()
	if err != nil {
		return err
	}
	last, err := j.store.LastIndex()
	if err != nil {
		return err
	}
	j.space = newSpace(max(first, 1))
	found := map[uint32]*traces{}
	for position := first; first != 0 && position <= last; position++ {
		var r raft.Log
		h, err := j.read(position, &r)
		if err != nil {
			return fmt.Errorf("record %d: %w", position, err)
		}
		at := placeOf(&r)
		j.space.grow(at)
		t, ok := found[h.group]
		if !ok {
			t = &traces{entries: map[uint64]place{}}
			found[h.group] = t
		}
		t.meet(h, at)
	}
	for group, t := range found {
		l := &Log{journal: j, group: group}
		if l.places, err = t.places(); err != nil {
			return fmt.Errorf("group %d: %w", group, err)
		}
		for _, at := range l.places.at {
			j.space.use(at)
		}
		j.groups[group] = l
	}
	return nil
}

// traces are the records of a group that replay has met.
type traces struct {
	entries map[uint64]place
	// low and high bound the indexes in entries, if there are any.
	low, high uint64
}

func (t *traces) meet(h header, at place) {
	switch h.kind {
	case entryOf:
		t.cutFrom(h.index)
		t.put(h.index, at)
	case copyOf:
		t.put(h.index, at)
	case cutBelow:
		t.cutBelow(h.index)
	case cutFrom:
		t.cutFrom(h.index)
	case dropped:
		t.cutFrom(0)
	}
}

func (t *traces) put(index uint64, at place) {
	if len(t.entries) == 0 {
		t.low, t.high = index, index
	}
	t.low, t.high = min(t.low, index), max(t.high, index)
	t.entries[index] = at
}

func (t *traces) cutFrom(index uint64) {
	for len(t.entries) > 0 && t.high >= max(index, t.low) {
		delete(t.entries, t.high)
		t.high--
	}
}

func (t *traces) cutBelow(index uint64) {
	for len(t.entries) > 0 && t.low < index {
		delete(t.entries, t.low)
		t.low++
	}
}

// places returns the places of the entries that replay has met, in order.
func (t *traces) places() (places, error) {
	var p places
	for index := t.low; len(t.entries) > 0 && index <= t.high; index++ {
		at, ok := t.entries[index]
		if !ok {
			return p, fmt.Errorf("%w: entry %d is missing between %d and %d", ErrCorrupt, index, t.low, t.high)
		}
		p.push(index, at)
	}
	return p, nil
}
