package stream

import (
	"slices"
	"strings"
	"unsafe"

	"lockstep/engine/pack"
)

// EntriesReadUnknown is the value of Group.EntriesRead if the number is not known.
const EntriesReadUnknown = -1

// Group is a consumer group. Callers may only read it; changes go through Groups.
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

// Consumer is a consumer of a group. Callers may only read it; changes go through Groups.
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
