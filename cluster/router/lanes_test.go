package router

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"lockstep/cluster"
	"lockstep/fsm"
	"lockstep/ground/caught"
)

// numbersOpen counts the numbers of a shard's bundles that were given out and not yet given back.
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

// TestAPanicGivesTheNumberBack: whatever panics while a bundle is numbered and sent, its number is
// given back. Numbers that are not given back fill up a lane, and in the end all lanes: then every
// write of the gateway would be refused.
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
		{"never answered", func(r *Router, s *fakeShard) {
			s.hold, s.onHold = true, func() {}
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(time.Millisecond, cancel)
			r.Do(ctx, []*cluster.Call{callOf(0, "set", "k", "v")})
		}},
		{"asked again", func(r *Router, s *fakeShard) {
			s.steps = []error{cluster.ErrNotLeader}
			replica := r.cfg.Replica
			r.cfg.Replica = func(i int) Shard {
				if len(s.bundles) > 0 {
					broken()
				}
				return replica(i)
			}
			r.Do(context.Background(), []*cluster.Call{callOf(0, "set", "k", "v")})
		}},
		{"looked at", func(r *Router, s *fakeShard) {
			s.hold, s.onHold = true, func() {}
			call := callOf(0, "set", "k", "v")
			call.From = brokenLeaver{}
			r.Do(context.Background(), []*cluster.Call{call})
		}},
		{"completed", func(r *Router, s *fakeShard) {
			r.Go(context.Background(), []*cluster.Call{callOf(0, "set", "k", "v")}, func(bool) { broken() })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &fakeShard{addr: "a", self: true}
			r := routerOf(5000, nil, s, s)
			r.cfg.Panics = caught.New(slog.New(slog.NewTextHandler(io.Discard, nil)))
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

// brokenLeaver is a client whose Gone panics.
type brokenLeaver struct{}

func (brokenLeaver) Gone() bool { panic("broken by hand") }

// TestAFaultIsAnswered: if the code that sends calls panics, the calls are answered: a write may
// have run, a read has not.
func TestAFaultIsAnswered(t *testing.T) {
	s := &fakeShard{addr: "a", self: true}
	r := routerOf(5000, nil, s, s)
	r.cfg.Panics = caught.New(slog.New(slog.NewTextHandler(io.Discard, nil)))
	s.hold, s.onHold = true, func() { panic("broken by hand") }
	write, read := callOf(0, "set", "k", "v"), callOf(0, "get", "k")
	r.Do(t.Context(), []*cluster.Call{write})
	if !errors.Is(write.Err, cluster.ErrUnknown) {
		t.Errorf("the write: %v", write.Err)
	}
	s.addr, s.self = "elsewhere", false
	r.cfg.Peers = brokenPeers{}
	r.Do(t.Context(), []*cluster.Call{read})
	if !errors.Is(read.Err, cluster.ErrNoAnswer) || r.cfg.Panics.Count() != 2 {
		t.Errorf("the read: %v; %d faults are counted", read.Err, r.cfg.Panics.Count())
	}
}

type brokenPeers struct{}

func (brokenPeers) Go(string, uint8, []byte, func([]byte, error)) { panic("broken by hand") }

// TestAReadHasNoNumber: a read has no number to give back.
func TestAReadHasNoNumber(t *testing.T) {
	s := &fakeShard{addr: "elsewhere"}
	r := routerOf(5000, silentPeers{}, s, s)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	call := callOf(0, "get", "k")
	if r.Do(ctx, []*cluster.Call{call}); call.Err == nil || numbersOpen(r, 0) != 0 {
		t.Errorf("%v, %d numbers are out", call.Err, numbersOpen(r, 0))
	}
}

// silentPeers never answer.
type silentPeers struct{}

func (silentPeers) Go(string, uint8, []byte, func([]byte, error)) {}
