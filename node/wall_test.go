package node

import (
	"testing"
	"time"
)

func TestAWrongClockIsWrongAsItIsTold(t *testing.T) {
	now := time.UnixMicro(1_000_000_000)
	for text, want := range map[string]time.Duration{
		"": 0, "junk": 0, "3600000000 1000000000 0": time.Hour, "-5 1000000000 0": -5 * time.Microsecond,
		"0 990000000 1000000": 10 * time.Second, "7000000 998000000 -1000000": 5 * time.Second,
	} {
		if got := wrongTime(now, text).Sub(now); got != want {
			t.Errorf("%q: %v ahead, want %v", text, got, want)
		}
	}
}
