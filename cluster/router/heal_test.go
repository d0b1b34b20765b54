package router

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/engine"
	"lockstep/fsm"
)

// machineShard is a shard that leads: each bundle is an entry of a state machine.
type machineShard struct {
	fakeShard
	machine *fsm.Machine
	index   uint64
	// before, if set, is called before the next bundle. That bundle enters the log, but its answer
	// is lost.
	before func()
	wait   sync.Map // fsm.EntryID -> *collector
}

// collector gathers the replies to one bundle.
type collector struct {
	mu      sync.Mutex
	replies []shard.Reply
	left    int
	done    func(shard.Result)
}

func (c *collector) Deliver(txn int, reply []byte, outcome fsm.Outcome, _ int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replies[txn] = shard.Reply{Bytes: reply, Outcome: outcome}
	if c.left--; c.left == 0 {
		c.done(shard.Result{Replies: c.replies})
	}
}

func newMachineShard(t *testing.T) *machineShard {
	s := &machineShard{fakeShard: fakeShard{addr: "me", self: true}}
	s.machine = fsm.New(fsm.Config{Engine: engine.Config{LockSlots: 16}, Sink: s})
	t.Cleanup(s.machine.Close)
	return s
}

// Receiver implements fsm.Sink.
func (s *machineShard) Receiver(id fsm.EntryID) fsm.Receiver {
	if c, ok := s.wait.LoadAndDelete(id); ok {
		return c.(*collector)
	}
	return nil
}

func (s *machineShard) Propose(o shard.Offer, done func(shard.Result)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bundle, n := o.Bundle, len(o.Txns)
	s.bundles = append(s.bundles, bundle)
	if before := s.before; before != nil {
		s.before = nil
		s.applyLocked(bundle, n, func(shard.Result) {})
		before()
		done(shard.Result{Err: cluster.ErrUnknown})
		return
	}
	s.applyLocked(bundle, n, done)
}

func (s *machineShard) applyLocked(bundle []byte, n int, done func(shard.Result)) {
	s.index++
	id := fsm.EntryID{Node: 1, Boot: 1, N: s.index}
	s.wait.Store(id, &collector{replies: make([]shard.Reply, n), left: n, done: done})
	b := fsm.NewEntryBuilder(0, id, int64(1000+s.index), len(bundle))
	b.Add(bundle)
	if err := s.machine.Apply(s.index, b.Finish()); err != nil {
		panic(err)
	}
}

// forge puts a bundle into the log that the gateway never sent.
func (s *machineShard) forge(t *testing.T, b fsm.Bundle, args ...string) {
	t.Helper()
	b.Txns = []fsm.Txn{callOf(0, args...).Txn}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.applyLocked(fsm.AppendBundle(nil, &b), 1, func(shard.Result) {})
}

// gatewayOf returns a router in front of a shard, and the boot numbers that it has taken.
func gatewayOf(s *machineShard, timeoutMs int) (r *Router, reboots *[]uint64) {
	reboots = new([]uint64)
	r = New(Config{
		Node: 1, Boot: 100, Layout: halves{}, TimeoutMs: func() int { return timeoutMs },
		Replica: func(int) Shard { return s }, Replicas: func(int) []string { return nil },
		Reboot: func(_ int, behind uint64) (uint64, error) {
			*reboots = append(*reboots, behind)
			return max(behind, 100) + 1, nil
		},
	})
	return r, reboots
}

func incr(t *testing.T, r *Router, want string) {
	t.Helper()
	call := callOf(0, "incr", "n")
	r.Do(t.Context(), []*cluster.Call{call})
	if call.Err != nil || string(call.Reply) != want {
		t.Errorf("%q, %v; want %q", call.Reply, call.Err, want)
	}
}

// TestAGatewayInWhoseNameSomebodySpokeBeginsAnew: if another node has used numbers in a gateway's
// name, the shard counts the gateway's own numbers as given up. Once it did so as long as the
// gateway lived: each of the gateway's writes was INDETERMINATE. Now the gateway takes a boot
// number greater than the one that the shard knows, and sends the write, which has not run, again.
func TestAGatewayInWhoseNameSomebodySpokeBeginsAnew(t *testing.T) {
	for name, forged := range map[string]func(lane uint32) fsm.Bundle{
		"a later boot": func(lane uint32) fsm.Bundle {
			return fsm.Bundle{Origin: fsm.Origin{Node: 1, Boot: 1 << 50, Lane: lane}}
		},
		"acknowledgements": func(lane uint32) fsm.Bundle {
			return fsm.Bundle{Origin: fsm.Origin{Node: 1, Boot: 100, Lane: lane}, FirstSeq: 5000, AckedBelow: 5000}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMachineShard(t)
			r, reboots := gatewayOf(s, 10_000)
			incr(t, r, ":1\r\n")
			for lane := range uint32(fsm.Lanes) {
				s.forge(t, forged(lane), "set", "forged", "1")
			}
			for i := range 2 * fsm.Lanes {
				incr(t, r, fmt.Sprintf(":%d\r\n", i+2))
			}
			if len(*reboots) != 1 || r.Counters.Renewed.Load() != 1 || r.Counters.Unknown.Load() != 0 {
				t.Errorf("it began anew behind %d; %d outcomes are unknown", *reboots, r.Counters.Unknown.Load())
			}
		})
	}
}

// TestABatchBeginsAnewElsewhere: the same for a client in a loop.
func TestABatchBeginsAnewElsewhere(t *testing.T) {
	s := newMachineShard(t)
	r, _ := gatewayOf(s, 10_000)
	s.forge(t, fsm.Bundle{Origin: fsm.Origin{Node: 1, Boot: 200}}, "set", "forged", "1")
	calls := []*cluster.Call{callOf(0, "incr", "n"), callOf(0, "incr", "n")}
	_, wait := begun(t, r, calls...)
	wait()
	for i, want := range []string{":1\r\n", ":2\r\n"} {
		if calls[i].Err != nil || string(calls[i].Reply) != want {
			t.Errorf("%q, %v", calls[i].Reply, calls[i].Err)
		}
	}
}

// TestWhatMayHaveRunIsNotSentUnderAnotherIdentity: a bundle that was proposed before may have run.
// Then its outcome is unknown, and the next write succeeds.
func TestWhatMayHaveRunIsNotSentUnderAnotherIdentity(t *testing.T) {
	s := newMachineShard(t)
	r, reboots := gatewayOf(s, 10_000)
	s.before = func() {
		b := fsm.Bundle{Origin: fsm.Origin{Node: 1, Boot: 300}, Txns: []fsm.Txn{callOf(0, "set", "forged", "1").Txn}}
		s.applyLocked(fsm.AppendBundle(nil, &b), 1, func(shard.Result) {})
	}
	call := callOf(0, "incr", "n")
	r.Do(t.Context(), []*cluster.Call{call})
	if !errors.Is(call.Err, cluster.ErrUnknown) || r.Counters.Unknown.Load() != 1 {
		t.Errorf("%q, %v; %d are counted", call.Reply, call.Err, r.Counters.Unknown.Load())
	}
	incr(t, r, ":2\r\n")
	if len(*reboots) != 1 || (*reboots)[0] != 300 {
		t.Errorf("it began anew behind %d", *reboots)
	}
}

// TestOfABundleThatIsStaleInPartTheRestRuns: the txns that ran have their replies. The outcome of
// the stale ones is unknown, because they cannot be sent behind the others.
func TestOfABundleThatIsStaleInPartTheRestRuns(t *testing.T) {
	s := &fakeShard{addr: "me", self: true, stale: 2}
	r := routerOf(5000, nil, s, s)
	calls := []*cluster.Call{callOf(0, "incr", "a"), callOf(0, "incr", "b"), callOf(0, "incr", "c")}
	r.Do(t.Context(), calls)
	for i, c := range calls {
		if i < 2 && !errors.Is(c.Err, cluster.ErrUnknown) || i == 2 && (c.Err != nil || string(c.Reply) != ":2\r\n") {
			t.Errorf("call %d: %q, %v", i, c.Reply, c.Err)
		}
	}
	if len(s.bundles) != 1 {
		t.Errorf("%d bundles", len(s.bundles))
	}
}

// TestAGatewayThatCannotBeginAnewSaysSo: the error comes in time, and does not claim that the write
// has not run. The gateway asks for a new boot number only now and then.
func TestAGatewayThatCannotBeginAnewSaysSo(t *testing.T) {
	s := newMachineShard(t)
	r, _ := gatewayOf(s, 200)
	tries := 0
	r.cfg.Reboot = func(int, uint64) (uint64, error) { tries++; return 50, nil }
	s.forge(t, fsm.Bundle{Origin: fsm.Origin{Node: 1, Boot: 200}}, "set", "forged", "1")
	call, began := callOf(0, "incr", "n"), time.Now()
	r.Do(t.Context(), []*cluster.Call{call})
	if !errors.Is(call.Err, cluster.ErrUnknown) || time.Since(began) > time.Minute {
		t.Errorf("%q, %v", call.Reply, call.Err)
	}
	if most := 1 + int(time.Since(began)/renewEvery); tries == 0 || tries > most+1 {
		t.Errorf("%d tries", tries)
	}
}

// TestANodeSpeaksForItselfAlone: the leader refuses proposals and waits in another node's name, and
// numbers that no gateway gives out.
func TestANodeSpeaksForItselfAlone(t *testing.T) {
	s := newMachineShard(t)
	r, _ := gatewayOf(s, 1000)
	propose := func(from uint64, b fsm.Bundle) error {
		b.Txns = []fsm.Txn{callOf(0, "incr", "n").Txn}
		var res shard.Result
		r.Server().ServePropose(from, fsm.AppendBundle([]byte{0, 0, 0, 0, 100}, &b), func(answer []byte) { res = decodeResult(answer, 1, false) })
		return res.Err
	}
	own := fsm.Origin{Node: 7, Boot: 1}
	for name, c := range map[string]struct {
		from uint64
		b    fsm.Bundle
		want error
	}{
		"another node's":      {8, fsm.Bundle{Origin: own}, cluster.ErrNotKnown},
		"nobody's":            {0, fsm.Bundle{}, cluster.ErrNotLeader},
		"a leader's own":      {7, fsm.Bundle{}, cluster.ErrNotKnown},
		"a lane out of range": {7, fsm.Bundle{Origin: fsm.Origin{Node: 7, Boot: 1, Lane: fsm.Lanes}}, cluster.ErrNotKnown},
		"numbers to come":     {7, fsm.Bundle{Origin: own, AckedBelow: 1}, cluster.ErrNotKnown},
		"beyond the window":   {7, fsm.Bundle{Origin: own, FirstSeq: fsm.LaneWindow}, cluster.ErrNotKnown},
	} {
		if err := propose(c.from, c.b); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if err := propose(7, fsm.Bundle{Origin: own}); err != nil {
		t.Errorf("its own: %v", err)
	}
	id := fsm.TxnID{Origin: fsm.Origin{Node: 7, Boot: 1, Lane: fsm.WaitLane}, Seq: 1}
	b := &blocked{router: r, wait: shard.Wait{ID: id, Txn: callOf(0, "blpop", "k", "0").Txn}}
	for bits, own := range map[byte]error{0: cluster.ErrOverloaded, waitLeave: shard.ErrLeft} {
		for from, want := range map[uint64]error{7: own, 8: cluster.ErrNotKnown} {
			var got error
			r.Server().ServeWait(from, nil, b.encode(bits), func(answer []byte) { got = decodeResult(answer, 1, false).Err })
			if !errors.Is(got, want) {
				t.Errorf("a wait of node 7 from node %d: %v, want %v", from, got, want)
			}
		}
	}
	if n := r.Counters.Refused.Load(); n != 7 {
		t.Errorf("%d requests are counted as refused", n)
	}
}

// A wait whose identity the shard counts as given up gets another identity, unless it may have been
// served.
func TestAWaitBeginsAnewBehindForgedNumbers(t *testing.T) {
	for asked, want := range map[int]error{1: nil, 2: cluster.ErrUnknown} {
		var r *Router
		leader := &waitsLeader{fakeShard: fakeShard{addr: "a", self: true}}
		leader.answer = func(n int, w shard.Wait) *shard.Result {
			switch {
			case n < asked-1:
				return failing(shard.ErrRenew)
			case w.ID.Boot < 100:
				return &shard.Result{Replies: []shard.Reply{{Outcome: fsm.OutcomeStale, Bytes: []byte{99}}}}
			}
			return outcome(fsm.OutcomeDone, "+x\r\n")
		}
		r = New(Config{
			Node: 1, Boot: 1, Layout: halves{}, TimeoutMs: func() int { return 100 }, Replica: func(int) Shard { return leader },
			Reboot: func(_ int, behind uint64) (uint64, error) { return behind + 1, nil },
		})
		call := callOf(0, "blpop", "k", "1")
		if !r.Block(t.Context(), time.Second, call, func() {}) || !errors.Is(call.Err, want) || want == nil && string(call.Reply) != "+x\r\n" {
			t.Errorf("asked %d times: %q, %v", asked, call.Reply, call.Err)
		}
	}
}
