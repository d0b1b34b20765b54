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
type Ctx struct {
	KS *engine.Keyspace
	// DB is the selected database.
	DB int
	// Out takes the reply.
	Out *reply.Writer
	// NowMs is the log time: the entry's stamp, or for a read the stamp of the last entry
	// applied when it took its place. Keys with an expiry up to here are gone.
	NowMs int64
	// DayOffsetMs is added to the log time to get the time of day: see day.go.
	DayOffsetMs int64
	// TxnNo is the number of the txn that runs; it becomes the version of the
	// keys it changes. For a read: of the newest txn that was certainly before it.
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
	// ReplicaMs is this replica's own clock while a read runs that is content with
	// what the replica has, else 0.
	ReplicaMs int64
	// Due is set when a read met a key that is due by LeaderMs, but not yet by
	// NowMs: its answer must wait for an entry that carries the time onwards.
	Due bool
	// UseTick is the clock of uses (engine.UseTicks), 0: uses are not recorded. It is this
	// replica's own and never part of the state.
	UseTick uint32
	// Rest leaves the processor to others in the middle of long work; nil: nobody
	// wants it. What they do meanwhile is on other slots, and changes nothing here.
	Rest func()
	// NoTouch leaves what is known of the keys' use as it is (CLIENT NO-TOUCH).
	NoTouch bool
	// Settings are the replicated limits a handler looks at.
	Settings *Settings
	// Observer hears of keyspace events; nil: nobody does.
	Observer Observer
	// Witness is told what scripts do, and for which Caller; nil: nobody is.
	Witness Witness
	Caller  Caller
	// Changes takes the names of the keys that the txn changes; nil: nobody asks.
	Changes *Changes
	// Plan is what was settled of the command before it took its locks, for rows
	// that ask for it.
	Plan *Plan
	// User is who runs the command, where that still matters; nil: one who may do
	// everything.
	User User
	// Programs is the shard's, nil where there are none.
	Programs *Programs
	// Owns tells whether the shard has a hash slot, nil: it has all.
	Owns func(hashSlot int) bool
	// MemoryFull: when the txn entered the log there was no memory left. What it
	// refuses for that it refuses on every replica.
	MemoryFull bool
	// Stop is asked now and then whether a long read is to end, and why; nil: never.
	Stop func() error
	// TakeBack takes back programs of a kind that wait before the log, and tells how many there
	// were; nil: nobody can.
	TakeBack func(ProgramKind) int
	// Budget is what is left of the limits on scripts for those of the txn; nil: all of it.
	Budget *script.Budget
	// Panics counts the commands of scripts that broke down.
	Panics int
	// InExec tells that the command runs within a transaction, where nothing
	// waits; InScript, that a script runs it.
	InExec, InScript bool

	// told: the error of the program that has just run is a command's, of which the
	// Witness knows.
	told bool
	// sharesKeys tells that a script runs whose keys are held shared: nothing may
	// be deleted, not even what has expired.
	sharesKeys bool
	// programRuns counts the programs that the txn has run.
	programRuns uint64
	// walked counts the keys that walks have visited.
	walked int
	// slotNo is the lock slot of the key that begins at slotKey: see slot.
	slotKey *byte
	slotLen int
	slotNo  int32
	// touched is the entry whose use the command counted last, under an LFU
	// policy; touches numbers the counts.
	touched *engine.Entry
	touches uint64
	// work is that of the txn's commands and programs so far. announced is what the command that
	// runs has announced, counted what it has counted on its way; short, that it may not do what it
	// wanted to. triesOver: the command had none
	// left for a pattern.
	work, announced, counted int64
	short, triesOver         bool
	// bound is what the work may not go beyond, whatever the settings say; 0: nothing.
	bound int64
	// sinceRest is the work since the last rest.
	sinceRest int
}

// clockMs is the time for answers that say how long ago or how soon something is.
// The log's time stands still while nothing is written; it alone says whether
// something is over.
func (c *Ctx) clockMs() int64 { return max(c.NowMs, c.LeaderMs, c.ReplicaMs) }

func (c *Ctx) rest() {
	if c.Rest != nil {
		c.Rest()
	}
}

// How much work is what long commands do again and again, and after how much of
// it there is a rest: some tenths of a millisecond.
const (
	workItem       = 1  // to compare two elements, or to answer one
	workMember     = 4  // to look for a member, or to store one
	workUnpack     = 16 // to store an element of a payload
	workBeforeRest = 8000
)

// worked counts work, and rests when there was much of it since the last time.
func (c *Ctx) worked(n int) {
	c.did(n * workOne)
	if c.sinceRest += n; c.sinceRest >= workBeforeRest {
		c.sinceRest = 0
		c.rest()
	}
}

// item and member are worked for what is done to an element.
func (c *Ctx) item()   { c.worked(workItem) }
func (c *Ctx) member() { c.worked(workMember) }

// Begin makes the context that of the txn's next command, in a database.
func (c *Ctx) Begin(db int) {
	c.settle()
	c.DB, c.touched, c.triesOver, c.short = db, nil, false, false
}

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

// find returns a key's entry if the key exists, without counting the use.
func (c *Ctx) find(db int, key []byte) *engine.Entry {
	e := c.KS.Find(c.slot(key), db, key)
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
		c.touch(e)
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
	slot := c.slot(key)
	e := c.KS.Find(slot, c.DB, key)
	if e == nil {
		return nil
	}
	if e.ExpiredAt(c.NowMs) {
		if c.Logged && !c.sharesKeys {
			c.expireDue(c.DB, key, math.MaxInt)
		}
		return nil
	}
	c.touch(e)
	return e
}

// expired deletes a key that has expired.
func (c *Ctx) expired(slot int32, db int, key []byte) {
	c.KS.Remove(slot, db, key, c.TxnNo)
	c.KS.Stats.Expired.Add(1)
	c.changed(key)
	c.NotifyDB(EventExpired, "expired", db, key)
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

// TakeString is ReadString for a command that answers a key's string and then
// changes the key: what has expired is deleted, as Write does, and then missed.
func (c *Ctx) TakeString(key []byte) (*engine.Entry, bool) {
	c.Write(key)
	return c.ReadString(key)
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
	isNew := c.isNew(c.DB, key)
	c.touchStored(c.KS.SetString(c.slot(key), c.DB, key, value, expireAtMs, c.TxnNo))
	c.changed(key)
	c.notifyNew(isNew, c.DB, key)
}

// Replace stores a string under key, whose entry is e or nil, and keeps the
// expiry.
func (c *Ctx) Replace(key []byte, e *engine.Entry, value []byte) {
	if e == nil {
		c.SetString(key, value, 0)
		return
	}
	c.touchStored(c.KS.SetText(c.slot(key), c.DB, e, value, c.TxnNo))
	c.changed(key)
}

// Put stores an entry, in place of whatever was under its key.
func (c *Ctx) Put(db int, e *engine.Entry) {
	c.put(db, e, c.isNew(db, e.KeyBytes()))
}

// PutNew is Put where Redis would delete what was there first: the event says
// that the key is new, even if it is not.
func (c *Ctx) PutNew(db int, e *engine.Entry) {
	c.isNew(db, e.KeyBytes())
	c.put(db, e, true)
}

func (c *Ctx) put(db int, e *engine.Entry, isNew bool) {
	c.KS.Put(c.KS.LockSlotOf(e), db, e, c.TxnNo)
	c.touchStored(e)
	c.changed(e.KeyBytes())
	c.notifyNew(isNew, db, e.KeyBytes())
	c.filled(db, e)
}

// Delete removes a key and tells whether it existed.
func (c *Ctx) Delete(key []byte) bool {
	e := c.KS.Remove(c.slot(key), c.DB, key, c.TxnNo)
	if e == nil {
		return false
	}
	c.changed(key)
	if e.ExpiredAt(c.NowMs) {
		c.Notify(EventExpired, "expired", key)
		return false
	}
	return true
}

// SetExpire changes when a key is gone, 0: never.
func (c *Ctx) SetExpire(key []byte, e *engine.Entry, atMs int64) {
	c.KS.SetExpire(c.slot(key), c.DB, e, atMs, c.TxnNo)
	c.changed(key)
}

// Mutate returns the entry to change in place for a key whose entry is e; the
// change must end with Changed.
func (c *Ctx) Mutate(key []byte, e *engine.Entry) *engine.Entry {
	return c.KS.Mutable(c.slot(key), c.DB, e, c.TxnNo)
}

// Changed ends a change begun with Mutate.
func (c *Ctx) Changed(e *engine.Entry) {
	c.KS.Changed(c.DB, e, c.TxnNo)
	c.changed(e.KeyBytes())
	c.filled(c.DB, e)
}
