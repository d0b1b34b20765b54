package listcmd

import (
	"math"

	"lockstep/engine/command"
	"lockstep/engine/list"
)

func runLLen(c *command.Ctx, args [][]byte) {
	l, ok := readList(c, args[1])
	switch {
	case !ok:
	case l == nil:
		c.Out.Int(0)
	default:
		c.Out.Int(int64(l.Len()))
	}
}

func runLIndex(c *command.Ctx, args [][]byte) {
	l, ok := readList(c, args[1])
	if !ok {
		return
	}
	if l == nil {
		c.Out.Null()
		return
	}
	index, ok := c.IntArg(args[2])
	if !ok {
		return
	}
	if i, ok := placeOf(l, index); ok {
		listElement(c, l, i)
	} else {
		c.Out.Null()
	}
}

// placeOf turns an index, which counts from the end if it is negative, into a place in the list. It
// returns false if there is no such element.
func placeOf(l *list.List, index int64) (int, bool) {
	n := int64(l.Len())
	if index < 0 {
		index += n
	}
	return int(index), 0 <= index && index < n
}

func runLSet(c *command.Ctx, args [][]byte) {
	key, text := args[1], args[3]
	l, e, ok := writeList(c, key)
	if !ok {
		return
	}
	if l == nil {
		c.Out.Error(command.ErrNoSuchKey)
		return
	}
	index, ok := c.IntArg(args[2])
	if !ok {
		return
	}
	i, ok := placeOf(l, index)
	if !ok {
		c.Out.Error(command.ErrIndexOutOfRange)
		return
	}
	editList(c, key, e, "lset", func(l *list.List) {
		l.Reserve(ListLimit(c), len(text), 1)
		l.Set(i, text)
		l.Shrink(ListLimit(c))
	})
	c.Out.OK()
}

// listRange turns a first and a last index into a first place and a number of elements, which may
// be 0.
func listRange(l *list.List, first, last int64) (i, count int) {
	n := int64(l.Len())
	if first < 0 {
		first = max(first+n, 0)
	}
	if last < 0 {
		last += n
	}
	last = min(last, n-1)
	if first > last {
		return 0, 0
	}
	return int(first), int(last - first + 1)
}

func runLRange(c *command.Ctx, args [][]byte) {
	first, last, ok := RangeArgs(c, args[2], args[3])
	if !ok {
		return
	}
	l, ok := readList(c, args[1])
	if !ok {
		return
	}
	if l == nil {
		c.Out.Array(0)
		return
	}
	i, count := listRange(l, first, last)
	c.Out.Array(count)
	if count == 0 {
		return
	}
	for _, text := range l.From(i) {
		c.Item()
		c.Out.Bulk(text)
		if count--; count == 0 {
			return
		}
	}
}

// RangeArgs reads two integers. It answers the error itself.
func RangeArgs(c *command.Ctx, firstArg, lastArg []byte) (first, last int64, ok bool) {
	if first, ok = c.IntArg(firstArg); ok {
		last, ok = c.IntArg(lastArg)
	}
	return first, last, ok
}

func runLTrim(c *command.Ctx, args [][]byte) {
	first, last, ok := RangeArgs(c, args[2], args[3])
	if !ok {
		return
	}
	l, e, ok := writeList(c, args[1])
	if !ok {
		return
	}
	if l != nil {
		i, count := listRange(l, first, last)
		editList(c, args[1], e, "ltrim", func(l *list.List) {
			l.Trim(i, count)
			l.Shrink(ListLimit(c))
		})
	}
	c.Out.OK()
}

func runLRem(c *command.Ctx, args [][]byte) {
	key, text := args[1], args[3]
	count, ok := symmetricIntArg(c, args[2])
	if !ok {
		return
	}
	l, e, ok := writeList(c, key)
	if !ok {
		return
	}
	if l != nil && !c.Steps(int64(l.Len())/command.StepListElements) {
		return
	}
	if l == nil || l.Index(text, c.Item) < 0 {
		c.Out.Int(0)
		return
	}
	editList(c, key, e, "lrem", func(l *list.List) {
		most := l.Len()
		if count != 0 {
			most = int(min(max(count, -count), int64(most)))
		}
		c.Out.Int(int64(l.Remove(text, most, count < 0, c.Item)))
		l.Shrink(ListLimit(c))
	})
}

// symmetricIntArg is IntArg for a number that can be negated. It answers the
// error itself.
func symmetricIntArg(c *command.Ctx, arg []byte) (int64, bool) {
	n, ok := c.IntArg(arg)
	if ok && n == math.MinInt64 {
		c.Out.Error(command.ErrNotInt64)
		ok = false
	}
	return n, ok
}
