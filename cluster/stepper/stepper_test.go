package stepper

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// await waits until a step has begun.
func await(t *testing.T, steps <-chan int) int {
	t.Helper()
	select {
	case n := <-steps:
		return n
	case <-time.After(20 * time.Second):
		t.Fatal("no step")
		return 0
	}
}

func TestAStepComesAtOnceThenAfterItsPauseOrAKick(t *testing.T) {
	s := New()
	ctx, cancel := context.WithCancel(t.Context())
	steps, ended := make(chan int), make(chan struct{})
	var pause atomic.Int64
	pause.Store(1)
	go func() {
		defer close(ended)
		n := 0
		s.Run(ctx, func(ctx context.Context) time.Duration {
			n++
			select {
			case steps <- n:
			case <-ctx.Done():
			}
			return time.Duration(pause.Load())
		})
	}()
	for want := range 3 {
		if n := await(t, steps); n != want+1 {
			t.Fatalf("step %d, not %d", n, want+1)
		}
	}
	for _, long := range []time.Duration{time.Hour, 0} {
		// The step after this one may have begun with the old pause.
		pause.Store(int64(long))
		s.Kick()
		await(t, steps)
		s.Kick()
		s.Kick()
		await(t, steps)
	}
	cancel()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("it goes on")
	}
}

func TestKicksThatComeTogetherAreOne(t *testing.T) {
	s := New()
	for range 5 {
		s.Kick()
	}
	if len(s.kicks) != 1 {
		t.Errorf("%d kicks wait", len(s.kicks))
	}
}
