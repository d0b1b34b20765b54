package stats

import (
	"testing"
	"time"

	"lockstep/engine/commands"
)

// These are the numbers that Redis itself shows for calls of these lengths.
func TestHistogramShowsWhatRedisShows(t *testing.T) {
	for _, c := range []struct {
		took time.Duration
		usec float64
		step uint64
	}{
		{5000 * time.Nanosecond, 5.023, 8},
		{20050 * time.Microsecond, 20054.015, 33816},
		{600 * time.Millisecond, 603979.775, 1073741},
		{time.Hour, 1002438.655, 1073741},
		{0, 0.001, 1},
	} {
		var h histogram
		h.add(c.took, 1)
		counts, total := h.look()
		if total != 1 {
			t.Fatalf("%v: %d calls", c.took, total)
		}
		if got := percentileUsec(counts, total, 50); got != c.usec {
			t.Errorf("%v: the median is %v, not %v", c.took, got, c.usec)
		}
		if got := steps(counts, total); len(got) != 1 || got[0] != (LatencyStep{c.step, 1}) {
			t.Errorf("%v: steps %v, not %d", c.took, got, c.step)
		}
	}
}

// The bucket of every value ends at the value or later, by less than one percent.
func TestHistogramBucketsAreNarrow(t *testing.T) {
	last := -1
	for ns := uint64(1); ns <= histogramMaxNs; ns += 1 + ns/300 {
		b := bucketOf(ns)
		if b < last || b >= histogramBuckets {
			t.Fatalf("%d ns is in bucket %d, after %d", ns, b, last)
		}
		if top := bucketTop(b); top < ns || float64(top-ns) > float64(ns)/100 {
			t.Fatalf("%d ns is in a bucket up to %d", ns, top)
		}
		last = b
	}
}

func TestPercentilesAndStepsOfManyCalls(t *testing.T) {
	var h histogram
	for i := range 1000 {
		h.add(time.Duration(i+1)*time.Microsecond, 1)
	}
	counts, total := h.look()
	for percent, want := range map[float64]float64{0: 1, 50: 500, 99: 990, 100: 1000} {
		if got := percentileUsec(counts, total, percent); got < want-1 || got > 1.01*want {
			t.Errorf("p%v is %v, not about %v", percent, got, want)
		}
	}
	list := steps(counts, total)
	if last := list[len(list)-1]; last.Calls != 1000 || last.Usec != 1056 {
		t.Errorf("the last step is %v", last)
	}
	for i := 1; i < len(list); i++ {
		if list[i].Calls <= list[i-1].Calls || list[i].Usec <= list[i-1].Usec {
			t.Errorf("steps do not rise: %v", list)
		}
	}
	h.reset()
	if _, total := h.look(); total != 0 {
		t.Errorf("%d calls after a reset", total)
	}
}

func TestTimesOfAllCommandsSinceAMoment(t *testing.T) {
	s := New()
	get, _ := commands.Lookup([][]byte{[]byte("get")})
	set, _ := commands.Lookup([][]byte{[]byte("set")})
	s.Ran(get, time.Second, false)
	before := s.Times()
	for range 99 {
		s.Ran(get, time.Millisecond, false)
	}
	s.Ran(set, 50*time.Millisecond, false)
	since, calls := s.Times().Since(before)
	if calls != 100 {
		t.Fatalf("%d calls", calls)
	}
	if p50, p100 := since.PercentileUsec(50, calls), since.PercentileUsec(100, calls); p50 < 1000 || p50 > 1010 || p100 < 50_000 || p100 > 50_500 {
		t.Errorf("%v, %v", p50, p100)
	}
	// CONFIG RESETSTAT resets the counts; later calls count.
	later := s.Times()
	s.Reset()
	s.Ran(set, time.Millisecond, false)
	if _, calls := s.Times().Since(later); calls != 1 {
		t.Errorf("%d calls after they were set back", calls)
	}
}
