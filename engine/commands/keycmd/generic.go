package keycmd

import (
	"lockstep/engine"
	"lockstep/engine/command"
)

func runDel(c *command.Ctx, args [][]byte) {
	n := 0
	for _, key := range args[1:] {
		c.Member()
		if c.Delete(key) {
			c.Notify(command.EventGeneric, "del", key)
			n++
		}
	}
	c.Out.Int(int64(n))
}

func runExists(c *command.Ctx, args [][]byte) { count(c, args[1:], c.Look) }

// runTouch counts as a use, even for a client whose commands otherwise do not.
func runTouch(c *command.Ctx, args [][]byte) {
	was := c.NoTouch
	c.NoTouch = false
	count(c, args[1:], c.Read)
	c.NoTouch = was
}

// count answers how many of the keys exist.
func count(c *command.Ctx, keys [][]byte, look func(key []byte) *engine.Entry) {
	n := 0
	for _, key := range keys {
		c.Member()
		if look(key) != nil {
			n++
		}
	}
	c.Out.Int(int64(n))
}

func runType(c *command.Ctx, args [][]byte) {
	if e := c.Look(args[1]); e != nil {
		c.Out.Status(e.Kind().String())
		return
	}
	c.Out.Status("none")
}

func runRename(c *command.Ctx, args [][]byte) {
	e := c.Write(args[1])
	if e == nil {
		c.Out.Error(command.ErrNoSuchKey)
		return
	}
	if string(args[1]) != string(args[2]) {
		rename(c, e, args[1], args[2])
	}
	c.Out.OK()
}

func runRenameNX(c *command.Ctx, args [][]byte) {
	e := c.Write(args[1])
	if e == nil {
		c.Out.Error(command.ErrNoSuchKey)
		return
	}
	// If both names are the same, the new name exists.
	if c.Write(args[2]) != nil {
		c.Out.Int(0)
		return
	}
	rename(c, e, args[1], args[2])
	c.Out.Int(1)
}

func rename(c *command.Ctx, e *engine.Entry, from, to []byte) {
	move(c, e, from, c.DB, to)
	c.Notify(command.EventGeneric, "rename_from", from)
	c.Notify(command.EventGeneric, "rename_to", to)
}

// move removes an entry and puts it under another key, in place of the value there, or into another
// database.
func move(c *command.Ctx, e *engine.Entry, from []byte, db int, to []byte) {
	moved := c.KS.Moved(e, to, c.TxnNo)
	c.KS.Remove(c.Slot(from), c.DB, from, c.TxnNo)
	c.ChangedKey(from)
	c.PutNew(db, moved)
}

// dbArg reads the number of a database. It answers the error itself.
func dbArg(c *command.Ctx, arg []byte) (int, bool) {
	db, ok := c.IntArg32(arg)
	if ok && (db < 0 || db >= engine.Databases) {
		c.Out.Error(command.ErrDBIndex)
		return 0, false
	}
	return db, ok
}

func runMove(c *command.Ctx, args [][]byte) {
	db, ok := dbArg(c, args[2])
	if !ok {
		return
	}
	if db == c.DB {
		c.Out.Error(ErrSameObject)
		return
	}
	e := c.Write(args[1])
	if e == nil || c.PeekDB(db, args[1]) != nil {
		c.Out.Int(0)
		return
	}
	move(c, e, args[1], db, args[1])
	c.Notify(command.EventGeneric, "move_from", args[1])
	c.NotifyDB(command.EventGeneric, "move_to", db, args[1])
	c.Out.Int(1)
}

func runCopy(c *command.Ctx, args [][]byte) {
	from, to, db, replace := args[1], args[2], c.DB, false
	for i := 3; i < len(args); i++ {
		switch {
		case command.EqualFold(args[i], "replace"):
			replace = true
		case command.EqualFold(args[i], "db") && i+1 < len(args):
			i++
			var ok bool
			if db, ok = dbArg(c, args[i]); !ok {
				return
			}
		default:
			c.Out.Error(command.ErrSyntax)
			return
		}
	}
	if db == c.DB && string(from) == string(to) {
		c.Out.Error(ErrSameObject)
		return
	}
	e := c.Read(from)
	if e == nil || (!replace && c.PeekDB(db, to) != nil) {
		c.Out.Int(0)
		return
	}
	// Values of other kinds are shared with the copy until one of the two changes.
	if e.Kind() == engine.KindString && !c.CopySteps(int64(len(e.Text()))) {
		return
	}
	c.PutNew(db, e.Copied(to))
	c.NotifyDB(command.EventGeneric, "copy_to", db, to)
	c.Out.Int(1)
}
