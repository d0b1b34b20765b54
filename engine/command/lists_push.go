package command

import "lockstep/engine/list"

func runLPush(c *Ctx, args [][]byte)  { push(c, args, listLeft, false) }
func runRPush(c *Ctx, args [][]byte)  { push(c, args, listRight, false) }
func runLPushX(c *Ctx, args [][]byte) { push(c, args, listLeft, true) }
func runRPushX(c *Ctx, args [][]byte) { push(c, args, listRight, true) }

// push adds elements at an end, if ifExists is set only to a list that is there.
func push(c *Ctx, args [][]byte, end listEnd, ifExists bool) {
	key := args[1]
	l, e, ok := c.writeList(key)
	if !ok {
		return
	}
	if ifExists && l == nil {
		c.Out.Int(0)
		return
	}
	c.editList(key, e, end.pushed(), func(l *list.List) {
		c.pushTexts(l, end, args[2:])
		c.Out.Int(int64(l.Len()))
	})
}

func runLInsert(c *Ctx, args [][]byte) {
	key, pivot, text := args[1], args[3], args[4]
	offset := 0
	switch {
	case EqualFold(args[2], "after"):
		offset = 1
	case !EqualFold(args[2], "before"):
		c.Out.Error(ErrSyntax)
		return
	}
	l, e, ok := c.writeList(key)
	if !ok {
		return
	}
	if l == nil {
		c.Out.Int(0)
		return
	}
	if !c.Steps(int64(l.Len()) / StepListElements) {
		return
	}
	i := l.Index(pivot, c.Item)
	if i < 0 {
		c.Out.Int(-1)
		return
	}
	c.editList(key, e, "linsert", func(l *list.List) {
		l.Reserve(c.ListLimit(), len(text), 1)
		l.Insert(i+offset, text)
		c.Out.Int(int64(l.Len()))
	})
}
