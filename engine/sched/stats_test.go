package sched

import "testing"

// A wait counts in the first class whose bound is not below it.
func TestWaitsAreCountedByClass(t *testing.T) {
	for class := range len(WaitClasses{}) - 1 {
		for ns, want := range map[int64]int{WaitBoundNs(class): class, WaitBoundNs(class) + 1: class + 1} {
			var c counters
			if c.wait(ns); c.waits[want] != 1 {
				t.Errorf("%d ns: %v, not in class %d", ns, c.waits, want)
			}
		}
	}
	var c counters
	c.wait(0)
	c.wait(-5)
	c.wait(1 << 62)
	if c.waits[0] != 2 || c.waits[len(c.waits)-1] != 1 {
		t.Error(c.waits)
	}
}
