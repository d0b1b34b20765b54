package command

import "lockstep/engine/stream"

func runXRange(c *Ctx, args [][]byte) { c.xrange(args, args[2], args[3], false) }

func runXRevRange(c *Ctx, args [][]byte) { c.xrange(args, args[3], args[2], true) }

func (c *Ctx) xrange(args [][]byte, from, to []byte, back bool) {
	start, ok := c.streamStart(from)
	if !ok {
		return
	}
	end, ok := c.streamEnd(to)
	if !ok {
		return
	}
	count := int64(-1)
	for i := 4; i < len(args); i += 2 {
		if i+1 == len(args) || !EqualFold(args[i], "count") {
			c.Out.Error(ErrSyntax)
			return
		}
		if count, ok = c.IntArg(args[i+1]); !ok {
			return
		}
		count = max(count, 0)
	}
	s, ok := c.readStream(args[1])
	switch {
	case !ok:
	case s == nil:
		c.Out.Array(0)
	case count == 0:
		c.Out.NullArray()
	case back:
		c.writeStreamEntries(func(yield func(e *stream.Entry) bool) { s.RangeBack(start, end, yield) }, count, nil)
	default:
		c.writeStreamEntries(func(yield func(e *stream.Entry) bool) { s.Range(start, end, yield) }, count, nil)
	}
}

// writeStreamEntries answers up to count entries (-1 or 0: any number) and calls note,
// if there is one, for each.
func (c *Ctx) writeStreamEntries(walk func(yield func(e *stream.Entry) bool), count int64, note func(id stream.ID)) {
	at, n := c.Out.Len(), 0
	walk(func(e *stream.Entry) bool {
		c.Item()
		c.writeStreamEntry(e)
		n++
		if note != nil {
			note(e.ID)
		}
		return int64(n) != count
	})
	c.Out.ArrayFrom(at, n)
}

func (c *Ctx) writeStreamEntry(e *stream.Entry) {
	c.Out.Array(2)
	c.bulkID(e.ID)
	c.Out.Array(int(2 * e.N))
	e.Fields(func(name, value []byte) {
		c.Out.Bulk(name)
		c.Out.Bulk(value)
	})
}
