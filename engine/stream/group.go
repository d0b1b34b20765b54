package stream

import (
	"slices"
	"strings"
	"unsafe"

	"lockstep/engine/pack"
)

// EntriesReadUnknown is the value of Group.EntriesRead if the number is not known.
const EntriesReadUnknown = -1

// Group is a consumer group. Callers may only read it; changes go through Stream.
type Group struct {
	owner *owner
	name  string
	// last is the last ID delivered, entriesRead the number of entries up to it.
	last        ID
	entriesRead int64
	pending     *pack.Tree
	// consumers are indexed by the number with which pending entries refer to them. A free number
	// has nil. order has the numbers by name.
	consumers []*Consumer
	order     []int
}

// NeverActive is Consumer.ActiveMs before the first delivery.
const NeverActive = -1

// Consumer is a consumer of a group. Callers may only read it; changes go through Stream.
type Consumer struct {
	owner *owner
	name  string
	// seenMs is when it last asked for entries, activeMs when it last got some.
	seenMs, activeMs int64
	// pending are the IDs of its pending entries.
	pending *pack.Tree
}

const (
	groupBytes    = int(unsafe.Sizeof(Group{}) + unsafe.Sizeof(pack.Tree{}))
	consumerBytes = int(unsafe.Sizeof(Consumer{})+unsafe.Sizeof(pack.Tree{})) + 2*8 // and its place in two lists
)

// Name is the group's name.
func (g *Group) Name() string { return g.name }

// Last is the last ID that was delivered.
func (g *Group) Last() ID { return g.last }

// EntriesRead is the number of entries up to Last, or EntriesReadUnknown.
func (g *Group) EntriesRead() int64 { return g.entriesRead }

// Consumers is the number of consumers.
func (g *Group) Consumers() int { return len(g.order) }

// EachConsumer calls yield for each consumer, by name, with its number.
func (g *Group) EachConsumer(yield func(no int, c *Consumer)) {
	for _, no := range g.order {
		yield(no, g.consumers[no])
	}
}

// Consumer returns the consumer with a number.
func (g *Group) Consumer(no int) *Consumer { return g.consumers[no] }

// FindConsumer returns the number of a consumer. It returns false if there is no consumer of that
// name.
func (g *Group) FindConsumer(name []byte) (no int, ok bool) {
	i, ok := g.place(string(name))
	if !ok {
		return 0, false
	}
	return g.order[i], true
}

// place is the index of a name in order.
func (g *Group) place(name string) (i int, ok bool) {
	return slices.BinarySearchFunc(g.order, name, func(no int, name string) int {
		return strings.Compare(g.consumers[no].name, name)
	})
}

// Name is the consumer's name.
func (c *Consumer) Name() string { return c.name }

// SeenMs is when the consumer last asked for entries.
func (c *Consumer) SeenMs() int64 { return c.seenMs }

// ActiveMs is when the consumer last got entries, or NeverActive.
func (c *Consumer) ActiveMs() int64 { return c.activeMs }

// Pending is the number of the consumer's pending entries.
func (c *Consumer) Pending() int { return c.pending.Len() }

// Groups are the groups, by name. The caller must not change the slice.
func (s *Stream) Groups() []*Group { return s.groups }

// FindGroup returns the group with a name, or nil.
func (s *Stream) FindGroup(name []byte) *Group {
	if i, ok := s.groupPlace(name); ok {
		return s.groups[i]
	}
	return nil
}

func (s *Stream) groupPlace(name []byte) (i int, ok bool) {
	return slices.BinarySearchFunc(s.groups, string(name), func(g *Group, name string) int {
		return strings.Compare(g.name, name)
	})
}

// mark marks the groups and consumers that only this stream refers to.
func (s *Stream) mark() *owner {
	o := s.owner.Load()
	if o == nil {
		o = new(owner)
		s.owner.Store(o)
	}
	return o
}

// ChangeGroup returns the group with a name, for the methods of Stream that change a group. The
// group must exist.
func (s *Stream) ChangeGroup(name []byte) *Group {
	i, _ := s.groupPlace(name)
	g, o := s.groups[i], s.mark()
	if g.owner == o {
		return g
	}
	c := *g
	c.owner, c.pending = o, g.pending.Clone()
	c.consumers, c.order = slices.Clone(g.consumers), slices.Clone(g.order)
	s.groups[i] = &c
	return &c
}

// changeConsumer returns a consumer of a group that may be changed.
func (s *Stream) changeConsumer(g *Group, no int) *Consumer {
	c, o := g.consumers[no], s.mark()
	if c.owner == o {
		return c
	}
	n := *c
	n.owner, n.pending = o, c.pending.Clone()
	g.consumers[no] = &n
	return &n
}

// resize accounts for the memory of a tree that change changes.
func (s *Stream) resize(t *pack.Tree, change func()) {
	before := t.MemoryBytes()
	change()
	s.groupBytes += t.MemoryBytes() - before
}

// AddGroup makes a group. It returns false if a group of that name exists.
func (s *Stream) AddGroup(name []byte, last ID, entriesRead int64) bool {
	i, exists := s.groupPlace(name)
	if exists {
		return false
	}
	s.groups = slices.Insert(s.groups, i, s.newGroup(name, last, entriesRead))
	return true
}

// newGroup makes a group that is in no list yet.
func (s *Stream) newGroup(name []byte, last ID, entriesRead int64) *Group {
	s.groupBytes += groupBytes + len(name)
	return &Group{owner: s.mark(), name: string(name), last: last, entriesRead: entriesRead, pending: &pack.Tree{}}
}

// RemoveGroup deletes a group. It returns false if there is no group of that name.
func (s *Stream) RemoveGroup(name []byte) bool {
	i, ok := s.groupPlace(name)
	if !ok {
		return false
	}
	g := s.groups[i]
	s.groupBytes -= groupBytes + len(name) + g.pending.MemoryBytes()
	for _, no := range g.order {
		c := g.consumers[no]
		s.groupBytes -= consumerBytes + len(c.name) + c.pending.MemoryBytes()
	}
	s.groups = slices.Delete(s.groups, i, i+1)
	return true
}

// SetGroup sets how far a group has read.
func (s *Stream) SetGroup(g *Group, last ID, entriesRead int64) {
	g.last, g.entriesRead = last, entriesRead
}

// AddConsumer makes a consumer that is seen now and was never active, and returns its number. If
// there is a consumer of that name it returns that one's number and false.
func (s *Stream) AddConsumer(g *Group, name []byte, nowMs int64) (no int, added bool) {
	i, exists := g.place(string(name))
	if exists {
		return g.order[i], false
	}
	c := s.newConsumer(name, nowMs)
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
func (s *Stream) newConsumer(name []byte, nowMs int64) *Consumer {
	s.groupBytes += consumerBytes + len(name)
	return &Consumer{owner: s.mark(), name: string(name), seenMs: nowMs, activeMs: NeverActive, pending: &pack.Tree{}}
}

// RemoveConsumer deletes a consumer and its pending entries, and returns the number of these. It
// calls each for every one of them.
func (s *Stream) RemoveConsumer(g *Group, no int, each func()) int {
	c := g.consumers[no]
	s.resize(g.pending, func() {
		for _, key := range c.pending.From(0) {
			each()
			g.pending.Remove(key)
		}
	})
	s.groupBytes -= consumerBytes + len(c.name) + c.pending.MemoryBytes()
	i, _ := g.place(c.name)
	g.order = slices.Delete(g.order, i, i+1)
	g.consumers[no] = nil
	return c.pending.Len()
}

// SeeConsumer records that a consumer asked for entries.
func (s *Stream) SeeConsumer(g *Group, no int, nowMs int64) {
	if g.consumers[no].seenMs != nowMs {
		s.changeConsumer(g, no).seenMs = nowMs
	}
}

// ActivateConsumer records that a consumer got entries.
func (s *Stream) ActivateConsumer(g *Group, no int, nowMs int64) {
	if g.consumers[no].activeMs != nowMs {
		s.changeConsumer(g, no).activeMs = nowMs
	}
}
