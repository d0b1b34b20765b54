package command

import (
	"math"

	"lockstep/engine"
	"lockstep/engine/reply"
	"lockstep/engine/script"
)

// Walker gives a scan-like command one lock slot at a time: Enter waits for the slot, shared, and
// Leave releases it. If the whole keyspace is locked already both do nothing.
type Walker interface {
	Enter(slot int32) error
	Leave(slot int32)
	// Sum adds up the results of of for each of slots lock slots, all at one instant. of must be
	// quick. Several goroutines may call it at a time and, if Sum failed, also after the command
	// has ended.
	Sum(slots int32, of func(slot int32) int) (int, error)
}

// HeldWalker walks if the whole keyspace is locked.
type HeldWalker struct{}

// Enter implements Walker.
func (HeldWalker) Enter(int32) error { return nil }

// Leave implements Walker.
func (HeldWalker) Leave(int32) {}

// Sum implements Walker.
func (HeldWalker) Sum(slots int32, of func(slot int32) int) (n int, err error) {
	for slot := range slots {
		n += of(slot)
	}
	return n, nil
}

// Ctx is everything that a handler can use: the keyspace, the time of its entry and its place in
// the log. It has no clock, no source of randomness and no connection, so a handler does the same
// on every replica.
//
// Its methods look keys up, change them and answer. The rest is in parts, each with methods of its
// own: the time (Times), the work of the txn (Meter), the listeners to changes (Listeners), the use
// of keys (Uses), and the state of programs (ProgramState). Functions for one kind of value are in
// the package of that kind, and take the Ctx.
type Ctx struct {
	KS *engine.Keyspace
	// DB is the selected database.
	DB int
	// Out is for the reply.
	Out *reply.Writer
	// TxnNo is the number of the running txn. It becomes the version of the keys that the txn
	// changes. For a read it is the number of the newest txn that certainly came before the read.
	TxnNo uint64
	// Seed is the only source of randomness. It comes from the place in the log, or for a read from
	// the leader.
	Seed uint64
	// Logged is set if the txn runs from the log, on every replica. Only then may a handler change
	// the keyspace.
	Logged bool
	// InExec is set if the command runs within a transaction, where nothing waits.
	InExec bool
	// Walk gives access to lock slots, for commands of ScopeScan.
	Walk Walker
	// Commands is the table in which scripts find the commands that they call.
	Commands *Table
	// User is the user who runs the command, if that still matters. It is nil for a user who may do
	// everything.
	User User
	// Owns reports whether the shard has a hash slot. If it is nil the shard has all of them.
	Owns func(hashSlot int) bool
	// Stop returns the reason why a long read must end, or nil. It is called from time to time. If
	// it is nil the read never stops early.
	Stop func() error

	Times
	Meter
	Listeners
	Uses
	ProgramState

	asked askedKey
}

// askedKey is the key that the command looked up last, which begins at first, and its lock slot.
type askedKey struct {
	first *byte
	len   int
	slot  int32
}

// Uses says how the use of keys is recorded. It is this replica's own and never part of the state.
type Uses struct {
	// UseTick is the clock of uses (engine.UseTicks). If it is 0 uses are not recorded.
	UseTick uint32
	// NoTouch leaves the records of the keys' use unchanged (CLIENT NO-TOUCH).
	NoTouch bool

	// touched is the entry whose use the command counted last, under an LFU policy. touches numbers
	// the counts.
	touched *engine.Entry
	touches uint64
}

// ProgramState is the state that scripts and functions use when they run, and that they leave
// behind.
type ProgramState struct {
	// Programs are the shard's, or nil if there are none.
	Programs *Programs
	// Plan is the plan that was made for the command before it took its locks, for rows that have a
	// plan.
	Plan *Plan
	// MemoryFull is set if memory was full when the txn entered the log. Commands that are refused
	// for that are refused on every replica.
	MemoryFull bool
	// TakeBack takes back programs of a kind that wait to enter the log, and returns how many there
	// were. It is nil if that is impossible.
	TakeBack func(ProgramKind) int
	// Budget is the rest of the limits for the scripts of the txn. Nil means that all of it is
	// left.
	Budget *script.Budget
	// Panics counts the commands of scripts that panicked.
	Panics int
	// InScript is set if a script runs the command.
	InScript bool
	// SharesKeys is set if a script runs whose keys are locked shared. Then nothing may be deleted,
	// not even a key that has expired.
	SharesKeys bool
	// Told is set if the error of the program that has just run is that of a command, which the
	// Witness knows about.
	Told bool
	// ProgramRuns counts the programs that the txn has run.
	ProgramRuns uint64
}

// Begin prepares the context for the txn's next command, in a database.
func (c *Ctx) Begin(db int) {
	c.endCommand()
	c.DB, c.touched, c.TriesOver, c.Short = db, nil, false, false
}

// Slot is the lock slot of a key. A handler looks the same key up several times, so the last result
// is kept.
func (c *Ctx) Slot(key []byte) int32 {
	if len(key) == 0 {
		return c.KS.LockSlot(key)
	}
	if c.asked.first != &key[0] || c.asked.len != len(key) {
		c.asked = askedKey{&key[0], len(key), c.KS.LockSlot(key)}
	}
	return c.asked.slot
}

// find returns a key's entry if the key exists. It does not count the use.
func (c *Ctx) find(db int, key []byte) *engine.Entry {
	e := c.KS.Find(c.Slot(key), db, key)
	if e == nil || e.Lasts() {
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
		c.Touch(e)
	}
	return e
}

// Look is Read for a command that looks at a key without using it.
func (c *Ctx) Look(key []byte) *engine.Entry {
	e := c.LookQuietly(key)
	if e == nil {
		c.Notify(EventMiss, "keymiss", key)
	}
	return e
}

// LookQuietly is Look without the event for a miss.
func (c *Ctx) LookQuietly(key []byte) *engine.Entry {
	e := c.find(c.DB, key)
	if e == nil {
		c.KS.Stats.Misses.Add(1)
		return nil
	}
	c.KS.Stats.Hits.Add(1)
	return e
}

// Peek returns a key's entry or nil. It changes neither the counters nor the clock of uses.
func (c *Ctx) Peek(key []byte) *engine.Entry { return c.find(c.DB, key) }

// PeekDB is Peek in another database.
func (c *Ctx) PeekDB(db int, key []byte) *engine.Entry { return c.find(db, key) }

// Write returns a key's entry for a command that will change or replace it, or nil. It deletes a
// key that has expired. Read and Peek cannot do so, because the key's slot may be locked shared.
func (c *Ctx) Write(key []byte) *engine.Entry {
	slot := c.Slot(key)
	e := c.KS.Find(slot, c.DB, key)
	if e == nil {
		return nil
	}
	if e.ExpiredAt(c.NowMs) {
		if c.Logged && !c.SharesKeys {
			c.ExpireDue(c.DB, key, math.MaxInt)
		}
		return nil
	}
	c.Touch(e)
	return e
}

// Put stores an entry, in place of whatever is under its key.
func (c *Ctx) Put(db int, e *engine.Entry) {
	c.put(db, e, c.IsNew(db, e.KeyBytes()))
}

// PutNew is Put for commands with which Redis deletes the old value first: the event says that the
// key is new, even if it is not.
func (c *Ctx) PutNew(db int, e *engine.Entry) {
	c.IsNew(db, e.KeyBytes())
	c.put(db, e, true)
}

func (c *Ctx) put(db int, e *engine.Entry, isNew bool) {
	c.KS.Put(c.KS.LockSlotOf(e), db, e, c.TxnNo)
	c.touchStored(e)
	c.ChangedKey(e.KeyBytes())
	c.notifyNew(isNew, db, e.KeyBytes())
	c.filled(db, e)
}

// Delete removes a key and reports whether it existed.
func (c *Ctx) Delete(key []byte) bool {
	e := c.KS.Remove(c.Slot(key), c.DB, key, c.TxnNo)
	if e == nil {
		return false
	}
	c.ChangedKey(key)
	if e.ExpiredAt(c.NowMs) {
		c.Notify(EventExpired, "expired", key)
		return false
	}
	return true
}

// SetExpire changes a key's expiry. 0 means that the key does not expire.
func (c *Ctx) SetExpire(key []byte, e *engine.Entry, atMs int64) {
	c.KS.SetExpire(c.Slot(key), c.DB, e, atMs, c.TxnNo)
	c.ChangedKey(key)
}

// Mutate returns the entry to change in place, for a key whose entry is e. The change must end with
// Changed.
func (c *Ctx) Mutate(key []byte, e *engine.Entry) *engine.Entry {
	return c.KS.Mutable(c.Slot(key), c.DB, e, c.TxnNo)
}

// Changed ends a change begun with Mutate.
func (c *Ctx) Changed(e *engine.Entry) {
	c.KS.Changed(c.DB, e, c.TxnNo)
	c.ChangedKey(e.KeyBytes())
	c.filled(c.DB, e)
}
