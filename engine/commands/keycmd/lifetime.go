package keycmd

import (
	"lockstep/engine/command"
)

func runExpire(c *command.Ctx, args [][]byte)    { expire(c, args, command.ExpiryEX, "expire") }
func runPExpire(c *command.Ctx, args [][]byte)   { expire(c, args, command.ExpiryPX, "pexpire") }
func runExpireAt(c *command.Ctx, args [][]byte)  { expire(c, args, command.ExpiryEXAT, "expireat") }
func runPExpireAt(c *command.Ctx, args [][]byte) { expire(c, args, command.ExpiryPXAT, "pexpireat") }

func expire(c *command.Ctx, args [][]byte, kind command.ExpiryKind, called string) {
	var only command.ExpireIf
	if !only.Parse(c, args[3:]) {
		return
	}
	n, ok := c.IntArg(args[2])
	if !ok {
		return
	}
	atMs, ok := c.ExpiryMs(kind, n)
	if !ok {
		c.Out.Error(command.ErrInvalidExpire(called))
		return
	}
	e := c.Write(args[1])
	if e == nil || !only.Holds(e.ExpireAtMs, atMs) {
		c.Out.Int(0)
		return
	}
	c.ExpireAt(args[1], e, atMs)
	c.Out.Int(1)
}

func runPersist(c *command.Ctx, args [][]byte) {
	e := c.Write(args[1])
	if e == nil || e.ExpireAtMs == 0 {
		c.Out.Int(0)
		return
	}
	c.SetExpire(args[1], e, 0)
	c.Notify(command.EventGeneric, "persist", args[1])
	c.Out.Int(1)
}

func runTTL(c *command.Ctx, args [][]byte) {
	lifetime(c, args[1], func(atMs int64) int64 { return roundSec(c, c.LeftMs(atMs)) })
}

func runPTTL(c *command.Ctx, args [][]byte) {
	lifetime(c, args[1], c.LeftMs)
}

func runExpireTime(c *command.Ctx, args [][]byte) {
	lifetime(c, args[1], func(atMs int64) int64 { return roundSec(c, c.ToDay(atMs)) })
}

func runPExpireTime(c *command.Ctx, args [][]byte) { lifetime(c, args[1], c.ToDay) }

func roundSec(c *command.Ctx, ms int64) int64 {
	const half, whole = 500, 1000
	return ms/whole + (ms%whole+half)/whole // this form cannot overflow
}

// lifetime answers of(expiry) for a key that expires, -1 for a key without an expiry, and -2 for a
// missing key.
func lifetime(c *command.Ctx, key []byte, of func(atMs int64) int64) {
	switch e := c.Look(key); {
	case e == nil:
		c.Out.Int(-2)
	case e.ExpireAtMs == 0:
		c.Out.Int(-1)
	default:
		c.Out.Int(of(e.ExpireAtMs))
	}
}
