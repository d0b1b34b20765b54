package command

import (
	"lockstep/engine"
	"lockstep/engine/hash"
)

// ExpireDue deletes a key if the key is due, or up to limit of a hash's fields that are due. It
// returns how many keys and fields it removed.
func (c *Ctx) ExpireDue(db int, key []byte, limit int) int {
	slot := c.Slot(key)
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

// purgeFields removes up to limit expired fields from an entry, if it is a hash, and deletes the
// key with the last of them. It returns how many fields it removed.
func (c *Ctx) purgeFields(db int, key []byte, e *engine.Entry, limit int) int {
	if at := e.DueAtMs(); e.Kind() != engine.KindHash || at == 0 || at > c.NowMs {
		return 0
	}
	slot := c.Slot(key)
	e = c.KS.Mutable(slot, db, e, c.TxnNo)
	h := e.Object().(*hash.Hash)
	n := h.Purge(c.NowMs, limit)
	c.KS.Changed(db, e, c.TxnNo)
	c.ChangedKey(key)
	c.NotifyDB(EventHash, "hexpired", db, key)
	if h.Len() == 0 {
		c.KS.Remove(slot, db, key, c.TxnNo)
		c.NotifyDB(EventGeneric, "del", db, key)
	}
	return n
}

// expired deletes a key that has expired.
func (c *Ctx) expired(slot int32, db int, key []byte) {
	c.KS.Remove(slot, db, key, c.TxnNo)
	c.KS.Stats.Expired.Add(1)
	c.ChangedKey(key)
	c.NotifyDB(EventExpired, "expired", db, key)
}

// ExpireAt sets the time at which a key expires. A time in the past deletes the key.
func (c *Ctx) ExpireAt(key []byte, e *engine.Entry, atMs int64) {
	if atMs <= c.NowMs {
		c.Delete(key)
		c.Notify(EventGeneric, "del", key)
		return
	}
	c.SetExpire(key, e, atMs)
	c.Notify(EventGeneric, "expire", key)
}
