package hashcmd

import (
	"math"
	"strconv"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/hash"
)

func runHSet(c *command.Ctx, args [][]byte) {
	if created, ok := setFields(c, args, "hset"); ok {
		c.Out.Int(int64(created))
	}
}

func runHMSet(c *command.Ctx, args [][]byte) {
	if _, ok := setFields(c, args, "hmset"); ok {
		c.Out.OK()
	}
}

// setFields sets the fields that follow the key, each followed by its value, and returns how many
// are new. It answers errors itself.
func setFields(c *command.Ctx, args [][]byte, called string) (created int, ok bool) {
	if len(args)%2 != 0 {
		c.Out.Error(command.ErrArityOf(called))
		return 0, false
	}
	_, e, ok := writeHash(c, args[1])
	if !ok {
		return 0, false
	}
	limits := hashLimits(c)
	editHash(c, args[1], e, func(h *hash.Hash) {
		h.Reserve(args[2:], limits)
		for i := 2; i < len(args); i += 2 {
			c.Member()
			if h.Set(hash.Field{Name: args[i], Value: args[i+1]}, limits) {
				created++
			}
		}
		c.Notify(command.EventHash, "hset", args[1])
	})
	return created, true
}

func runHSetNX(c *command.Ctx, args [][]byte) {
	h, e, ok := writeHash(c, args[1])
	if !ok {
		return
	}
	if _, there := LiveField(c, h, args[2]); there {
		c.Out.Int(0)
		return
	}
	setField(c, args[1], e, hash.Field{Name: args[2], Value: args[3]}, "hset")
	c.Out.Int(1)
}

func runHIncrBy(c *command.Ctx, args [][]byte) {
	delta, ok := c.IntArg(args[3])
	if !ok {
		return
	}
	h, e, ok := writeHash(c, args[1])
	if !ok {
		return
	}
	f, there := LiveField(c, h, args[2])
	n := int64(0)
	if there {
		if n, ok = command.ParseInt(f.Value); !ok {
			c.Out.Error(ErrHashNotInteger)
			return
		}
	}
	if (delta < 0 && n < math.MinInt64-delta) || (delta > 0 && n > math.MaxInt64-delta) {
		c.Out.Error(command.ErrOverflow)
		return
	}
	n += delta
	// The field keeps its expiry.
	setField(c, args[1], e, hash.Field{Name: args[2], Value: strconv.AppendInt(nil, n, 10), ExpireAtMs: f.ExpireAtMs}, "hincrby")
	c.Out.Int(n)
}

func runHIncrByFloat(c *command.Ctx, args [][]byte) {
	delta, ok := command.ParseExtended(args[3])
	if !ok {
		c.Out.Error(command.ErrNotFloat)
		return
	}
	if delta.F.IsInf() {
		c.Out.Error(ErrIncrementNaN)
		return
	}
	h, e, ok := writeHash(c, args[1])
	if !ok {
		return
	}
	f, there := LiveField(c, h, args[2])
	n := command.ZeroExtended
	if there {
		if n, ok = command.ParseExtended(f.Value); !ok {
			c.Out.Error(ErrHashNotFloat)
			return
		}
	}
	sum, ok := n.Plus(delta)
	if !ok {
		c.Out.Error(command.ErrNaNOrInfinity)
		return
	}
	text := sum.AppendHuman(nil)
	setField(c, args[1], e, hash.Field{Name: args[2], Value: text, ExpireAtMs: f.ExpireAtMs}, "hincrbyfloat")
	c.Out.Bulk(text)
}

func runHDel(c *command.Ctx, args [][]byte) {
	h, e, ok := writeHash(c, args[1])
	if !ok {
		return
	}
	c.Out.Int(int64(deleteFields(c, args[1], h, e, args[2:])))
}

// setField sets one field and sends an event.
func setField(c *command.Ctx, key []byte, e *engine.Entry, f hash.Field, event string) {
	editHash(c, key, e, func(h *hash.Hash) {
		h.Set(f, hashLimits(c))
		c.Notify(command.EventHash, event, key)
	})
}

// deleteFields deletes fields of the hash under key and returns how many of them existed. The hash
// is nil if there is none. If no field exists nothing changes.
func deleteFields(c *command.Ctx, key []byte, h *hash.Hash, e *engine.Entry, names [][]byte) (n int) {
	if !anyField(c, h, names) {
		return 0
	}
	editHash(c, key, e, func(h *hash.Hash) {
		for _, name := range names {
			c.Member()
			if h.Delete(name) {
				n++
			}
		}
		c.Notify(command.EventHash, "hdel", key)
	})
	return n
}

// anyField reports whether a hash, which may be nil, has one of these fields.
func anyField(c *command.Ctx, h *hash.Hash, names [][]byte) bool {
	for _, name := range names {
		if _, there := LiveField(c, h, name); there {
			return true
		}
	}
	return false
}
