package streamcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/stream"
)

func runXRange(c *command.Ctx, args [][]byte) { xrange(c, args, args[2], args[3], false) }

func runXRevRange(c *command.Ctx, args [][]byte) { xrange(c, args, args[3], args[2], true) }

func xrange(c *command.Ctx, args [][]byte, from, to []byte, back bool) {
	start, ok := streamStart(c, from)
	if !ok {
		return
	}
	end, ok := streamEnd(c, to)
	if !ok {
		return
	}
	count := int64(-1)
	for i := 4; i < len(args); i += 2 {
		if i+1 == len(args) || !command.EqualFold(args[i], "count") {
			c.Out.Error(command.ErrSyntax)
			return
		}
		if count, ok = c.IntArg(args[i+1]); !ok {
			return
		}
		count = max(count, 0)
	}
	s, ok := readStream(c, args[1])
	switch {
	case !ok:
	case s == nil:
		c.Out.Array(0)
	case count == 0:
		c.Out.NullArray()
	case back:
		writeStreamEntries(c, func(yield func(e *stream.Entry) bool) { s.RangeBack(start, end, yield) }, count, nil)
	default:
		writeStreamEntries(c, func(yield func(e *stream.Entry) bool) { s.Range(start, end, yield) }, count, nil)
	}
}

// writeStreamEntries answers up to count entries (-1 or 0: any number) and calls note for each,
// unless note is nil.
func writeStreamEntries(c *command.Ctx, walk func(yield func(e *stream.Entry) bool), count int64, note func(id stream.ID)) {
	at, n := c.Out.Len(), 0
	walk(func(e *stream.Entry) bool {
		c.Item()
		writeStreamEntry(c, e)
		n++
		if note != nil {
			note(e.ID)
		}
		return int64(n) != count
	})
	c.Out.ArrayFrom(at, n)
}

func writeStreamEntry(c *command.Ctx, e *stream.Entry) {
	c.Out.Array(2)
	bulkID(c, e.ID)
	c.Out.Array(int(2 * e.N))
	e.Fields(func(name, value []byte) {
		c.Out.Bulk(name)
		c.Out.Bulk(value)
	})
}
