package engine

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tidwall/btree"
)

// Perishable is an object whose parts may have expiries of their own: a hash.
type Perishable interface {
	Object
	// Timed reports whether a part has, or had, an expiry. If it returns false the other methods
	// return 0.
	Timed() bool
	// FirstExpiryMs is when the first part expires, 0 if none does.
	FirstExpiryMs() int64
	// LastExpiryMs is when the last part expires, and with it the key, 0 for never.
	LastExpiryMs() int64
}

// expiryIndex orders the keys of one lock slot that expire, or have parts that do, by the time at
// which the first of these is due. It has one tree per database, so that flushing one database or
// swapping two costs no step per key of any database. It changes under the slot's exclusive lock.
type expiryIndex struct {
	trees [Databases]*btree.BTreeG[expiry]
	// nextMs is when the first key is due. It can be read without a lock.
	nextMs atomic.Int64
	// size is the number of keys in the trees. It can be read without a lock.
	size atomic.Int64
	// waiting is for the caller that waits for the first key of the keyspace to be due.
	waiting *dueWaiter
}

// dueWaiter holds the caller that sleeps until the first key is due.
type dueWaiter struct{ until atomic.Pointer[dueSleep] }

type dueSleep struct {
	atMs int64
	wake func()
}

// look wakes the sleeping caller if a key is due earlier than the caller would wake up.
func (d *dueWaiter) look(nextMs int64) {
	if s := d.until.Load(); s != nil && nextMs != 0 && nextMs < s.atMs && d.until.CompareAndSwap(s, nil) {
		s.wake()
	}
}

// WakeBefore calls wake, once, as soon as a key is due before atMs: the caller sleeps until then.
// It replaces an earlier request. wake must not block; the goroutine that changes the key calls it.
func (k *Keyspace) WakeBefore(atMs int64, wake func()) {
	k.waiting.until.Store(&dueSleep{atMs, wake})
	// A key may have come since the caller looked.
	if nextMs, slot := k.NextExpiryMs(); slot >= 0 {
		k.waiting.look(nextMs)
	}
}

type expiry struct {
	atMs int64
	e    *Entry
}

func expiryLess(a, b expiry) bool {
	if a.atMs != b.atMs {
		return a.atMs < b.atMs
	}
	return strings.Compare(a.e.Key(), b.e.Key()) < 0
}

// add adds an entry to the index if it is ever due.
func (x *expiryIndex) add(db int, e *Entry) {
	at := e.DueAtMs()
	if at == 0 {
		return
	}
	if x.trees[db] == nil {
		x.trees[db] = btree.NewBTreeGOptions(expiryLess, btree.Options{NoLocks: true})
	}
	x.trees[db].Set(expiry{at, e})
	x.refresh()
}

// remove removes an entry. The fields that add looked at must not have changed since then.
func (x *expiryIndex) remove(db int, e *Entry) {
	at := e.DueAtMs()
	if at == 0 {
		return
	}
	x.trees[db].Delete(expiry{at, e})
	if x.trees[db].Len() == 0 {
		x.trees[db] = nil
	}
	x.refresh()
}

func (x *expiryIndex) refresh() {
	var nextMs, size int64
	for _, tree := range &x.trees {
		if tree == nil {
			continue
		}
		if first, ok := tree.Min(); ok && (nextMs == 0 || first.atMs < nextMs) {
			nextMs = first.atMs
		}
		size += int64(tree.Len())
	}
	x.nextMs.Store(nextMs)
	x.size.Store(size)
	x.waiting.look(nextMs)
}

// swap exchanges two databases.
func (x *expiryIndex) swap(a, b int) { x.trees[a], x.trees[b] = x.trees[b], x.trees[a] }

// drop removes one database.
func (x *expiryIndex) drop(db int) {
	if x.trees[db] != nil {
		x.trees[db] = nil
		x.refresh()
	}
}

// indexed is an entry of the index, and its database.
type indexed struct {
	expiry
	db int
}

// nearest returns up to limit entries that are due by untilMs and that suit, nearest first. It
// looks at most at looksMax entries of each database.
func (x *expiryIndex) nearest(untilMs int64, limit, looksMax int, suits func(*Entry) bool) []indexed {
	var found []indexed
	for db, tree := range &x.trees {
		if tree == nil {
			continue
		}
		left, looks := limit, 0
		tree.Scan(func(it expiry) bool {
			if it.atMs > untilMs || left == 0 || looks == looksMax {
				return false
			}
			looks++
			if suits(it.e) {
				left--
				found = append(found, indexed{it, db})
			}
			return true
		})
	}
	slices.SortStableFunc(found, func(a, b indexed) int { return cmp.Compare(a.atMs, b.atMs) })
	return found[:min(limit, len(found))]
}

// perishable returns the object if its parts can have expiries, otherwise nil.
func (e *Entry) perishable() Perishable {
	if e.kind != KindHash {
		return nil
	}
	p, _ := e.Object().(Perishable)
	return p
}

// ExpiredAt reports whether the key has expired at nowMs: by its own expiry, or by that of all its
// parts.
func (e *Entry) ExpiredAt(nowMs int64) bool {
	if e.ExpireAtMs != 0 && e.ExpireAtMs <= nowMs {
		return true
	}
	if p := e.perishable(); p != nil {
		at := p.LastExpiryMs()
		return at != 0 && at <= nowMs
	}
	return false
}

// Lasts reports whether neither the key nor a part of it can expire.
func (e *Entry) Lasts() bool {
	if e.ExpireAtMs != 0 {
		return false
	}
	p := e.perishable()
	return p == nil || !p.Timed()
}

// DueAtMs is when the key or its first part is due, 0 for never.
func (e *Entry) DueAtMs() int64 {
	if p := e.perishable(); p != nil {
		if at := p.FirstExpiryMs(); at != 0 && (e.ExpireAtMs == 0 || at < e.ExpireAtMs) {
			return at
		}
	}
	return e.ExpireAtMs
}

// Due is a key that has expired, or of which a part has.
type Due struct {
	DB  int
	Key string
}

// NextExpiryMs is the time at which the first key of any slot is due, and its slot, or
// math.MaxInt64 and -1 if no key has an expiry. It needs no lock, and may miss concurrent changes.
func (k *Keyspace) NextExpiryMs() (atMs int64, slot int32) {
	atMs, slot = math.MaxInt64, -1
	for i := range k.slots {
		if next := k.slots[i].expires.nextMs.Load(); next != 0 && next < atMs {
			atMs, slot = next, int32(i)
		}
	}
	return atMs, slot
}

// SlotDueMs is when the first key of a lock slot is due, 0 if there is none. It needs no lock.
func (k *Keyspace) SlotDueMs(slot int32) int64 { return k.slots[slot].expires.nextMs.Load() }

// AppendDue appends up to limit keys of a lock slot that are due at nowMs. It needs a shared lock
// on the slot.
func (k *Keyspace) AppendDue(dst []Due, slot int32, nowMs int64, limit int) []Due {
	all := func(*Entry) bool { return true }
	for _, it := range k.slots[slot].expires.nearest(nowMs, limit, limit, all) {
		dst = append(dst, Due{it.db, it.e.Key()})
	}
	return dst
}
