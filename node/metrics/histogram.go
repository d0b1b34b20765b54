package metrics

import (
	"sync/atomic"
	"time"
)

// timeBounds are the bounds of the buckets in seconds: powers of two from an eighth of a
// millisecond to 16 s, the usual range of disks and networks.
var timeBounds = func() (bounds [18]float64) {
	bound := 1.0 / 8192
	for i := range bounds {
		bounds[i] = bound
		bound *= 2
	}
	return bounds
}()

// Histogram counts durations. Its zero value is ready, and any goroutine may use it.
type Histogram struct {
	counts [len(timeBounds) + 1]atomic.Uint64
	sumNs  atomic.Int64
}

// Observe counts one duration.
func (h *Histogram) Observe(took time.Duration) {
	seconds, i := took.Seconds(), 0
	for i < len(timeBounds) && seconds > timeBounds[i] {
		i++
	}
	h.sumNs.Add(int64(took))
	h.counts[i].Add(1)
}

// Snapshot is the state of a histogram at one moment.
type Snapshot struct {
	// Bounds is ascending. Cumulated says how many values were no greater than each bound.
	Bounds    []float64
	Cumulated []uint64
	// Count is the number of values, Sum their sum.
	Count uint64
	Sum   float64
}

// Look returns the current counts, in seconds.
func (h *Histogram) Look() Snapshot {
	s := Snapshot{Bounds: timeBounds[:], Cumulated: make([]uint64, len(timeBounds)), Sum: time.Duration(h.sumNs.Load()).Seconds()}
	for i := range h.counts {
		s.Count += h.counts[i].Load()
		if i < len(timeBounds) {
			s.Cumulated[i] = s.Count
		}
	}
	return s
}

// Since returns what was counted after the snapshot earlier of the same histogram.
func (s *Snapshot) Since(earlier *Snapshot) Snapshot {
	d := Snapshot{Bounds: s.Bounds, Cumulated: make([]uint64, len(s.Cumulated)), Count: s.Count - earlier.Count, Sum: s.Sum - earlier.Sum}
	for i := range s.Cumulated {
		d.Cumulated[i] = s.Cumulated[i] - earlier.Cumulated[i]
	}
	return d
}

// Quantile is the time in seconds within which the fraction q, 0 to 1, of the values lies, as
// exactly as the buckets allow. It is the last bound if the value is beyond that, and 0 if nothing
// was counted.
func (s *Snapshot) Quantile(q float64) float64 {
	if s.Count == 0 {
		return 0
	}
	want, below, lower := q*float64(s.Count), uint64(0), 0.0
	for i, upper := range s.Bounds {
		if n := s.Cumulated[i]; n > below && float64(n) >= want {
			return lower + (upper-lower)*max(want-float64(below), 0)/float64(n-below)
		}
		below, lower = s.Cumulated[i], upper
	}
	return lower
}
