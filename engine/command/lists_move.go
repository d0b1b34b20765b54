package command

import (
	"bytes"

	"lockstep/engine/list"
)

func runLMove(c *Ctx, args [][]byte) {
	from, to, ok := c.moveEnds(args[3], args[4])
	if ok && !c.moveElement(args[1], args[2], from, to) {
		c.Out.Null()
	}
}

func runRPopLPush(c *Ctx, args [][]byte) {
	if !c.moveElement(args[1], args[2], listRight, listLeft) {
		c.Out.Null()
	}
}

func runBLMove(c *Ctx, args [][]byte) {
	from, to, ok := c.moveEnds(args[3], args[4])
	if ok {
		c.blockingMove(args[1], args[2], args[5], from, to)
	}
}

func runBRPopLPush(c *Ctx, args [][]byte) {
	c.blockingMove(args[1], args[2], args[3], listRight, listLeft)
}

func (c *Ctx) moveEnds(fromArg, toArg []byte) (from, to listEnd, ok bool) {
	if from, ok = c.listEndArg(fromArg); ok {
		to, ok = c.listEndArg(toArg)
	}
	return from, to, ok
}

func (c *Ctx) blockingMove(source, destination, timeout []byte, from, to listEnd) {
	if !c.TimeoutArg(timeout) || c.moveElement(source, destination, from, to) {
		return
	}
	if c.InExec {
		// Redis answers as LMOVE does where it may not wait.
		c.Out.Null()
	} else {
		c.Out.NullArray()
	}
}

// moveElement takes an element off one list, adds it to another or the same
// one, and writes it. It answers nothing and returns false when there is no
// source.
func (c *Ctx) moveElement(source, destination []byte, from, to listEnd) bool {
	l, e, ok := c.writeList(source)
	if l == nil {
		return !ok
	}
	other, otherEntry, ok := c.writeList(destination)
	if !ok {
		return true
	}
	if other == l {
		c.editList(source, e, from.popped(), func(l *list.List) { c.rotate(source, l, from, to) })
		return true
	}
	var buf list.Buffer
	text := l.At(endPlace(l, from), &buf)
	c.Out.Bulk(text)
	c.editList(destination, otherEntry, to.pushed(), func(l *list.List) { c.pushMoved(l, to, text) })
	c.editList(source, e, from.popped(), func(l *list.List) { c.dropElements(l, from, 1) })
	return true
}

// rotate moves an element within a list.
func (c *Ctx) rotate(key []byte, l *list.List, from, to listEnd) {
	i := endPlace(l, from)
	var buf list.Buffer
	text := bytes.Clone(l.At(i, &buf))
	c.Out.Bulk(text)
	l.Delete(i, 1)
	c.pushMoved(l, to, text)
	l.Shrink(c.ListLimit())
	c.Notify(EventList, to.pushed(), key)
}

// pushMoved adds an element that was in a list. Redis, which does not count the
// bytes of numbers here, is followed.
func (c *Ctx) pushMoved(l *list.List, end listEnd, text []byte) {
	bytes := len(text)
	if _, isNumber := ParseInt(text); isNumber {
		bytes = 0
	}
	l.Reserve(c.ListLimit(), bytes, 1)
	pushText(l, end, text)
}
