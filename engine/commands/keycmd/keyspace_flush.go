package keycmd

import (
	"lockstep/engine"
	"lockstep/engine/command"
)

// flushArgs checks the arguments of FLUSHDB and FLUSHALL. ASYNC and SYNC are the same here, because
// the garbage collector frees the memory.
func flushArgs(c *command.Ctx, args [][]byte) bool {
	if len(args) == 1 || len(args) == 2 && (command.EqualFold(args[1], "async") || command.EqualFold(args[1], "sync")) {
		return true
	}
	c.Out.Error(command.ErrSyntax)
	return false
}

func runFlushDB(c *command.Ctx, args [][]byte) {
	if flushArgs(c, args) {
		flush(c, c.DB)
		c.ChangedAll()
		c.Out.OK()
	}
}

func runFlushAll(c *command.Ctx, args [][]byte) {
	if !flushArgs(c, args) {
		return
	}
	for db := range engine.Databases {
		flush(c, db)
	}
	c.ChangedAll()
	c.Out.OK()
}

func flush(c *command.Ctx, db int) {
	had := c.KS.Keys(db) > 0
	c.KS.Flush(db, c.TxnNo)
	if had {
		c.DatabaseFilled(db)
	}
}

func runSwapDB(c *command.Ctx, args [][]byte) {
	a, ok := command.ParseInt(args[1])
	if !ok || int64(int32(a)) != a {
		c.Out.Error(ErrFirstDB)
		return
	}
	b, ok := command.ParseInt(args[2])
	if !ok || int64(int32(b)) != b {
		c.Out.Error(ErrSecondDB)
		return
	}
	if min(a, b) < 0 || max(a, b) >= engine.Databases {
		c.Out.Error(command.ErrDBIndex)
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
