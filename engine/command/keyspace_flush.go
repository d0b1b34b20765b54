package command

import "lockstep/engine"

// flushArgs checks the arguments of FLUSHDB and FLUSHALL. ASYNC and SYNC are
// the same here: the memory is given back by the garbage collector.
func (c *Ctx) flushArgs(args [][]byte) bool {
	if len(args) == 1 || len(args) == 2 && (EqualFold(args[1], "async") || EqualFold(args[1], "sync")) {
		return true
	}
	c.Out.Error(ErrSyntax)
	return false
}

func runFlushDB(c *Ctx, args [][]byte) {
	if c.flushArgs(args) {
		c.flush(c.DB)
		c.ChangedAll()
		c.Out.OK()
	}
}

func runFlushAll(c *Ctx, args [][]byte) {
	if !c.flushArgs(args) {
		return
	}
	for db := range engine.Databases {
		c.flush(db)
	}
	c.ChangedAll()
	c.Out.OK()
}

func (c *Ctx) flush(db int) {
	had := c.KS.Keys(db) > 0
	c.KS.Flush(db, c.TxnNo)
	if had {
		c.DatabaseFilled(db)
	}
}

func runSwapDB(c *Ctx, args [][]byte) {
	a, ok := ParseInt(args[1])
	if !ok || int64(int32(a)) != a {
		c.Out.Error(ErrFirstDB)
		return
	}
	b, ok := ParseInt(args[2])
	if !ok || int64(int32(b)) != b {
		c.Out.Error(ErrSecondDB)
		return
	}
	if min(a, b) < 0 || max(a, b) >= engine.Databases {
		c.Out.Error(ErrDBIndex)
		return
	}
	c.KS.Swap(int(a), int(b), c.TxnNo)
	if a != b {
		c.ChangedAll()
	}
	if a != b {
		c.DatabaseFilled(int(a))
		c.DatabaseFilled(int(b))
	}
	c.Out.OK()
}
