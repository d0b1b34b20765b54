package engine

import (
	"math"
	"sync/atomic"
)

// An entry's field use records how its key was used, like Redis's lru field. Under an LRU policy it
// is the tick of the last use. Under an LFU policy it is the minute of the last use (16 bits),
// followed by a logarithmic counter of uses (8 bits). It belongs to the replica and not to the
// state: no log entry and no snapshot contains it, and 0 means that nothing is known. Readers under
// a shared lock change it too.
//
// A record from one kind of policy means little under the other. It is replaced when the key is
// used.

// UseTicks is the number of ticks per second of the clock of uses. Redis's clock has one. A cache
// in which every key is less than a second old needs more.
const UseTicks = 10

// UseMinute is the minute of an LFU record at a tick.
func UseMinute(tick uint32) uint16 { return uint16(tick / (60 * UseTicks)) }

const (
	// lfuFresh is the counter of a new key, so that a new key is not evicted first.
	lfuFresh = 5
	lfuMost  = 255
)

// LFU says how uses are counted: lfu-log-factor and lfu-decay-time.
type LFU struct {
	// LogFactor slows the counter down, the more the higher the counter is.
	LogFactor int64
	// DecayMin is the number of minutes without use after which the counter falls by one, 0 for
	// never.
	DecayMin int64
}

// UnusedMin is the number of minutes since the last use in a record.
func UnusedMin(record uint32, minute uint16) uint16 { return minute - uint16(record>>8) }

// Use returns the raw record of how the key was used.
func (e *Entry) Use() uint32 { return atomic.LoadUint32(&e.use) }

// Touch records a use under an LRU policy, at a tick of the clock of uses.
func (e *Entry) Touch(tick uint32) {
	if e.Use() != tick {
		atomic.StoreUint32(&e.use, tick)
	}
}

// TouchLFU records a use under an LFU policy, in a minute of the clock of uses. chance decides
// whether the counter grows. If two uses happen at the same moment one of them may be lost.
func (e *Entry) TouchLFU(minute uint16, chance uint64, l LFU) {
	record := e.Use()
	n := uint8(lfuFresh)
	if record != 0 {
		n = l.grown(l.Count(record, minute), chance)
	}
	e.Touch(lfuRecord(minute, n))
}

// SetLFU records that the key was used as often as the counter n says.
func (e *Entry) SetLFU(minute uint16, n uint8) { e.Touch(lfuRecord(minute, n)) }

func lfuRecord(minute uint16, n uint8) uint32 { return uint32(minute)<<8 | uint32(n) }

// Count is the counter in a record, less the decay since then.
func (l LFU) Count(record uint32, minute uint16) uint8 {
	n := int64(record & lfuMost)
	if l.DecayMin > 0 {
		n -= min(n, int64(UnusedMin(record, minute))/l.DecayMin)
	}
	return uint8(n)
}

// grown is the counter after one more use: it grows with a chance of one in
// (n-fresh)*factor+1.
func (l LFU) grown(n uint8, chance uint64) uint8 {
	if n == lfuMost {
		return n
	}
	above := uint64(max(int(n)-lfuFresh, 0))
	factor := uint64(min(max(l.LogFactor, 0), math.MaxInt32))
	if chance%(above*factor+1) != 0 {
		return n
	}
	return n + 1
}

// inheritUse takes over the record of use from the entry that e replaces.
func (e *Entry) inheritUse(old *Entry) {
	if e.Use() == 0 {
		e.Touch(old.Use())
	}
}
