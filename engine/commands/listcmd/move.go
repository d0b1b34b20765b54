package listcmd

import (
	"bytes"

	"lockstep/engine/command"
	"lockstep/engine/list"
)

func runLMove(c *command.Ctx, args [][]byte) {
	from, to, ok := moveEnds(c, args[3], args[4])
	if ok && !moveElement(c, args[1], args[2], from, to) {
		c.Out.Null()
	}
}

func runRPopLPush(c *command.Ctx, args [][]byte) {
	if !moveElement(c, args[1], args[2], listRight, listLeft) {
		c.Out.Null()
	}
}

func runBLMove(c *command.Ctx, args [][]byte) {
	from, to, ok := moveEnds(c, args[3], args[4])
	if ok {
		blockingMove(c, args[1], args[2], args[5], from, to)
	}
}

func runBRPopLPush(c *command.Ctx, args [][]byte) {
	blockingMove(c, args[1], args[2], args[3], listRight, listLeft)
}

func moveEnds(c *command.Ctx, fromArg, toArg []byte) (from, to listEnd, ok bool) {
	if from, ok = listEndArg(c, fromArg); ok {
		to, ok = listEndArg(c, toArg)
	}
	return from, to, ok
}

func blockingMove(c *command.Ctx, source, destination, timeout []byte, from, to listEnd) {
	if !c.TimeoutArg(timeout) || moveElement(c, source, destination, from, to) {
		return
	}
	if c.InExec {
		// Where it must not wait, Redis answers as LMOVE does.
		c.Out.Null()
	} else {
		c.Out.NullArray()
	}
}

// moveElement moves an element from one list to another or the same one, and writes it as the
// reply. If there is no source it answers nothing and returns false.
func moveElement(c *command.Ctx, source, destination []byte, from, to listEnd) bool {
	l, e, ok := writeList(c, source)
	if l == nil {
		return !ok
	}
	other, otherEntry, ok := writeList(c, destination)
	if !ok {
		return true
	}
	if other == l {
		editList(c, source, e, from.popped(), func(l *list.List) { rotate(c, source, l, from, to) })
		return true
	}
	var buf list.Buffer
	text := l.At(endPlace(l, from), &buf)
	c.Out.Bulk(text)
	editList(c, destination, otherEntry, to.pushed(), func(l *list.List) { pushMoved(c, l, to, text) })
	editList(c, source, e, from.popped(), func(l *list.List) { dropElements(c, l, from, 1) })
	return true
}

// rotate moves an element within a list.
func rotate(c *command.Ctx, key []byte, l *list.List, from, to listEnd) {
	i := endPlace(l, from)
	var buf list.Buffer
	text := bytes.Clone(l.At(i, &buf))
	c.Out.Bulk(text)
	l.Delete(i, 1)
	pushMoved(c, l, to, text)
	l.Shrink(ListLimit(c))
	c.Notify(command.EventList, to.pushed(), key)
}

// pushMoved adds an element that was in a list. Like Redis it does not count the bytes of numbers
// here.
func pushMoved(c *command.Ctx, l *list.List, end listEnd, text []byte) {
	bytes := len(text)
	if _, isNumber := command.ParseInt(text); isNumber {
		bytes = 0
	}
	l.Reserve(ListLimit(c), bytes, 1)
	pushText(l, end, text)
}
