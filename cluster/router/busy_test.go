package router

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/fsm"
)

var busyWith = cluster.BusyError{Shard: 3, Node: "n1", What: "script 5332", Ran: 840 * time.Millisecond, Waited: 5 * time.Second}

// If the outcome of a write is not known in time, its error says what holds it up, as the leader
// reports, whether this node or another leads. A read that waited too long gets the same
// information, and certainly did not run.
func TestWhoWaitsInVainIsToldWhatRuns(t *testing.T) {
	for _, far := range []bool{false, true} {
		leader := &fakeShard{addr: "a", self: true, busy: &busyWith}
		r := routerOf(200, nil, leader, leader)
		if far {
			there, here := r, &fakeShard{addr: "a"}
			r = routerOf(200, &fakePeers{to: there}, here, here)
		}
		leader.hold, leader.onHold = true, func() {}
		write := callOf(0, "incr", "k")
		r.Do(t.Context(), []*cluster.Call{write})
		var busy *cluster.BusyError
		if !errors.As(write.Err, &busy) || !errors.Is(write.Err, cluster.ErrUnknown) || errors.Is(write.Err, cluster.ErrBusy) {
			t.Fatalf("far %v: a write is told %v", far, write.Err)
		}
		if busy.What != busyWith.What || busy.Node != busyWith.Node || busy.Ran != busyWith.Ran || busy.Waited < 100*time.Millisecond {
			t.Errorf("far %v: %+v", far, busy)
		}
		waited := busyWith
		leader.steps = []error{&waited}
		read := callOf(0, "get", "k")
		r.Do(t.Context(), []*cluster.Call{read})
		if !errors.As(read.Err, &busy) || !errors.Is(read.Err, cluster.ErrBusy) || *busy != waited {
			t.Errorf("far %v: a read is told %v", far, read.Err)
		}
		if len(leader.steps) != 0 {
			t.Errorf("far %v: it was asked %d times", far, 1-len(leader.steps))
		}
	}
}

// The errors of a read that its leader has not answered in time, and of a blocking command that may
// have been served, also say what holds them up.
func TestWhoHasNoAnswerIsToldWhatRuns(t *testing.T) {
	var busy *cluster.BusyError
	leader := &fakeShard{addr: "a", self: true, busy: &busyWith, steps: bytesOf(cluster.ErrUnknown, 10_000)}
	r := routerOf(200, nil, leader, leader)
	read := callOf(0, "get", "k")
	r.Do(t.Context(), []*cluster.Call{read})
	if !errors.As(read.Err, &busy) || !errors.Is(read.Err, cluster.ErrBusy) || busy.What != busyWith.What || busy.Waited < 100*time.Millisecond {
		t.Errorf("a read is told %v", read.Err)
	}
	synctest.Test(t, func(t *testing.T) {
		r, l := blockRouter(func(int, shard.Wait) *shard.Result { return nil })
		l.busy = &busyWith
		pop := callOf(0, "blpop", "k", "1")
		if !r.Block(t.Context(), time.Second, pop, func() {}) || !errors.As(pop.Err, &busy) || !errors.Is(pop.Err, cluster.ErrUnknown) ||
			busy.What != busyWith.What || busy.Waited < 6*time.Second {
			t.Errorf("a blocking command is told %v", pop.Err)
		}
	})
}

// If nothing holds the call up, the outcome is unknown all the same. The router does not wait for a
// leader that does not say.
func TestWhereNobodyKnowsWhatRuns(t *testing.T) {
	leader := &fakeShard{addr: "a", self: true, hold: true, onHold: func() {}}
	r := routerOf(100, nil, leader, leader)
	write := callOf(0, "incr", "k")
	r.Do(t.Context(), []*cluster.Call{write})
	var busy *cluster.BusyError
	if !errors.Is(write.Err, cluster.ErrUnknown) || errors.As(write.Err, &busy) {
		t.Errorf("%v", write.Err)
	}
	here := &fakeShard{addr: "a"}
	r = routerOf(100, silentPeers{}, here, here)
	began := time.Now()
	write = callOf(0, "incr", "k")
	r.Do(t.Context(), []*cluster.Call{write})
	if !errors.Is(write.Err, cluster.ErrUnknown) || errors.As(write.Err, &busy) || time.Since(began) > time.Minute {
		t.Errorf("%v", write.Err)
	}
}

// The router checks the answer of a peer before it uses it.
func TestWhatIsInTheWayTravels(t *testing.T) {
	data := appendBusy(nil, &busyWith)
	if got, ok := decodeBusy(data); !ok || *got != busyWith {
		t.Errorf("%+v, %v", got, ok)
	}
	for n := range data {
		if _, ok := decodeBusy(data[:n]); ok {
			t.Errorf("the first %d of %d bytes are taken", n, len(data))
		}
	}
	long := appendBusy(nil, &cluster.BusyError{What: string(make([]byte, busyTextMax+1))})
	if _, ok := decodeBusy(long); ok {
		t.Error("a long text is taken")
	}
	r := routerOf(100, nil, &fakeShard{busy: &busyWith}, &fakeShard{})
	for name, c := range map[string]struct {
		payload []byte
		told    bool
	}{
		"of a shard": {[]byte{0, 0, 0, 0, 1, 2}, true}, "without slots": {[]byte{0, 0, 0, 0}, true}, "half a slot": {[]byte{0, 0, 0, 0, 1}, true},
		"of a free one": {[]byte{1, 0, 0, 0}, false}, "of none": {[]byte{9, 0, 0, 0}, false}, "of nothing": {nil, false},
		"of too many slots": {make([]byte, 4+2*busySlotsMax+2), false},
	} {
		var answer []byte
		r.Server().ServeBusy(c.payload, func(b []byte) { answer = b })
		if (len(answer) > 0) != c.told {
			t.Errorf("%s: %d bytes", name, len(answer))
		}
	}
}

// A leader has less time than the gateway waits, so that its answer comes before the gateway gives
// up. Otherwise the outcome of a bundle that it refused would be unknown.
func TestTheLeaderAnswersBeforeItsGatewayGivesUp(t *testing.T) {
	leader := &fakeShard{addr: "a", self: true}
	there, here := routerOf(60_000, nil, leader, leader), &fakeShard{addr: "a"}
	r := routerOf(10_000, &fakePeers{to: there}, here, here)
	deadline := time.Now().Add(10 * time.Second)
	r.Do(t.Context(), []*cluster.Call{callOf(0, "incr", "k")})
	if !leader.until.Before(deadline) || leader.until.Before(deadline.Add(-5*time.Second)) {
		t.Errorf("it has until %v before the gateway's deadline", deadline.Sub(leader.until))
	}
	for left, want := range map[time.Duration]time.Duration{-time.Second: 0, 0: 0, 400 * time.Millisecond: 300 * time.Millisecond, time.Minute: time.Minute - onTheWay} {
		req := request{deadline: time.Now().Add(left)}
		if got := time.Duration(req.patienceMs()) * time.Millisecond; got > want || got < want-200*time.Millisecond {
			t.Errorf("with %v left it is told %v", left, got)
		}
	}
	if until, _, ok := until(binary.AppendUvarint(nil, 1<<60)); !ok || time.Until(until) > patienceMax {
		t.Errorf("until %v", until)
	}
}

// leaver is a client that may disconnect.
type leaver struct{ gone atomic.Bool }

func (l *leaver) Gone() bool { return l.gone.Load() }

// A bundle whose client has gone is taken back if it still waits, on this node or on another. A
// bundle whose client is there stays. The answer is what the leader reports.
func TestWhatItsClientHasLeftIsTakenBack(t *testing.T) {
	for _, c := range []struct {
		name      string
		far, gone bool
		// inLog is true if the bundle no longer waits.
		inLog bool
		want  error
	}{
		{name: "here", gone: true, want: cluster.ErrTakenBack}, {name: "elsewhere", far: true, gone: true, want: cluster.ErrTakenBack},
		{name: "the client is there", want: cluster.ErrUnknown}, {name: "it is in the log", gone: true, inLog: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			timeoutMs := 20_000
			if errors.Is(c.want, cluster.ErrUnknown) {
				timeoutMs = 900
			}
			s := &heldShard{fakeShard: fakeShard{addr: "a", self: true}, inLog: c.inLog}
			r := New(Config{Node: 1, Boot: 1, Layout: halves{}, TimeoutMs: func() int { return timeoutMs }, Replica: func(int) Shard { return s }, Replicas: func(int) []string { return nil }})
			if c.far {
				there, here := r, &fakeShard{addr: "a"}
				r = routerOf(timeoutMs, &fakePeers{to: there}, here, here)
			}
			from := &leaver{}
			from.gone.Store(c.gone)
			call := callOf(0, "eval", "return 1", "1", "k")
			call.From = from
			r.Do(context.Background(), []*cluster.Call{call})
			if !errors.Is(call.Err, c.want) {
				t.Errorf("%v, want %v", call.Err, c.want)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if c.gone != (len(s.takenBack) == 1) {
				t.Errorf("taken back are %v", s.takenBack)
			}
			if id, ok := fsm.BundleID(s.bundles[0]); len(s.takenBack) > 0 && (!ok || !slices.Contains(s.takenBack, id)) {
				t.Errorf("%v was taken back, not %v", s.takenBack, id)
			}
		})
	}
}

// heldShard keeps bundles until they are taken back. If inLog is true, they run then.
type heldShard struct {
	fakeShard
	inLog bool
	done  func(shard.Result)
}

func (s *heldShard) Propose(o shard.Offer, done func(shard.Result)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bundles, s.done = append(s.bundles, o.Bundle), done
}

func (s *heldShard) TakeBack(id fsm.TxnID) {
	s.fakeShard.TakeBack(id)
	if s.inLog {
		s.done(shard.Result{Replies: numbered(1)})
	} else {
		s.done(shard.Result{Err: cluster.ErrTakenBack})
	}
}

// If a client has gone, a command that may take long and waits behind another one is not proposed.
// A command that was sent and takes no time is.
func TestNothingLongIsProposedForNobody(t *testing.T) {
	s := &fakeShard{addr: "a", self: true}
	r := routerOf(10_000, nil, s, s)
	from := &leaver{}
	from.gone.Store(true)
	long := func() *cluster.Call {
		c := callOf(0, "eval", "return 1", "1", "k")
		c.From = from
		return c
	}
	at := func(call *cluster.Call, elapsed time.Duration) error {
		answered := make(chan struct{})
		at := route{ctx: t.Context(), deadline: time.Now().Add(10*time.Second - elapsed)}
		r.write(at, []*cluster.Call{call}, false, func(bool) { close(answered) })
		<-answered
		return call.Err
	}
	if err := at(long(), 0); err != nil {
		t.Errorf("at once: %v", err)
	}
	if err := at(long(), time.Second); !errors.Is(err, cluster.ErrTakenBack) {
		t.Errorf("later: %v", err)
	}
	if err := at(callOf(0, "set", "k", "v"), time.Second); err != nil {
		t.Errorf("a brief one: %v", err)
	}
	// No other node may take a bundle of this one back.
	var answered bool
	b := fsm.AppendBundle(nil, &fsm.Bundle{Origin: fsm.Origin{Node: 8, Boot: 1}, Txns: []fsm.Txn{callOf(0, "get", "k").Txn}})
	r.Server().ServeTakeBack(7, append([]byte{0, 0, 0, 0}, b...), func([]byte) { answered = true })
	if !answered || len(s.takenBack) != 0 {
		t.Errorf("%v", s.takenBack)
	}
}
