package router

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/cluster/transport"
	"lockstep/fsm"
)

// fakeShard is a shard that follows a script: the next step answers each bundle and each read.
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
	// queued is what this replica reports about itself, atLeast what a read asked for.
	queued, atLeast uint64
	// taken is the index that this replica has applied, asked how often it was asked for an index.
	taken uint64
	asked int
	// own counts stale reads.
	own int
	// term is the term that it knows. fresh is true if it has not caught up yet.
	term  uint64
	fresh bool
	// again counts the bundles that were proposed before.
	again int
	// forgot is true if the shard no longer has the script.
	forgot bool
	// stale is how many of the first replies to a bundle are stale.
	stale int
	// lengths, if set, are the lengths of the replies to writes.
	lengths []int
	// until is the deadline of the last bundle. takenBack are the bundles that were taken back, and
	// onTakeBack is called then. busy is what holds commands up.
	until      time.Time
	takenBack  []fsm.TxnID
	onTakeBack func()
	busy       *cluster.BusyError
}

func (f *fakeShard) step() error {
	if len(f.steps) == 0 {
		return nil
	}
	err := f.steps[0]
	f.steps = f.steps[1:]
	return err
}

func (f *fakeShard) Propose(o shard.Offer, done func(shard.Result)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	bundle, n := o.Bundle, len(o.Txns)
	f.bundles = append(f.bundles, bundle)
	f.until = o.Until
	if o.Again {
		f.again++
	}
	if f.hold {
		f.hold = false
		f.onHold()
		return
	}
	if err := f.step(); err != nil {
		done(shard.Result{Err: err})
		return
	}
	replies := numbered(n)
	for i := range f.lengths {
		replies[i].Bytes = make([]byte, f.lengths[i])
	}
	if f.forgot {
		forgetIn(bundle, replies)
	}
	for i := range f.stale {
		replies[i] = shard.Reply{Outcome: fsm.OutcomeStale}
	}
	done(shard.Result{Replies: replies})
}

// forgetIn makes the first call that names a script, and those behind it, fail.
func forgetIn(bundle []byte, replies []shard.Reply) {
	b, err := fsm.DecodeBundle(bundle)
	gone := false
	for i := range b.Txns {
		if gone = gone || err == nil && b.Txns[i].Ops[0].Sum != nil; gone {
			replies[i] = shard.Reply{Outcome: fsm.OutcomeScriptGone}
		}
	}
}

func (f *fakeShard) TakeBack(id fsm.TxnID) {
	f.mu.Lock()
	f.takenBack = append(f.takenBack, id)
	f.mu.Unlock()
	if f.onTakeBack != nil {
		f.onTakeBack()
	}
}

func (f *fakeShard) InTheWay([]uint16) *cluster.BusyError {
	if f.busy == nil {
		return nil
	}
	busy := *f.busy
	return &busy
}

func numbered(n int) []shard.Reply {
	replies := make([]shard.Reply, n)
	for i := range replies {
		replies[i].Bytes = fmt.Appendf(nil, ":%d\r\n", i)
	}
	return replies
}

func (f *fakeShard) Queued() uint64 { return f.queued }

func (f *fakeShard) Taken() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.taken
}

func (f *fakeShard) WaitTaken(ctx context.Context, index uint64) error {
	for f.Taken() < index {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		runtime.Gosched()
	}
	return nil
}

func (f *fakeShard) ReadIndex(context.Context) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	return f.queued, f.step()
}

func (f *fakeShard) Read(_ context.Context, _ time.Time, txns []fsm.Txn, atLeast uint64) ([]shard.Reply, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.atLeast = atLeast
	if err := f.step(); err != nil {
		return nil, err
	}
	n := len(txns)
	if f.largest > 0 {
		n = min(n, f.largest)
	}
	return numbered(n), nil
}

func (f *fakeShard) ReadNow(txns []fsm.Txn, _ uint64) []shard.Reply {
	f.mu.Lock()
	fails := len(f.steps) > 0 && f.steps[0] != nil
	f.mu.Unlock()
	if fails {
		return nil // Read returns the error
	}
	replies, err := f.Read(context.Background(), time.Time{}, txns, 0)
	if err != nil {
		return nil
	}
	return replies
}

func (f *fakeShard) ReadOwn(_ context.Context, txns []fsm.Txn, atLeast uint64) ([]shard.Reply, error) {
	f.mu.Lock()
	f.own++
	f.atLeast = atLeast
	f.mu.Unlock()
	return numbered(len(txns)), nil
}

func (f *fakeShard) Wait(_ shard.Wait, _ shard.Road, told func(shard.Result)) {
	told(shard.Result{Err: cluster.ErrOverloaded})
}
func (f *fakeShard) LeaveWait(fsm.TxnID)   {}
func (f *fakeShard) TakeList([]byte) error { return nil }

func (f *fakeShard) Leader() shard.Leader {
	f.mu.Lock()
	defer f.mu.Unlock()
	return shard.Leader{Addr: f.addr, ID: f.addr, Self: f.self, Term: f.term}
}

func (f *fakeShard) Votes() bool { return !f.fresh }

// halves is a layout of two shards.
type halves struct{}

func (halves) ShardOfSlot(slot uint16) int { return int(slot) / 8192 }
func (halves) Shards() int                 { return 2 }

// fakePeers passes requests to another router.
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
	switch kind {
	case KindPropose:
		p.to.Server().ServePropose(1, payload, reply) // 1 is the node number of all routers here
	case KindLeader:
		p.to.Server().ServeLeader(payload, reply)
	case KindBusy:
		p.to.Server().ServeBusy(payload, reply)
	case KindTakeBack:
		p.to.Server().ServeTakeBack(1, payload, reply)
	case KindStale:
		go p.to.Server().ServeStale(context.Background(), payload, reply)
	case KindIndex:
		go p.to.Server().ServeIndex(context.Background(), payload, reply)
	default:
		go p.to.Server().ServeRead(context.Background(), payload, reply)
	}
}

func routerOf(timeoutMs int, peers Peers, shards ...*fakeShard) *Router {
	// These are the leaders that nodes have reported to each other.
	var mu sync.Mutex
	told := map[int]shard.Leader{}
	return New(Config{
		Known: func(i int) shard.Leader {
			mu.Lock()
			defer mu.Unlock()
			return told[i]
		},
		Learn: func(i int, said shard.Leader) {
			mu.Lock()
			defer mu.Unlock()
			if said.Term > told[i].Term || told[i].Addr == "" {
				told[i] = said
			}
		},
		Node: 1, Boot: 1, Layout: halves{}, Peers: peers, TimeoutMs: func() int { return timeoutMs },
		Replica: func(i int) Shard {
			if shards[i] == nil {
				return nil
			}
			return shards[i]
		},
		Replicas: func(int) []string { return []string{"b", "c"} },
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
		// The next leader has another limit.
		{append([]error{cluster.ErrUnknown}, many(cluster.ErrTooLarge)...), cluster.ErrUnknown},
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

// A txn that the state machine did not run, because it counts as given up, may have run before. A
// txn whose reply is lost has run.
func TestAnOutcomeWithoutAReplyIsAnError(t *testing.T) {
	calls := []*cluster.Call{callOf(0, "set", "a", "1"), callOf(0, "set", "b", "1"), callOf(0, "set", "c", "1")}
	fill(calls, []shard.Reply{{Bytes: []byte("+OK\r\n")}, {Outcome: fsm.OutcomeStale}, {Outcome: fsm.OutcomeReplyLost}})
	if calls[0].Err != nil || string(calls[0].Reply) != "+OK\r\n" {
		t.Errorf("one that ran: %q, %v", calls[0].Reply, calls[0].Err)
	}
	if calls[1].Reply != nil || !errors.Is(calls[1].Err, cluster.ErrUnknown) {
		t.Errorf("one that was given up: %q, %v", calls[1].Reply, calls[1].Err)
	}
	if calls[2].Reply != nil || !errors.Is(calls[2].Err, cluster.ErrReplyLost) {
		t.Errorf("one whose reply is lost: %q, %v", calls[2].Reply, calls[2].Err)
	}
}

// A shard without memory refuses a bundle as a whole. The calls that need no memory run all the
// same, in their order, and the calls behind them are tried again.
func TestWithoutMemoryTheRestRuns(t *testing.T) {
	full := cluster.ErrOutOfMemory
	for _, c := range []struct {
		steps   []error
		lines   []string
		refused []bool
		bundles int
	}{
		{[]error{full}, []string{"set", "set"}, []bool{true, true}, 1},
		{[]error{full}, []string{"set", "del", "set"}, []bool{true, false, false}, 2},
		{[]error{full, full, nil, full}, []string{"set", "del", "set"}, []bool{true, false, true}, 4},
		{[]error{full, nil}, []string{"del", "set", "del"}, []bool{false, false, false}, 3},
		// No shard does this; the router must end all the same.
		{[]error{full, full}, []string{"del", "del"}, []bool{true, true}, 1},
		{[]error{full, nil, full}, []string{"del", "set", "set", "del"}, []bool{false, true, true, false}, 4},
	} {
		s := &fakeShard{addr: "a", self: true, steps: c.steps}
		r := routerOf(5000, nil, s, s)
		var calls []*cluster.Call
		for _, line := range c.lines {
			calls = append(calls, callOf(0, line, "k", "v"))
		}
		r.Do(t.Context(), calls)
		for i, call := range calls {
			if refused := errors.Is(call.Err, full); refused != c.refused[i] || !refused && call.Reply == nil {
				t.Errorf("%v: %s answers %q, %v", c.lines, c.lines[i], call.Reply, call.Err)
			}
		}
		if len(s.bundles) != c.bundles {
			t.Errorf("%v: %d bundles", c.lines, len(s.bundles))
		}
	}
}

// A bundle that may be in the log is proposed again past the check of memory, on this node and over
// the wire: the gateway only wants to learn its outcome.
func TestABundleThatMayHaveRunIsNotRefusedForMemory(t *testing.T) {
	for _, self := range []bool{true, false} {
		leader := &fakeShard{addr: "b", self: true, steps: []error{cluster.ErrUnknown, cluster.ErrOutOfMemory}}
		follower := &fakeShard{addr: "b"}
		far := routerOf(5000, nil, leader, leader)
		r := routerOf(5000, &fakePeers{to: far}, follower, follower)
		if self {
			r = far
		}
		c := callOf(0, "incr", "k")
		r.Do(t.Context(), []*cluster.Call{c})
		if c.Err != nil || leader.again != 2 || len(leader.bundles) != 3 {
			t.Errorf("%v after %d bundles, %d of them again", c.Err, len(leader.bundles), leader.again)
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

// A leader that was stopped never answers; the router asks the next one as soon as it is known.
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

// A read that goes to another node carries the index that this node has reached; a read on this
// node does not need it.
func TestReadsAreNoOlderThanTheNodeTheyComeFrom(t *testing.T) {
	leader := &fakeShard{addr: "leader", self: true, queued: 5}
	far := routerOf(5000, nil, leader, leader)
	own := &fakeShard{addr: "leader", queued: 1 << 40}
	near := routerOf(5000, &fakePeers{to: far}, own, own)
	for _, c := range []struct {
		router *Router
		want   uint64
	}{{near, 1 << 40}, {far, 0}} {
		call := callOf(0, "get", "k")
		c.router.Do(t.Context(), []*cluster.Call{call})
		if call.Err != nil || leader.atLeast != c.want {
			t.Errorf("%v; at least %d, not %d", call.Err, leader.atLeast, c.want)
		}
	}
}

// A gateway without a replica sends the index of the newest changes that it knows, to every replica
// that it asks.
func TestReadsAreNoOlderThanWhatWasHeardOf(t *testing.T) {
	leader := &fakeShard{addr: "b", self: true, queued: 5}
	far := routerOf(5000, nil, leader, leader)
	near := routerOf(5000, &fakePeers{to: far}, nil, nil)
	near.cfg.Heard = func(int) uint64 { return 77 }
	for _, stale := range []bool{false, true} {
		leader.atLeast = 0
		call := callOf(0, "get", "k")
		call.Stale = stale
		near.Do(t.Context(), []*cluster.Call{call})
		if call.Err != nil || leader.atLeast != 77 {
			t.Errorf("stale %t: %v; at least %d", stale, call.Err, leader.atLeast)
		}
	}
}

// A caller that names its client learns the identity of the txn before the txn is sent.
func TestNamedTxnsAreNumberedBeforeTheyAreSent(t *testing.T) {
	s := &fakeShard{addr: "a", self: true}
	r := routerOf(5000, nil, s, s)
	var told []fsm.TxnID
	r.cfg.Numbered = func(index int, first fsm.TxnID, calls []*cluster.Call) {
		if len(s.bundles) != len(told) || index != 1 || calls[1].Client != 77 {
			t.Errorf("%d bundles sent, shard %d", len(s.bundles), index)
		}
		told = append(told, first)
	}
	for range 2 {
		calls := []*cluster.Call{callOf(9000, "incr", "k"), callOf(9000, "incr", "k")}
		calls[1].Client = 77
		r.Do(t.Context(), calls)
	}
	r.Do(t.Context(), []*cluster.Call{callOf(9000, "incr", "k")}) // without a client
	if len(told) != 2 || len(s.bundles) != 3 {
		t.Fatalf("%v for %d bundles", told, len(s.bundles))
	}
	for i, id := range told {
		b, err := fsm.DecodeBundle(s.bundles[i])
		if err != nil || b.Origin != id.Origin || b.FirstSeq != id.Seq {
			t.Errorf("told %v, sent %v %d, %v", id, b.Origin, b.FirstSeq, err)
		}
	}
}

func TestALostConnectionLeavesTheOutcomeUnknown(t *testing.T) {
	for _, c := range []struct{ err, want, read error }{
		{transport.ErrNotSent, cluster.ErrNoLeader, cluster.ErrNoLeader},
		{transport.ErrMaybeSent, cluster.ErrUnknown, cluster.ErrNoAnswer},
	} {
		s := &fakeShard{addr: "b"}
		r := routerOf(100, &fakePeers{err: c.err}, s, s)
		write, read := callOf(0, "incr", "k"), callOf(0, "get", "k")
		r.Do(t.Context(), []*cluster.Call{write})
		r.Do(t.Context(), []*cluster.Call{read})
		if !errors.Is(write.Err, c.want) || !errors.Is(read.Err, c.read) {
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

// Large replies come piece by piece, and the remaining calls stay for the next call of Do.
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
	var open []unanswered
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

// A process that stood still finds that the deadline has passed and that the answer has not been
// read yet.
func TestAnAnswerThatWaitedThroughAPauseIsTaken(t *testing.T) {
	s := &heldShard{fakeShard: fakeShard{addr: "a", self: true}}
	r := New(Config{Node: 1, Boot: 1, Layout: halves{}, TimeoutMs: func() int { return 5000 }, Replica: func(int) Shard { return s }})
	over := time.Now().Add(time.Hour)
	for _, comes := range []bool{true, false} {
		call, told := callOf(0, "incr", "k"), make(chan struct{}, 2)
		w := r.newSending(route{ctx: t.Context(), deadline: time.Now().Add(time.Hour)}, KindPropose, []*cluster.Call{call}, func(bool) { told <- struct{}{} })
		w.numberAndSend()
		w.deadline = time.Now()
		w.look(over)
		if len(told) != 0 || w.open == 0 {
			t.Fatal("it has ended at the first look")
		}
		if comes {
			s.done(shard.Result{Replies: numbered(1)})
		}
		w.look(over)
		<-told
		if comes && call.Err != nil || !comes && !errors.Is(call.Err, cluster.ErrUnknown) {
			t.Errorf("an answer comes %v: %v", comes, call.Err)
		}
		if !comes {
			s.done(shard.Result{Replies: numbered(1)})
			if len(told) != 0 || call.Reply != nil {
				t.Error("an answer behind the end was taken")
			}
		}
	}
}
