package sched

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// Values move between slots, two at a time or all at once. Their sum is the same, whenever a sweep
// takes it.
func TestASweepIsOneInstant(t *testing.T) {
	const slots, moves = 16, 20_000
	s := newTable(t, Config{Slots: slots, Permits: 4})
	var values [slots]int
	var stop atomic.Bool
	var sweeps sync.WaitGroup
	for range 3 {
		sweeps.Go(func() {
			for !stop.Load() {
				var sum atomic.Int64
				if err := s.Sweep(t.Context(), "sum", func(slot int32) { sum.Add(int64(values[slot])) }); err != nil || sum.Load() != 0 {
					t.Errorf("the sum is %d, not 0; %v", sum.Load(), err)
					return
				}
			}
		})
	}
	for i := range int32(moves) {
		from, to := i%slots, i*7%slots
		if from == to {
			continue
		}
		k := &Task{Access: access(writes(from), writes(to)), Heavy: i%3 == 0, Work: do(func() { values[from]--; values[to]++ })}
		if i%100 == 0 {
			k = &Task{Access: Access{Global: true}, Heavy: i%200 == 0, Work: do(func() { values[from]--; values[to]++ })}
		}
		s.Submit(k)
	}
	s.Drain()
	stop.Store(true)
	sweeps.Wait()
}

// A sweep waits for a long writer. In the other slots it sees the work that came before it, and
// delays nothing there.
func TestASweepHoldsUpNobodyElse(t *testing.T) {
	s := newTable(t, Config{Slots: 4, Permits: 2})
	values := [4]int{1, 1, 1, 1}
	long := lock(t, s, access(writes(0)))
	queued := &Task{Access: access(writes(0), writes(1)), Work: do(func() { values[1] = 10 })}
	s.Submit(queued)
	swept := make(chan int64, 1)
	go func() {
		var sum atomic.Int64
		err := s.Sweep(t.Context(), "sum", func(slot int32) { sum.Add(int64(values[slot])) })
		if err != nil {
			t.Error(err)
		}
		swept <- sum.Load()
	}()
	eventually(t, "the sweep waits in two slots", func() bool { return s.Stats().WaitingTickets == 3 })
	done := make(chan struct{})
	s.Submit(&Task{Access: access(writes(2)), Work: do(func() { values[2] = 100; close(done) })})
	<-done
	later := &Task{Access: access(writes(1)), Work: do(func() { values[1] = 1000 })}
	s.Submit(later)
	select {
	case sum := <-swept:
		t.Fatalf("it did not wait: %d", sum)
	default:
	}
	s.Unlock(long)
	if sum := <-swept; sum != 1+10+1+1 {
		t.Errorf("the sum is %d, not 13", sum)
	}
}

// A waiter that gave up no longer waits, and its remaining tasks do no harm.
func TestASweepEndsWithItsContext(t *testing.T) {
	s := newTable(t, Config{Slots: 4, Permits: 1})
	for _, a := range []Access{access(writes(0)), {Global: true}} {
		long := lock(t, s, a)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Sweep(ctx, "sum", func(int32) {}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		s.Unlock(long)
		s.Drain()
		if st := s.Stats(); st.WaitingTickets != 0 || st.PermitsInUse != 0 {
			t.Errorf("%+v", st)
		}
	}
}
