package command

import (
	"bytes"

	"lockstep/engine"
	"lockstep/engine/sched"
)

func runGet(c *Ctx, args [][]byte) {
	if e, ok := c.ReadString(args[1]); ok {
		c.textOrNull(e)
	}
}

// textOrNull answers a string's text, or null where there is none.
func (c *Ctx) textOrNull(e *engine.Entry) {
	if e == nil {
		c.Out.Null()
		return
	}
	c.Out.Bulk(e.Text())
}

// setOptions are the options of SET and GETEX.
type setOptions struct {
	nx, xx, ifEq, get, keepTTL, persist bool
	// compared is what IFEQ compares with.
	compared  []byte
	expiry    ExpiryKind
	expiryArg []byte
}

// parseSet reads SET's options.
func (o *setOptions) parseSet(args [][]byte) bool {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case EqualFold(a, "nx") && !o.xx && !o.ifEq:
			o.nx = true
		case EqualFold(a, "xx") && !o.nx && !o.ifEq:
			o.xx = true
		case EqualFold(a, "ifeq") && !o.nx && !o.xx && !o.ifEq && i+1 < len(args):
			i++
			o.ifEq, o.compared = true, args[i]
		case EqualFold(a, "get"):
			o.get = true
		case EqualFold(a, "keepttl") && o.expiry == ExpiryNone:
			o.keepTTL = true
		default:
			if o.keepTTL || !o.parseExpiry(args, &i) {
				return false
			}
		}
	}
	return true
}

// parseGetEx reads GETEX's options.
func (o *setOptions) parseGetEx(args [][]byte) bool {
	for i := 0; i < len(args); i++ {
		if EqualFold(args[i], "persist") && o.expiry == ExpiryNone {
			o.persist = true
			continue
		}
		if o.persist || !o.parseExpiry(args, &i) {
			return false
		}
	}
	return true
}

// parseExpiry reads an expiry at place i, and moves i to its end. The same kind
// may come again, another may not.
func (o *setOptions) parseExpiry(args [][]byte, i *int) bool {
	kind := ExpiryKindOf(args[*i])
	if kind == ExpiryNone || *i+1 == len(args) || (o.expiry != ExpiryNone && o.expiry != kind) {
		return false
	}
	*i++
	o.expiry, o.expiryArg = kind, args[*i]
	return true
}

func runSet(c *Ctx, args [][]byte) {
	key, value := args[1], args[2]
	if len(args) == 3 {
		c.setText(key, value, 0, false)
		c.Out.OK()
		return
	}
	var o setOptions
	if !o.parseSet(args[3:]) {
		c.Out.Error(ErrSyntax)
		return
	}
	c.set(key, value, &o)
}

// setText stores a string and gives the events of SET; expires tells whether
// the command says when the key is gone.
func (c *Ctx) setText(key, value []byte, expireAtMs int64, expires bool) {
	c.SetString(key, value, expireAtMs)
	c.Notify(EventString, "set", key)
	if expires {
		c.Notify(EventGeneric, "expire", key)
	}
}

// set is SET with options.
func (c *Ctx) set(key, value []byte, o *setOptions) {
	var expireAtMs int64
	if o.expiry != ExpiryNone {
		var ok bool
		if expireAtMs, ok = c.expiryArg(o.expiry, o.expiryArg, "set"); !ok {
			return
		}
	}
	e := c.Write(key)
	if o.get {
		old, ok := c.ReadString(key)
		if !ok {
			return
		}
		c.textOrNull(old)
	}
	if o.ifEq && !o.get && e != nil && e.Kind() != engine.KindString {
		c.Out.Error(ErrWrongType)
		return
	}
	if !o.holds(e) {
		if !o.get {
			c.Out.Null()
		}
		return
	}
	if o.keepTTL && e != nil {
		expireAtMs = e.ExpireAtMs
	}
	c.setText(key, value, expireAtMs, o.expiry != ExpiryNone)
	if !o.get {
		c.Out.OK()
	}
}

// holds tells whether SET's condition holds for a key, whose entry is e or nil.
func (o *setOptions) holds(e *engine.Entry) bool {
	switch {
	case o.nx:
		return e == nil
	case o.xx:
		return e != nil
	case o.ifEq:
		return e != nil && bytes.Equal(e.Text(), o.compared)
	}
	return true
}

// runDelIfEq is Valkey's: Redis 7.2 has no such command.
func runDelIfEq(c *Ctx, args [][]byte) {
	e, ok := c.WriteString(args[1])
	if !ok {
		return
	}
	if e == nil || !bytes.Equal(e.Text(), args[2]) {
		c.Out.Int(0)
		return
	}
	c.Delete(args[1])
	c.Notify(EventGeneric, "del", args[1])
	c.Out.Int(1)
}

func runSetNX(c *Ctx, args [][]byte) {
	if c.Write(args[1]) != nil {
		c.Out.Int(0)
		return
	}
	c.setText(args[1], args[2], 0, false)
	c.Out.Int(1)
}

func runSetEX(c *Ctx, args [][]byte)  { c.setExpiring(args, ExpiryEX, "setex") }
func runPSetEX(c *Ctx, args [][]byte) { c.setExpiring(args, ExpiryPX, "psetex") }

func (c *Ctx) setExpiring(args [][]byte, kind ExpiryKind, called string) {
	expireAtMs, ok := c.expiryArg(kind, args[2], called)
	if !ok {
		return
	}
	c.setText(args[1], args[3], expireAtMs, true)
	c.Out.OK()
}

func runGetSet(c *Ctx, args [][]byte) {
	e, ok := c.TakeString(args[1])
	if !ok {
		return
	}
	c.textOrNull(e)
	c.setText(args[1], args[2], 0, false)
}

func runGetDel(c *Ctx, args [][]byte) {
	e, ok := c.TakeString(args[1])
	if !ok {
		return
	}
	c.textOrNull(e)
	if c.Delete(args[1]) {
		c.Notify(EventGeneric, "del", args[1])
	}
}

// getExMode lets GETEX without options run as a read.
func getExMode(args [][]byte) sched.Mode {
	if len(args) <= 2 {
		return sched.Shared
	}
	return sched.Exclusive
}

func runGetEx(c *Ctx, args [][]byte) {
	var o setOptions
	if !o.parseGetEx(args[2:]) {
		c.Out.Error(ErrSyntax)
		return
	}
	e, ok := c.TakeString(args[1])
	if !ok {
		return
	}
	if e == nil {
		c.Out.Null()
		return
	}
	var atMs int64
	if o.expiry != ExpiryNone {
		if atMs, ok = c.expiryArg(o.expiry, o.expiryArg, "getex"); !ok {
			return
		}
	}
	c.Out.Bulk(e.Text())
	switch {
	case o.expiry != ExpiryNone:
		c.ExpireAt(args[1], e, atMs)
	case o.persist && e.ExpireAtMs != 0:
		c.SetExpire(args[1], e, 0)
		c.Notify(EventGeneric, "persist", args[1])
	}
}

func runMGet(c *Ctx, args [][]byte) {
	c.Out.Array(len(args) - 1)
	for _, key := range args[1:] {
		c.Member()
		e := c.Read(key)
		if e != nil && e.Kind() != engine.KindString {
			e = nil
		}
		c.textOrNull(e)
	}
}

func runMSet(c *Ctx, args [][]byte) {
	if len(args)%2 == 0 {
		c.Out.Error(ErrArityOf("mset"))
		return
	}
	c.setAll(args[1:])
	c.Out.OK()
}

func runMSetNX(c *Ctx, args [][]byte) {
	if len(args)%2 == 0 {
		c.Out.Error(ErrArityOf("msetnx"))
		return
	}
	for i := 1; i < len(args); i += 2 {
		if c.Write(args[i]) != nil {
			c.Out.Int(0)
			return
		}
	}
	c.setAll(args[1:])
	c.Out.Int(1)
}

func (c *Ctx) setAll(pairs [][]byte) {
	for i := 0; i+1 < len(pairs); i += 2 {
		c.Member()
		c.setText(pairs[i], pairs[i+1], 0, false)
	}
}

// flagsOfSet: GET answers the value, and IFEQ tells whether a guess at it is right.
func flagsOfSet(args [][]byte) KeyFlag {
	for _, a := range args[min(len(args), 3):] {
		if EqualFold(a, "get") || EqualFold(a, "ifeq") {
			return KeyRW | KeyAccess | KeyUpdate
		}
	}
	return KeyOW | KeyUpdate
}

// TakeString is ReadString for a command that answers a key's string and then
// changes the key: what has expired is deleted, as Write does, and then missed.
func (c *Ctx) TakeString(key []byte) (*engine.Entry, bool) {
	c.Write(key)
	return c.ReadString(key)
}

// expiryArg reads the expiry of a command that takes none in the past (SET,
// SETEX, GETEX). It answers the error itself.
func (c *Ctx) expiryArg(kind ExpiryKind, arg []byte, called string) (int64, bool) {
	n, ok := c.IntArg(arg)
	if !ok {
		return 0, false
	}
	atMs, ok := c.ExpiryMs(kind, n)
	if !ok || n <= 0 {
		c.Out.Error(ErrInvalidExpire(called))
		return 0, false
	}
	return atMs, true
}
