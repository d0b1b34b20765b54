package main

import (
	"strings"
	"testing"
)

func TestTheVerdictComparesMediansWithTheTarget(t *testing.T) {
	r := row{name: "x", higher: true, redis: sample{100, 90, 500}, ours: sample{80, 70, 1}, target: 0.75}
	if r.ratio() != 0.7 || r.verdict() != "missed" {
		t.Errorf("ratio %v, verdict %q", r.ratio(), r.verdict())
	}
	r.ours = sample{80}
	if r.verdict() != "ok" {
		t.Errorf("0.8 against >= 0.75 is %q", r.verdict())
	}
	r.higher = false
	if r.verdict() != "missed" {
		t.Errorf("0.8 against <= 0.75 is %q", r.verdict())
	}
	if m := (sample{4, 1, 3, 2}).median(); m != 2.5 {
		t.Errorf("median %v", m)
	}
	if got := markdown([]*row{&r}); !strings.Contains(got, "| x |") || !strings.Contains(got, "missed") {
		t.Error(got)
	}
}

func TestRedisBenchmarkCSVIsRead(t *testing.T) {
	rps, p50, err := parseBenchmarkCSV("\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\"\n\"SET\",\"68027.21\",\"0.5\",\"0.1\",\"0.375\",\"0.9\",\"1.1\",\"3.0\"\n")
	if err != nil || rps != 68027.21 || p50 != 0.375 {
		t.Errorf("%v %v %v", rps, p50, err)
	}
	if _, _, err := parseBenchmarkCSV("ERR something"); err == nil {
		t.Error("nonsense was read")
	}
}
