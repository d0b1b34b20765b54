package hashcmd

import (
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/hash"
)

func runHExpire(c *command.Ctx, args [][]byte)  { expireFields(c, args, command.ExpiryEX, "hexpire") }
func runHPExpire(c *command.Ctx, args [][]byte) { expireFields(c, args, command.ExpiryPX, "hpexpire") }
func runHExpireAt(c *command.Ctx, args [][]byte) {
	expireFields(c, args, command.ExpiryEXAT, "hexpireat")
}
func runHPExpireAt(c *command.Ctx, args [][]byte) {
	expireFields(c, args, command.ExpiryPXAT, "hpexpireat")
}

// fieldExpireMaxMs is the latest time at which a field may expire.
const fieldExpireMaxMs = (1<<48 - 2) >> 2

// fieldExpiryArg reads the expiry of fields, which may have passed. It answers
// the error itself.
func fieldExpiryArg(c *command.Ctx, kind command.ExpiryKind, arg []byte, called string) (int64, bool) {
	n, ok := c.IntArg(arg)
	if !ok {
		return 0, false
	}
	if n < 0 {
		c.Out.Error(ErrFieldExpireSign)
		return 0, false
	}
	if n > fieldExpireMaxMs {
		c.Out.Error(command.ErrInvalidExpire(called))
		return 0, false
	}
	atMs, ok := c.ExpiryMs(kind, n)
	if !ok || max(atMs, c.ToDay(atMs)) > fieldExpireMaxMs {
		c.Out.Error(command.ErrInvalidExpire(called))
		return 0, false
	}
	return atMs, true
}

// fieldList reads FIELDS, their number, and the fields. It answers the error itself; badCount is
// the error for a wrong number.
func fieldList(c *command.Ctx, args [][]byte, badCount string) (names [][]byte, ok bool) {
	if len(args) == 0 || !command.EqualFold(args[0], "fields") {
		c.Out.Error(ErrFieldsMissing)
		return nil, false
	}
	n, ok := int64(0), len(args) > 1
	if ok {
		n, ok = command.ParseInt(args[1])
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

// Replies of the commands that expire fields, one for each field.
const (
	fieldMissing     = -2
	fieldWithout     = -1 // the field has no expiry
	fieldUnchanged   = 0  // the condition does not hold
	fieldChanged     = 1
	fieldDeletedPast = 2 // the time has passed already
)

// expireFields sets the expiry of fields.
func expireFields(c *command.Ctx, args [][]byte, kind command.ExpiryKind, called string) {
	key, rest := args[1], args[3:]
	h, e, ok := writeHash(c, key)
	if !ok {
		return
	}
	atMs, ok := fieldExpiryArg(c, kind, args[2], called)
	if !ok {
		return
	}
	x := fieldExpiry{kind, atMs}
	var only command.ExpireIf
	if only.Take(rest[0]) {
		rest = rest[1:]
	}
	names, ok := fieldList(c, rest, ErrNumFieldsZero)
	if !ok {
		return
	}
	judge := func(h *hash.Hash, name []byte) int {
		f, there := LiveField(c, h, name)
		switch {
		case !there:
			return fieldMissing
		case !only.Holds(f.ExpireAtMs, atMs):
			return fieldUnchanged
		case x.past(c):
			return fieldDeletedPast
		}
		return fieldChanged
	}
	changeFields(c, key, h, e, names, judge, x.event(c), func(h *hash.Hash, name []byte) { x.apply(c, h, name) })
}

func runHPersist(c *command.Ctx, args [][]byte) {
	h, e, ok := writeHash(c, args[1])
	if !ok {
		return
	}
	names, ok := fieldList(c, args[2:], ErrNumFields)
	if !ok {
		return
	}
	judge := func(h *hash.Hash, name []byte) int {
		f, there := LiveField(c, h, name)
		switch {
		case !there:
			return fieldMissing
		case f.ExpireAtMs == 0:
			return fieldWithout
		}
		return fieldChanged
	}
	changeFields(c, args[1], h, e, names, judge, "hpersist", func(h *hash.Hash, name []byte) { h.SetExpiry(name, 0) })
}

func runHTTL(c *command.Ctx, args [][]byte) {
	fieldLifetimes(c, args, func(atMs int64) int64 { return ceilSec(c.LeftMs(atMs)) })
}

func runHPTTL(c *command.Ctx, args [][]byte) {
	fieldLifetimes(c, args, c.LeftMs)
}

func runHExpireTime(c *command.Ctx, args [][]byte) {
	fieldLifetimes(c, args, func(atMs int64) int64 { return ceilSec(c.ToDay(atMs)) })
}

func runHPExpireTime(c *command.Ctx, args [][]byte) { fieldLifetimes(c, args, c.ToDay) }

func ceilSec(ms int64) int64 { return (ms + 999) / 1000 }

// fieldLifetimes answers of(expiry) for each field that expires, -1 for a field without an expiry,
// and -2 for a missing field.
func fieldLifetimes(c *command.Ctx, args [][]byte, of func(atMs int64) int64) {
	h, ok := readHash(c, args[1])
	if !ok {
		return
	}
	names, ok := fieldList(c, args[2:], ErrNumFields)
	if !ok {
		return
	}
	c.Out.Array(len(names))
	for _, name := range names {
		switch f, there := LiveField(c, h, name); {
		case !there:
			c.Out.Int(fieldMissing)
		case f.ExpireAtMs == 0:
			c.Out.Int(fieldWithout)
		default:
			c.Out.Int(of(f.ExpireAtMs))
		}
	}
}

// changeFields answers what judge returns for each field, and changes the fields for which judge
// returns more than zero. If there are no such fields it does not touch the key.
func changeFields(c *command.Ctx,
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
	editHash(c, key, e, func(h *hash.Hash) {
		for _, name := range names {
			verdict := judge(h, name)
			if verdict > 0 {
				change(h, name)
			}
			c.Out.Int(int64(verdict))
		}
		c.Notify(command.EventHash, event, key)
	})
}
