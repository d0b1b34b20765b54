package linear

import (
	"fmt"
	"slices"
)

// listVerdict sums up a list's history.
type listVerdict struct {
	key                            string
	pushed, popped, left, mayBeOut int
}

func (v listVerdict) String() string {
	return fmt.Sprintf("%s: %d elements pushed, %d given out once, %d left, %d pops of unknown outcome", v.key, v.pushed, v.popped, v.left, v.mayBeOut)
}

// element has the push and the pop of an element.
type element struct {
	push, pop *Op
}

// checkList checks the pushes at one end and the pops at the other end of a list that began empty,
// given its elements at the end. Each element is popped at most once, none without a push, and
// elements that were pushed earlier are popped earlier. If an element is missing, a pop with an
// unknown outcome must have taken it.
func checkList(key string, history []Op, left []string) (listVerdict, error) {
	v := listVerdict{key: key, left: len(left)}
	elements := map[string]*element{}
	for i := range history {
		if o := &history[i]; o.Key == key && o.Name == "RPUSH" && o.Outcome != Refused {
			elements[o.Arg] = &element{push: o}
			v.pushed++
		}
	}
	for i := range history {
		o := &history[i]
		switch {
		case o.Key != key || o.Name != "BLPOP":
		case o.Outcome == Unknown:
			v.mayBeOut++
		case o.Outcome == Done && !o.Null:
			e := elements[o.Reply]
			if e == nil {
				return v, fmt.Errorf("%s: %+v was given what nobody pushed", key, *o)
			}
			if e.pop != nil {
				return v, fmt.Errorf("%s: %s was given out twice: %+v and %+v", key, o.Reply, *e.pop, *o)
			}
			if o.Return < e.push.Call {
				return v, fmt.Errorf("%s: %+v had been answered before %+v began", key, *o, *e.push)
			}
			e.pop = o
			v.popped++
		}
	}
	return v, errorsOf(v, elements, left)
}

// errorsOf checks the elements that are left, the missing ones, and the order.
func errorsOf(v listVerdict, elements map[string]*element, left []string) error {
	remains := map[string]bool{}
	for _, value := range left {
		switch e := elements[value]; {
		case e == nil:
			return fmt.Errorf("%s: %s is in it, and nobody pushed it", v.key, value)
		case e.pop != nil:
			return fmt.Errorf("%s: %s is in it, and was given out: %+v", v.key, value, *e.pop)
		case remains[value]:
			return fmt.Errorf("%s: %s is in it twice", v.key, value)
		}
		remains[value] = true
	}
	nowhere := 0
	var out []*element
	for value, e := range elements {
		switch {
		case e.pop != nil:
			out = append(out, e)
		case !remains[value] && e.push.Outcome == Done:
			nowhere++
		}
	}
	if nowhere > v.mayBeOut {
		return fmt.Errorf("%s: %d elements are nowhere", v, nowhere)
	}
	return firstInFirstOut(v.key, out)
}

// firstInFirstOut finds an element that was popped before another that was ahead of it.
func firstInFirstOut(key string, all []*element) error {
	byCall := slices.Clone(all)
	slices.SortFunc(byCall, func(a, b *element) int { return int(a.push.Call - b.push.Call) })
	byReturn := slices.Clone(all)
	slices.SortFunc(byReturn, func(a, b *element) int { return int(pushedBy(a) - pushedBy(b)) })
	// latest is the element whose pop began last, among those that were pushed before.
	var latest *element
	for _, e := range byCall {
		for len(byReturn) > 0 && pushedBy(byReturn[0]) < e.push.Call {
			if latest == nil || byReturn[0].pop.Call > latest.pop.Call {
				latest = byReturn[0]
			}
			byReturn = byReturn[1:]
		}
		if latest != nil && e.pop.Return < latest.pop.Call {
			return fmt.Errorf("%s: %+v was answered before %+v began, which got what was pushed earlier", key, *e.pop, *latest.pop)
		}
	}
	return nil
}

// pushedBy is when an element was surely in its list: when its push returned, or, if that is
// unknown, when it was popped.
func pushedBy(e *element) int64 {
	if e.push.Outcome == Done {
		return e.push.Return
	}
	return e.pop.Return
}
