package server_test

import (
	"context"
	"sync/atomic"

	"lockstep/cluster"
)

// starter begins calls in each way there is, by turns: not at all, at once, so that
// they land well, ill, or late.
type starter struct {
	exec  *machines
	turns atomic.Int64
	// ways counts them.
	ways [waysMax]atomic.Int64
	// always, when set, is the one way.
	always atomic.Int64
	// abandoned counts the flights that were given up.
	abandoned atomic.Int64
}

const (
	wayNone = iota
	wayDone
	wayInside
	wayWell
	wayIll
	wayLate
	waysMax
	// wayNever does not land.
	wayNever
	wayPanics
	wayLandsInPanic
)

// way is a flight of a starter.
type way struct {
	how   int
	done  chan struct{}
	calls []*cluster.Call
}

// Start implements client.Starter.
func (s *starter) Start(calls []*cluster.Call, f *cluster.Flight) cluster.Started {
	turn := s.turns.Add(1)
	how := int(turn % waysMax)
	if how == wayLate && turn%25 != 0 {
		how = wayWell
	}
	if always := int(s.always.Load()); always != 0 {
		how = always
	}
	switch how {
	case wayNever:
		f.Way = &way{how: how, calls: calls}
		return cluster.StartedFlight
	case wayPanics:
		panic("asked for")
	case wayLandsInPanic:
		f.Way = &way{how: how}
		f.Landed(turn%2 == 0)
		return cluster.StartedFlight
	}
	s.ways[how].Add(1)
	switch how {
	case wayNone:
		return cluster.StartedNone
	case wayDone:
		s.exec.Do(context.Background(), calls)
		return cluster.StartedDone
	}
	w := &way{how: how, done: make(chan struct{})}
	f.Way = w
	run := func() {
		s.exec.Do(context.Background(), calls)
		close(w.done)
		if how != wayLate {
			f.Landed(turn%2 == 0)
		}
	}
	if how == wayInside {
		run()
	} else {
		go run()
	}
	return cluster.StartedFlight
}

// Abandon implements client.Starter.
func (s *starter) Abandon(f *cluster.Flight) {
	f.Way = nil
	s.abandoned.Add(1)
}

// Land implements client.Starter.
func (s *starter) Land(f *cluster.Flight) bool {
	w := f.Way.(*way)
	if w.how == wayLandsInPanic {
		panic("asked for")
	}
	return w.how != wayIll && w.how != wayNever
}

// Finish implements client.Starter.
func (s *starter) Finish(_ context.Context, f *cluster.Flight) {
	w := f.Way.(*way)
	if w.how != wayNever {
		<-w.done
		return
	}
	for _, c := range w.calls {
		c.Err = cluster.ErrUnknown
	}
}
