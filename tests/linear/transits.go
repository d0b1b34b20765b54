package linear

import "fmt"

// transitVerdict is what is left of the history of two lists, from the one of which
// elements are moved to the other.
type transitVerdict struct {
	key                            string
	pushed, moved, waiting, landed int
}

func (v transitVerdict) String() string {
	return fmt.Sprintf("%s: %d elements pushed, %d moves answered, %d elements wait and %d have been moved", v.key, v.pushed, v.moved, v.waiting, v.landed)
}

// transitKeys are the two lists, in one hash slot.
func transitKeys(transit string) (in, out string) {
	return "{" + transit + "}in", "{" + transit + "}out"
}

// checkTransit checks pushes to a list and moves from there to another, given what
// both hold at the end. Nothing leaves the second: so each element whose push was
// acknowledged is in one of them, once, and each that a move answered is in the second,
// in the order in which they came.
func checkTransit(key string, history []Op, in, out []string) (transitVerdict, error) {
	v := transitVerdict{key: key, waiting: len(in), landed: len(out)}
	pushes, places := map[string]*Op{}, map[string]int{}
	for i := range history {
		if o := &history[i]; o.Key == key && o.Name == opTransitPush && o.Outcome != Refused {
			pushes[o.Arg] = o
			v.pushed++
		}
	}
	for i, value := range append(append([]string(nil), out...), in...) {
		if pushes[value] == nil {
			return v, fmt.Errorf("%s: %s is there, and nobody pushed it", key, value)
		}
		if _, twice := places[value]; twice {
			return v, fmt.Errorf("%s: %s is there twice", key, value)
		}
		places[value] = i
	}
	for value, push := range pushes {
		if _, there := places[value]; push.Outcome == Done && !there {
			return v, fmt.Errorf("%s: %s is nowhere: %+v", key, value, *push)
		}
	}
	moves := map[string]*Op{}
	for i := range history {
		o := &history[i]
		if o.Key != key || o.Name != opTransitMove || o.Outcome != Done || o.Null {
			continue
		}
		v.moved++
		at, there := places[o.Reply]
		if !there || at >= len(out) {
			return v, fmt.Errorf("%s: %+v moved what is not where it went", key, *o)
		}
		if moves[o.Reply] != nil {
			return v, fmt.Errorf("%s: %s was moved twice: %+v and %+v", key, o.Reply, *moves[o.Reply], *o)
		}
		moves[o.Reply] = o
	}
	return v, inOrder(key, out, moves)
}

// inOrder finds a move that was answered before another began which comes first in
// the list.
func inOrder(key string, out []string, moves map[string]*Op) error {
	var latest *Op
	for _, value := range out {
		o := moves[value]
		if o == nil {
			continue
		}
		if latest != nil && o.Return < latest.Call {
			return fmt.Errorf("%s: %+v was answered before %+v began, whose element came first", key, *o, *latest)
		}
		if latest == nil || o.Call > latest.Call {
			latest = o
		}
	}
	return nil
}
