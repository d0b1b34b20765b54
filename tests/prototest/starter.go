package prototest

import (
	"context"
	"sync/atomic"

	"lockstep/cluster"
)

// Starter begins calls in each way there is, by turns: not at all, at once, so that
// they land well, ill, or late.
type Starter struct {
	Exec  *Machines
	Turns atomic.Int64
	// Ways counts them.
	Ways [waysMax]atomic.Int64
	// always, when set, is the one way.
	Always atomic.Int64
	// Abandoned counts the flights that were given up.
	Abandoned atomic.Int64
}

const (
	WayNone = iota
	WayDone
	WayInside
	WayWell
	WayIll
	WayLate
	waysMax
	// WayNever does not land.
	WayNever
	WayPanics
	WayLandsInPanic
)

// way is a flight of a starter.
type way struct {
	how   int
	done  chan struct{}
	calls []*cluster.Call
}

// Start implements client.Starter.
func (s *Starter) Start(calls []*cluster.Call, f *cluster.Flight) cluster.Started {
	turn := s.Turns.Add(1)
	how := int(turn % waysMax)
	if how == WayLate && turn%25 != 0 {
		how = WayWell
	}
	if always := int(s.Always.Load()); always != 0 {
		how = always
	}
	switch how {
	case WayNever:
		f.Way = &way{how: how, calls: calls}
		return cluster.StartedFlight
	case WayPanics:
		panic("asked for")
	case WayLandsInPanic:
		f.Way = &way{how: how}
		f.Landed(turn%2 == 0)
		return cluster.StartedFlight
	}
	s.Ways[how].Add(1)
	switch how {
	case WayNone:
		return cluster.StartedNone
	case WayDone:
		s.Exec.Do(context.Background(), calls)
		return cluster.StartedDone
	}
	w := &way{how: how, done: make(chan struct{})}
	f.Way = w
	run := func() {
		s.Exec.Do(context.Background(), calls)
		close(w.done)
		if how != WayLate {
			f.Landed(turn%2 == 0)
		}
	}
	if how == WayInside {
		run()
	} else {
		go run()
	}
	return cluster.StartedFlight
}

// Abandon implements client.Starter.
func (s *Starter) Abandon(f *cluster.Flight) {
	f.Way = nil
	s.Abandoned.Add(1)
}

// Land implements client.Starter.
func (s *Starter) Land(f *cluster.Flight) bool {
	w := f.Way.(*way)
	if w.how == WayLandsInPanic {
		panic("asked for")
	}
	return w.how != WayIll && w.how != WayNever
}

// Finish implements client.Starter.
func (s *Starter) Finish(_ context.Context, f *cluster.Flight) {
	w := f.Way.(*way)
	if w.how != WayNever {
		<-w.done
		return
	}
	for _, c := range w.calls {
		c.Err = cluster.ErrUnknown
	}
}
