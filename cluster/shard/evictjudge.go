package shard

import (
	"math"

	"lockstep/engine/command"
	"lockstep/engine/sched"
	"lockstep/fsm"
)

// verdict says whether a bundle may enter the log.
type verdict uint8

const (
	memoryAllows verdict = iota
	memoryWaits
	memoryRefuses
	// memoryDivides means that the bundle's txns may go one by one, but not all at once.
	memoryDivides
)

// judge decides whether an admitted bundle of n txns may go into the log, and how much
// memory it may need beyond its bytes.
//
// As in Redis, a command is let in while there is room, however much it needs; the
// commands after it count that need. So at most one command exceeds the limit, or one
// transaction, which may need no more than the limit.
func (v *evictor) judge(bundle []byte, n int) (verdict, int64) {
	settings := v.shard.machine.Settings()
	limit := settings.MemoryBytesMax
	if limit == 0 {
		return memoryAllows, 0
	}
	used, growth := v.usedBytes(), v.growthBytes()-int64(len(bundle))
	d := v.demandOf(bundle, &settings, growth, limit-used-growth)
	if used+growth+int64(len(bundle)) > limit-reserveBytes(limit)/2 && settings.Policy() != command.PolicyNone {
		v.Kick()
	}
	room := limit - used - growth
	switch {
	case !d.any:
		return memoryAllows, d.bytes
	case used > limit && v.shard.cfg.Memory.evictable(settings.Policy()) == 0:
		return memoryRefuses, 0
	case n > 1 && d.bytes > 0 && d.bytes > room:
		return memoryDivides, 0
	case d.bytes-d.largest > limit:
		return memoryRefuses, 0
	case room >= 0 && v.number.Load() == 0:
		return memoryAllows, d.bytes
	}
	return memoryWaits, d.bytes
}

// demand is the memory that a bundle needs.
type demand struct {
	// any is true if one of its txns may need memory.
	any bool
	// bytes is what the txns may need beyond their own bytes. largest is the part of one
	// command.
	bytes, largest int64
}

// demandOf works out a bundle's demand. If that is more than room, it looks at the stored
// values: a key that a command fills may exist already.
func (v *evictor) demandOf(bundle []byte, settings *command.Settings, growth, room int64) demand {
	sizes := command.Sizes{ValueBytesMax: settings.ValueBytesMax}
	of := func(int) *command.Sizes { return &sizes }
	sum := func() (d demand) {
		fsm.EachTxn(bundle, func(t *fsm.Txn) {
			// Later commands of the bundle may read what earlier ones make.
			sizes.AllBytes = bounded(v.shard.machine.Keyspace().MemoryBytes() + growth + d.bytes)
			d.any = d.any || t.GrowsMemory()
			bytes, largest := t.GrowthBytes(of)
			d.bytes, d.largest = bounded(d.bytes+bounded(bytes)), max(d.largest, largest)
		})
		return d
	}
	d := sum()
	if d.bytes > max(room, 0) {
		of = func(db int) *command.Sizes {
			sizes.Value = func(key []byte) (int64, bool) { return v.valueBytes(db, key) }
			return &sizes
		}
		d = sum()
	}
	return d
}

// bounded keeps sums of bounds from overflowing.
func bounded(bytes int64) int64 {
	if bytes < 0 || bytes > math.MaxInt64/4 {
		return math.MaxInt64 / 4
	}
	return bytes
}

// valueBytes is the memory of a key's entry now, or 0 if there is no entry. known is
// false if the answer would need a wait.
func (v *evictor) valueBytes(db int, key []byte) (bytes int64, known bool) {
	ks, locks := v.shard.machine.Keyspace(), v.shard.machine.Sched()
	slot := ks.LockSlot(key)
	var ticket sched.Ticket
	access := sched.Access{Slots: []sched.SlotMode{{Slot: slot, Mode: sched.Shared}}}
	if !locks.TryLock(&ticket, &access) {
		return 0, false
	}
	defer locks.Unlock(&ticket)
	if e := ks.Find(slot, db, key); e != nil {
		bytes = int64(e.MemoryBytes())
	}
	return bytes, true
}
