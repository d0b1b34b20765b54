package stream

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync/atomic"

	"lockstep/engine/pack"
)

// Groups are a stream's consumer groups. A copy of the stream shares each of them until either side
// changes it.
type Groups struct {
	byName []*Group
	// owner marks the groups and consumers that only this list refers to. It is nil after shareWith,
	// which several readers may call at once.
	owner atomic.Pointer[owner]
	// bytes is the memory of groups and consumers.
	bytes int
}

// owner is compared by address. It has a size, so that addresses differ.
type owner struct{ _ byte }

// shareWith makes c, which is empty, a copy.
func (gs *Groups) shareWith(c *Groups) {
	gs.owner.Store(nil)
	c.byName, c.bytes = slices.Clone(gs.byName), gs.bytes
}

// memoryBytes is the approximate memory of the groups and their consumers.
func (gs *Groups) memoryBytes() int {
	const pointerBytes = 8
	return pointerBytes*cap(gs.byName) + gs.bytes
}

// All are the groups, by name. The caller must not change the slice.
func (gs *Groups) All() []*Group { return gs.byName }

// Find returns the group with a name, or nil.
func (gs *Groups) Find(name []byte) *Group {
	if i, ok := gs.place(name); ok {
		return gs.byName[i]
	}
	return nil
}

func (gs *Groups) place(name []byte) (i int, ok bool) {
	return slices.BinarySearchFunc(gs.byName, string(name), func(g *Group, name string) int {
		return strings.Compare(g.name, name)
	})
}

// mark marks the groups and consumers that only this list refers to.
func (gs *Groups) mark() *owner {
	o := gs.owner.Load()
	if o == nil {
		o = new(owner)
		gs.owner.Store(o)
	}
	return o
}

// Change returns the group with a name, for the methods of Groups that change a group. The group
// must exist.
func (gs *Groups) Change(name []byte) *Group {
	i, _ := gs.place(name)
	g, o := gs.byName[i], gs.mark()
	if g.owner == o {
		return g
	}
	c := *g
	c.owner, c.pending = o, g.pending.Clone()
	c.consumers, c.order = slices.Clone(g.consumers), slices.Clone(g.order)
	gs.byName[i] = &c
	return &c
}

// changeConsumer returns a consumer of a group that may be changed.
func (gs *Groups) changeConsumer(g *Group, no int) *Consumer {
	c, o := g.consumers[no], gs.mark()
	if c.owner == o {
		return c
	}
	n := *c
	n.owner, n.pending = o, c.pending.Clone()
	g.consumers[no] = &n
	return &n
}

// resize accounts for the memory of a tree that change changes.
func (gs *Groups) resize(t *pack.Tree, change func()) {
	before := t.MemoryBytes()
	change()
	gs.bytes += t.MemoryBytes() - before
}

// Add makes a group. It returns false if a group of that name exists.
func (gs *Groups) Add(name []byte, last ID, entriesRead int64) bool {
	i, exists := gs.place(name)
	if exists {
		return false
	}
	gs.byName = slices.Insert(gs.byName, i, gs.newGroup(name, last, entriesRead))
	return true
}

// newGroup makes a group that is in no list yet.
func (gs *Groups) newGroup(name []byte, last ID, entriesRead int64) *Group {
	gs.bytes += groupBytes + len(name)
	return &Group{owner: gs.mark(), name: string(name), last: last, entriesRead: entriesRead, pending: &pack.Tree{}}
}

// Remove deletes a group. It returns false if there is no group of that name.
func (gs *Groups) Remove(name []byte) bool {
	i, ok := gs.place(name)
	if !ok {
		return false
	}
	g := gs.byName[i]
	gs.bytes -= groupBytes + len(name) + g.pending.MemoryBytes()
	for _, no := range g.order {
		c := g.consumers[no]
		gs.bytes -= consumerBytes + len(c.name) + c.pending.MemoryBytes()
	}
	gs.byName = slices.Delete(gs.byName, i, i+1)
	return true
}

// SetRead sets how far a group has read.
func (gs *Groups) SetRead(g *Group, last ID, entriesRead int64) {
	g.last, g.entriesRead = last, entriesRead
}

// AddConsumer makes a consumer that is seen now and was never active, and returns its number. If
// there is a consumer of that name it returns that one's number and false.
func (gs *Groups) AddConsumer(g *Group, name []byte, nowMs int64) (no int, added bool) {
	i, exists := g.place(string(name))
	if exists {
		return g.order[i], false
	}
	c := gs.newConsumer(name, nowMs)
	no = len(g.consumers)
	if len(g.order) < len(g.consumers) {
		no = slices.Index(g.consumers, nil)
		g.consumers[no] = c
	} else {
		g.consumers = append(g.consumers, c)
	}
	g.order = slices.Insert(g.order, i, no)
	return no, true
}

// newConsumer makes a consumer that is in no group yet.
func (gs *Groups) newConsumer(name []byte, nowMs int64) *Consumer {
	gs.bytes += consumerBytes + len(name)
	return &Consumer{owner: gs.mark(), name: string(name), seenMs: nowMs, activeMs: NeverActive, pending: &pack.Tree{}}
}

// RemoveConsumer deletes a consumer and its pending entries, and returns the number of these. It
// calls each for every one of them.
func (gs *Groups) RemoveConsumer(g *Group, no int, each func()) int {
	c := g.consumers[no]
	gs.resize(g.pending, func() {
		for _, key := range c.pending.From(0) {
			each()
			g.pending.Remove(key)
		}
	})
	gs.bytes -= consumerBytes + len(c.name) + c.pending.MemoryBytes()
	i, _ := g.place(c.name)
	g.order = slices.Delete(g.order, i, i+1)
	g.consumers[no] = nil
	return c.pending.Len()
}

// SeeConsumer records that a consumer asked for entries.
func (gs *Groups) SeeConsumer(g *Group, no int, nowMs int64) {
	if g.consumers[no].seenMs != nowMs {
		gs.changeConsumer(g, no).seenMs = nowMs
	}
}

// ActivateConsumer records that a consumer got entries.
func (gs *Groups) ActivateConsumer(g *Group, no int, nowMs int64) {
	if g.consumers[no].activeMs != nowMs {
		gs.changeConsumer(g, no).activeMs = nowMs
	}
}

// SetPending makes or changes a pending entry. The entry may have belonged to another consumer.
func (gs *Groups) SetPending(g *Group, p Pending) {
	old, exists := g.FindPending(p.ID)
	var buf [IDBytes + 8 + 2*binary.MaxVarintLen64]byte
	record := p.appendRecord(buf[:0])
	if !exists || old.Consumer != p.Consumer {
		if exists {
			gs.forget(g, old)
		}
		c := gs.changeConsumer(g, p.Consumer)
		gs.resize(c.pending, func() { c.pending.Put(record[:IDBytes], IDBytes) })
	}
	gs.resize(g.pending, func() { g.pending.Put(record, IDBytes) })
}

// forget removes a pending entry from its consumer.
func (gs *Groups) forget(g *Group, p Pending) {
	var buf [IDBytes]byte
	c := gs.changeConsumer(g, p.Consumer)
	gs.resize(c.pending, func() { c.pending.Remove(p.ID.AppendKey(buf[:0])) })
}

// RemovePending removes a pending entry. It returns false if there is none with that ID.
func (gs *Groups) RemovePending(g *Group, id ID) bool {
	p, ok := g.FindPending(id)
	if !ok {
		return false
	}
	var buf [IDBytes]byte
	gs.forget(g, p)
	gs.resize(g.pending, func() { g.pending.Remove(id.AppendKey(buf[:0])) })
	return true
}
