package engine

import (
	"math"
	"strings"
	"sync/atomic"

	"github.com/tidwall/btree"
)

// expiryIndex orders the keys of one lock slot that have an expiry by the time
// they are due. Changed under the slot's exclusive lock.
type expiryIndex struct {
	tree *btree.BTreeG[expiry]
	// nextMs is when the first key is due; readable without a lock.
	nextMs atomic.Int64
}

type expiry struct {
	atMs int64
	db   int
	e    *Entry
}

func expiryLess(a, b expiry) bool {
	switch {
	case a.atMs != b.atMs:
		return a.atMs < b.atMs
	case a.db != b.db:
		return a.db < b.db
	}
	return strings.Compare(a.e.Key(), b.e.Key()) < 0
}

func (x *expiryIndex) add(db int, e *Entry) {
	if x.tree == nil {
		x.tree = btree.NewBTreeGOptions(expiryLess, btree.Options{NoLocks: true})
	}
	x.tree.Set(expiry{e.ExpireAtMs, db, e})
	x.refresh()
}

func (x *expiryIndex) remove(db int, e *Entry) {
	x.tree.Delete(expiry{e.ExpireAtMs, db, e})
	x.refresh()
}

func (x *expiryIndex) refresh() {
	first, ok := x.tree.Min()
	if !ok {
		x.tree = nil
		x.nextMs.Store(0)
		return
	}
	x.nextMs.Store(first.atMs)
}

// swap exchanges two databases.
func (x *expiryIndex) swap(a, b int) {
	if x.tree == nil {
		return
	}
	old := x.tree
	x.tree = nil
	old.Scan(func(it expiry) bool {
		switch it.db {
		case a:
			it.db = b
		case b:
			it.db = a
		}
		x.add(it.db, it.e)
		return true
	})
}

// drop takes one database out.
func (x *expiryIndex) drop(db int) {
	if x.tree == nil {
		return
	}
	old := x.tree
	x.tree = nil
	x.nextMs.Store(0)
	old.Scan(func(it expiry) bool {
		if it.db != db {
			x.add(it.db, it.e)
		}
		return true
	})
}

// ExpiredAt tells whether the key is gone at nowMs.
func (e *Entry) ExpiredAt(nowMs int64) bool {
	return e.ExpireAtMs != 0 && e.ExpireAtMs <= nowMs
}

// Due is a key that has reached its expiry.
type Due struct {
	DB  int
	Key string
}

// NextExpiryMs is the time at which the first key of any slot is due, and its
// slot; math.MaxInt64 and -1 when no key has an expiry. It needs no lock, and
// may be off by changes under way.
func (k *Keyspace) NextExpiryMs() (atMs int64, slot int32) {
	atMs, slot = math.MaxInt64, -1
	for i := range k.slots {
		if next := k.slots[i].expires.nextMs.Load(); next != 0 && next < atMs {
			atMs, slot = next, int32(i)
		}
	}
	return atMs, slot
}

// SlotDueMs is when the first key of a lock slot is due, 0: none. It needs no
// lock.
func (k *Keyspace) SlotDueMs(slot int32) int64 { return k.slots[slot].expires.nextMs.Load() }

// AppendDue appends up to limit keys of a lock slot that are due at nowMs. It
// needs the slot shared.
func (k *Keyspace) AppendDue(dst []Due, slot int32, nowMs int64, limit int) []Due {
	x := &k.slots[slot].expires
	if x.tree == nil {
		return dst
	}
	x.tree.Scan(func(it expiry) bool {
		if it.atMs > nowMs || limit == 0 {
			return false
		}
		limit--
		dst = append(dst, Due{it.db, it.e.Key()})
		return true
	})
	return dst
}
