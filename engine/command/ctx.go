package command

import (
	"strconv"

	"lockstep/engine"
	"lockstep/engine/reply"
)

// Walker gives a scan-like command a lock slot at a time: Enter waits for the
// slot, shared, and Leave gives it back. Where the whole keyspace is held
// already both do nothing.
type Walker interface {
	Enter(slot int32) error
	Leave(slot int32)
}

// Ctx is all a handler can reach: the keyspace, the time of its entry and its
// place in the log. It has no clock, no source of chance and no connection, so
// what a handler does is the same on every replica.
type Ctx struct {
	KS *engine.Keyspace
	// DB is the selected database.
	DB int
	// Out takes the reply.
	Out *reply.Writer
	// NowMs is the time: the entry's stamp, or for a read the stamp of the
	// last entry applied. Keys with an expiry up to here are gone.
	NowMs int64
	// TxnNo is the number of the txn that runs; it becomes the version of the
	// keys it changes. For a read: of the last txn executed.
	TxnNo uint64
	// Seed is the only source of chance: from the place in the log, or for a
	// read from the leader.
	Seed uint64
	// Logged tells that the txn runs from the log, on every replica. A handler
	// changes the keyspace only then.
	Logged bool
	// Walk gives access to lock slots, for commands of ScopeScan.
	Walk Walker
	// LeaderMs is the leader's clock while a read runs there, else 0.
	LeaderMs int64
	// Due is set when a read met a key that is due by LeaderMs, but not yet by
	// NowMs: its answer must wait for an entry that carries the time onwards.
	Due bool
	// AccessSec is the access clock for OBJECT IDLETIME, 0: leave it. It is
	// this replica's own and never part of the state.
	AccessSec uint32
	// Settings are the replicated limits a handler looks at.
	Settings *Settings

	// slotNo is the lock slot of the key that begins at slotKey: see slot.
	slotKey *byte
	slotLen int
	slotNo  int32
}

// Settings are limits that replicas must agree on. They change by log entries
// alone.
type Settings struct {
	// ValueBytesMax is the greatest length of a string (proto-max-bulk-len).
	ValueBytesMax int64
}

// DefaultSettings are in force until an entry changes them.
var DefaultSettings = Settings{ValueBytesMax: 512 << 20}

// slot is the lock slot of a key. A handler asks for the same key several
// times; the last answer is kept.
func (c *Ctx) slot(key []byte) int32 {
	if len(key) == 0 {
		return c.KS.LockSlot(key)
	}
	if c.slotKey != &key[0] || c.slotLen != len(key) {
		c.slotKey, c.slotLen, c.slotNo = &key[0], len(key), c.KS.LockSlot(key)
	}
	return c.slotNo
}

// find returns a key's entry if the key exists, without counting the access.
func (c *Ctx) find(db int, key []byte) *engine.Entry {
	e := c.KS.Find(c.slot(key), db, key)
	if e == nil || e.ExpireAtMs == 0 {
		return e
	}
	if e.ExpiredAt(c.NowMs) {
		return nil
	}
	if c.LeaderMs != 0 && e.ExpiredAt(c.LeaderMs) {
		c.Due = true
	}
	return e
}

// Read returns a key's entry for a command that reads it, or nil, and counts
// a hit or a miss.
func (c *Ctx) Read(key []byte) *engine.Entry {
	e := c.Look(key)
	if e != nil {
		c.touch(e)
	}
	return e
}

// Look is Read for a command that looks at a key without using it: the access
// clock stays.
func (c *Ctx) Look(key []byte) *engine.Entry {
	e := c.find(c.DB, key)
	if e == nil {
		c.KS.Stats.Misses.Add(1)
		return nil
	}
	c.KS.Stats.Hits.Add(1)
	return e
}

// Peek returns a key's entry or nil, leaving counters and access clock alone.
func (c *Ctx) Peek(key []byte) *engine.Entry { return c.find(c.DB, key) }

// PeekDB is Peek in another database.
func (c *Ctx) PeekDB(db int, key []byte) *engine.Entry { return c.find(db, key) }

// Write returns a key's entry for a command that will change or replace it,
// or nil. A key that has expired is deleted on the way; Read and Peek cannot do
// so, for they may hold the key's slot shared.
func (c *Ctx) Write(key []byte) *engine.Entry {
	slot := c.slot(key)
	e := c.KS.Find(slot, c.DB, key)
	if e == nil {
		return nil
	}
	if e.ExpiredAt(c.NowMs) {
		if c.Logged {
			c.KS.Remove(slot, c.DB, key, c.TxnNo)
			c.KS.Stats.Expired.Add(1)
		}
		return nil
	}
	c.touch(e)
	return e
}

func (c *Ctx) touch(e *engine.Entry) {
	if c.AccessSec != 0 {
		e.Touch(c.AccessSec)
	}
}

// ReadString is Read for a string. It answers WRONGTYPE itself and returns
// false when the key holds something else. The entry is nil if there is none.
func (c *Ctx) ReadString(key []byte) (*engine.Entry, bool) {
	return c.stringOnly(c.Read(key))
}

// WriteString is Write for a string, like ReadString.
func (c *Ctx) WriteString(key []byte) (*engine.Entry, bool) {
	return c.stringOnly(c.Write(key))
}

func (c *Ctx) stringOnly(e *engine.Entry) (*engine.Entry, bool) {
	if e != nil && e.Kind() != engine.KindString {
		c.Out.Error(ErrWrongType)
		return nil, false
	}
	return e, true
}

// SetString stores a string under key, in place of whatever was there, with an
// expiry (0: none).
func (c *Ctx) SetString(key, value []byte, expireAtMs int64) {
	c.touch(c.KS.SetString(c.slot(key), c.DB, key, value, expireAtMs, c.TxnNo))
}

// Replace stores a string under key, whose entry is e or nil, and keeps the
// expiry.
func (c *Ctx) Replace(key []byte, e *engine.Entry, value []byte) {
	if e == nil {
		c.SetString(key, value, 0)
		return
	}
	c.touch(c.KS.SetText(c.slot(key), c.DB, e, value, c.TxnNo))
}

// Put stores an entry, in place of whatever was under its key.
func (c *Ctx) Put(db int, e *engine.Entry) {
	c.touch(e)
	c.KS.Put(c.KS.LockSlotOf(e), db, e, c.TxnNo)
}

// Delete removes a key and tells whether it existed.
func (c *Ctx) Delete(key []byte) bool {
	e := c.KS.Remove(c.slot(key), c.DB, key, c.TxnNo)
	return e != nil && !e.ExpiredAt(c.NowMs)
}

// SetExpire changes when a key is gone, 0: never.
func (c *Ctx) SetExpire(key []byte, e *engine.Entry, atMs int64) {
	c.KS.SetExpire(c.slot(key), c.DB, e, atMs, c.TxnNo)
}

// Mutate returns the entry to change in place for a key whose entry is e; the
// change must end with Changed.
func (c *Ctx) Mutate(key []byte, e *engine.Entry) *engine.Entry {
	return c.KS.Mutable(c.slot(key), c.DB, e, c.TxnNo)
}

// Changed ends a change begun with Mutate.
func (c *Ctx) Changed(e *engine.Entry) { c.KS.Changed(c.DB, e, c.TxnNo) }

// Set changes one setting; it reports false, and changes nothing, when there
// is none of that name or the value is not one it can have.
func (s *Settings) Set(name, value string) bool {
	switch name {
	case "proto-max-bulk-len":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n <= 0 {
			return false
		}
		s.ValueBytesMax = n
		return true
	}
	return false
}
