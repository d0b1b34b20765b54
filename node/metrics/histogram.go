package metrics

import (
	"sync/atomic"
	"time"
)

// timeBounds are the bounds of the buckets in seconds: powers of two from an
// eighth of a millisecond to 16 s, where disks and networks live.
var timeBounds = func() (bounds [18]float64) {
	bound := 1.0 / 8192
	for i := range bounds {
		bounds[i] = bound
		bound *= 2
	}
	return bounds
}()

// Histogram counts how long something took. Its zero value is ready, and any
// goroutine may use it.
type Histogram struct {
	counts [len(timeBounds) + 1]atomic.Uint64
	sumNs  atomic.Int64
}

// Observe counts one.
func (h *Histogram) Observe(took time.Duration) {
	seconds, i := took.Seconds(), 0
	for i < len(timeBounds) && seconds > timeBounds[i] {
		i++
	}
	h.sumNs.Add(int64(took))
	h.counts[i].Add(1)
}

// Snapshot is a histogram at one moment.
type Snapshot struct {
	// Bounds rise; Cumulated tells how many were no greater than each.
	Bounds    []float64
	Cumulated []uint64
	// Count is how many there were in all, Sum what they add up to.
	Count uint64
	Sum   float64
}

// Look returns the counts of this moment, in seconds.
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

// Since is what was counted after earlier, a look at the same histogram.
func (s *Snapshot) Since(earlier *Snapshot) Snapshot {
	d := Snapshot{Bounds: s.Bounds, Cumulated: make([]uint64, len(s.Cumulated)), Count: s.Count - earlier.Count, Sum: s.Sum - earlier.Sum}
	for i := range s.Cumulated {
		d.Cumulated[i] = s.Cumulated[i] - earlier.Cumulated[i]
	}
	return d
}

// Quantile is the time in seconds within which the part q, 0 to 1, of what was
// counted was done, as near as the buckets tell; of what took longer than the
// last bound it is that bound, and 0 if nothing was counted.
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
