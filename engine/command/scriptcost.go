package command

import "lockstep/engine"

const (
	// costElements is how many elements of a value, or keys of a database, a
	// command that reads may look at for the price of one instruction. What writes
	// pays for each.
	costElements = 16
	// costBytes is the same for a string.
	costBytes = 256
)

// cost is what a command may have to look at, in instructions: its keys' whole
// values, if it is not one of those that never take long. It goes by lengths,
// which are the same on every replica, as sizes in memory are not.
func (h *ScriptHost) cost(spec *Spec, args [][]byte) int {
	cost := h.sub.walked / costElements
	if spec.Is(Fast) || spec.Scope != ScopeKeys {
		return cost
	}
	per := costElements
	if spec.Writes(args) && spec.TakesLong(args) {
		per = 1
	}
	h.refs = spec.AppendKeys(h.refs[:0], args)
	for _, k := range h.refs {
		if e := h.sub.Peek(args[k.Pos]); e != nil {
			cost += work(e, per)
		}
	}
	return cost
}

// work is what it costs to look at a whole value, of which per elements cost
// one.
func work(e *engine.Entry, per int) int {
	if e.Kind() == engine.KindString {
		return len(e.Text()) / costBytes
	}
	if o, ok := e.Object().(interface{ Len() int }); ok {
		return o.Len() / per
	}
	return 0
}
