package router

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/cluster/transport"
	"lockstep/fsm"
)

// fakeShard is a shard that follows a script: each bundle and each read is
// answered by the next step.
type fakeShard struct {
	mu      sync.Mutex
	addr    string
	self    bool
	steps   []error
	bundles [][]byte
	// held bundles are never answered.
	hold    bool
	onHold  func()
	largest int
}

func (f *fakeShard) step() error {
	if len(f.steps) == 0 {
		return nil
	}
	err := f.steps[0]
	f.steps = f.steps[1:]
	return err
}

func (f *fakeShard) Propose(bundle []byte, n int, done func(shard.Result)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bundles = append(f.bundles, bundle)
	if f.hold {
		f.hold = false
		f.onHold()
		return
	}
	if err := f.step(); err != nil {
		done(shard.Result{Err: err})
		return
	}
	done(shard.Result{Replies: numbered(n)})
}

func numbered(n int) []shard.Reply {
	replies := make([]shard.Reply, n)
	for i := range replies {
		replies[i].Bytes = fmt.Appendf(nil, ":%d\r\n", i)
	}
	return replies
}

func (f *fakeShard) Read(_ context.Context, txns []fsm.Txn) ([]shard.Reply, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.step(); err != nil {
		return nil, err
	}
	n := len(txns)
	if f.largest > 0 {
		n = min(n, f.largest)
	}
	return numbered(n), nil
}

func (f *fakeShard) ReadOwn(ctx context.Context, txns []fsm.Txn) ([]shard.Reply, error) {
	return numbered(len(txns)), nil
}

func (f *fakeShard) Leader() (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.addr, f.self
}

// halves is a layout of two shards.
type halves struct{}

func (halves) ShardOfSlot(slot uint16) int { return int(slot) / 8192 }
func (halves) Shards() int                 { return 2 }

// fakePeers hands requests to another router.
type fakePeers struct {
	to  *Router
	err error
}

func (p *fakePeers) Go(_ string, kind uint8, payload []byte, done func([]byte, error)) {
	if p.err != nil {
		done(nil, p.err)
		return
	}
	reply := func(b []byte) { done(b, nil) }
	if kind == KindPropose {
		p.to.ServePropose(payload, reply)
		return
	}
	go p.to.ServeRead(context.Background(), payload, reply)
}

func routerOf(timeoutMs int, peers Peers, shards ...*fakeShard) *Router {
	return New(Config{
		Node: 1, Boot: 1, Layout: halves{}, Peers: peers, TimeoutMs: func() int { return timeoutMs },
		Replica: func(i int) Shard { return shards[i] },
	})
}

func callOf(slot int, args ...string) *cluster.Call {
	op := fsm.Op{}
	for _, a := range args {
		op.Args = append(op.Args, []byte(a))
	}
	c := &cluster.Call{Txn: fsm.Txn{Proto: 2, Ops: []fsm.Op{op}}, ReadOnly: args[0] == "get" || args[0] == "keys"}
	c.SetSlot(slot)
	return c
}

func TestABundleWhoseFateIsUnknownIsSentAgainUnderTheSameIdentity(t *testing.T) {
	s := &fakeShard{addr: "a", self: true, steps: []error{cluster.ErrNotLeader, cluster.ErrUnknown, cluster.ErrUnknown}}
	r := routerOf(5000, nil, s, s)
	c := callOf(0, "incr", "k")
	r.Do(t.Context(), []*cluster.Call{c})
	if c.Err != nil || string(c.Reply) != ":0\r\n" {
		t.Fatalf("%q, %v", c.Reply, c.Err)
	}
	if len(s.bundles) != 4 || !bytes.Equal(s.bundles[0], s.bundles[3]) {
		t.Errorf("%d bundles, not the same", len(s.bundles))
	}
}

func TestTheErrorSaysWhetherItMayHaveRun(t *testing.T) {
	many := func(err error) []error {
		return bytesOf(err, 1000)
	}
	for _, c := range []struct {
		steps []error
		want  error
	}{
		{many(cluster.ErrNotLeader), cluster.ErrNoLeader},
		{append([]error{cluster.ErrUnknown}, many(cluster.ErrNotLeader)...), cluster.ErrUnknown},
		{many(cluster.ErrOverloaded), cluster.ErrOverloaded},
		{many(cluster.ErrTooLarge), cluster.ErrTooLarge},
	} {
		s := &fakeShard{addr: "a", self: true, steps: c.steps}
		r := routerOf(120, nil, s, s)
		call := callOf(0, "incr", "k")
		r.Do(t.Context(), []*cluster.Call{call})
		if !errors.Is(call.Err, c.want) {
			t.Errorf("after %v: %v, want %v", c.steps[0], call.Err, c.want)
		}
	}
}

func bytesOf(err error, n int) []error {
	all := make([]error, n)
	for i := range all {
		all[i] = err
	}
	return all
}

// A leader that was stopped never answers; the next one is asked as soon as it
// is known.
func TestALeaderThatDoesNotAnswerIsGivenUpForTheNext(t *testing.T) {
	s := &fakeShard{addr: "a", self: true, hold: true}
	s.onHold = func() { s.addr = "b" }
	r := routerOf(10_000, nil, s, s)
	c := callOf(0, "incr", "k")
	r.Do(t.Context(), []*cluster.Call{c})
	if c.Err != nil || len(s.bundles) != 2 || !bytes.Equal(s.bundles[0], s.bundles[1]) {
		t.Errorf("%v after %d bundles", c.Err, len(s.bundles))
	}
}

func TestCallsGoOneHopAndComeBack(t *testing.T) {
	leader := &fakeShard{addr: "b", self: true}
	far := routerOf(5000, nil, leader, leader)
	near := routerOf(5000, &fakePeers{to: far}, &fakeShard{addr: "b"}, &fakeShard{addr: "b"})
	calls := []*cluster.Call{callOf(0, "set", "k", "v"), callOf(0, "get", "k"), callOf(9000, "set", "l", "v")}
	near.Do(t.Context(), calls)
	for i, c := range calls {
		if c.Err != nil || c.Reply == nil {
			t.Errorf("call %d: %q, %v", i, c.Reply, c.Err)
		}
	}
	if n := near.Counters.Forwarded.Load(); n != 3 {
		t.Errorf("%d requests went over the hop", n)
	}
}

func TestALostConnectionLeavesTheOutcomeUnknown(t *testing.T) {
	for _, c := range []struct{ err, want error }{
		{transport.ErrNotSent, cluster.ErrNoLeader},
		{transport.ErrMaybeSent, cluster.ErrUnknown},
	} {
		s := &fakeShard{addr: "b"}
		r := routerOf(100, &fakePeers{err: c.err}, s, s)
		write, read := callOf(0, "incr", "k"), callOf(0, "get", "k")
		r.Do(t.Context(), []*cluster.Call{write})
		r.Do(t.Context(), []*cluster.Call{read})
		if !errors.Is(write.Err, c.want) || !errors.Is(read.Err, cluster.ErrNoLeader) {
			t.Errorf("%v: write %v, read %v", c.err, write.Err, read.Err)
		}
	}
}

func TestKeysOfTwoShardsAreRefused(t *testing.T) {
	s := &fakeShard{addr: "a", self: true}
	r := routerOf(1000, nil, s, s)
	both := callOf(0, "mset", "a", "1", "b", "2")
	both.Slots = append(both.Slots, 9000)
	fine := callOf(5, "set", "a", "1")
	r.Do(t.Context(), []*cluster.Call{both, fine})
	if !errors.Is(both.Err, cluster.ErrCrossSlot) || fine.Err != nil {
		t.Errorf("%v, %v", both.Err, fine.Err)
	}
}

// Large replies come piece by piece, and the rest stays for the next call.
func TestReadsBehindLargeRepliesAreLeftForLater(t *testing.T) {
	leader := &fakeShard{addr: "b", self: true, largest: 2}
	far := routerOf(5000, nil, leader, leader)
	near := routerOf(5000, &fakePeers{to: far}, &fakeShard{addr: "b"}, &fakeShard{addr: "b"})
	calls := []*cluster.Call{callOf(0, "get", "a"), callOf(0, "get", "b"), callOf(0, "get", "c"), callOf(0, "set", "d", "1")}
	near.Do(t.Context(), calls)
	if !calls[1].Answered() || calls[2].Answered() || calls[3].Answered() {
		t.Fatal("the third read and the write behind it must wait")
	}
	near.Do(t.Context(), calls[2:])
	if !calls[2].Answered() || !calls[3].Answered() || calls[3].Err != nil {
		t.Error("the rest was not answered")
	}
}

func TestPhasesKeepReadsAndWritesInOrder(t *testing.T) {
	for _, c := range []struct {
		calls  string
		n      int
		logged bool
	}{
		{"r", 1, false}, {"rrw", 2, false}, {"w", 1, true}, {"wr", 1, true}, {"wrw", 3, true}, {"wrwrr", 3, true}, {"wkw", 1, true}, {"kw", 1, false},
	} {
		var calls []*cluster.Call
		for _, kind := range c.calls {
			calls = append(calls, map[rune]*cluster.Call{'r': callOf(0, "get", "k"), 'w': callOf(0, "set", "k", "v"), 'k': callOf(0, "keys", "*")}[kind])
		}
		if n, logged := phase(calls); n != c.n || logged != c.logged {
			t.Errorf("%s: %d logged %v, want %d %v", c.calls, n, logged, c.n, c.logged)
		}
	}
}

func TestALaneForgetsWhatWasAnsweredAndIsBounded(t *testing.T) {
	l := &lanes{node: 1, boot: 2}
	bundle := func(n int) *fsm.Bundle { return &fsm.Bundle{Txns: make([]fsm.Txn, n)} }
	var open []ticket
	for range fsm.Lanes * fsm.LaneWindow / 1024 {
		b := bundle(1024)
		id, ok := l.open(b)
		if !ok {
			t.Fatal("a lane is full too early")
		}
		if b.AckedBelow != 0 {
			t.Errorf("acknowledged below %d while nothing was answered", b.AckedBelow)
		}
		open = append(open, id)
	}
	if _, ok := l.open(bundle(1)); ok {
		t.Fatal("more is open than a window")
	}
	for _, id := range open {
		id.close()
	}
	b := bundle(1)
	if _, ok := l.open(b); !ok || b.AckedBelow != b.FirstSeq {
		t.Errorf("after all was answered: below %d, first %d", b.AckedBelow, b.FirstSeq)
	}
}

func TestResultsSurviveTheWire(t *testing.T) {
	for _, err := range wireErrors[1:] {
		if got := decodeResult(appendResult(nil, shard.Result{Err: err}), 3, false); !errors.Is(got.Err, err) {
			t.Errorf("%v came back as %v", err, got.Err)
		}
	}
	res := shard.Result{Replies: []shard.Reply{{Bytes: []byte("+OK\r\n")}, {Outcome: fsm.OutcomeReplyLost}, {Bytes: bytes.Repeat([]byte("x"), 1000)}}}
	data := appendResult(nil, res)
	got := decodeResult(data, 3, false)
	if got.Err != nil || len(got.Replies) != 3 || !bytes.Equal(got.Replies[2].Bytes, res.Replies[2].Bytes) || got.Replies[1].Outcome != fsm.OutcomeReplyLost {
		t.Errorf("%+v", got)
	}
	for i := range data {
		if r := decodeResult(data[:i], 3, false); r.Err == nil {
			t.Errorf("an answer cut at %d was taken", i)
		}
	}
}
