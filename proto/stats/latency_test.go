package stats

import (
	"fmt"
	"testing"
	"time"
)

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
