package router

import (
	"context"
	"testing"

	"lockstep/cluster"
	"lockstep/fsm"
)

// numbersOpen counts the numbers of a shard's bundles that were given out and not given
// back.
func numbersOpen(r *Router, index int) (open int) {
	lanes := r.lanes[index].now.Load()
	for i := range lanes.all {
		l := &lanes.all[i]
		l.mu.Lock()
		open += len(l.open)
		l.mu.Unlock()
	}
	return open
}

// TestAPanicGivesTheNumberBack: whatever panics while a bundle is numbered and on its way,
// its number is given back. Numbers that stay out fill a lane up, and in the end all of
// them: then every write of the gateway would be refused.
func TestAPanicGivesTheNumberBack(t *testing.T) {
	broken := func() { panic("broken by hand") }
	for _, c := range []struct {
		name string
		do   func(r *Router, s *fakeShard)
	}{
		{"proposed here, and waited for", func(r *Router, s *fakeShard) {
			s.hold, s.onHold = true, broken
			r.Do(context.Background(), []*cluster.Call{callOf(0, "set", "k", "v")})
		}},
		{"proposed in two shards", func(r *Router, s *fakeShard) {
			s.hold, s.onHold = true, broken
			r.Do(context.Background(), []*cluster.Call{callOf(9000, "set", "l", "v"), callOf(0, "set", "k", "v")})
		}},
		{"numbered", func(r *Router, s *fakeShard) {
			r.cfg.Numbered = func(int, fsm.TxnID, []*cluster.Call) { broken() }
			call := callOf(0, "set", "k", "v")
			call.Client = 7
			r.Do(context.Background(), []*cluster.Call{call})
		}},
		{"begun, and its client's connection ends", func(r *Router, s *fakeShard) {
			s.hold, s.onHold = true, func() {}
			f := &cluster.Flight{Landed: func(bool) {}}
			if got := r.Start([]*cluster.Call{callOf(0, "set", "k", "v")}, f); got != cluster.StartedFlight {
				t.Fatal(got)
			}
			if n := numbersOpen(r, 0); n != 1 {
				t.Fatalf("%d numbers are out", n)
			}
			r.Abandon(f)
			r.Abandon(f)
		}},
		{"begun", func(r *Router, s *fakeShard) {
			s.hold, s.onHold = true, broken
			f := &cluster.Flight{Landed: func(bool) {}}
			defer r.Abandon(f)
			r.Start([]*cluster.Call{callOf(0, "set", "k", "v")}, f)
		}},
		{"begun, and finished by another", func(r *Router, s *fakeShard) {
			s.steps = []error{cluster.ErrNotLeader}
			f := &cluster.Flight{Landed: func(bool) {}}
			r.Start([]*cluster.Call{callOf(0, "set", "k", "v")}, f)
			r.cfg.Replica = func(int) Shard { broken(); return nil }
			r.Finish(context.Background(), f)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &fakeShard{addr: "a", self: true}
			r := routerOf(5000, nil, s, s)
			func() {
				defer func() { _ = recover() }()
				c.do(r, s)
			}()
			if n, other := numbersOpen(r, 0), numbersOpen(r, 1); n != 0 || other != 0 {
				t.Errorf("%d and %d numbers are out", n, other)
			}
		})
	}
}

// TestAReadIsNoNumber: what reads has none, and nothing of it is given back.
func TestAReadIsNoNumber(t *testing.T) {
	s := &fakeShard{addr: "elsewhere"}
	r := routerOf(5000, silentPeers{}, s, s)
	f := &cluster.Flight{Landed: func(bool) {}}
	if got := r.Start([]*cluster.Call{callOf(0, "get", "k")}, f); got != cluster.StartedFlight {
		t.Fatal(got)
	}
	r.Abandon(f)
	if f.Way != nil || numbersOpen(r, 0) != 0 {
		t.Error("the flight is not given up")
	}
}

// silentPeers answer nothing.
type silentPeers struct{}

func (silentPeers) Go(string, uint8, []byte, func([]byte, error)) {}
