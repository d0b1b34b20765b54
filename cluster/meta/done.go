package meta

import (
	"hash/fnv"
	"slices"

	"lockstep/cluster/meta/leaderrpc"
)

// Done is a command that the machine carried out or refused, and remembers. The proposer may not
// have received the result and may ask again. A copy of the command may also arrive long after the
// proposer has gone on to something else.
type Done struct {
	ID      uint64 `json:"id"`
	Index   uint64 `json:"index"`
	Changed bool   `json:"changed,omitempty"`
	// Subjects are the things that the command has set (see subjects).
	Subjects []string `json:"subjects,omitempty"`
	Refusal  *Refusal `json:"refusal,omitempty"`
}

// bytes is about how much room d takes in a snapshot.
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
	// doneMax is how many commands are remembered: far more than are carried out while one is on
	// its way. A command that arrives after more than doneMax others is refused: no node knows
	// whether it was carried out before.
	doneMax = 1024
	// doneBytesMax bounds the bytes of the remembered commands; the newest one may exceed it alone.
	doneBytesMax = 1 << 20
)

// subjects names the things that a command sets regardless of their former value: a late copy of
// such a command would undo a newer one. The other commands carry a condition, or cannot be undone.
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

// asksOnly reports whether a command changes nothing: its proposer only wants an index.
func asksOnly(c Command) bool {
	s, ok := c.(*SetSettings)
	return ok && len(s.Set)+len(s.Unset) == 0
}

// find returns a remembered command.
func (v *View) find(id uint64) (Done, bool) {
	for i := len(v.Done) - 1; i >= 0; i-- {
		if v.Done[i].ID == id {
			return v.Done[i], true
		}
	}
	return Done{}, false
}

// late returns why a command comes too late to be carried out, or nil. The command sets the
// subjects in of. Its proposer had read the log up to index seen when it gave the order.
func (v *View) late(seen uint64, of []string) error {
	switch {
	case seen == 0:
		return nil
	case seen < v.Forgotten:
		return leaderrpc.ErrForgotten
	}
	for i := len(v.Done) - 1; i >= 0 && v.Done[i].Index > seen; i-- {
		if slices.ContainsFunc(v.Done[i].Subjects, func(s string) bool { return slices.Contains(of, s) }) {
			return leaderrpc.ErrOvertaken
		}
	}
	return nil
}

// remember adds the newest command and drops the oldest ones. Several views share one array: only
// the newest view appends to it, and no view reads past its own length.
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

// idOf returns the identity of a command that belongs to an order. It is the same for every copy of
// the order, and differs between the commands of one order.
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
