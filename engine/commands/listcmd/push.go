package listcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/list"
)

func runLPush(c *command.Ctx, args [][]byte)  { push(c, args, listLeft, false) }
func runRPush(c *command.Ctx, args [][]byte)  { push(c, args, listRight, false) }
func runLPushX(c *command.Ctx, args [][]byte) { push(c, args, listLeft, true) }
func runRPushX(c *command.Ctx, args [][]byte) { push(c, args, listRight, true) }

// push adds elements at an end. If ifExists is set it does so only if the list exists.
func push(c *command.Ctx, args [][]byte, end listEnd, ifExists bool) {
	key := args[1]
	l, e, ok := writeList(c, key)
	if !ok {
		return
	}
	if ifExists && l == nil {
		c.Out.Int(0)
		return
	}
	editList(c, key, e, end.pushed(), func(l *list.List) {
		pushTexts(c, l, end, args[2:])
		c.Out.Int(int64(l.Len()))
	})
}

func runLInsert(c *command.Ctx, args [][]byte) {
	key, pivot, text := args[1], args[3], args[4]
	offset := 0
	switch {
	case command.EqualFold(args[2], "after"):
		offset = 1
	case !command.EqualFold(args[2], "before"):
		c.Out.Error(command.ErrSyntax)
		return
	}
	l, e, ok := writeList(c, key)
	if !ok {
		return
	}
	if l == nil {
		c.Out.Int(0)
		return
	}
	if !c.Steps(int64(l.Len()) / command.StepListElements) {
		return
	}
	i := l.Index(pivot, c.Item)
	if i < 0 {
		c.Out.Int(-1)
		return
	}
	editList(c, key, e, "linsert", func(l *list.List) {
		l.Reserve(ListLimit(c), len(text), 1)
		l.Insert(i+offset, text)
		c.Out.Int(int64(l.Len()))
	})
}
