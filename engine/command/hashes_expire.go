package command

import (
	"lockstep/engine"
	"lockstep/engine/hash"
)

func runHExpire(c *Ctx, args [][]byte)    { c.expireFields(args, expiryEX, "hexpire") }
func runHPExpire(c *Ctx, args [][]byte)   { c.expireFields(args, expiryPX, "hpexpire") }
func runHExpireAt(c *Ctx, args [][]byte)  { c.expireFields(args, expiryEXAT, "hexpireat") }
func runHPExpireAt(c *Ctx, args [][]byte) { c.expireFields(args, expiryPXAT, "hpexpireat") }

// fieldExpireMaxMs is the latest time at which a field may expire.
const fieldExpireMaxMs = (1<<48 - 2) >> 2

// fieldExpiryArg reads the expiry of fields, which may have passed. It answers
// the error itself.
func (c *Ctx) fieldExpiryArg(kind expiryKind, arg []byte, command string) (int64, bool) {
	n, ok := c.intArg(arg)
	if !ok {
		return 0, false
	}
	if n < 0 {
		c.Out.Error(ErrFieldExpireSign)
		return 0, false
	}
	if n > fieldExpireMaxMs {
		c.Out.Error(ErrInvalidExpire(command))
		return 0, false
	}
	atMs, ok := c.expiryMs(kind, n)
	if !ok || max(atMs, c.toDay(atMs)) > fieldExpireMaxMs {
		c.Out.Error(ErrInvalidExpire(command))
		return 0, false
	}
	return atMs, true
}

// fieldList reads FIELDS, their number, and the fields. It answers the error itself, badCount being the one for a
// wrong number.
func (c *Ctx) fieldList(args [][]byte, badCount string) (names [][]byte, ok bool) {
	if len(args) == 0 || !equalFold(args[0], "fields") {
		c.Out.Error(ErrFieldsMissing)
		return nil, false
	}
	n, ok := int64(0), len(args) > 1
	if ok {
		n, ok = parseInt(args[1])
	}
	if !ok || n < 1 {
		c.Out.Error(badCount)
		return nil, false
	}
	if n != int64(len(args)-2) {
		c.Out.Error(ErrFieldsMismatch)
		return nil, false
	}
	return args[2:], true
}

// What the commands that expire fields answer for each of them.
const (
	fieldMissing     = -2
	fieldWithout     = -1 // it has no expiry
	fieldUnchanged   = 0  // the condition does not hold
	fieldChanged     = 1
	fieldDeletedPast = 2 // the time has passed already
)

// expireFields sets the expiry of fields.
func (c *Ctx) expireFields(args [][]byte, kind expiryKind, command string) {
	key, rest := args[1], args[3:]
	h, e, ok := c.writeHash(key)
	if !ok {
		return
	}
	atMs, ok := c.fieldExpiryArg(kind, args[2], command)
	if !ok {
		return
	}
	x := fieldExpiry{kind, atMs}
	var only expireIf
	if only.take(rest[0]) {
		rest = rest[1:]
	}
	names, ok := c.fieldList(rest, ErrNumFieldsZero)
	if !ok {
		return
	}
	judge := func(h *hash.Hash, name []byte) int {
		f, there := c.liveField(h, name)
		switch {
		case !there:
			return fieldMissing
		case !only.holds(f.ExpireAtMs, atMs):
			return fieldUnchanged
		case x.past(c):
			return fieldDeletedPast
		}
		return fieldChanged
	}
	c.changeFields(key, h, e, names, judge, x.event(c), func(h *hash.Hash, name []byte) { x.apply(c, h, name) })
}

func runHPersist(c *Ctx, args [][]byte) {
	h, e, ok := c.writeHash(args[1])
	if !ok {
		return
	}
	names, ok := c.fieldList(args[2:], ErrNumFields)
	if !ok {
		return
	}
	judge := func(h *hash.Hash, name []byte) int {
		f, there := c.liveField(h, name)
		switch {
		case !there:
			return fieldMissing
		case f.ExpireAtMs == 0:
			return fieldWithout
		}
		return fieldChanged
	}
	c.changeFields(args[1], h, e, names, judge, "hpersist", func(h *hash.Hash, name []byte) { h.SetExpiry(name, 0) })
}

func runHTTL(c *Ctx, args [][]byte) {
	c.fieldLifetimes(args, func(atMs int64) int64 { return ceilSec(c.leftMs(atMs)) })
}

func runHPTTL(c *Ctx, args [][]byte) {
	c.fieldLifetimes(args, c.leftMs)
}

func runHExpireTime(c *Ctx, args [][]byte) {
	c.fieldLifetimes(args, func(atMs int64) int64 { return ceilSec(c.toDay(atMs)) })
}

func runHPExpireTime(c *Ctx, args [][]byte) { c.fieldLifetimes(args, c.toDay) }

func ceilSec(ms int64) int64 { return (ms + 999) / 1000 }

// fieldLifetimes answers of each field that expires, -1 for one that does not
// and -2 for one that is not there.
func (c *Ctx) fieldLifetimes(args [][]byte, of func(atMs int64) int64) {
	h, ok := c.readHash(args[1])
	if !ok {
		return
	}
	names, ok := c.fieldList(args[2:], ErrNumFields)
	if !ok {
		return
	}
	c.Out.Array(len(names))
	for _, name := range names {
		switch f, there := c.liveField(h, name); {
		case !there:
			c.Out.Int(fieldMissing)
		case f.ExpireAtMs == 0:
			c.Out.Int(fieldWithout)
		default:
			c.Out.Int(of(f.ExpireAtMs))
		}
	}
}

// changeFields answers for each field what judge says of it, and changes those
// of which it says more than zero. Where there are none, nothing is touched.
func (c *Ctx) changeFields(
	key []byte, h *hash.Hash, e *engine.Entry, names [][]byte,
	judge func(h *hash.Hash, name []byte) int, event string, change func(h *hash.Hash, name []byte),
) {
	c.Out.Array(len(names))
	changes := false
	for _, name := range names {
		changes = changes || judge(h, name) > 0
	}
	if !changes {
		for _, name := range names {
			c.Out.Int(int64(judge(h, name)))
		}
		return
	}
	c.editHash(key, e, func(h *hash.Hash) {
		for _, name := range names {
			verdict := judge(h, name)
			if verdict > 0 {
				change(h, name)
			}
			c.Out.Int(int64(verdict))
		}
		c.Notify(EventHash, event, key)
	})
}
