package shard

import (
	"sync"
	"time"
)

// clock gives a leader the time it stamps entries with: wall time at the
// beginning of its term, or the last stamp of the log if that is later, and
// from there on by the monotonic clock. So it never runs backwards, and a wall
// clock that is set anew within a term changes nothing.
//
// A term begins here with the first question in it: entries are taken on before
// this node is told that it leads. And the clock is never behind the last stamp,
// for a node that has just been started applies the end of its log only when it
// leads.
//
// A log whose stamps are ahead, for a leader's wall clock once was, would stay so
// for ever. So the time runs slower until it is wall time again.
type clock struct {
	mu     sync.Mutex
	term   uint64
	baseMs int64
	base   time.Time
	// aheadMs is how far baseMs is before wall time.
	aheadMs int64
}

// slower is the part of the time that passes by which a clock that is ahead falls
// back: little, for times to live grow by it.
const slower = 8

// at is the time in milliseconds since 1970, in a term that this node leads, where
// the last entry that was applied bears stampMs.
func (c *clock) at(term uint64, stampMs int64, now time.Time) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if term != c.term {
		c.term, c.base, c.baseMs, c.aheadMs = term, now, now.UnixMilli(), 0
	}
	passedMs := now.Sub(c.base).Milliseconds()
	caughtUpMs := min(passedMs/slower, c.aheadMs)
	nowMs := c.baseMs + passedMs - caughtUpMs
	if nowMs < stampMs {
		c.base, c.baseMs, c.aheadMs = now, stampMs, c.aheadMs-caughtUpMs+stampMs-nowMs
		nowMs = stampMs
	}
	return nowMs
}

// nowMs is the time by which this replica stamps entries, where it leads.
func (s *Shard) nowMs() int64 { return s.nowAt(time.Now()) }

func (s *Shard) nowAt(now time.Time) int64 {
	return s.clock.at(s.group.Term(), s.machine.StampMs(), now)
}

// ClockAheadMs is how far the time that this node would stamp entries with is
// before its wall clock.
func (s *Shard) ClockAheadMs() int64 {
	now := time.Now()
	return s.nowAt(now) - now.UnixMilli()
}
