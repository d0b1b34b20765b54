package admin

import (
	"strings"
	"testing"

	"lockstep/proto/stats"
)

// This is the graph that redis-server drew of these samples, at this time.
func TestGraphIsRediss(t *testing.T) {
	h := stats.LatencyHistory{Event: "command", MaxMs: 200}
	for i, ms := range []int64{5, 30, 12, 200, 94, 110} {
		h.Samples = append(h.Samples, stats.LatencySample{UnixSec: 1000 + int64(i), Ms: ms})
	}
	want := "command - high 200 ms, low 5 ms (all time high 200 ms)\n" + strings.Repeat("-", 80) + "\n" +
		"   #  \n   | _\n   |#|\n_o_|||\n      \n765432\nssssss\n"
	if got := graph(&h, 1007); got != want {
		t.Errorf("drew\n%s\nnot\n%s", got, want)
	}
	h.Samples = []stats.LatencySample{{UnixSec: 1000 - 90*60, Ms: 600}, {UnixSec: 1000 - 30*24*3600, Ms: 600}}
	if got := graph(&h, 1000); !strings.HasSuffix(got, "__\n  \n13\nh0\n d\n") {
		t.Errorf("drew\n%s", got)
	}
}

func TestDoctorSpeaksOfWhatIsThere(t *testing.T) {
	if got := doctor(nil, 0); !strings.Contains(got, "latency-monitor-threshold") {
		t.Error(got)
	}
	if got := doctor(nil, 100); !strings.Contains(got, "100 ms") {
		t.Error(got)
	}
	got := doctor([]stats.LatencyHistory{{
		Event: stats.EventSync, Samples: []stats.LatencySample{{UnixSec: 100, Ms: 10}, {UnixSec: 120, Ms: 30}}, MaxMs: 40,
	}}, 5)
	for _, part := range []string{"1. raft-fsync: 2 latency spikes (average 20ms, mean deviation 10ms, period 10.00 sec). Worst all time event 40ms.", "disk"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in\n%s", part, got)
		}
	}
	if strings.Contains(got, "SLOWLOG") {
		t.Errorf("speaks of commands:\n%s", got)
	}
}
