package stringcmd

import (
	"bytes"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/sched"
)

func runGet(c *command.Ctx, args [][]byte) {
	if e, ok := c.ReadString(args[1]); ok {
		textOrNull(c, e)
	}
}

// textOrNull answers a string's text, or null if there is no string.
func textOrNull(c *command.Ctx, e *engine.Entry) {
	if e == nil {
		c.Out.Null()
		return
	}
	c.Out.Bulk(e.Text())
}

// setOptions are the options of SET and GETEX.
type setOptions struct {
	nx, xx, ifEq, get, keepTTL, persist bool
	// compared is the value that IFEQ compares with.
	compared  []byte
	expiry    command.ExpiryKind
	expiryArg []byte
}

// parseSet reads SET's options.
func (o *setOptions) parseSet(args [][]byte) bool {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case command.EqualFold(a, "nx") && !o.xx && !o.ifEq:
			o.nx = true
		case command.EqualFold(a, "xx") && !o.nx && !o.ifEq:
			o.xx = true
		case command.EqualFold(a, "ifeq") && !o.nx && !o.xx && !o.ifEq && i+1 < len(args):
			i++
			o.ifEq, o.compared = true, args[i]
		case command.EqualFold(a, "get"):
			o.get = true
		case command.EqualFold(a, "keepttl") && o.expiry == command.ExpiryNone:
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
		if command.EqualFold(args[i], "persist") && o.expiry == command.ExpiryNone {
			o.persist = true
			continue
		}
		if o.persist || !o.parseExpiry(args, &i) {
			return false
		}
	}
	return true
}

// parseExpiry reads an expiry at place i, and moves i to its end. The same kind may come again, but
// not another one.
func (o *setOptions) parseExpiry(args [][]byte, i *int) bool {
	kind := command.ExpiryKindOf(args[*i])
	if kind == command.ExpiryNone || *i+1 == len(args) || (o.expiry != command.ExpiryNone && o.expiry != kind) {
		return false
	}
	*i++
	o.expiry, o.expiryArg = kind, args[*i]
	return true
}

func runSet(c *command.Ctx, args [][]byte) {
	key, value := args[1], args[2]
	if len(args) == 3 {
		setText(c, key, value, 0, false)
		c.Out.OK()
		return
	}
	var o setOptions
	if !o.parseSet(args[3:]) {
		c.Out.Error(command.ErrSyntax)
		return
	}
	set(c, key, value, &o)
}

// setText stores a string and sends the events of SET. expires is set if the command gives an
// expiry.
func setText(c *command.Ctx, key, value []byte, expireAtMs int64, expires bool) {
	c.SetString(key, value, expireAtMs)
	c.Notify(command.EventString, "set", key)
	if expires {
		c.Notify(command.EventGeneric, "expire", key)
	}
}

// set is SET with options.
func set(c *command.Ctx, key, value []byte, o *setOptions) {
	var expireAtMs int64
	if o.expiry != command.ExpiryNone {
		var ok bool
		if expireAtMs, ok = expiryArg(c, o.expiry, o.expiryArg, "set"); !ok {
			return
		}
	}
	e := c.Write(key)
	if o.get {
		old, ok := c.ReadString(key)
		if !ok {
			return
		}
		textOrNull(c, old)
	}
	if o.ifEq && !o.get && e != nil && e.Kind() != engine.KindString {
		c.Out.Error(command.ErrWrongType)
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
	setText(c, key, value, expireAtMs, o.expiry != command.ExpiryNone)
	if !o.get {
		c.Out.OK()
	}
}

// holds reports whether SET's condition holds for a key, whose entry is e or nil.
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

// runDelIfEq is DELIFEQ of Valkey. Redis 7.2 has no such command.
func runDelIfEq(c *command.Ctx, args [][]byte) {
	e, ok := c.WriteString(args[1])
	if !ok {
		return
	}
	if e == nil || !bytes.Equal(e.Text(), args[2]) {
		c.Out.Int(0)
		return
	}
	c.Delete(args[1])
	c.Notify(command.EventGeneric, "del", args[1])
	c.Out.Int(1)
}

func runSetNX(c *command.Ctx, args [][]byte) {
	if c.Write(args[1]) != nil {
		c.Out.Int(0)
		return
	}
	setText(c, args[1], args[2], 0, false)
	c.Out.Int(1)
}

func runSetEX(c *command.Ctx, args [][]byte)  { setExpiring(c, args, command.ExpiryEX, "setex") }
func runPSetEX(c *command.Ctx, args [][]byte) { setExpiring(c, args, command.ExpiryPX, "psetex") }

func setExpiring(c *command.Ctx, args [][]byte, kind command.ExpiryKind, called string) {
	expireAtMs, ok := expiryArg(c, kind, args[2], called)
	if !ok {
		return
	}
	setText(c, args[1], args[3], expireAtMs, true)
	c.Out.OK()
}

func runGetSet(c *command.Ctx, args [][]byte) {
	e, ok := TakeString(c, args[1])
	if !ok {
		return
	}
	textOrNull(c, e)
	setText(c, args[1], args[2], 0, false)
}

func runGetDel(c *command.Ctx, args [][]byte) {
	e, ok := TakeString(c, args[1])
	if !ok {
		return
	}
	textOrNull(c, e)
	if c.Delete(args[1]) {
		c.Notify(command.EventGeneric, "del", args[1])
	}
}

// getExMode lets GETEX without options run as a read.
func getExMode(args [][]byte) sched.Mode {
	if len(args) <= 2 {
		return sched.Shared
	}
	return sched.Exclusive
}

func runGetEx(c *command.Ctx, args [][]byte) {
	var o setOptions
	if !o.parseGetEx(args[2:]) {
		c.Out.Error(command.ErrSyntax)
		return
	}
	e, ok := TakeString(c, args[1])
	if !ok {
		return
	}
	if e == nil {
		c.Out.Null()
		return
	}
	var atMs int64
	if o.expiry != command.ExpiryNone {
		if atMs, ok = expiryArg(c, o.expiry, o.expiryArg, "getex"); !ok {
			return
		}
	}
	c.Out.Bulk(e.Text())
	switch {
	case o.expiry != command.ExpiryNone:
		c.ExpireAt(args[1], e, atMs)
	case o.persist && e.ExpireAtMs != 0:
		c.SetExpire(args[1], e, 0)
		c.Notify(command.EventGeneric, "persist", args[1])
	}
}

func runMGet(c *command.Ctx, args [][]byte) {
	c.Out.Array(len(args) - 1)
	for _, key := range args[1:] {
		c.Member()
		e := c.Read(key)
		if e != nil && e.Kind() != engine.KindString {
			e = nil
		}
		textOrNull(c, e)
	}
}

func runMSet(c *command.Ctx, args [][]byte) {
	if len(args)%2 == 0 {
		c.Out.Error(command.ErrArityOf("mset"))
		return
	}
	setAll(c, args[1:])
	c.Out.OK()
}

func runMSetNX(c *command.Ctx, args [][]byte) {
	if len(args)%2 == 0 {
		c.Out.Error(command.ErrArityOf("msetnx"))
		return
	}
	for i := 1; i < len(args); i += 2 {
		if c.Write(args[i]) != nil {
			c.Out.Int(0)
			return
		}
	}
	setAll(c, args[1:])
	c.Out.Int(1)
}

func setAll(c *command.Ctx, pairs [][]byte) {
	for i := 0; i+1 < len(pairs); i += 2 {
		c.Member()
		setText(c, pairs[i], pairs[i+1], 0, false)
	}
}

// flagsOfSet: SET with GET returns the old value, and IFEQ reveals whether a guess at it is right.
// So both need read access.
func flagsOfSet(args [][]byte) command.KeyFlag {
	for _, a := range args[min(len(args), 3):] {
		if command.EqualFold(a, "get") || command.EqualFold(a, "ifeq") {
			return command.KeyRW | command.KeyAccess | command.KeyUpdate
		}
	}
	return command.KeyOW | command.KeyUpdate
}

// TakeString is ReadString for a command that answers a key's string and then changes the key. Like
// Write it deletes a key that has expired; that is then a miss.
func TakeString(c *command.Ctx, key []byte) (*engine.Entry, bool) {
	c.Write(key)
	return c.ReadString(key)
}

// expiryArg reads the expiry for a command that refuses one in the past (SET, SETEX, GETEX). It
// answers the error itself.
func expiryArg(c *command.Ctx, kind command.ExpiryKind, arg []byte, called string) (int64, bool) {
	n, ok := c.IntArg(arg)
	if !ok {
		return 0, false
	}
	atMs, ok := c.ExpiryMs(kind, n)
	if !ok || n <= 0 {
		c.Out.Error(command.ErrInvalidExpire(called))
		return 0, false
	}
	return atMs, true
}
