package command

func runExpire(c *Ctx, args [][]byte)    { c.expire(args, ExpiryEX, "expire") }
func runPExpire(c *Ctx, args [][]byte)   { c.expire(args, ExpiryPX, "pexpire") }
func runExpireAt(c *Ctx, args [][]byte)  { c.expire(args, ExpiryEXAT, "expireat") }
func runPExpireAt(c *Ctx, args [][]byte) { c.expire(args, ExpiryPXAT, "pexpireat") }

func (c *Ctx) expire(args [][]byte, kind ExpiryKind, called string) {
	var only ExpireIf
	if !only.Parse(c, args[3:]) {
		return
	}
	n, ok := c.IntArg(args[2])
	if !ok {
		return
	}
	atMs, ok := c.ExpiryMs(kind, n)
	if !ok {
		c.Out.Error(ErrInvalidExpire(called))
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

func runPersist(c *Ctx, args [][]byte) {
	e := c.Write(args[1])
	if e == nil || e.ExpireAtMs == 0 {
		c.Out.Int(0)
		return
	}
	c.SetExpire(args[1], e, 0)
	c.Notify(EventGeneric, "persist", args[1])
	c.Out.Int(1)
}

func runTTL(c *Ctx, args [][]byte) {
	c.lifetime(args[1], func(atMs int64) int64 { return c.roundSec(c.LeftMs(atMs)) })
}

func runPTTL(c *Ctx, args [][]byte) {
	c.lifetime(args[1], c.LeftMs)
}

func runExpireTime(c *Ctx, args [][]byte) {
	c.lifetime(args[1], func(atMs int64) int64 { return c.roundSec(c.ToDay(atMs)) })
}

func runPExpireTime(c *Ctx, args [][]byte) { c.lifetime(args[1], c.ToDay) }

func (c *Ctx) roundSec(ms int64) int64 {
	const half, whole = 500, 1000
	return ms/whole + (ms%whole+half)/whole // which cannot overflow
}

// lifetime answers of a key that expires, -1 for one that does not and -2 for
// one that is not there.
func (c *Ctx) lifetime(key []byte, of func(atMs int64) int64) {
	switch e := c.Look(key); {
	case e == nil:
		c.Out.Int(-2)
	case e.ExpireAtMs == 0:
		c.Out.Int(-1)
	default:
		c.Out.Int(of(e.ExpireAtMs))
	}
}
