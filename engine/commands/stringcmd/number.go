package stringcmd

import (
	"math"
	"strconv"

	"lockstep/engine/command"
)

func runIncr(c *command.Ctx, args [][]byte) { add(c, args[1], 1) }
func runDecr(c *command.Ctx, args [][]byte) { add(c, args[1], -1) }

func runIncrBy(c *command.Ctx, args [][]byte) {
	if n, ok := c.IntArg(args[2]); ok {
		add(c, args[1], n)
	}
}

func runDecrBy(c *command.Ctx, args [][]byte) {
	n, ok := c.IntArg(args[2])
	if !ok {
		return
	}
	if n == math.MinInt64 {
		c.Out.Error(ErrDecrOverflow)
		return
	}
	add(c, args[1], -n)
}

// add adds to the integer under key. A missing key counts as 0.
func add(c *command.Ctx, key []byte, delta int64) {
	e, ok := c.WriteString(key)
	if !ok {
		return
	}
	var n int64
	if e != nil {
		if n, ok = command.ParseInt(e.Text()); !ok {
			c.Out.Error(command.ErrNotInteger)
			return
		}
	}
	if (delta < 0 && n < math.MinInt64-delta) || (delta > 0 && n > math.MaxInt64-delta) {
		c.Out.Error(command.ErrOverflow)
		return
	}
	n += delta
	var buf [20]byte
	c.Replace(key, e, strconv.AppendInt(buf[:0], n, 10))
	c.Notify(command.EventString, "incrby", key)
	c.Out.Int(n)
}

func runIncrByFloat(c *command.Ctx, args [][]byte) {
	e, ok := c.WriteString(args[1])
	if !ok {
		return
	}
	n := command.ZeroExtended
	if e != nil {
		if n, ok = command.ParseExtended(e.Text()); !ok {
			c.Out.Error(command.ErrNotFloat)
			return
		}
	}
	delta, ok := command.ParseExtended(args[2])
	if !ok {
		c.Out.Error(command.ErrNotFloat)
		return
	}
	c.Did(command.WorkFloat)
	sum, ok := n.Plus(delta)
	if !ok {
		c.Out.Error(command.ErrNaNOrInfinity)
		return
	}
	text := sum.AppendHuman(nil)
	c.Replace(args[1], e, text)
	c.Notify(command.EventString, "incrbyfloat", args[1])
	c.Out.Bulk(text)
}
