package listcmd

import (
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/list"
)

func runLPop(c *command.Ctx, args [][]byte) { pop(c, args, listLeft) }
func runRPop(c *command.Ctx, args [][]byte) { pop(c, args, listRight) }

// pop removes one element from an end, or as many as the command asks for. In the second case the
// reply is an array.
func pop(c *command.Ctx, args [][]byte, end listEnd) {
	if len(args) > 3 {
		c.Out.Error(command.ErrArityOf(end.popped()))
		return
	}
	many, count := len(args) == 3, int64(1)
	if many {
		var ok bool
		if count, ok = command.ParseInt(args[2]); !ok || count < 0 {
			c.Out.Error(command.ErrNotPositive)
			return
		}
	}
	l, e, ok := writeList(c, args[1])
	switch {
	case !ok:
	case l == nil && many:
		c.Out.NullArray()
	case l == nil:
		c.Out.Null()
	case !many:
		popList(c, args[1], e, end, 1, false)
	case count == 0:
		c.Out.Array(0)
	default:
		popList(c, args[1], e, end, count, true)
	}
}

// popList removes up to count elements from an end of an existing list and writes them: as an
// array, or as a single element without one.
func popList(c *command.Ctx, key []byte, e *engine.Entry, end listEnd, count int64, array bool) {
	editList(c, key, e, end.popped(), func(l *list.List) {
		n := int(min(count, int64(l.Len())))
		if array {
			c.Out.Array(n)
		}
		listElements(c, l, end, n)
		dropElements(c, l, end, n)
	})
}

func runLMPop(c *command.Ctx, args [][]byte) {
	p, problem := command.ParseCountedPop(args[1:], command.ListEnds)
	if problem != "" {
		c.Out.Error(problem)
	} else if !popFirstList(c, &p) {
		c.Out.NullArray()
	}
}

func runBLMPop(c *command.Ctx, args [][]byte) {
	p, problem := command.ParseCountedPop(args[2:], command.ListEnds)
	if problem != "" {
		c.Out.Error(problem)
	} else if c.TimeoutArg(args[1]) && !popFirstList(c, &p) {
		c.Out.NullArray()
	}
}

// popFirstList pops from the first key that holds a list. If there is none it answers nothing and
// returns false.
func popFirstList(c *command.Ctx, p *command.CountedPop) bool {
	key, e, ok := firstList(c, p.Keys)
	if e == nil {
		return !ok
	}
	c.Out.Array(2)
	c.Out.Bulk(key)
	popList(c, key, e, listEnd(p.Second), p.Count, true)
	return true
}

// firstList returns the first key that holds a list, and its entry, or nil if no key does. If a key
// with another kind of value comes first it answers WRONGTYPE and returns false.
func firstList(c *command.Ctx, keys [][]byte) (key []byte, e *engine.Entry, ok bool) {
	for _, key := range keys {
		_, e, ok := writeList(c, key)
		if e != nil || !ok {
			return key, e, ok
		}
	}
	return nil, nil, true
}

func runBLPop(c *command.Ctx, args [][]byte) { blockingPop(c, args, listLeft) }
func runBRPop(c *command.Ctx, args [][]byte) { blockingPop(c, args, listRight) }

func blockingPop(c *command.Ctx, args [][]byte, end listEnd) {
	last := len(args) - 1
	if !c.TimeoutArg(args[last]) {
		return
	}
	key, e, ok := firstList(c, args[1:last])
	switch {
	case !ok:
	case e == nil:
		c.Out.NullArray()
	default:
		c.Out.Array(2)
		c.Out.Bulk(key)
		popList(c, key, e, end, 1, false)
	}
}
