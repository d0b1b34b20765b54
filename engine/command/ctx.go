package command

import (
	"math"

	"lockstep/engine"
	"lockstep/engine/reply"
	"lockstep/engine/script"
)

// Walker gives a scan-like command a lock slot at a time: Enter waits for the
// slot, shared, and Leave gives it back. Where the whole keyspace is held
// already both do nothing.
type Walker interface {
	Enter(slot int32) error
	Leave(slot int32)
	// Sum adds up what of says of each of so many lock slots, of all at one instant.
	// of must be quick; several goroutines may call it at a time, and, where Sum failed, also
	// after the command's end.
	Sum(slots int32, of func(slot int32) int) (int, error)
}

// HeldWalker walks where the whole keyspace is held.
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

// Ctx is all a handler can reach: the keyspace, the time of its entry and its
// place in the log. It has no clock, no source of chance and no connection, so
// what a handler does is the same on every replica.
//
// Its methods look keys up, change them and answer. What it carries beside that is
// in parts, each with methods of its own: the time (Times), the work that the txn
// does (Meter), those that hear of changes (Listeners), the use of keys (Uses),
// and what concerns programs (ProgramState). What one kind of value needs is a
// function of that kind's package that takes the Ctx.
type Ctx struct {
	KS *engine.Keyspace
	// DB is the selected database.
	DB int
	// Out takes the reply.
	Out *reply.Writer
	// TxnNo is the number of the txn that runs; it becomes the version of the
	// keys it changes. For a read: of the newest txn that was certainly before it.
	TxnNo uint64
	// Seed is the only source of chance: from the place in the log, or for a
	// read from the leader.
	Seed uint64
	// Logged tells that the txn runs from the log, on every replica. A handler
	// changes the keyspace only then.
	Logged bool
	// InExec tells that the command runs within a transaction, where nothing waits.
	InExec bool
	// Walk gives access to lock slots, for commands of ScopeScan.
	Walk Walker
	// Commands is the table, in which scripts find the commands that they call.
	Commands *Table
	// User is who runs the command, where that still matters; nil: a user who may
	// do everything.
	User User
	// Owns tells whether the shard has a hash slot, nil: it has all.
	Owns func(hashSlot int) bool
	// Stop is asked now and then whether a long read is to end, and why; nil: never.
	Stop func() error

	Times
	Meter
	Listeners
	Uses
	ProgramState

	asked askedKey
}

// askedKey is the key that the command asked for last, which begins at first, and its
// lock slot.
type askedKey struct {
	first *byte
	len   int
	slot  int32
}

// Uses is how the use of keys is recorded. It is this replica's own and never part of
// the state.
type Uses struct {
	// UseTick is the clock of uses (engine.UseTicks), 0: uses are not recorded.
	UseTick uint32
	// NoTouch leaves what is known of the keys' use as it is (CLIENT NO-TOUCH).
	NoTouch bool

	// touched is the entry whose use the command counted last, under an LFU
	// policy; touches numbers the counts.
	touched *engine.Entry
	touches uint64
}

// ProgramState is what scripts and functions find when they run, and what they leave.
type ProgramState struct {
	// Programs is the shard's, nil where there are none.
	Programs *Programs
	// Plan is what was settled of the command before it took its locks, for rows
	// that ask for it.
	Plan *Plan
	// MemoryFull: when the txn entered the log there was no memory left. What it
	// refuses for that it refuses on every replica.
	MemoryFull bool
	// TakeBack takes back programs of a kind that wait before the log, and tells how many there
	// were; nil: nobody can.
	TakeBack func(ProgramKind) int
	// Budget is what is left of the limits on scripts for those of the txn; nil: all of it.
	Budget *script.Budget
	// Panics counts the commands of scripts that broke down.
	Panics int
	// InScript tells that a script runs the command.
	InScript bool
	// SharesKeys tells that a script runs whose keys are held shared: nothing may
	// be deleted, not even what has expired.
	SharesKeys bool
	// Told: the error of the program that has just run is a command's, of which the
	// Witness knows.
	Told bool
	// ProgramRuns counts the programs that the txn has run.
	ProgramRuns uint64
}

// Begin makes the context that of the txn's next command, in a database.
func (c *Ctx) Begin(db int) {
	c.settle()
	c.DB, c.touched, c.TriesOver, c.Short = db, nil, false, false
}

// Slot is the lock slot of a key. A handler asks for the same key several
// times; the last answer is kept.
func (c *Ctx) Slot(key []byte) int32 {
	if len(key) == 0 {
		return c.KS.LockSlot(key)
	}
	if c.asked.first != &key[0] || c.asked.len != len(key) {
		c.asked = askedKey{&key[0], len(key), c.KS.LockSlot(key)}
	}
	return c.asked.slot
}

// find returns a key's entry if the key exists, without counting the use.
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

// LookQuietly is Look without the event of a miss.
func (c *Ctx) LookQuietly(key []byte) *engine.Entry {
	e := c.find(c.DB, key)
	if e == nil {
		c.KS.Stats.Misses.Add(1)
		return nil
	}
	c.KS.Stats.Hits.Add(1)
	return e
}

// Peek returns a key's entry or nil, leaving counters and clock of uses alone.
func (c *Ctx) Peek(key []byte) *engine.Entry { return c.find(c.DB, key) }

// PeekDB is Peek in another database.
func (c *Ctx) PeekDB(db int, key []byte) *engine.Entry { return c.find(db, key) }

// Write returns a key's entry for a command that will change or replace it,
// or nil. A key that has expired is deleted on the way; Read and Peek cannot do
// so, for they may hold the key's slot shared.
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

// Put stores an entry, in place of whatever was under its key.
func (c *Ctx) Put(db int, e *engine.Entry) {
	c.put(db, e, c.IsNew(db, e.KeyBytes()))
}

// PutNew is Put where Redis would delete what was there first: the event says
// that the key is new, even if it is not.
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

// Delete removes a key and tells whether it existed.
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

// SetExpire changes when a key is gone, 0: never.
func (c *Ctx) SetExpire(key []byte, e *engine.Entry, atMs int64) {
	c.KS.SetExpire(c.Slot(key), c.DB, e, atMs, c.TxnNo)
	c.ChangedKey(key)
}

// Mutate returns the entry to change in place for a key whose entry is e; the
// change must end with Changed.
func (c *Ctx) Mutate(key []byte, e *engine.Entry) *engine.Entry {
	return c.KS.Mutable(c.Slot(key), c.DB, e, c.TxnNo)
}

// Changed ends a change begun with Mutate.
func (c *Ctx) Changed(e *engine.Entry) {
	c.KS.Changed(c.DB, e, c.TxnNo)
	c.ChangedKey(e.KeyBytes())
	c.filled(c.DB, e)
}
