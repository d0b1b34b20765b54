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
	cfg          Config
	seed0, seed1 uint64
	slots        []slotSpace
	// swappedAt is the number of the last txn that swapped a database's content. It is guarded by
	// the global lock.
	swappedAt [Databases]uint64
	keys      [Databases]atomic.Int64
	volatile  [Databases]atomic.Int64
	// expirySec is the sum of the expiries, in seconds, and perishing the number of keys of which a
	// part has an expiry.
	expirySec [Databases]atomic.Int64
	perishing [Databases]atomic.Int64
	memory    [Databases]atomic.Int64
	cuts      uint64 // number of cuts opened so far
	cut       atomic.Pointer[Cut]
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

// slotSpace is the content of one lock slot, guarded by that slot's lock.
type slotSpace struct {
	dbs     [Databases]*dict
	expires expiryIndex
	deleted deletions
	// keys is the number of keys of all databases. It can be read without a lock.
	keys atomic.Int64
	// cutEpoch is the last cut that has captured this slot.
	cutEpoch uint64
}

// New returns an empty keyspace.
func New(cfg Config) *Keyspace {
	if !cfg.Possible() {
		panic(fmt.Sprintf("engine: %d lock slots", cfg.LockSlots))
	}
	k := &Keyspace{cfg: cfg, slots: make([]slotSpace, cfg.LockSlots)}
	for i := range k.slots {
		k.slots[i].expires.waiting = &k.waiting
	}
	for i := range 8 {
		k.seed0 |= uint64(cfg.Seed[i]) << (8 * i)
		k.seed1 |= uint64(cfg.Seed[8+i]) << (8 * i)
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

func (k *Keyspace) hash(key []byte) uint32 {
	// 0 marks an empty place in a segment.
	return max(uint32(siphash.Hash(k.seed0, k.seed1, key)>>32), 1)
}

// Find returns the entry of a key, expired or not, or nil.
func (k *Keyspace) Find(slot int32, db int, key []byte) *Entry {
	d := k.slots[slot].dbs[db]
	if d == nil {
		return nil
	}
	return d.find(k.hash(key), key)
}

// Put stores e in its slot, in place of an entry of the same key, and makes txnNo its version.
func (k *Keyspace) Put(slot int32, db int, e *Entry, txnNo uint64) {
	s := k.change(slot, txnNo)
	e.Version = txnNo
	k.put(s, db, k.hash(e.KeyBytes()), e, txnNo)
}

// SetString stores a string under key in place of whatever is there, with an expiry (0 for none),
// and returns its entry. Key and text are copied. It is Put for the most common write. If the key
// holds a string that no cut keeps, it changes the entry and, if the length allows, its text in
// place.
func (k *Keyspace) SetString(slot int32, db int, key, text []byte, expireAtMs int64, txnNo uint64) *Entry {
	s := k.change(slot, txnNo)
	hash := k.hash(key)
	if e := s.dbs[db].find(hash, key); e != nil && k.overwrite(s, db, e, text, expireAtMs, txnNo) {
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
	if k.overwrite(s, db, e, text, e.ExpireAtMs, txnNo) {
		return e
	}
	n := NewString(e.KeyBytes(), text)
	n.ExpireAtMs, n.Version = e.ExpireAtMs, txnNo
	k.put(s, db, k.hash(n.KeyBytes()), n, txnNo)
	return n
}

// overwrite changes a string in place, and reports whether that was possible.
func (k *Keyspace) overwrite(s *slotSpace, db int, e *Entry, text []byte, expireAtMs int64, txnNo uint64) bool {
	if k.held(e, txnNo) {
		return false
	}
	if !e.setText(text) {
		return false
	}
	e.flags, e.Version = 0, txnNo
	if e.ExpireAtMs != expireAtMs {
		k.reschedule(s, db, e, expireAtMs)
	}
	return true
}

// put stores e in a slot that change returned.
func (k *Keyspace) put(s *slotSpace, db int, hash uint32, e *Entry, txnNo uint64) {
	d := s.dbs[db]
	if d == nil {
		d = &dict{}
		s.dbs[db] = d
	}
	old := d.put(hash, e.KeyBytes(), e, k.cutEpoch(txnNo))
	if old == nil {
		k.keys[db].Add(1)
		s.keys.Add(1)
	} else {
		k.forget(s, db, old)
		k.tellGone(db, old)
		e.inheritUse(old)
	}
	k.memory[db].Add(int64(e.MemoryBytes()))
	s.expires.add(db, e)
	if e.ExpireAtMs != 0 {
		k.volatile[db].Add(1)
		k.expirySec[db].Add(e.ExpireAtMs / 1000)
	}
	k.countPerishing(db, e, 1)
}

// Remove removes a key and returns its entry, or nil.
func (k *Keyspace) Remove(slot int32, db int, key []byte, txnNo uint64) *Entry {
	s := k.change(slot, txnNo)
	hash := k.hash(key)
	e := s.dbs[db].remove(hash, key, k.cutEpoch(txnNo))
	if e == nil {
		return nil
	}
	k.keys[db].Add(-1)
	s.keys.Add(-1)
	k.forget(s, db, e)
	k.tellGone(db, e)
	s.deleted.add(db, hash, txnNo)
	return e
}

// forget removes an entry, which has left the keyspace, from the counters.
func (k *Keyspace) forget(s *slotSpace, db int, e *Entry) {
	k.memory[db].Add(-int64(e.MemoryBytes()))
	s.expires.remove(db, e)
	if e.ExpireAtMs != 0 {
		k.volatile[db].Add(-1)
		k.expirySec[db].Add(-(e.ExpireAtMs / 1000))
	}
	k.countPerishing(db, e, -1)
}

func (k *Keyspace) countPerishing(db int, e *Entry, by int64) {
	if p := e.perishable(); p != nil && p.FirstExpiryMs() != 0 {
		k.perishing[db].Add(by)
	}
}

// Mutable returns the entry to change in place for a key whose entry is e: e itself, or a copy that
// has replaced it because an open cut keeps e. The caller must end the change with Changed, and
// must not change ExpireAtMs.
func (k *Keyspace) Mutable(slot int32, db int, e *Entry, txnNo uint64) *Entry {
	k.memory[db].Add(-int64(e.MemoryBytes()))
	k.countPerishing(db, e, -1)
	s := k.change(slot, txnNo)
	held, perishable := k.held(e, txnNo), e.perishable() != nil
	if held || perishable {
		s.expires.remove(db, e)
	}
	if held {
		n := e.clone()
		s.dbs[db].put(k.hash(e.KeyBytes()), e.KeyBytes(), n, k.cutEpoch(txnNo))
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
	k.memory[db].Add(int64(e.MemoryBytes()))
	k.countPerishing(db, e, 1)
}

// SetExpire changes a key's expiry (0 for never) and makes txnNo its version.
func (k *Keyspace) SetExpire(slot int32, db int, e *Entry, atMs int64, txnNo uint64) {
	e = k.Mutable(slot, db, e, txnNo)
	s := &k.slots[slot]
	if e.perishable() == nil {
		k.reschedule(s, db, e, atMs)
	} else {
		// Mutable and Changed update the index.
		k.setExpiry(db, e, atMs)
	}
	k.Changed(db, e, txnNo)
}

// reschedule changes the expiry of an entry that may be changed in place.
func (k *Keyspace) reschedule(s *slotSpace, db int, e *Entry, atMs int64) {
	s.expires.remove(db, e)
	k.setExpiry(db, e, atMs)
	s.expires.add(db, e)
}

func (k *Keyspace) setExpiry(db int, e *Entry, atMs int64) {
	switch was := e.ExpireAtMs != 0; {
	case was && atMs == 0:
		k.volatile[db].Add(-1)
	case !was && atMs != 0:
		k.volatile[db].Add(1)
	}
	k.expirySec[db].Add(atMs/1000 - e.ExpireAtMs/1000)
	e.ExpireAtMs = atMs
}

// change returns a slot that txnNo is about to change. If a cut is open it captures the slot first.
func (k *Keyspace) change(slot int32, txnNo uint64) *slotSpace {
	s := &k.slots[slot]
	if c := k.cut.Load(); c != nil && txnNo > c.no && s.cutEpoch != c.epoch {
		c.capture(int(slot))
	}
	return s
}

// held reports whether an open cut keeps e, so that txnNo must not change it in place.
func (k *Keyspace) held(e *Entry, txnNo uint64) bool {
	c := k.cut.Load()
	return c != nil && txnNo > c.no && e.Version <= c.no
}

// Moved returns an entry with the value of e, including its expiry, under another key. The caller
// stores it and removes e in the same txn.
func (k *Keyspace) Moved(e *Entry, key []byte, txnNo uint64) *Entry {
	if k.held(e, txnNo) {
		return e.Copied(key)
	}
	return e.renamed(key)
}

// cutEpoch is the epoch of the open cut if txnNo comes after it, otherwise 0.
func (k *Keyspace) cutEpoch(txnNo uint64) uint64 {
	if c := k.cut.Load(); c != nil && txnNo > c.no {
		return c.epoch
	}
	return 0
}

// Keys is the number of keys of a database, including those that are due but not deleted yet.
func (k *Keyspace) Keys(db int) int { return int(k.keys[db].Load()) }

// Volatile is the number of keys of a database that have an expiry.
func (k *Keyspace) Volatile(db int) int { return int(k.volatile[db].Load()) }

// MeanExpirySec is the mean expiry of a database's keys, in Unix time, or 0 if none has an expiry.
func (k *Keyspace) MeanExpirySec(db int) int64 {
	n := k.volatile[db].Load()
	if n <= 0 {
		return 0
	}
	return k.expirySec[db].Load() / n
}

// Perishing is the number of keys of a database of which a part has an expiry.
func (k *Keyspace) Perishing(db int) int { return int(k.perishing[db].Load()) }

// SlotKeys is the number of keys of a database in one lock slot.
func (k *Keyspace) SlotKeys(slot int32, db int) int {
	if d := k.slots[slot].dbs[db]; d != nil {
		return d.count
	}
	return 0
}

// MemoryBytes is the approximate memory of all keys and values.
func (k *Keyspace) MemoryBytes() int64 {
	var sum int64
	for db := range k.memory {
		sum += k.memory[db].Load()
	}
	return sum
}

// IndexBytes is the approximate memory of the index of expiries.
func (k *Keyspace) IndexBytes() int64 {
	var n int64
	for db := range k.volatile {
		n += k.volatile[db].Load() + k.perishing[db].Load()
	}
	return n * int64(OverheadExpiryBytes)
}

// Walk calls f for the keys of one database in one lock slot in hash order,
// beginning at hash from, until f returns false.
func (k *Keyspace) Walk(slot int32, db int, from uint32, f func(hash uint32, e *Entry) bool) {
	k.slots[slot].dbs[db].walk(from, f)
}

// WalkRank is Walk for the entries behind the first skip entries.
func (k *Keyspace) WalkRank(slot int32, db int, skip int, f func(e *Entry) bool) {
	for _, s := range k.slots[slot].dbs[db].segments() {
		if skip >= s.count {
			skip -= s.count
			continue
		}
		for _, e := range s.entries {
			switch {
			case e == nil:
			case skip > 0:
				skip--
			case !f(e):
				return
			}
		}
	}
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
	k.keys[db].Store(0)
	k.volatile[db].Store(0)
	k.expirySec[db].Store(0)
	k.perishing[db].Store(0)
	k.memory[db].Store(0)
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
	swapCount(&k.keys[a], &k.keys[b])
	swapCount(&k.volatile[a], &k.volatile[b])
	swapCount(&k.expirySec[a], &k.expirySec[b])
	swapCount(&k.perishing[a], &k.perishing[b])
	swapCount(&k.memory[a], &k.memory[b])
	k.swappedAt[a], k.swappedAt[b] = txnNo, txnNo
}

func swapCount(a, b *atomic.Int64) {
	n := a.Load()
	a.Store(b.Load())
	b.Store(n)
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
		return !s.deleted.since(db, k.hash(key), seenAt)
	}
}

// SeenAt is the txn up to which a client has seen a slot, if it reads versions there after it had
// seen txn seenAt: seenAt itself, or the last txn that deleted something there or swapped the
// database. It needs a shared lock on the slot.
func (k *Keyspace) SeenAt(slot int32, db int, seenAt uint64) uint64 {
	return max(seenAt, k.slots[slot].deleted.last(), k.swappedAt[db])
}

// SwappedAt returns, per database, the number of the last txn that swapped its content.
func (k *Keyspace) SwappedAt() [Databases]uint64 { return k.swappedAt }

// RestoreSwappedAt sets the result that SwappedAt had when a snapshot was taken.
func (k *Keyspace) RestoreSwappedAt(at [Databases]uint64) { k.swappedAt = at }
