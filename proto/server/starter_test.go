package server_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"lockstep/cluster"
)

// starter answers what machines answer, in each way there is, by turns: at once, and then before it
// returns, soon or late; all of it, or some.
type starter struct {
	*machines
	turns atomic.Int64
	// ways counts them.
	ways [waysMax]atomic.Int64
	// always, when set, is the one way.
	always atomic.Int64
}

const (
	wayNone = iota
	wayNow
	wayInside
	waySoon
	wayInPart
	wayLate
	waysMax
	// wayNever is given up when ctx ends, or after a while.
	wayNever
	wayPanics
	wayBreaksResume
)

// Go implements client.Executor.
func (s *starter) Go(ctx context.Context, calls []*cluster.Call, done func(alone bool)) (answered bool) {
	turn := s.turns.Add(1)
	how := int(turn % waysMax)
	if how == wayNone || how == wayLate && turn%25 != 0 {
		how = waySoon
	}
	if always := int(s.always.Load()); always != 0 {
		how = always
	}
	alone := turn%2 == 0
	switch how {
	case wayNever:
		ended, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		context.AfterFunc(ended, func() {
			cancel()
			fail(calls, cluster.ErrUnknown)
			done(alone)
		})
		return false
	case wayPanics:
		panic("asked for")
	case wayBreaksResume:
		fail(calls, brokenError{})
		done(alone)
		return false
	}
	s.ways[how].Add(1)
	run := func() { s.Do(context.Background(), calls); done(alone) }
	switch how {
	case wayNow:
		s.Do(context.Background(), calls)
		return true
	case wayInside:
		run()
	case waySoon:
		go run()
	case wayInPart:
		go func() {
			s.Do(context.Background(), calls[:1+rand.IntN(len(calls))])
			done(alone)
		}()
	case wayLate:
		time.AfterFunc(100*time.Millisecond, run)
	}
	return false
}

func fail(calls []*cluster.Call, err error) {
	for _, c := range calls {
		c.Err = err
	}
}

// brokenError panics when somebody looks what it is.
type brokenError struct{}

func (brokenError) Error() string { panic("asked for") }
func (brokenError) Is(error) bool { panic("asked for") }
