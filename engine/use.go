package engine

import (
	"math"
	"sync/atomic"
)

// An entry's field use records how its key was used, as Redis's lru field does: under an
// LRU policy the tick of the last use, under an LFU policy the minute of the
// last use (16 bits) before a logarithmic counter of uses (8 bits). It belongs to
// the replica, not to the state: no log entry and no snapshot carries it, and 0
// says that nothing is known. Readers under a shared lock change it too.
//
// What was recorded under one kind of policy means little under the other; it
// is replaced as keys are used.

// UseTicks is how many ticks of the clock of uses a second has. Redis's clock
// has one; a cache that is all new within a second needs more.
const UseTicks = 10

// UseMinute is the minute of an LFU record at a tick.
func UseMinute(tick uint32) uint16 { return uint16(tick / (60 * UseTicks)) }

const (
	// lfuFresh is the counter of a new key, so that it is not the first to go.
	lfuFresh = 5
	lfuMost  = 255
)

// LFU says how uses are counted: lfu-log-factor and lfu-decay-time.
type LFU struct {
	// LogFactor slows the counter down the more, the higher it stands.
	LogFactor int64
	// DecayMin is after how many minutes without use the counter falls by one, 0:
	// never.
	DecayMin int64
}

// UnusedMin is for how many minutes the key of a record was not used.
func UnusedMin(record uint32, minute uint16) uint16 { return minute - uint16(record>>8) }

// Use returns the raw record of how the key was used.
func (e *Entry) Use() uint32 { return atomic.LoadUint32(&e.use) }

// Touch records a use under an LRU policy, at a tick of the clock of uses.
func (e *Entry) Touch(tick uint32) {
	if e.Use() != tick {
		atomic.StoreUint32(&e.use, tick)
	}
}

// TouchLFU records a use under an LFU policy, in a minute of the clock of uses;
// chance decides whether the counter grows. Of uses at the same moment one may
// be lost.
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

// Count is the counter in a record, less what it lost since.
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

// inheritUse takes over how the key was used before it got another value.
func (e *Entry) inheritUse(old *Entry) {
	if e.Use() == 0 {
		e.Touch(old.Use())
	}
}
