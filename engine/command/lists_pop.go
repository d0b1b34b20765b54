package command

import (
	"lockstep/engine"
	"lockstep/engine/list"
)

func runLPop(c *Ctx, args [][]byte) { pop(c, args, listLeft) }
func runRPop(c *Ctx, args [][]byte) { pop(c, args, listRight) }

// pop takes elements off an end: one, or as many as the command asks for, as an
// array then.
func pop(c *Ctx, args [][]byte, end listEnd) {
	if len(args) > 3 {
		c.Out.Error(ErrArityOf(end.popped()))
		return
	}
	many, count := len(args) == 3, int64(1)
	if many {
		var ok bool
		if count, ok = ParseInt(args[2]); !ok || count < 0 {
			c.Out.Error(ErrNotPositive)
			return
		}
	}
	l, e, ok := c.writeList(args[1])
	switch {
	case !ok:
	case l == nil && many:
		c.Out.NullArray()
	case l == nil:
		c.Out.Null()
	case !many:
		c.popList(args[1], e, end, 1, false)
	case count == 0:
		c.Out.Array(0)
	default:
		c.popList(args[1], e, end, count, true)
	}
}

// popList takes up to count elements off an end of a list that is there and
// writes them, as an array or the only one as it is.
func (c *Ctx) popList(key []byte, e *engine.Entry, end listEnd, count int64, array bool) {
	c.editList(key, e, end.popped(), func(l *list.List) {
		n := int(min(count, int64(l.Len())))
		if array {
			c.Out.Array(n)
		}
		c.listElements(l, end, n)
		c.dropElements(l, end, n)
	})
}

func runLMPop(c *Ctx, args [][]byte) {
	p, problem := ParseCountedPop(args[1:], ListEnds)
	if problem != "" {
		c.Out.Error(problem)
	} else if !c.popFirstList(&p) {
		c.Out.NullArray()
	}
}

func runBLMPop(c *Ctx, args [][]byte) {
	p, problem := ParseCountedPop(args[2:], ListEnds)
	if problem != "" {
		c.Out.Error(problem)
	} else if c.TimeoutArg(args[1]) && !c.popFirstList(&p) {
		c.Out.NullArray()
	}
}

// popFirstList pops from the first list there is. It answers nothing and returns
// false when there is none.
func (c *Ctx) popFirstList(p *CountedPop) bool {
	key, e, ok := c.firstList(p.Keys)
	if e == nil {
		return !ok
	}
	c.Out.Array(2)
	c.Out.Bulk(key)
	c.popList(key, e, listEnd(p.Second), p.Count, true)
	return true
}

// firstList returns the first key that holds a list, and its entry; nil if none
// does. It answers WRONGTYPE itself and returns false when a key that holds
// something else comes first.
func (c *Ctx) firstList(keys [][]byte) (key []byte, e *engine.Entry, ok bool) {
	for _, key := range keys {
		_, e, ok := c.writeList(key)
		if e != nil || !ok {
			return key, e, ok
		}
	}
	return nil, nil, true
}

func runBLPop(c *Ctx, args [][]byte) { blockingPop(c, args, listLeft) }
func runBRPop(c *Ctx, args [][]byte) { blockingPop(c, args, listRight) }

func blockingPop(c *Ctx, args [][]byte, end listEnd) {
	last := len(args) - 1
	if !c.TimeoutArg(args[last]) {
		return
	}
	key, e, ok := c.firstList(args[1:last])
	switch {
	case !ok:
	case e == nil:
		c.Out.NullArray()
	default:
		c.Out.Array(2)
		c.Out.Bulk(key)
		c.popList(key, e, end, 1, false)
	}
}
