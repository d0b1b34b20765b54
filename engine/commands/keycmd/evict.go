package keycmd

import (
	"lockstep/engine"
	"lockstep/engine/command"
)

// runEvict deletes the keys that the leader chose, each given by its database, its name and its
// version. A key that has changed since then stays.
func runEvict(c *command.Ctx, args [][]byte) {
	if len(args)%3 != 1 {
		c.Out.Error(command.ErrSyntax)
		return
	}
	n := 0
	for i := 1; i < len(args); i += 3 {
		db, okDB := command.ParseInt(args[i])
		version, okVersion := command.ParseInt(args[i+2])
		if okDB && okVersion && 0 <= db && db < engine.Databases && evict(c, int(db), args[i+1], uint64(version)) {
			n++
		}
	}
	c.Out.Int(int64(n))
}

// evict deletes a key if it still has that version.
func evict(c *command.Ctx, db int, key []byte, version uint64) bool {
	slot := c.Slot(key)
	e := c.KS.Find(slot, db, key)
	if e == nil || e.Version != version {
		return false
	}
	if e.ExpiredAt(c.NowMs) {
		c.ExpireDue(db, key, PurgeMax)
		return false
	}
	c.KS.Remove(slot, db, key, c.TxnNo)
	c.ChangedKey(key)
	c.KS.Stats.Evicted.Add(1)
	c.NotifyDB(command.EventEvicted, "evicted", db, key)
	return true
}
