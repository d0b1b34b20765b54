package stats

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"
)

// histogram counts how long one command took. Its buckets are those of Redis: two
// significant digits, from 1 ns to a second. Longer calls count as a second. The
// memory is allocated at the first call.
type histogram struct {
	counts atomic.Pointer[[histogramBuckets]atomic.Uint64]
}

const (
	// A bucket's number is made of the power of two of its row and its position in
	// the row. The first row has all positions, the others the upper half of
	// theirs.
	histogramPlaces  = 128
	histogramRows    = 24
	histogramBuckets = histogramRows * histogramPlaces
	histogramMaxNs   = uint64(time.Second)
)

// bucketOf is the number of a value's bucket.
func bucketOf(ns uint64) int {
	row := bits.Len64(ns|(2*histogramPlaces-1)) - 8
	return row*histogramPlaces + int(ns>>row)
}

// bucketTop is the greatest value that counts into a bucket.
func bucketTop(bucket int) uint64 {
	row := max(bucket/histogramPlaces-1, 0)
	place := uint64(bucket - row*histogramPlaces)
	return (place+1)<<row - 1
}

// add counts a call.
func (h *histogram) add(took time.Duration, times uint64) {
	counts := h.counts.Load()
	if counts == nil {
		fresh := new([histogramBuckets]atomic.Uint64)
		if h.counts.CompareAndSwap(nil, fresh) {
			counts = fresh
		} else {
			counts = h.counts.Load()
		}
	}
	counts[bucketOf(min(uint64(max(took, 1)), histogramMaxNs))].Add(times)
}

// reset forgets all calls and frees the memory.
func (h *histogram) reset() { h.counts.Store(nil) }

// look copies the counts. It returns nil if there were no calls.
func (h *histogram) look() (counts []uint64, total uint64) {
	live := h.counts.Load()
	if live == nil {
		return nil, 0
	}
	counts = make([]uint64, histogramBuckets)
	for i := range live {
		counts[i] = live[i].Load()
		total += counts[i]
	}
	if total == 0 {
		return nil, 0
	}
	return counts, total
}

// percentileUsec is the time, in microseconds, within which percent of the calls
// were answered.
func percentileUsec(counts []uint64, total uint64, percent float64) float64 {
	want := max(uint64(percent/100*float64(total)+0.5), 1)
	sum := uint64(0)
	for i, n := range counts {
		if sum += n; sum >= want {
			top := bucketTop(i)
			if percent == 0 && i > 0 {
				top = bucketTop(i-1) + 1
			}
			return float64(top) / 1000
		}
	}
	return math.NaN()
}

// LatencyStep is one step of LATENCY HISTOGRAM: this many calls took at most this
// long.
type LatencyStep struct{ Usec, Calls uint64 }

// steps adds up the counts at powers of two, from 1024 ns on. Steps without new
// calls are left out.
func steps(counts []uint64, total uint64) []LatencyStep {
	var list []LatencyStep
	sum, next := uint64(0), 0
	for level := uint64(1024); sum < total; level *= 2 {
		last := min(bucketOf(level), histogramBuckets-1)
		before := sum
		for ; next <= last; next++ {
			sum += counts[next]
		}
		if sum > before {
			list = append(list, LatencyStep{bucketTop(last) / 1000, sum})
		}
	}
	return list
}

// Latency is the distribution of one command's times.
type Latency struct {
	Name   string
	Calls  uint64
	counts []uint64
}

// Steps are the calls by powers of two.
func (l *Latency) Steps() []LatencyStep { return steps(l.counts, l.Calls) }

// Levels are the calls by powers of two up to a second, including steps without new
// calls: the steps are the same each time.
func (l *Latency) Levels() []LatencyStep {
	var list []LatencyStep
	sum, next := uint64(0), 0
	for level := uint64(1024); level < histogramMaxNs; level *= 2 {
		last := bucketOf(level)
		for ; next <= last; next++ {
			sum += l.counts[next]
		}
		list = append(list, LatencyStep{bucketTop(last) / 1000, sum})
	}
	return list
}

// PercentileUsec is the time within which percent of the calls were answered.
func (l *Latency) PercentileUsec(percent float64) float64 {
	return percentileUsec(l.counts, l.Calls, percent)
}

// PerLatency returns, by name, the times of the commands that were called while
// times were measured.
func (s *Stats) PerLatency() []Latency {
	var all []Latency
	for spec, st := range s.commands {
		if counts, total := st.times.look(); total > 0 {
			all = append(all, Latency{spec.Name, total, counts})
		}
	}
	slices.SortFunc(all, func(a, b Latency) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Times is the distribution of the times of all commands together, in the buckets
// of a histogram.
type Times [histogramBuckets]uint64

// Times reads the counts of this moment. It stops no command.
func (s *Stats) Times() *Times {
	sum := new(Times)
	for _, st := range s.commands {
		if live := st.times.counts.Load(); live != nil {
			for i := range live {
				sum[i] += live[i].Load()
			}
		}
	}
	return sum
}

// Since are the calls that came after earlier. If the counts were reset in between,
// it is all calls counted since then.
func (t *Times) Since(earlier *Times) (between Times, calls uint64) {
	for i, n := range t {
		if n >= earlier[i] {
			n -= earlier[i]
		}
		between[i] = n
		calls += n
	}
	return between, calls
}

// PercentileUsec is the time within which percent of the calls were answered. There
// must be at least one call.
func (t *Times) PercentileUsec(percent float64, calls uint64) float64 {
	return percentileUsec(t[:], calls, percent)
}
