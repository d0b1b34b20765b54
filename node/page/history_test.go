package page

import (
	"testing"
	"time"

	"lockstep/node/metrics"
	"lockstep/proto/stats"
)

// counters are the counters at one moment.
func counters(at time.Time, ops uint64, syncs *metrics.Histogram) *Counters {
	return &Counters{At: at, Ops: ops, Times: stats.New().Times(), Syncs: syncs.Look()}
}

func TestSampleIsARatePerSecond(t *testing.T) {
	var syncs metrics.Histogram
	began := time.UnixMilli(1_000_000)
	before := counters(began, 100, &syncs)
	before.Waits, before.Unknown = 10, 1
	for range 100 {
		syncs.Observe(3 * time.Millisecond)
	}
	after := counters(began.Add(2*time.Second), 500, &syncs)
	after.Waits, after.Unknown = 16, 4
	s := Between(before, after)
	if s.AtMs != 1_002_000 || s.Ops != 200 || s.Waits != 3 || s.Unknown != 3 {
		t.Errorf("%+v", s)
	}
	if s.P50Us != Unmeasured || s.P99Us != Unmeasured {
		t.Errorf("nothing was measured, and yet %+v", s)
	}
	if s.SyncUs < 2000 || s.SyncUs > 4000 {
		t.Errorf("a sync took %d µs", s.SyncUs)
	}
	// CONFIG RESETSTAT.
	if s := Between(after, counters(began.Add(3*time.Second), 7, &syncs)); s.Ops != 7 || s.SyncUs != Unmeasured {
		t.Errorf("after counters were set back: %+v", s)
	}
	// Two readings at the same time must not cause a division by zero.
	if s := Between(before, before); s.Ops != 0 {
		t.Errorf("%+v", s)
	}
}

func TestHistoryKeepsAQuarterOfAnHour(t *testing.T) {
	var h History
	if s := h.Last(Seconds); s.First != 0 || s.AtMs == nil || len(s.AtMs) != 0 {
		t.Errorf("an empty one tells %+v", s)
	}
	for i := range int64(Seconds + 100) {
		h.Add(Sample{AtMs: i, Ops: 2 * i, P50Us: 3 * i, P99Us: 4 * i, SyncUs: 5 * i, Waits: 6 * i})
	}
	for asked, want := range map[int]int{1: 1, 30: 30, Seconds: Seconds, 10 * Seconds: Seconds, 0: 0, -1: 0} {
		s := h.Last(asked)
		if len(s.AtMs) != want || s.First != uint64(Seconds+100-want) {
			t.Fatalf("of %d seconds: %d from %d", asked, len(s.AtMs), s.First)
		}
		for i, at := range s.AtMs {
			if n := int64(s.First) + int64(i); at != n || s.Ops[i] != 2*n || s.P50Us[i] != 3*n || s.P99Us[i] != 4*n || s.SyncUs[i] != 5*n || s.Waits[i] != 6*n {
				t.Fatalf("sample %d is another", n)
			}
		}
	}
}

func TestRecentJudgesDiskAndUnknownOutcomes(t *testing.T) {
	var h History
	for range 9 {
		h.Add(Sample{SyncUs: slowSyncUs + 1})
	}
	if slow, _ := h.Recent(); slow {
		t.Error("nine seconds are too few to judge a disk")
	}
	h.Add(Sample{SyncUs: slowSyncUs + 1})
	if slow, _ := h.Recent(); !slow {
		t.Error("ten slow ones are not seen")
	}
	for range 60 {
		h.Add(Sample{SyncUs: Unmeasured, Unknown: 1})
	}
	if slow, unknown := h.Recent(); slow || unknown != 60 {
		t.Errorf("a minute later: %v, %d", slow, unknown)
	}
	for range 300 {
		h.Add(Sample{SyncUs: 100})
	}
	if slow, unknown := h.Recent(); slow || unknown != 0 {
		t.Errorf("five minutes later: %v, %d", slow, unknown)
	}
}
