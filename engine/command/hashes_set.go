package command

import (
	"math"
	"strconv"

	"lockstep/engine"
	"lockstep/engine/hash"
)

func runHSet(c *Ctx, args [][]byte) {
	if created, ok := c.setFields(args, "hset"); ok {
		c.Out.Int(int64(created))
	}
}

func runHMSet(c *Ctx, args [][]byte) {
	if _, ok := c.setFields(args, "hmset"); ok {
		c.Out.OK()
	}
}

// setFields sets the fields that follow the key, each with its value behind it,
// and returns how many are new. It answers errors itself.
func (c *Ctx) setFields(args [][]byte, called string) (created int, ok bool) {
	if len(args)%2 != 0 {
		c.Out.Error(ErrArityOf(called))
		return 0, false
	}
	_, e, ok := c.writeHash(args[1])
	if !ok {
		return 0, false
	}
	limits := c.hashLimits()
	c.editHash(args[1], e, func(h *hash.Hash) {
		h.Reserve(args[2:], limits)
		for i := 2; i < len(args); i += 2 {
			c.Member()
			if h.Set(hash.Field{Name: args[i], Value: args[i+1]}, limits) {
				created++
			}
		}
		c.Notify(EventHash, "hset", args[1])
	})
	return created, true
}

func runHSetNX(c *Ctx, args [][]byte) {
	h, e, ok := c.writeHash(args[1])
	if !ok {
		return
	}
	if _, there := c.LiveField(h, args[2]); there {
		c.Out.Int(0)
		return
	}
	c.setField(args[1], e, hash.Field{Name: args[2], Value: args[3]}, "hset")
	c.Out.Int(1)
}

func runHIncrBy(c *Ctx, args [][]byte) {
	delta, ok := c.IntArg(args[3])
	if !ok {
		return
	}
	h, e, ok := c.writeHash(args[1])
	if !ok {
		return
	}
	f, there := c.LiveField(h, args[2])
	n := int64(0)
	if there {
		if n, ok = ParseInt(f.Value); !ok {
			c.Out.Error(ErrHashNotInteger)
			return
		}
	}
	if (delta < 0 && n < math.MinInt64-delta) || (delta > 0 && n > math.MaxInt64-delta) {
		c.Out.Error(ErrOverflow)
		return
	}
	n += delta
	// The field keeps its expiry.
	c.setField(args[1], e, hash.Field{Name: args[2], Value: strconv.AppendInt(nil, n, 10), ExpireAtMs: f.ExpireAtMs}, "hincrby")
	c.Out.Int(n)
}

func runHIncrByFloat(c *Ctx, args [][]byte) {
	delta, ok := ParseExtended(args[3])
	if !ok {
		c.Out.Error(ErrNotFloat)
		return
	}
	if delta.F.IsInf() {
		c.Out.Error(ErrIncrementNaN)
		return
	}
	h, e, ok := c.writeHash(args[1])
	if !ok {
		return
	}
	f, there := c.LiveField(h, args[2])
	n := ZeroExtended
	if there {
		if n, ok = ParseExtended(f.Value); !ok {
			c.Out.Error(ErrHashNotFloat)
			return
		}
	}
	sum, ok := n.Plus(delta)
	if !ok {
		c.Out.Error(ErrNaNOrInfinity)
		return
	}
	text := sum.AppendHuman(nil)
	c.setField(args[1], e, hash.Field{Name: args[2], Value: text, ExpireAtMs: f.ExpireAtMs}, "hincrbyfloat")
	c.Out.Bulk(text)
}

func runHDel(c *Ctx, args [][]byte) {
	h, e, ok := c.writeHash(args[1])
	if !ok {
		return
	}
	c.Out.Int(int64(c.deleteFields(args[1], h, e, args[2:])))
}

// setField sets one field and gives an event.
func (c *Ctx) setField(key []byte, e *engine.Entry, f hash.Field, event string) {
	c.editHash(key, e, func(h *hash.Hash) {
		h.Set(f, c.hashLimits())
		c.Notify(EventHash, event, key)
	})
}

// deleteFields deletes fields of the hash under key, nil if there is none, and
// returns how many there were. Where none is, nothing changes.
func (c *Ctx) deleteFields(key []byte, h *hash.Hash, e *engine.Entry, names [][]byte) (n int) {
	if !c.anyField(h, names) {
		return 0
	}
	c.editHash(key, e, func(h *hash.Hash) {
		for _, name := range names {
			c.Member()
			if h.Delete(name) {
				n++
			}
		}
		c.Notify(EventHash, "hdel", key)
	})
	return n
}

// anyField tells whether a hash, which may be nil, has one of these fields.
func (c *Ctx) anyField(h *hash.Hash, names [][]byte) bool {
	for _, name := range names {
		if _, there := c.LiveField(h, name); there {
			return true
		}
	}
	return false
}
