package command

import (
	"math"
	"strconv"
)

func runIncr(c *Ctx, args [][]byte) { c.add(args[1], 1) }
func runDecr(c *Ctx, args [][]byte) { c.add(args[1], -1) }

func runIncrBy(c *Ctx, args [][]byte) {
	if n, ok := c.IntArg(args[2]); ok {
		c.add(args[1], n)
	}
}

func runDecrBy(c *Ctx, args [][]byte) {
	n, ok := c.IntArg(args[2])
	if !ok {
		return
	}
	if n == math.MinInt64 {
		c.Out.Error(ErrDecrOverflow)
		return
	}
	c.add(args[1], -n)
}

// add adds to the integer under key, 0 where there is none.
func (c *Ctx) add(key []byte, delta int64) {
	e, ok := c.WriteString(key)
	if !ok {
		return
	}
	var n int64
	if e != nil {
		if n, ok = ParseInt(e.Text()); !ok {
			c.Out.Error(ErrNotInteger)
			return
		}
	}
	if (delta < 0 && n < math.MinInt64-delta) || (delta > 0 && n > math.MaxInt64-delta) {
		c.Out.Error(ErrOverflow)
		return
	}
	n += delta
	var buf [20]byte
	c.Replace(key, e, strconv.AppendInt(buf[:0], n, 10))
	c.Notify(EventString, "incrby", key)
	c.Out.Int(n)
}

func runIncrByFloat(c *Ctx, args [][]byte) {
	e, ok := c.WriteString(args[1])
	if !ok {
		return
	}
	n := ZeroExtended
	if e != nil {
		if n, ok = ParseExtended(e.Text()); !ok {
			c.Out.Error(ErrNotFloat)
			return
		}
	}
	delta, ok := ParseExtended(args[2])
	if !ok {
		c.Out.Error(ErrNotFloat)
		return
	}
	c.Did(WorkFloat)
	sum, ok := n.Plus(delta)
	if !ok {
		c.Out.Error(ErrNaNOrInfinity)
		return
	}
	text := sum.AppendHuman(nil)
	c.Replace(args[1], e, text)
	c.Notify(EventString, "incrbyfloat", args[1])
	c.Out.Bulk(text)
}
