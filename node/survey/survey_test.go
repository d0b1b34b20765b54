package survey

import "testing"

// running is a state machine that executes one more entry at each look.
type running struct{ queued, executed uint64 }

func (r *running) Queued() uint64 {
	r.queued, r.executed = r.queued+1, r.executed+1
	return r.queued
}

func (r *running) Executed() uint64 {
	r.queued, r.executed = r.queued+1, r.executed+1
	return r.executed
}

// A replica that makes progress during the look must not be reported as one that has executed
// nothing.
func TestWhatRunsMeanwhileIsNotMissed(t *testing.T) {
	for _, open := range []uint64{0, 1, 7} {
		m := &running{queued: 100 + open, executed: 100}
		if got := executedOf(100+open, m); got > 100 || got < 99 {
			t.Errorf("with %d open: %d", open, got)
		}
	}
	if got := executedOf(3, &running{queued: 10}); got != 0 {
		t.Errorf("more is open than was given: %d", got)
	}
}
