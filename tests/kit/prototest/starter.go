package prototest

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"lockstep/cluster"
)

// Starter answers calls with the results of Machines, in all possible ways in turn: at once, within
// Go, soon or late; for all calls, or for some.
type Starter struct {
	*Machines
	Turns atomic.Int64
	// Ways counts how often each way was used.
	Ways [waysMax]atomic.Int64
	// Always, when set, is the only way that is used.
	Always atomic.Int64
}

const (
	WayNone = iota
	WayNow
	WayInside
	WaySoon
	WayInPart
	WayLate
	waysMax
	// WayNever answers only when ctx ends, or after a while, with an unknown outcome.
	WayNever
	WayPanics
	WayBreaksResume
)

// Go implements client.Executor.
func (s *Starter) Go(ctx context.Context, calls []*cluster.Call, done func(alone bool)) (answered bool) {
	turn := s.Turns.Add(1)
	how := int(turn % waysMax)
	if how == WayNone || how == WayLate && turn%25 != 0 {
		how = WaySoon
	}
	if always := int(s.Always.Load()); always != 0 {
		how = always
	}
	alone := turn%2 == 0
	switch how {
	case WayNever:
		ended, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		context.AfterFunc(ended, func() {
			cancel()
			fail(calls, cluster.ErrUnknown)
			done(alone)
		})
		return false
	case WayPanics:
		panic("asked for")
	case WayBreaksResume:
		fail(calls, brokenError{})
		done(alone)
		return false
	}
	s.Ways[how].Add(1)
	run := func() { s.Do(context.Background(), calls); done(alone) }
	switch how {
	case WayNow:
		s.Do(context.Background(), calls)
		return true
	case WayInside:
		run()
	case WaySoon:
		go run()
	case WayInPart:
		go func() {
			s.Do(context.Background(), calls[:1+rand.IntN(len(calls))])
			done(alone)
		}()
	case WayLate:
		time.AfterFunc(100*time.Millisecond, run)
	}
	return false
}

func fail(calls []*cluster.Call, err error) {
	for _, c := range calls {
		c.Err = err
	}
}

// brokenError panics when a caller inspects it.
type brokenError struct{}

func (brokenError) Error() string { panic("asked for") }
func (brokenError) Is(error) bool { panic("asked for") }
