// Package engine holds one shard's keyspace: databases of keys, divided into lock slots.
//
// The keyspace takes no locks. Its caller holds the lock slot of the key (package sched): shared to
// read, exclusive to change. Lock slots share only atomic counters, so commands on different slots
// run at the same time.
//
// Invariants:
//   - The content of the keyspace, and the order of walks, is a function of the txns that ran. It does not
//     depend on timing, on Go's map order, or on a snapshot that was taken or loaded in between. Keys are in
//     the order of a hash whose seed is part of the replicated state.
//   - Every change of a key stores the number of its txn as the key's version. WATCH compares versions.
//   - The work of a txn is counted in a unit of about a nanosecond of one core (package command,
//     work.go). It depends on what the txn does and not on a clock, so all replicas count the same.
//   - While a cut is open (see Cut), the entries and segments that it keeps are never changed in place.
//
// A single table for all keys would need a lock of its own in addition to the lock slots. One table
// per lock slot needs no second lock.
package engine

import (
	"fmt"
	"sync/atomic"

	"github.com/dchest/siphash"

	"lockstep/engine/hashslot"
)

// Databases is the number of databases SELECT can choose from.
const Databases = 16

// Config is the configuration of a keyspace. It is part of the replicated state of a shard and must
// be the same on all its replicas.
type Config struct {
	// LockSlots is the number of lock slots, 1 to hashslot.Count.
	LockSlots int
	// Seed is the key of the hash that orders the keys, so that clients cannot choose keys that
	// collide.
	Seed [16]byte
}

// Possible reports whether the configuration is valid.
func (c Config) Possible() bool { return 1 <= c.LockSlots && c.LockSlots <= hashslot.Count }

// Keyspace is one shard's keys and values.
type Keyspace struct {
	cfg    Config
	hasher hasher
	slots  []Slot
	// swappedAt is the number of the last txn that swapped a database's content. It is guarded by
	// the global lock.
	swappedAt [Databases]uint64
	counts    counts
	cuts      cuts
	// waiting is for the caller that waits for the first key to be due.
	waiting dueWaiter
	// gone is called with streams that are removed; see TellGone.
	gone func(db int, key []byte)

	// Stats counts what INFO shows. It is not state.
	Stats Stats
}

// Stats are this replica's own counters.
type Stats struct {
	Hits, Misses, Expired, Evicted atomic.Int64
}

// New returns an empty keyspace.
func New(cfg Config) *Keyspace {
	if !cfg.Possible() {
		panic(fmt.Sprintf("engine: %d lock slots", cfg.LockSlots))
	}
	k := &Keyspace{cfg: cfg, slots: make([]Slot, cfg.LockSlots)}
	for i := range k.slots {
		k.slots[i].expires.waiting = &k.waiting
	}
	for i := range 8 {
		k.hasher.seed0 |= uint64(cfg.Seed[i]) << (8 * i)
		k.hasher.seed1 |= uint64(cfg.Seed[8+i]) << (8 * i)
	}
	return k
}

// TellGone makes the keyspace call f with each stream that is removed or replaced by another value,
// except for streams of a database that is flushed or swapped. f must not block, keep the key, or
// use the keyspace. TellGone must be called before the keyspace is used.
func (k *Keyspace) TellGone(f func(db int, key []byte)) { k.gone = f }

func (k *Keyspace) tellGone(db int, e *Entry) {
	if k.gone != nil && e.kind == KindStream {
		k.gone(db, e.KeyBytes())
	}
}

// Config returns the configuration of the keyspace.
func (k *Keyspace) Config() Config { return k.cfg }

// LockSlots is the number of lock slots.
func (k *Keyspace) LockSlots() int { return len(k.slots) }

// LockSlot returns the lock slot of a key.
func (k *Keyspace) LockSlot(key []byte) int32 {
	return int32(hashslot.Of(key) % len(k.slots))
}

// LockSlotOfHash returns the lock slot of a hash slot's keys.
func (k *Keyspace) LockSlotOfHash(hashSlot uint16) int32 { return int32(int(hashSlot) % len(k.slots)) }

// LockSlotOf returns the lock slot of an entry's key.
func (k *Keyspace) LockSlotOf(e *Entry) int32 { return k.LockSlot(e.KeyBytes()) }

// Slot returns a lock slot.
func (k *Keyspace) Slot(slot int32) *Slot { return &k.slots[slot] }

// hasher hashes keys.
type hasher struct{ seed0, seed1 uint64 }

func (h *hasher) hash(key []byte) uint32 {
	// 0 marks an empty place in a segment.
	return max(uint32(siphash.Hash(h.seed0, h.seed1, key)>>32), 1)
}

// Find returns the entry of a key, expired or not, or nil.
func (k *Keyspace) Find(slot int32, db int, key []byte) *Entry {
	d := k.slots[slot].dbs[db]
	if d == nil {
		return nil
	}
	return d.find(k.hasher.hash(key), key)
}

// Put stores e in its slot, in place of an entry of the same key, and makes txnNo its version.
func (k *Keyspace) Put(slot int32, db int, e *Entry, txnNo uint64) {
	s := k.change(slot, txnNo)
	e.Version = txnNo
	k.put(s, db, k.hasher.hash(e.KeyBytes()), e, txnNo)
}

// SetString stores a string under key in place of whatever is there, with an expiry (0 for none),
// and returns its entry. Key and text are copied. It is Put for the most common write. If the key
// holds a string that no cut keeps, it changes the entry and, if the length allows, its text in
// place.
func (k *Keyspace) SetString(slot int32, db int, key, text []byte, expireAtMs int64, txnNo uint64) *Entry {
	s := k.change(slot, txnNo)
	hash := k.hasher.hash(key)
	if e := s.dbs[db].find(hash, key); e != nil && !k.cuts.hold(e, txnNo) && s.overwrite(&k.counts, db, e, text, expireAtMs, txnNo) {
		return e
	}
	e := NewString(key, text)
	e.ExpireAtMs, e.Version = expireAtMs, txnNo
	k.put(s, db, hash, e, txnNo)
	return e
}

// SetText is SetString for a key whose entry is known, and keeps the expiry.
func (k *Keyspace) SetText(slot int32, db int, e *Entry, text []byte, txnNo uint64) *Entry {
	s := k.change(slot, txnNo)
	if !k.cuts.hold(e, txnNo) && s.overwrite(&k.counts, db, e, text, e.ExpireAtMs, txnNo) {
		return e
	}
	n := NewString(e.KeyBytes(), text)
	n.ExpireAtMs, n.Version = e.ExpireAtMs, txnNo
	k.put(s, db, k.hasher.hash(n.KeyBytes()), n, txnNo)
	return n
}

// put stores e in a slot that change returned.
func (k *Keyspace) put(s *Slot, db int, hash uint32, e *Entry, txnNo uint64) {
	d := s.dbs[db]
	if d == nil {
		d = &dict{}
		s.dbs[db] = d
	}
	old := d.put(hash, e.KeyBytes(), e, k.cuts.epochFor(txnNo))
	if old == nil {
		k.counts.keys[db].Add(1)
		s.keys.Add(1)
	} else {
		s.forget(&k.counts, db, old)
		k.tellGone(db, old)
		e.inheritUse(old)
	}
	k.counts.add(db, e)
	s.expires.add(db, e)
}

// Remove removes a key and returns its entry, or nil.
func (k *Keyspace) Remove(slot int32, db int, key []byte, txnNo uint64) *Entry {
	s := k.change(slot, txnNo)
	hash := k.hasher.hash(key)
	e := s.dbs[db].remove(hash, key, k.cuts.epochFor(txnNo))
	if e == nil {
		return nil
	}
	k.counts.keys[db].Add(-1)
	s.keys.Add(-1)
	s.forget(&k.counts, db, e)
	k.tellGone(db, e)
	s.deleted.add(db, hash, txnNo)
	return e
}

// Mutable returns the entry to change in place for a key whose entry is e: e itself, or a copy that
// has replaced it because an open cut keeps e. The caller must end the change with Changed, and
// must not change ExpireAtMs.
func (k *Keyspace) Mutable(slot int32, db int, e *Entry, txnNo uint64) *Entry {
	k.counts.resize(db, e, -1)
	s := k.change(slot, txnNo)
	held, perishable := k.cuts.hold(e, txnNo), e.perishable() != nil
	if held || perishable {
		s.expires.remove(db, e)
	}
	if held {
		n := e.clone()
		s.dbs[db].put(k.hasher.hash(e.KeyBytes()), e.KeyBytes(), n, k.cuts.epochFor(txnNo))
		e = n
		if !perishable {
			s.expires.add(db, e)
		}
	}
	return e
}

// Changed ends a change begun with Mutable. A perishable object is not in the index in between,
// because the change may alter its first expiry.
func (k *Keyspace) Changed(db int, e *Entry, txnNo uint64) {
	if e.perishable() != nil && e.DueAtMs() != 0 {
		k.slots[k.LockSlotOf(e)].expires.add(db, e)
	}
	e.Version = txnNo
	k.counts.resize(db, e, 1)
}

// SetExpire changes a key's expiry (0 for never) and makes txnNo its version.
func (k *Keyspace) SetExpire(slot int32, db int, e *Entry, atMs int64, txnNo uint64) {
	e = k.Mutable(slot, db, e, txnNo)
	s := &k.slots[slot]
	if e.perishable() == nil {
		s.reschedule(&k.counts, db, e, atMs)
	} else {
		// Mutable and Changed update the index.
		k.counts.setExpiry(db, e, atMs)
	}
	k.Changed(db, e, txnNo)
}

// change returns a slot that txnNo is about to change. If a cut is open it captures the slot first.
func (k *Keyspace) change(slot int32, txnNo uint64) *Slot {
	s := &k.slots[slot]
	if c := k.cuts.before(txnNo); c != nil && s.cutEpoch != c.epoch {
		c.capture(int(slot))
	}
	return s
}

// Moved returns an entry with the value of e, including its expiry, under another key. The caller
// stores it and removes e in the same txn.
func (k *Keyspace) Moved(e *Entry, key []byte, txnNo uint64) *Entry {
	if k.cuts.hold(e, txnNo) {
		return e.Copied(key)
	}
	return e.renamed(key)
}

// Keys is the number of keys of a database, including those that are due but not deleted yet.
func (k *Keyspace) Keys(db int) int { return int(k.counts.keys[db].Load()) }

// Counts are the counts of a database's keys.
func (k *Keyspace) Counts(db int) Counts { return k.counts.of(db) }

// MemoryBytes is the approximate memory of all keys and values.
func (k *Keyspace) MemoryBytes() int64 {
	var sum int64
	for db := range Databases {
		sum += k.counts.memory[db].Load()
	}
	return sum
}

// IndexBytes is the approximate memory of the index of expiries.
func (k *Keyspace) IndexBytes() int64 {
	var n int64
	for db := range Databases {
		n += k.counts.volatile[db].Load() + k.counts.perishing[db].Load()
	}
	return n * int64(OverheadExpiryBytes)
}

// Flush empties one database. It needs the global lock. It costs a step per lock slot, not per key.
func (k *Keyspace) Flush(db int, txnNo uint64) {
	for i := range k.slots {
		s := &k.slots[i]
		if d := s.dbs[db]; d == nil || d.count == 0 {
			continue
		}
		k.change(int32(i), txnNo)
		s.keys.Add(-int64(s.dbs[db].count))
		s.dbs[db] = nil
		s.expires.drop(db)
		s.deleted.raise(txnNo)
	}
	k.counts.drop(db)
}

// Swap exchanges the content of two databases. It needs the global lock, and costs a step per lock
// slot.
func (k *Keyspace) Swap(a, b int, txnNo uint64) {
	if a == b {
		return
	}
	for i := range k.slots {
		s := k.change(int32(i), txnNo)
		s.dbs[a], s.dbs[b] = s.dbs[b], s.dbs[a]
		s.expires.swap(a, b)
	}
	k.counts.swap(a, b)
	k.swappedAt[a], k.swappedAt[b] = txnNo, txnNo
}

// Unchanged reports whether a key is unchanged for a client that read its version (0 for a missing
// key) after txn seenAt. A deletion that may have been forgotten counts as a change, and so do an
// expiry before nowMs and a swap of the database. A key that was made since then and has expired,
// but is not deleted yet, counts as made and deleted.
func (k *Keyspace) Unchanged(slot int32, db int, key []byte, version, seenAt uint64, nowMs int64) bool {
	e := k.Find(slot, db, key)
	if e != nil && e.ExpiredAt(nowMs) {
		if e.Version > seenAt {
			return false
		}
		e = nil
	}
	s := &k.slots[slot]
	switch {
	case k.swappedAt[db] > seenAt:
		// That holds even if the key was missing then and is missing now: it may have been made and
		// swapped away in between.
		return false
	case e != nil:
		return e.Version == version
	case version != 0:
		return false
	default:
		return !s.deleted.since(db, k.hasher.hash(key), seenAt)
	}
}

// SeenAt is the txn up to which a client has seen a slot, if it reads versions there after it had
// seen txn seenAt: seenAt itself, or the last txn that deleted something there or swapped the
// database. It needs a shared lock on the slot.
func (k *Keyspace) SeenAt(slot int32, db int, seenAt uint64) uint64 {
	return max(seenAt, k.slots[slot].deleted.last(), k.swappedAt[db])
}

// RestoreSwappedAt sets what Cut.SwappedAt was when a snapshot was taken.
func (k *Keyspace) RestoreSwappedAt(at [Databases]uint64) { k.swappedAt = at }
