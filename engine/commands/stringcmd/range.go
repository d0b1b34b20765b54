package stringcmd

import (
	"lockstep/engine"
	"lockstep/engine/command"
)

func runStrLen(c *command.Ctx, args [][]byte) {
	e, ok := c.ReadString(args[1])
	if !ok {
		return
	}
	if e == nil {
		c.Out.Int(0)
		return
	}
	c.Out.Int(int64(len(e.Text())))
}

func runAppend(c *command.Ctx, args [][]byte) {
	key, tail := args[1], args[2]
	e, ok := c.WriteString(key)
	if !ok {
		return
	}
	if e == nil {
		c.SetString(key, tail, 0)
		c.Notify(command.EventString, "append", key)
		c.Out.Int(int64(len(tail)))
		return
	}
	at := len(e.Text())
	if !fits(c, at, len(tail)) {
		return
	}
	overwrite(c, key, e, at, tail)
	c.Notify(command.EventString, "append", key)
	c.Out.Int(int64(at + len(tail)))
}

func runSetRange(c *command.Ctx, args [][]byte) {
	key, part := args[1], args[3]
	at, ok := c.IntArg(args[2])
	if !ok {
		return
	}
	if at < 0 {
		c.Out.Error(ErrOffsetRange)
		return
	}
	e, ok := c.WriteString(key)
	if !ok {
		return
	}
	length := 0
	if e != nil {
		length = len(e.Text())
	}
	if len(part) == 0 {
		c.Out.Int(int64(length))
		return
	}
	if at > c.Settings.ValueBytesMax {
		c.Out.Error(command.ErrStringTooLong)
		return
	}
	if !fits(c, int(at), len(part)) {
		return
	}
	if !c.CopySteps(at - int64(length)) {
		return
	}
	overwrite(c, key, e, int(at), part)
	c.Notify(command.EventString, "setrange", key)
	c.Out.Int(int64(max(length, int(at)+len(part))))
}

// fits reports whether a string of that length is allowed. It answers the error itself.
func fits(c *command.Ctx, length, more int) bool {
	if int64(length)+int64(more) > c.Settings.ValueBytesMax {
		c.Out.Error(command.ErrStringTooLong)
		return false
	}
	return true
}

// overwrite writes part into the string under key, whose entry is e or nil, at an offset. Missing
// bytes before the offset become zeros.
func overwrite(c *command.Ctx, key []byte, e *engine.Entry, at int, part []byte) {
	c.ChangeText(key, e, at+len(part), func(text []byte) { copy(text[at:], part) })
}

func runGetRange(c *command.Ctx, args [][]byte) {
	first, ok := c.IntArg(args[2])
	if !ok {
		return
	}
	last, ok := c.IntArg(args[3])
	if !ok {
		return
	}
	e, ok := c.ReadString(args[1])
	if !ok {
		return
	}
	var text []byte
	if e != nil {
		text = e.Text()
	}
	c.Out.Bulk(cutRange(text, first, last))
}

// cutRange returns the bytes from first to last, both included. Negative indexes count from the
// end.
func cutRange(text []byte, first, last int64) []byte {
	n := int64(len(text))
	if first < 0 && last < 0 && first > last {
		return nil
	}
	if first < 0 {
		first = max(n+first, 0)
	}
	if last < 0 {
		last = max(n+last, 0)
	}
	last = min(last, n-1)
	if first > last {
		return nil
	}
	return text[first : last+1]
}
