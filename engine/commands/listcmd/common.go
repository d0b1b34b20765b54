package listcmd

import (
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/list"
)

// listEnd is an end of a list.
type listEnd bool

const (
	listLeft  listEnd = false
	listRight listEnd = true
)

// pushed and popped are the events of a push and of a pop at this end.
func (end listEnd) pushed() string {
	if end == listLeft {
		return "lpush"
	}
	return "rpush"
}

func (end listEnd) popped() string {
	if end == listLeft {
		return "lpop"
	}
	return "rpop"
}

// listEndArg reads LEFT or RIGHT. It answers the error itself.
func listEndArg(c *command.Ctx, arg []byte) (listEnd, bool) {
	switch {
	case command.EqualFold(arg, "left"):
		return listLeft, true
	case command.EqualFold(arg, "right"):
		return listRight, true
	}
	c.Out.Error(command.ErrSyntax)
	return listLeft, false
}

// readList returns the list under a key, or nil if there is none. If the key holds another kind of
// value it answers WRONGTYPE and returns false.
func readList(c *command.Ctx, key []byte) (*list.List, bool) {
	return command.ReadAs[*list.List](c, key, engine.KindList)
}

// writeList is readList for a command that will change the list. It also returns the entry. The
// caller may only read the list; editList changes it.
func writeList(c *command.Ctx, key []byte) (*list.List, *engine.Entry, bool) {
	return command.WriteAs[*list.List](c, key, engine.KindList)
}

// editList changes the list under key, whose entry e writeList returned. It sends the event, before
// the event of the deletion if the list becomes empty.
func editList(c *command.Ctx, key []byte, e *engine.Entry, event string, change func(*list.List)) {
	command.Edit(c, key, engine.KindList, e, list.New, func(l *list.List) {
		change(l)
		c.Notify(command.EventList, event, key)
	})
}

// ListLimit is the limit up to which a list stays packed.
func ListLimit(c *command.Ctx) list.Limit { return list.Limit(c.Settings.ListPackSize) }

// pushTexts adds texts at an end, one after the other.
func pushTexts(c *command.Ctx, l *list.List, end listEnd, texts [][]byte) {
	sum := 0
	for _, text := range texts {
		sum += len(text)
	}
	l.Reserve(ListLimit(c), sum, len(texts))
	for _, text := range texts {
		c.Member()
		pushText(l, end, text)
	}
}

func pushText(l *list.List, end listEnd, text []byte) {
	if end == listLeft {
		l.PushFront(text)
	} else {
		l.PushBack(text)
	}
}

// endPlace is the index of the element at an end of a list that is not empty.
func endPlace(l *list.List, end listEnd) int {
	if end == listLeft {
		return 0
	}
	return l.Len() - 1
}

// listElement writes an element as a reply.
func listElement(c *command.Ctx, l *list.List, i int) {
	var buf list.Buffer
	c.Out.Bulk(l.At(i, &buf))
}

// listElements writes count elements from an end on as replies.
func listElements(c *command.Ctx, l *list.List, end listEnd, count int) {
	switch count {
	case 0:
		return
	case 1: // a walk to one element costs more than reading it
		c.Item()
		listElement(c, l, endPlace(l, end))
		return
	}
	walk := l.From
	if end == listRight {
		walk = l.Backward
	}
	for _, text := range walk(endPlace(l, end)) {
		c.Item()
		c.Out.Bulk(text)
		if count--; count == 0 {
			return
		}
	}
}

// dropElements removes count elements at an end.
func dropElements(c *command.Ctx, l *list.List, end listEnd, count int) {
	if end == listLeft {
		l.Delete(0, count)
	} else {
		l.Delete(l.Len()-count, count)
	}
	l.Shrink(ListLimit(c))
}
