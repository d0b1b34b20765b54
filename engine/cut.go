package engine

import (
	"sync"
	"sync/atomic"
)

// Cut is the state of the keyspace between two txns, to be written out while later txns run.
//
// It is opened at once and captured lock slot by lock slot. A slot is captured by the writer of the
// snapshot at any time, or by the first txn after the cut that changes the slot, whichever comes
// first. Capturing a slot means keeping its list of segments. A later txn copies a segment of a
// captured slot, and an entry in it, before it changes them. So nothing waits for the snapshot
// longer than the copy of one segment, and of a string that is changed in place, takes; other large
// values share the parts that do not change. Memory grows only by the parts that change.
//
// A slot must be locked when it is captured: exclusively by the txn, or shared by the snapshot's
// writer with a ticket that is not older than the cut. Since tickets run in order, all txns before
// the cut have then left the slot.
type Cut struct {
	k *Keyspace
	// no is the last txn that the cut contains. epoch distinguishes cuts, because two may have been
	// opened after the same txn.
	no, epoch uint64
	slots     []capturedSlot
	// swappedAt is copied when the first slot is captured. Swap needs all slots, so by then the
	// swaps before the cut have run, and the later ones have not.
	swappedOnce sync.Once
	swappedAt   [Databases]uint64
	done        atomic.Bool
}

type capturedSlot struct {
	dbs     [Databases][]*segment
	counts  [Databases]int
	deleted deletions
}

// cuts are the cuts of a keyspace, of which one can be open.
type cuts struct {
	opened uint64 // so far
	open   atomic.Pointer[Cut]
}

// before returns the open cut if txnNo comes after it, otherwise nil.
func (c *cuts) before(txnNo uint64) *Cut {
	if open := c.open.Load(); open != nil && txnNo > open.no {
		return open
	}
	return nil
}

// epochFor is the epoch of the open cut if txnNo comes after it, otherwise 0.
func (c *cuts) epochFor(txnNo uint64) uint64 {
	if open := c.before(txnNo); open != nil {
		return open.epoch
	}
	return 0
}

// hold reports whether the open cut keeps e, so that txnNo must not change it in place.
func (c *cuts) hold(e *Entry, txnNo uint64) bool {
	open := c.before(txnNo)
	return open != nil && e.Version <= open.no
}

// OpenCut opens a cut after txn no. Only one can be open at a time. The caller makes sure that no
// other goroutine opens one meanwhile.
func (k *Keyspace) OpenCut(no uint64) *Cut {
	k.cuts.opened++
	c := &Cut{k: k, no: no, epoch: k.cuts.opened, slots: make([]capturedSlot, len(k.slots))}
	if !k.cuts.open.CompareAndSwap(nil, c) {
		panic("engine: a cut is open already")
	}
	return c
}

// CutOpen reports whether a cut is open.
func (k *Keyspace) CutOpen() bool { return k.cuts.open.Load() != nil }

// No is the number of the last txn that the cut contains.
func (c *Cut) No() uint64 { return c.no }

// Close releases the cut. Calling it again does nothing.
func (c *Cut) Close() {
	if c.done.CompareAndSwap(false, true) {
		c.k.cuts.open.CompareAndSwap(c, nil)
	}
}

// Capture captures a lock slot if no txn has done so. The slot must be locked shared.
func (c *Cut) Capture(slot int32) {
	if c.k.slots[slot].cutEpoch != c.epoch {
		c.capture(int(slot))
	}
}

func (c *Cut) capture(slot int) {
	c.swappedOnce.Do(func() { c.swappedAt = c.k.swappedAt })
	s := &c.k.slots[slot]
	s.cutEpoch = c.epoch
	got := &c.slots[slot]
	for db, d := range s.dbs {
		if d == nil || d.count == 0 {
			continue
		}
		got.counts[db] = d.count
		got.dbs[db] = d.segments()
		for _, seg := range got.dbs[db] {
			seg.cutEpoch = c.epoch
		}
	}
	got.deleted = s.deleted
	got.deleted.ring = append([]deletion(nil), s.deleted.ring...)
}

// Each calls f for the entries of one captured database of a captured slot,
// in hash order. It needs no lock.
func (c *Cut) Each(slot int32, db int, f func(e *Entry) error) error {
	for _, seg := range c.slots[slot].dbs[db] {
		for _, e := range seg.entries {
			if e == nil {
				continue
			}
			if err := f(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// Count is the number of entries of one captured database of a captured slot.
func (c *Cut) Count(slot int32, db int) int { return c.slots[slot].counts[db] }

// SwappedAt is, for each database, the number of the last txn that swapped its
// content. It is known once any slot has been captured.
func (c *Cut) SwappedAt() [Databases]uint64 { return c.swappedAt }

// Release releases the captured content of a slot, after it was written.
func (c *Cut) Release(slot int32) { c.slots[slot] = capturedSlot{} }
