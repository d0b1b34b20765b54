package router

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/cluster/transport"
	"lockstep/fsm"
	"lockstep/ground/caught"
)

// begun starts calls as a client in a loop does. wait returns when they are answered.
func begun(t *testing.T, r *Router, calls ...*cluster.Call) (atOnce bool, wait func()) {
	t.Helper()
	told := make(chan struct{}, 10)
	atOnce = r.Go(t.Context(), calls, func(bool) { told <- struct{}{} })
	return atOnce, func() {
		t.Helper()
		if !atOnce {
			<-told
		}
		if len(told) != 0 {
			t.Error("done was called once too often")
		}
	}
}

// Go gives the same answers as Do, whatever happens to the first attempt.
func TestGoAnswersAsDoDoes(t *testing.T) {
	for _, c := range []struct {
		name    string
		command string
		steps   []error
		far     bool
		peerErr error
		atOnce  bool
		bundles int
		err     error
	}{
		{name: "a write", command: "incr", bundles: 1},
		{name: "a write, unknown at first", command: "incr", steps: []error{cluster.ErrUnknown}, bundles: 2},
		{name: "a write without a leader at first", command: "incr", steps: []error{cluster.ErrNotLeader}, bundles: 2},
		{name: "a write that is refused", command: "incr", steps: []error{cluster.ErrTooLarge}, bundles: 1, err: cluster.ErrTooLarge},
		{name: "a write elsewhere", command: "incr", far: true, bundles: 1},
		{name: "a write elsewhere, unknown at first", command: "incr", far: true, steps: []error{cluster.ErrUnknown}, bundles: 2},
		{name: "a write that cannot be sent", command: "incr", far: true, peerErr: transport.ErrNotSent, err: cluster.ErrNoLeader},
		{name: "a write that may have been sent", command: "incr", far: true, peerErr: transport.ErrMaybeSent, err: cluster.ErrUnknown},
		{name: "a read", command: "get", atOnce: true},
		{name: "a read that must wait", command: "get", steps: []error{cluster.ErrNotLeader}},
		{name: "a read elsewhere", command: "get", far: true},
		{name: "a read elsewhere, without a leader at first", command: "get", far: true, steps: []error{cluster.ErrNotLeader}},
		{name: "a read that cannot be sent", command: "get", far: true, peerErr: transport.ErrMaybeSent, err: cluster.ErrNoAnswer},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &fakeShard{steps: c.steps}
			s.addr, s.self = "a", true
			// Calls without an answer end at their deadline; the others have enough time.
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
			call := callOf(0, c.command, "k")
			atOnce, wait := begun(t, r, call)
			if atOnce != c.atOnce {
				t.Fatalf("answered at once: %v", atOnce)
			}
			wait()
			if !errors.Is(call.Err, c.err) || c.err == nil && string(call.Reply) != ":0\r\n" {
				t.Errorf("%q, %v; want error %v", call.Reply, call.Err, c.err)
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

// An attempt without an answer is given up, and the next leader is asked under the same identity.
func TestAnAttemptThatNobodyAnswersIsMadeAnew(t *testing.T) {
	s := &fakeShard{addr: "a", self: true, hold: true}
	s.onHold = func() { s.addr = "b" }
	r := routerOf(5000, nil, s, s)
	call := callOf(0, "incr", "k")
	atOnce, wait := begun(t, r, call)
	if atOnce {
		t.Fatal("it was answered")
	}
	wait()
	if call.Err != nil || len(s.bundles) != 2 || s.again != 1 || !bytes.Equal(s.bundles[0], s.bundles[1]) {
		t.Errorf("%v, %d bundles, %d of them again", call.Err, len(s.bundles), s.again)
	}
}

// A leader leaves the last of several reads for later if their replies are large, and so does the
// router.
func TestReadsBehindLargeRepliesOfAnotherNodeAreLeftForLater(t *testing.T) {
	there := &fakeShard{addr: "a", self: true, largest: 2}
	here := &fakeShard{addr: "a"}
	r := routerOf(5000, &fakePeers{to: routerOf(5000, nil, there, there)}, here, here)
	calls := []*cluster.Call{callOf(0, "get", "k"), callOf(0, "get", "k"), callOf(0, "get", "k")}
	_, wait := begun(t, r, calls...)
	wait()
	if !calls[1].Answered() || calls[2].Answered() {
		t.Errorf("%v, %v", calls[1].Answered(), calls[2].Answered())
	}
}

// blockedShard answers reads only when it may.
type blockedShard struct {
	fakeShard
	may chan struct{}
}

func (b *blockedShard) ReadNow([]fsm.Txn, uint64) []shard.Reply { return nil }

func (b *blockedShard) Read(ctx context.Context, deadline time.Time, txns []fsm.Txn, atLeast uint64) ([]shard.Reply, error) {
	<-b.may
	return b.fakeShard.Read(ctx, deadline, txns, atLeast)
}

func (b *blockedShard) ReadOwn(ctx context.Context, txns []fsm.Txn, atLeast uint64) ([]shard.Reply, error) {
	<-b.may
	return b.fakeShard.ReadOwn(ctx, txns, atLeast)
}

// Go does not block: neither for several phases or shards, nor for locks, replicas or a leader.
func TestGoDoesNotWait(t *testing.T) {
	s := &blockedShard{fakeShard: fakeShard{addr: "a", self: true}, may: make(chan struct{})}
	nobody := &fakeShard{}
	r := New(Config{
		Node: 1, Boot: 1, Layout: halves{}, Peers: silentPeers{}, TimeoutMs: func() int { return 20_000 },
		Replica: func(int) Shard { return s }, Replicas: func(int) []string { return nil },
	})
	lost := routerOf(20_000, &fakePeers{err: transport.ErrNotSent}, nobody, nobody)
	stale := callOf(0, "get", "k")
	stale.Stale = true
	all, waits := []*cluster.Call{}, []func(){}
	begin := func(r *Router, calls ...*cluster.Call) {
		atOnce, wait := begun(t, r, calls...)
		if atOnce {
			t.Errorf("%s was answered", calls[0].Txn.Ops[0].Args[0])
		}
		all, waits = append(all, calls...), append(waits, wait)
	}
	begin(r, callOf(0, "incr", "k"), callOf(0, "get", "k"))
	begin(r, callOf(0, "get", "k"), callOf(9000, "incr", "j"))
	begin(r, stale)
	begin(lost, callOf(0, "incr", "k"))
	begin(lost, callOf(0, "get", "k"))
	close(s.may)
	nobody.mu.Lock()
	nobody.addr, nobody.self = "a", true
	nobody.mu.Unlock()
	for _, wait := range waits {
		wait()
	}
	for i, c := range all {
		if c.Err != nil || c.Reply == nil {
			t.Errorf("call %d: %q, %v", i, c.Reply, c.Err)
		}
	}
}

// A waiting call costs no goroutine: neither while its leader has not answered, nor between two
// attempts.
func TestACallThatWaitsHasNoGoroutine(t *testing.T) {
	const many = 200
	silent, refusing := &heldShard{fakeShard: fakeShard{addr: "a", self: true}}, &fakeShard{addr: "a", self: true, steps: bytesOf(cluster.ErrNotLeader, many*many)}
	r := New(Config{
		Node: 1, Boot: 1, Layout: halves{}, TimeoutMs: func() int { return 60_000 }, Replicas: func(int) []string { return nil },
		Replica: func(i int) Shard { return []Shard{silent, refusing}[i] },
	})
	ctx, cancel := context.WithCancel(t.Context())
	before := runtime.NumGoroutine()
	var open sync.WaitGroup
	for i := range many {
		open.Add(1)
		r.Go(ctx, []*cluster.Call{callOf(0, "incr", "k"), callOf(0, "get", "k"), callOf(9000+i%2, "incr", "k")}, func(bool) { open.Done() })
	}
	eventually(t, "they wait without a goroutine each", func() bool { return runtime.NumGoroutine() < before+many/4 })
	cancel()
	open.Wait()
}

// racingShard answers each bundle in a random way, at a random time, from a random goroutine.
type racingShard struct {
	fakeShard
	open sync.WaitGroup
}

func (s *racingShard) Propose(o shard.Offer, done func(shard.Result)) {
	outcomes := []shard.Result{{Err: cluster.ErrNotLeader}, {Err: cluster.ErrUnknown}, {Err: cluster.ErrTooMuchAtOnce}, {Err: cluster.ErrOutOfMemory}, {Replies: numbered(len(o.Txns))}}
	res := outcomes[rand.IntN(len(outcomes))]
	switch rand.IntN(4) {
	case 0:
		done(res)
	case 1:
		s.open.Go(func() { done(res) })
	case 2:
		// Mostly after the attempt was given up.
		s.open.Go(func() { pause(context.Background(), time.Duration(rand.IntN(120))*time.Millisecond); done(res) })
	case 3:
		s.open.Go(func() { done(res) })
		if rand.IntN(8) == 0 {
			panic("broken by hand")
		}
	}
}

func (s *racingShard) Leader() shard.Leader {
	return shard.Leader{Addr: []string{"a", "b"}[rand.IntN(2)], Self: true}
}

func (s *racingShard) ReadNow(txns []fsm.Txn, atLeast uint64) []shard.Reply {
	return numbered(rand.IntN(len(txns) + 1))
}

// Whatever comes at the same time (answers, answers to earlier attempts, other leaders, the
// deadline, the client's end, panics), done is called once, and every number is given back.
func TestDoneIsCalledOnce(t *testing.T) {
	s := &racingShard{fakeShard: fakeShard{addr: "a", self: true}}
	r := New(Config{
		Node: 1, Boot: 1, Layout: halves{}, TimeoutMs: func() int { return 20 + rand.IntN(300) }, Replicas: func(int) []string { return nil },
		Replica: func(int) Shard { return s }, Panics: caught.New(slog.New(slog.NewTextHandler(io.Discard, nil))),
	})
	var batches sync.WaitGroup
	for i := range 400 {
		ctx, cancel := context.WithCancel(t.Context())
		if i%4 == 0 {
			time.AfterFunc(time.Duration(rand.IntN(100))*time.Millisecond, cancel)
		}
		var calls []*cluster.Call
		for range 1 + rand.IntN(5) {
			calls = append(calls, callOf(rand.IntN(2)*9000, []string{"incr", "get", "keys", "eval", "del"}[rand.IntN(5)], "k", "0"))
		}
		var told atomic.Int32
		batches.Add(1)
		atOnce := r.Go(ctx, calls, func(bool) {
			for _, c := range calls {
				if !c.Answered() {
					t.Error("a call has no answer")
				}
			}
			if told.Add(1) == 1 {
				batches.Done()
			} else {
				t.Error("done was called again")
			}
		})
		if atOnce {
			batches.Done()
		}
		t.Cleanup(cancel)
	}
	batches.Wait()
	s.open.Wait()
	eventually(t, "no number stays out", func() bool { return numbersOpen(r, 0)+numbersOpen(r, 1) == 0 })
	eventually(t, "the watch ends", func() bool {
		r.watch.mu.Lock()
		defer r.watch.mu.Unlock()
		return len(r.watch.open) == 0 && !r.watch.running
	})
}

// readingShard is a machineShard that also answers reads, now and then without waiting.
type readingShard struct{ *machineShard }

func (s readingShard) ReadNow(txns []fsm.Txn, _ uint64) []shard.Reply {
	if rand.IntN(2) == 0 {
		return nil
	}
	replies, _ := s.Read(context.Background(), time.Time{}, txns[:1], 0)
	return replies
}

func (s readingShard) Read(ctx context.Context, _ time.Time, txns []fsm.Txn, _ uint64) (replies []shard.Reply, err error) {
	for i := range txns {
		reply, err := s.machine.Read(ctx, &txns[i], fsm.ReadOptions{Uncached: true})
		if err != nil {
			return nil, err
		}
		replies = append(replies, shard.Reply{Bytes: reply})
	}
	return replies, nil
}

// Calls of one client to one shard run in the order given, through phases, attempts and calls that
// are sent again in another form.
func TestOrderIsKeptThroughPhasesAndAttempts(t *testing.T) {
	s := newMachineShard(t)
	r, _ := gatewayOf(s, 10_000)
	r.cfg.Replica = func(int) Shard { return readingShard{s} }
	for round := range 20 {
		if round%2 == 0 {
			s.before = func() {} // the first bundle runs, but its answer is lost
		}
		var calls []*cluster.Call
		for range 5 {
			calls = append(calls, callOf(0, "incr", "n"), callOf(0, "get", "n"), callOf(0, "keys", "*"))
		}
		atOnce, wait := begun(t, r, calls...)
		if atOnce {
			t.Fatal("it was answered at once")
		}
		wait()
		for i := 0; i < len(calls); i += 3 {
			n := fmt.Sprint(round*5 + i/3 + 1)
			if got := string(calls[i].Reply); got != ":"+n+"\r\n" {
				t.Fatalf("round %d: increment %d: %q, %v", round, i/3, got, calls[i].Err)
			}
			if got := string(calls[i+1].Reply); !strings.HasSuffix(got, "\r\n"+n+"\r\n") {
				t.Fatalf("round %d: the read behind %s: %q, %v", round, n, got, calls[i+1].Err)
			}
		}
	}
}
