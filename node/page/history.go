package page

import (
	"sync"
	"time"

	"lockstep/node/metrics"
	"lockstep/proto/stats"
)

// Seconds is how long samples are kept.
const Seconds = 15 * 60

// Unmeasured stands for an unknown time: no operation took place, or none was measured.
const Unmeasured = -1

// Sample describes what a node did in about one second. Rates are per second.
type Sample struct {
	// AtMs is the end of that second, in Unix time.
	AtMs int64
	// Ops counts commands. P50Us and P99Us are the times, in microseconds, within which 50% and 99%
	// of them were answered.
	Ops, P50Us, P99Us int64
	// SyncUs is the time, in microseconds, within which 99% of the syncs of the log were done.
	SyncUs int64
	// Waits counts tickets that had to wait for a lock slot.
	Waits int64
	// Unknown is how many calls ended with an unknown outcome. It is not a rate.
	Unknown int64
}

// Counters are the totals at one moment. Two of them make a sample.
type Counters struct {
	At           time.Time
	Ops, Unknown uint64
	Waits        uint64
	Times        *stats.Times
	Syncs        metrics.Snapshot
}

// Between returns the sample for the time between two readings of the counters.
func Between(before, after *Counters) Sample {
	seconds := max(after.At.Sub(before.At).Seconds(), 0.001)
	s := Sample{
		AtMs: after.At.UnixMilli(), P50Us: Unmeasured, P99Us: Unmeasured, SyncUs: Unmeasured,
		Ops: rate(before.Ops, after.Ops, seconds), Waits: rate(before.Waits, after.Waits, seconds), Unknown: rate(before.Unknown, after.Unknown, 1),
	}
	if times, calls := after.Times.Since(before.Times); calls > 0 {
		s.P50Us, s.P99Us = int64(times.PercentileUsec(50, calls)), int64(times.PercentileUsec(99, calls))
	}
	if syncs := after.Syncs.Since(&before.Syncs); syncs.Count > 0 {
		s.SyncUs = int64(1e6 * syncs.Quantile(0.99))
	}
	return s
}

// rate is a counter's growth per second. A counter that was reset has grown from zero.
func rate(before, after uint64, seconds float64) int64 {
	if after < before {
		before = 0
	}
	return int64(float64(after-before)/seconds + 0.5)
}

// History holds the newest samples. Its zero value is ready, and any goroutine may use it.
type History struct {
	mu    sync.Mutex // guards ring, taken
	ring  [Seconds]Sample
	taken uint64
}

// Add appends a sample.
func (h *History) Add(s Sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ring[h.taken%Seconds] = s
	h.taken++
}

// Series is a run of samples with one column per number, because in JSON columns take half the size
// of rows.
type Series struct {
	// Boot is the number of the node's start. Samples are numbered from 0 after each start.
	Boot uint64 `json:"boot"`
	// First is the number of the first sample, from 0.
	First  uint64  `json:"first"`
	AtMs   []int64 `json:"at_ms"`
	Ops    []int64 `json:"ops"`
	P50Us  []int64 `json:"p50_us"`
	P99Us  []int64 `json:"p99_us"`
	SyncUs []int64 `json:"sync_us"`
	Waits  []int64 `json:"waits"`
}

// Last returns the kept samples of the last seconds.
func (h *History) Last(seconds int) *Series {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := min(uint64(max(seconds, 0)), h.taken, Seconds)
	column := func() []int64 { return make([]int64, 0, n) }
	s := &Series{First: h.taken - n, AtMs: column(), Ops: column(), P50Us: column(), P99Us: column(), SyncUs: column(), Waits: column()}
	for i := s.First; i < h.taken; i++ {
		at := &h.ring[i%Seconds]
		s.AtMs, s.Ops = append(s.AtMs, at.AtMs), append(s.Ops, at.Ops)
		s.P50Us, s.P99Us = append(s.P50Us, at.P50Us), append(s.P99Us, at.P99Us)
		s.SyncUs, s.Waits = append(s.SyncUs, at.SyncUs), append(s.Waits, at.Waits)
	}
	return s
}

// slowSyncUs is the time above which a disk counts as too slow; slow disks cause elections.
const slowSyncUs = 100_000

// Recent evaluates the newest samples: whether most syncs of the last minute took too long, and how
// many outcomes were unknown in the last five minutes.
func (h *History) Recent() (diskSlow bool, unknown int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	slow, synced := 0, 0
	for back := uint64(1); back <= min(h.taken, 300); back++ {
		at := &h.ring[(h.taken-back)%Seconds]
		unknown += at.Unknown
		if back <= 60 && at.SyncUs != Unmeasured {
			synced++
			if at.SyncUs > slowSyncUs {
				slow++
			}
		}
	}
	return synced >= 10 && 2*slow > synced, unknown
}
