package client

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// What redis-server drew of these samples, at this time.
func TestGraphIsRediss(t *testing.T) {
	h := LatencyHistory{Event: "command", MaxMs: 200}
	for i, ms := range []int64{5, 30, 12, 200, 94, 110} {
		h.Samples = append(h.Samples, LatencySample{1000 + int64(i), ms})
	}
	want := "command - high 200 ms, low 5 ms (all time high 200 ms)\n" + strings.Repeat("-", 80) + "\n" +
		"   #  \n   | _\n   |#|\n_o_|||\n      \n765432\nssssss\n"
	if got := h.graph(1007); got != want {
		t.Errorf("drew\n%s\nnot\n%s", got, want)
	}
	h.Samples = []LatencySample{{1000 - 90*60, 600}, {1000 - 30*24*3600, 600}}
	if got := h.graph(1000); !strings.HasSuffix(got, "__\n  \n13\nh0\n d\n") {
		t.Errorf("drew\n%s", got)
	}
}

func TestMonitorKeepsTheLongestOfASecondAndTheLatest(t *testing.T) {
	var m LatencyMonitor
	m.Took("off", time.Hour)
	m.SetThreshold(10)
	m.Took("short", 9*time.Millisecond)
	if all := m.Histories(); len(all) != 0 {
		t.Fatalf("kept %v", all)
	}
	for sec := range int64(1000) {
		m.add("event", LatencySample{sec, 20})
		m.add("event", LatencySample{sec, 1000 - sec})
		m.add("event", LatencySample{sec, 15})
	}
	h, ok := m.History("event")
	if !ok || len(h.Samples) != latencySamplesMax || h.MaxMs != 1000 {
		t.Fatalf("%d samples, at most %d ms", len(h.Samples), h.MaxMs)
	}
	if first, last := h.Samples[0], h.Samples[latencySamplesMax-1]; first != (LatencySample{840, 160}) || last != (LatencySample{999, 20}) {
		t.Errorf("from %v to %v", first, last)
	}
	for i := range 1000 {
		m.add(fmt.Sprint(i), LatencySample{1, 1})
	}
	if n := len(m.Histories()); n != latencyEventsMax {
		t.Errorf("%d events", n)
	}
	if n := m.Reset("event", "nothing"); n != 1 {
		t.Errorf("%d were reset", n)
	}
	if n := m.Reset(); n != latencyEventsMax-1 || len(m.Histories()) != 0 {
		t.Errorf("%d were reset, %d stay", n, len(m.Histories()))
	}
}

func TestDoctorSpeaksOfWhatIsThere(t *testing.T) {
	if got := doctor(nil, 0); !strings.Contains(got, "latency-monitor-threshold") {
		t.Error(got)
	}
	if got := doctor(nil, 100); !strings.Contains(got, "100 ms") {
		t.Error(got)
	}
	got := doctor([]LatencyHistory{{EventSync, []LatencySample{{100, 10}, {120, 30}}, 40}}, 5)
	for _, part := range []string{"1. raft-fsync: 2 latency spikes (average 20ms, mean deviation 10ms, period 10.00 sec). Worst all time event 40ms.", "disk"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in\n%s", part, got)
		}
	}
	if strings.Contains(got, "SLOWLOG") {
		t.Errorf("speaks of commands:\n%s", got)
	}
}
