package router

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"lockstep/cluster"
	"lockstep/cluster/transport"
)

// landed waits until a flight has landed, and takes its answer in the way that a client does.
func landed(t *testing.T, r *Router, f *cluster.Flight, told <-chan struct{}) {
	t.Helper()
	<-told
	if !r.Land(f) {
		r.Finish(t.Context(), f)
	}
}

// What is started ends as what Do runs does, whatever becomes of the first attempt.
func TestWhatIsStartedEndsAsWhatIsDone(t *testing.T) {
	for _, c := range []struct {
		name    string
		command string
		steps   []error
		far     bool
		peerErr error
		started cluster.Started
		bundles int
		err     error
	}{
		{name: "a write", command: "incr", started: cluster.StartedFlight, bundles: 1},
		{name: "a write, unknown at first", command: "incr", steps: []error{cluster.ErrUnknown}, started: cluster.StartedFlight, bundles: 2},
		{name: "a write without a leader at first", command: "incr", steps: []error{cluster.ErrNotLeader}, started: cluster.StartedFlight, bundles: 2},
		{name: "a write that is refused", command: "incr", steps: []error{cluster.ErrTooLarge}, started: cluster.StartedFlight, bundles: 1, err: cluster.ErrTooLarge},
		{name: "a write elsewhere", command: "incr", far: true, started: cluster.StartedFlight, bundles: 1},
		{name: "a write elsewhere, unknown at first", command: "incr", far: true, steps: []error{cluster.ErrUnknown}, started: cluster.StartedFlight, bundles: 2},
		{name: "a write that cannot be sent", command: "incr", far: true, peerErr: transport.ErrNotSent, started: cluster.StartedFlight, err: cluster.ErrNoLeader},
		{name: "a write that may have been sent", command: "incr", far: true, peerErr: transport.ErrMaybeSent, started: cluster.StartedFlight, err: cluster.ErrUnknown},
		{name: "a read", command: "get", started: cluster.StartedDone},
		{name: "a read that must wait", command: "get", steps: []error{cluster.ErrNotLeader}, started: cluster.StartedNone},
		{name: "a read elsewhere", command: "get", far: true, started: cluster.StartedFlight},
		{name: "a read elsewhere, without a leader at first", command: "get", far: true, steps: []error{cluster.ErrNotLeader}, started: cluster.StartedFlight},
		{name: "a read that cannot be sent", command: "get", far: true, peerErr: transport.ErrMaybeSent, started: cluster.StartedFlight, err: cluster.ErrNoAnswer},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &fakeShard{steps: c.steps}
			s.addr, s.self = "a", true
			// Who is not to be answered waits for it; the others have time.
			timeoutMs := 20_000
			if c.peerErr != nil {
				timeoutMs = 150
			}
			r := routerOf(timeoutMs, nil, s, s)
			if c.far {
				there := r
				here := &fakeShard{addr: "a"}
				r = routerOf(timeoutMs, &fakePeers{to: there, err: c.peerErr}, here, here)
			}
			told := make(chan struct{}, 10)
			f := &cluster.Flight{Landed: func(bool) { told <- struct{}{} }}
			calls := []*cluster.Call{callOf(0, c.command, "k")}
			if got := r.Start(calls, f); got != c.started {
				t.Fatalf("started: %v", got)
			}
			switch c.started {
			case cluster.StartedFlight:
				landed(t, r, f, told)
			case cluster.StartedNone:
				r.Do(t.Context(), calls)
			}
			if !errors.Is(calls[0].Err, c.err) || c.err == nil && string(calls[0].Reply) != ":0\r\n" {
				t.Errorf("%q, %v; want error %v", calls[0].Reply, calls[0].Err, c.err)
			}
			if len(s.bundles) != c.bundles {
				t.Errorf("%d bundles", len(s.bundles))
			}
			if c.bundles == 2 && !bytes.Equal(s.bundles[0], s.bundles[1]) {
				t.Error("it was asked again under another identity")
			}
		})
	}
}

// A flight that is never answered is finished by who may wait: under its identity,
// with the next leader.
func TestALateFlightIsFinished(t *testing.T) {
	s := &fakeShard{addr: "a", self: true, hold: true}
	s.onHold = func() { s.addr = "b" }
	r := routerOf(5000, nil, s, s)
	f := &cluster.Flight{Landed: func(bool) { t.Error("it has not landed") }}
	calls := []*cluster.Call{callOf(0, "incr", "k")}
	if got := r.Start(calls, f); got != cluster.StartedFlight {
		t.Fatalf("started: %v", got)
	}
	if r.Land(f) {
		t.Fatal("it has landed")
	}
	r.Finish(t.Context(), f)
	if calls[0].Err != nil || len(s.bundles) != 2 || s.again != 1 || !bytes.Equal(s.bundles[0], s.bundles[1]) {
		t.Errorf("%v, %d bundles, %d of them again", calls[0].Err, len(s.bundles), s.again)
	}
}

// A leader leaves the last of several reads for later where their replies are large:
// who asks for those may have to wait, so that such a flight is left to Finish.
func TestAFlightWithoutAllItsAnswersIsNotOver(t *testing.T) {
	there := &fakeShard{addr: "a", self: true, largest: 2}
	here := &fakeShard{addr: "a"}
	r := routerOf(5000, &fakePeers{to: routerOf(5000, nil, there, there)}, here, here)
	told := make(chan struct{}, 1)
	f := &cluster.Flight{Landed: func(bool) { told <- struct{}{} }}
	calls := []*cluster.Call{callOf(0, "get", "k"), callOf(0, "get", "k"), callOf(0, "get", "k")}
	if got := r.Start(calls, f); got != cluster.StartedFlight {
		t.Fatalf("started: %v", got)
	}
	<-told
	if r.Land(f) {
		t.Fatal("it has landed")
	}
	r.Finish(t.Context(), f)
	if !calls[1].Answered() || calls[2].Answered() {
		t.Errorf("%v, %v", calls[1].Answered(), calls[2].Answered())
	}
}

// What would have to wait is not started: several phases or shards, reads that may be
// old, and what nobody is known for.
func TestWhatIsNotStarted(t *testing.T) {
	s := &fakeShard{addr: "a", self: true}
	stale := callOf(0, "get", "k")
	stale.Stale = true
	for name, calls := range map[string][]*cluster.Call{
		"two phases": {callOf(0, "incr", "k"), callOf(0, "get", "k")},
		"two shards": {callOf(0, "incr", "k"), callOf(9000, "incr", "j")},
		"stale":      {stale},
	} {
		r := routerOf(5000, nil, s, s)
		if got := r.Start(calls, &cluster.Flight{}); got != cluster.StartedNone {
			t.Errorf("%s: %v", name, got)
		}
		r.Do(context.Background(), calls)
		for _, c := range calls {
			if c.Err != nil {
				t.Errorf("%s: %v", name, c.Err)
			}
		}
	}
	nobody := &fakeShard{}
	r := routerOf(100, &fakePeers{err: transport.ErrNotSent}, nobody, nobody)
	for _, command := range []string{"incr", "get"} {
		if got := r.Start([]*cluster.Call{callOf(0, command, "k")}, &cluster.Flight{}); got != cluster.StartedNone {
			t.Errorf("%s without a leader: %v", command, got)
		}
	}
}
