package meta

import (
	"hash/fnv"
	"slices"

	"lockstep/cluster/meta/courier"
)

// Done is a command that was carried out, or refused, as the machine remembers it. Its
// proposer may not have heard the result, and ask again. And a copy of it may arrive long
// after the proposer went on to something else.
type Done struct {
	ID      uint64 `json:"id"`
	Index   uint64 `json:"index"`
	Changed bool   `json:"changed,omitempty"`
	// Subjects are what the command has set (see subjects).
	Subjects []string `json:"subjects,omitempty"`
	Refusal  *Refusal `json:"refusal,omitempty"`
}

// bytes is about what d takes in a snapshot.
func (d *Done) bytes() int {
	n := 64
	for _, s := range d.Subjects {
		n += len(s)
	}
	if d.Refusal != nil {
		n += len(d.Refusal.Code) + len(d.Refusal.Text)
	}
	return n
}

const (
	// doneMax is how many commands are remembered: far more than are carried out while one
	// is on its way. A command that comes later than so many others is refused: nobody
	// knows whether it was carried out before.
	doneMax = 1024
	// doneBytesMax bounds the bytes of what is remembered, the newest command aside.
	doneBytesMax = 1 << 20
)

// subjects names what a command sets regardless of its former value: a late copy of it
// would undo a newer command. The other commands carry a condition, or cannot be undone.
func subjects(c Command) []string {
	switch c := c.(type) {
	case *SetSettings:
		names := slices.Clone(c.Unset)
		for name := range c.Set { // order does not matter: sorted below
			names = append(names, name)
		}
		for i := range names {
			names[i] = "setting " + names[i]
		}
		slices.Sort(names)
		return slices.Compact(names)
	case *MarkDrained:
		return []string{"drained " + string(c.ID)}
	case *SetReplicas:
		return []string{"replicas"}
	case *UpdateNode:
		return []string{"node " + string(c.ID)}
	case *AddNode:
		return []string{"node " + string(c.Node.ID)}
	}
	return nil
}

// asksOnly reports whether a command changes nothing: its proposer wants to learn the index.
func asksOnly(c Command) bool {
	s, ok := c.(*SetSettings)
	return ok && len(s.Set)+len(s.Unset) == 0
}

// find returns a command that is remembered.
func (v *View) find(id uint64) (Done, bool) {
	for i := len(v.Done) - 1; i >= 0; i-- {
		if v.Done[i].ID == id {
			return v.Done[i], true
		}
	}
	return Done{}, false
}

// late says why a command comes too late to be carried out; nil: it does not. The command
// sets the subjects of, and was ordered when its asker had read the log up to seen.
func (v *View) late(seen uint64, of []string) error {
	switch {
	case seen == 0:
		return nil
	case seen < v.Forgotten:
		return courier.ErrForgotten
	}
	for i := len(v.Done) - 1; i >= 0 && v.Done[i].Index > seen; i-- {
		if slices.ContainsFunc(v.Done[i].Subjects, func(s string) bool { return slices.Contains(of, s) }) {
			return courier.ErrOvertaken
		}
	}
	return nil
}

// remember takes note of the newest command, and forgets the oldest ones. Of the views that
// share an array only the newest appends to it, and no view looks beyond its own length.
func (v *View) remember(d Done) {
	v.Done = append(v.Done, d)
	bytes, first := 0, len(v.Done)-1
	for first > 0 && len(v.Done)-first < doneMax {
		if bytes += v.Done[first-1].bytes(); bytes > doneBytesMax {
			break
		}
		first--
	}
	if first > 0 {
		v.Forgotten = v.Done[first-1].Index
		v.Done = v.Done[first:]
	}
}

// idOf is the identity of a command that is part of an order: the same for every copy of
// the order, and a different one for another command of the same order.
func idOf(order uint64, kind string, args []byte) uint64 {
	h := fnv.New64a()
	var b [8]byte
	for i := range b {
		b[i] = byte(order >> (8 * i))
	}
	_, _ = h.Write(b[:])
	_, _ = h.Write([]byte(kind))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write(args)
	return max(h.Sum64(), 1)
}
