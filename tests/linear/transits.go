package linear

import "fmt"

// transitVerdict sums up the history of two lists, where elements are moved from the first to the
// second.
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

// checkTransit checks pushes to a list and moves from there to another, given the elements of both
// at the end. No element leaves the second list. So each element whose push was acknowledged is in
// one of them, once, and each element that a move returned is in the second, in the order of
// arrival.
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

// inOrder finds a move that returned before a move was called whose element is ahead in the list.
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
