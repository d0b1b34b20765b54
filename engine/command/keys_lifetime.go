package command

func runExpire(c *Ctx, args [][]byte)    { c.expire(args, expiryEX, "expire") }
func runPExpire(c *Ctx, args [][]byte)   { c.expire(args, expiryPX, "pexpire") }
func runExpireAt(c *Ctx, args [][]byte)  { c.expire(args, expiryEXAT, "expireat") }
func runPExpireAt(c *Ctx, args [][]byte) { c.expire(args, expiryPXAT, "pexpireat") }

// expireIf is the condition under which EXPIRE, or HEXPIRE, changes anything.
type expireIf struct{ nx, xx, gt, lt bool }

// take reads one word of the condition; false: it is none.
func (f *expireIf) take(arg []byte) bool {
	switch {
	case equalFold(arg, "nx"):
		f.nx = true
	case equalFold(arg, "xx"):
		f.xx = true
	case equalFold(arg, "gt"):
		f.gt = true
	case equalFold(arg, "lt"):
		f.lt = true
	default:
		return false
	}
	return true
}

// parse reads the condition. It answers the error itself.
func (f *expireIf) parse(c *Ctx, args [][]byte) bool {
	for _, a := range args {
		if !f.take(a) {
			c.Out.Error("ERR Unsupported option " + string(clip(a, len(a))))
			return false
		}
	}
	switch {
	case f.nx && (f.xx || f.gt || f.lt):
		c.Out.Error(ErrExpireNX)
		return false
	case f.gt && f.lt:
		c.Out.Error(ErrExpireGTLT)
		return false
	}
	return true
}

// holds tells whether a key that is gone at oldMs (0: never) may be gone at
// newMs instead.
func (f *expireIf) holds(oldMs, newMs int64) bool {
	switch {
	case f.nx && oldMs != 0, f.xx && oldMs == 0:
		return false
	case f.gt && (oldMs == 0 || newMs <= oldMs):
		return false
	case f.lt && oldMs != 0 && newMs >= oldMs:
		return false
	}
	return true
}

func (c *Ctx) expire(args [][]byte, kind expiryKind, command string) {
	var only expireIf
	if !only.parse(c, args[3:]) {
		return
	}
	n, ok := c.intArg(args[2])
	if !ok {
		return
	}
	atMs, ok := c.expiryMs(kind, n)
	if !ok {
		c.Out.Error(ErrInvalidExpire(command))
		return
	}
	e := c.Write(args[1])
	if e == nil || !only.holds(e.ExpireAtMs, atMs) {
		c.Out.Int(0)
		return
	}
	c.expireAt(args[1], e, atMs)
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
	c.lifetime(args[1], func(atMs int64) int64 { return c.roundSec(c.leftMs(atMs)) })
}

func runPTTL(c *Ctx, args [][]byte) {
	c.lifetime(args[1], c.leftMs)
}

func runExpireTime(c *Ctx, args [][]byte) {
	c.lifetime(args[1], func(atMs int64) int64 { return c.roundSec(c.toDay(atMs)) })
}

func runPExpireTime(c *Ctx, args [][]byte) { c.lifetime(args[1], c.toDay) }

// leftMs is how long it is until a time.
func (c *Ctx) leftMs(atMs int64) int64 { return max(atMs-c.clockMs(), 0) }

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

// expireDue deletes a key if it is due, or up to limit of a hash's fields that
// are. It returns how many things it took out.
func (c *Ctx) expireDue(db int, key []byte, limit int) int {
	slot := c.slot(key)
	e := c.KS.Find(slot, db, key)
	if e == nil {
		return 0
	}
	if e.ExpireAtMs == 0 || e.ExpireAtMs > c.NowMs {
		return c.purgeFields(db, key, e, limit)
	}
	c.expired(slot, db, key)
	return 1
}
