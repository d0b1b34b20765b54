package feed

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/engine/command"
	"lockstep/fsm"
	"lockstep/ground/caught"
)

func one(t testing.TB) (*node, *wire, *gateway) {
	n := newNode()
	w := &wire{nodes: map[string]*node{"a": n}}
	return n, w, newGateway(t, w, "a")
}

func TestChangesAreToldInOrder(t *testing.T) {
	n, _, g := one(t)
	n.run(fsm.TxnID{}, "before")
	g.track(t)
	if g.Heard(0) != 1 {
		t.Errorf("begins at %d, not 1", g.Heard(0))
	}
	own := fsm.TxnID{Origin: fsm.Origin{Node: gatewayNode, Boot: gatewayBoot, Lane: 5}, Seq: 9}
	other := own
	other.Node--
	n.run(own, "x", "y")
	n.run(other, "x", "*", "")
	g.wants(t, "(unheard)", "x(own 5/9)", "y(own 5/9)", "x", "*", "")
	var want []string
	for i := range 5000 {
		key := fmt.Sprint("k", i)
		n.run(fsm.TxnID{}, key)
		want = append(want, key)
	}
	g.wants(t, want...)
	if g.Heard(0) != 5003 {
		t.Errorf("heard up to %d", g.Heard(0))
	}
	if c := g.Counts(); c.Gaps != 0 || c.Live != 1 || c.Batches == 0 {
		t.Errorf("%+v", c)
	}
}

func TestALargeTxnTravelsInParts(t *testing.T) {
	n, _, g := one(t)
	g.track(t)
	want := []string{"(unheard)"}
	var keys []string
	for i := range 20_000 {
		keys = append(keys, fmt.Sprintf("%s%d", strings.Repeat("k", 40), i))
	}
	n.run(fsm.TxnID{}, keys...)
	g.wants(t, append(want, keys...)...)
	if c := g.Counts(); c.Batches < 5 {
		t.Errorf("%+v", c)
	}
}

func TestOnlyTheEventsThatAreWantedTravel(t *testing.T) {
	n, _, g := one(t)
	g.listen(t, command.EventString|command.EventList)
	out := n.source.Shard(0)
	out.Event(command.EventString, "set", 3, []byte("s"))
	out.Event(command.EventHash, "hset", 0, []byte("h"))
	out.Event(command.EventList, "rpush", 0, []byte(""))
	n.run(fsm.TxnID{}, "k")
	g.wants(t, "2:set:3:s", "4:rpush:0:", "2:set:0:k")
	if out.Tracking() {
		t.Error("changes are told to nobody")
	}
	g.listen(t, command.EventHash)
	out.Event(command.EventString, "set", 0, []byte("s"))
	out.Event(command.EventHash, "hset", 0, []byte("h"))
	g.wants(t, "16:hset:0:h")
	if c := g.Counts(); c.Gaps != 0 {
		t.Errorf("%+v", c)
	}
}

// A batch that is lost on the way comes again, once, and the subscription continues.
func TestABrokenConnectionLosesNothing(t *testing.T) {
	n, w, g := one(t)
	g.track(t)
	g.wants(t, "(unheard)")
	x := (*n.source.Shard(0).subscriptions.Load())[0]
	var polls, again atomic.Int64
	w.lose(func(_ string, payload []byte) fate {
		if payload[0] != opPoll {
			return arrives
		}
		if x.asksAgain(payload) {
			again.Add(1)
		}
		return []fate{arrives, answerIsLost, notSent}[polls.Add(1)%3]
	})
	var want []string
	eventually(t, "batches are lost and asked for again", func() bool {
		n.run(fsm.TxnID{}, fmt.Sprint(len(want)))
		want = append(want, fmt.Sprint(len(want)))
		return again.Load() >= 5
	})
	g.wants(t, want...)
	if c := g.Counts(); c.Gaps != 0 {
		t.Errorf("%+v after %d polls", c, polls.Load())
	}
}

// asksAgain reports whether a poll does not confirm the batch that was sent last.
func (x *subscription) asksAgain(poll []byte) bool {
	s := scanner{b: poll[1:]}
	_, received := s.number(), s.number()
	x.mu.Lock()
	defer x.mu.Unlock()
	return received+1 == x.number
}

func TestASlowGatewayIsCutOffAndBeginsAnew(t *testing.T) {
	n, w, g := one(t)
	n.source.bytesMax = 1 << 10
	// The gateway stands still for less time than its source would wait.
	n.source.patience = time.Hour
	g.track(t)
	g.wants(t, "(unheard)")
	w.mu.Lock()
	n.run(fsm.TxnID{}, "first")
	eventually(t, "the subscription ends", func() bool {
		n.run(fsm.TxnID{}, "more than fits")
		return n.source.waiting.Load() == 0 && n.source.Subscriptions() == 0
	})
	n.run(fsm.TxnID{}, "unheard of")
	w.mu.Unlock()
	eventually(t, "another subscription", func() bool { return g.Counts().Gaps == 1 && g.Counts().Live == 1 })
	n.run(fsm.TxnID{}, "last")
	eventually(t, "the last change", func() bool { return slices.Contains(g.soFar(), "last") })
	heard := g.soFar()
	if i := slices.Index(heard, "(unheard)"); i < 0 || slices.Contains(heard, "unheard of") || heard[len(heard)-1] != "last" {
		t.Errorf("%v", heard)
	}
}

// All subscriptions of a node share a bound.
func TestTheSourceIsBounded(t *testing.T) {
	n := newNode()
	n.source.patience = time.Hour // no gateway polls
	var answers int
	for range subscriptionsMax + 1 {
		n.source.Serve((&open{}).append(nil), func(b []byte) {
			if b[0] == statusDone {
				answers++
			}
		})
	}
	if answers != subscriptionsMax || n.source.Subscriptions() != subscriptionsMax {
		t.Errorf("%d subscriptions", answers)
	}
	big := strings.Repeat("k", 1<<20)
	for range 8 {
		n.run(fsm.TxnID{}, big)
		if w := n.source.waiting.Load(); w > sourceBytesMax {
			t.Fatalf("%d bytes wait", w)
		}
	}
	n.source.End(0)
	if w := n.source.waiting.Load(); w != 0 {
		t.Errorf("%d bytes are left", w)
	}
	eventually(t, "they are forgotten", func() bool { return n.source.Subscriptions() == 0 && !n.source.Shard(0).Tracking() })
}

func TestAnotherReplicaTakesOver(t *testing.T) {
	for name, fails := range map[string]func(n *node, w *wire){
		"closed":    func(n *node, _ *wire) { n.gone.Store(true); n.source.End(0) },
		"dead":      func(_ *node, w *wire) { w.lose(only("a", notSent)) },
		"paused":    func(_ *node, w *wire) { w.lose(only("a", silence)) },
		"restarted": func(n *node, _ *wire) { n.fresh.Store(true); n.source.End(0) },
	} {
		t.Run(name, func(t *testing.T) {
			a, b, fresh := newNode(), newNode(), newNode()
			fresh.fresh.Store(true)
			w := &wire{nodes: map[string]*node{"a": a, "b": b, "fresh": fresh}}
			g := newGateway(t, w, "a", "fresh", "b")
			g.pace.resume = 100 * time.Millisecond
			if name == "paused" {
				g.pace.open, g.pace.poll = 100*time.Millisecond, 2*time.Second
			}
			g.track(t)
			a.run(fsm.TxnID{}, "x")
			g.wants(t, "(unheard)", "x")
			fails(a, w)
			b.run(fsm.TxnID{}, "x")
			b.run(fsm.TxnID{}, "unheard of")
			eventually(t, "the other's subscription", func() bool { return b.source.Subscriptions() == 1 && g.Counts().Live == 1 })
			b.run(fsm.TxnID{}, "y")
			g.wants(t, "(unheard)", "y")
			if g.Heard(0) != 3 || g.Counts().Gaps != 1 {
				t.Errorf("%d, %+v", g.Heard(0), g.Counts())
			}
		})
	}
}

// The first replica that is asked no longer leads and refuses; then the gateway finds the leader.
func TestTheLeaderIsPreferred(t *testing.T) {
	a, b := newNode(), newNode()
	a.leads.Store(false)
	w := &wire{nodes: map[string]*node{"a": a, "b": b}}
	g := newGateway(t, w, "a", "b")
	g.cfg.Doubt = func(int) { g.addrs.Store(&[]string{"b", "a"}) }
	g.track(t)
	if a.source.Subscriptions() != 0 || b.source.Subscriptions() != 1 {
		t.Errorf("%d subscriptions where nobody leads, %d at the leader", a.source.Subscriptions(), b.source.Subscriptions())
	}
	// Without any leader another replica is good enough.
	b.leads.Store(false)
	b.source.End(0)
	eventually(t, "a replica", func() bool { return g.Counts().Gaps == 1 && g.Counts().Live == 1 })
}

// A feed of changes moves to a new leader without a gap, although the old source runs the log
// later. A feed of events stays where it is.
func TestAFeedOfChangesFollowsTheLeader(t *testing.T) {
	a, b := newNode(), newNode()
	b.leads.Store(false)
	w := &wire{nodes: map[string]*node{"a": a, "b": b}}
	g := newGateway(t, w, "a", "b")
	g.track(t)
	g.listen(t, command.EventHash)
	g.wants(t, "(unheard)")
	a.leads.Store(false)
	b.leads.Store(true)
	b.run(fsm.TxnID{}, "x") // on b first, before the new subscription begins
	g.addrs.Store(&[]string{"b", "a"})
	eventually(t, "two subscriptions for changes", func() bool { return a.source.Subscriptions() == 2 && b.source.Subscriptions() == 1 })
	b.run(fsm.TxnID{}, "y")
	eventually(t, "the new subscription waits", func() bool { return b.source.waiting.Load() > 0 })
	a.run(fsm.TxnID{}, "x")
	eventually(t, "the old subscription has ended", func() bool { return a.source.Subscriptions() == 1 })
	g.wants(t, "x", "y")
	if c := g.Counts(); c.Gaps != 0 || c.Live != 2 {
		t.Errorf("%+v", c)
	}
}

// A source that runs the log later than the source before it does not report again what that one
// has reported.
func TestNoEventIsToldTwice(t *testing.T) {
	a, b := newNode(), newNode()
	b.leads.Store(false)
	w := &wire{nodes: map[string]*node{"a": a, "b": b}}
	g := newGateway(t, w, "a", "b")
	g.listen(t, command.EventString)
	for _, key := range []string{"x", "y", "z"} {
		a.run(fsm.TxnID{}, key)
	}
	b.run(fsm.TxnID{}, "x")
	g.wants(t, "2:set:0:x", "2:set:0:y", "2:set:0:z")
	a.gone.Store(true)
	a.source.End(0)
	eventually(t, "the other's subscription", func() bool { return b.source.Subscriptions() == 1 && g.Counts().Live == 1 })
	for _, key := range []string{"y", "z", "last"} {
		b.run(fsm.TxnID{}, key)
	}
	g.wants(t, "2:set:0:last")
}

func only(at string, f fate) func(string, []byte) fate {
	return func(addr string, _ []byte) fate {
		if addr == at {
			return f
		}
		return arrives
	}
}

// A replica that has lost its leader stays a source for a while: if no other replica leads, nothing
// changes meanwhile. After that it is no longer a source.
func TestAReplicaWithoutALeaderIsGivenUp(t *testing.T) {
	n, _, g := one(t)
	g.track(t)
	x := (*n.source.Shard(0).subscriptions.Load())[0]
	n.orphan.Store(true)
	now := time.Now()
	if !x.checkTimeouts(now.Add(leaderless / 2)) {
		t.Error("given up at once")
	}
	if x.checkTimeouts(now.Add(2 * leaderless)) {
		t.Error("still a source")
	}
	eventually(t, "the gateway asks who leads", func() bool { return g.doubts.Load() > 0 && g.Counts().Live == 0 })
	n.orphan.Store(false)
	eventually(t, "it begins anew", func() bool { return g.Counts().Live == 1 && g.Counts().Gaps == 1 })
	g.wants(t, "(unheard)", "(unheard)")
}

func TestNothingRunsWhenNobodyWantsIt(t *testing.T) {
	n, _, g := one(t)
	eventually(t, "it looked", func() bool { return g.looked.Load() > 0 })
	if g.Counts().Feeds != 0 || n.source.Subscriptions() != 0 {
		t.Error("a feed for nobody")
	}
	g.track(t)
	g.listen(t, command.EventString)
	if g.Counts().Feeds != 2 || n.source.Subscriptions() != 2 {
		t.Errorf("%+v, %d", g.Counts(), n.source.Subscriptions())
	}
	g.changes.Store(false)
	g.events.Store(0)
	g.Kick()
	eventually(t, "all ends", func() bool { return g.Counts().Feeds == 0 && n.source.Subscriptions() == 0 })
	if out := n.source.Shard(0); out.Tracking() || out.events.Load() != 0 {
		t.Error("the replica still tells")
	}
	g.own.Store(true)
	g.track(t)
	if g.Counts().Feeds != 0 {
		t.Error("a feed beside the own replica")
	}
}

// The subscriptions of a gateway that is gone end.
func TestASubscriptionWithoutAGatewayExpires(t *testing.T) {
	n := newNode()
	n.source.patience = 20 * time.Millisecond
	n.source.Serve((&open{}).append(nil), func(b []byte) {
		if b[0] != statusDone {
			t.Error("no subscription")
		}
	})
	eventually(t, "it expires", func() bool { return n.source.Subscriptions() == 0 })
}

// The events of a replica that comes to the gateway are delivered once it has run what the feed
// reported, and not before: no event comes twice.
func TestTheOwnReplicaTakesOver(t *testing.T) {
	n, _, g := one(t)
	g.listen(t, command.EventString)
	g.track(t)
	for range 10 {
		n.run(fsm.TxnID{}, "k")
	}
	eventually(t, "all is heard", func() bool { return g.Heard(0) == 10 && len(g.soFar()) == 21 })
	g.ran.Store(9)
	g.own.Store(true)
	g.Kick()
	eventually(t, "the feed of changes ends", func() bool { return g.Counts().Feeds == 1 && n.source.Subscriptions() == 0 })
	muted := func() string {
		g.mu.Lock()
		defer g.mu.Unlock()
		return fmt.Sprint(g.muted)
	}
	if got := muted(); got != "[true]" {
		t.Fatalf("muted %s", got)
	}
	g.ran.Store(10)
	eventually(t, "the replica is heard", func() bool { return muted() == "[true false]" && g.Counts().Feeds == 0 })
	g.ran.Store(0)
	g.own.Store(false)
	g.listen(t, command.EventString)
	if got := muted(); got != "[true false true]" {
		t.Errorf("muted %s", got)
	}
	eventually(t, "changes are heard of again", func() bool { return g.Counts().Live == 2 })
}

// The gateway's clients have received everything that a replica reported before it was closed.
func TestWhatAReplicaHasToldWasHeard(t *testing.T) {
	_, _, g := one(t)
	g.Told(0, 7)
	if n := g.Heard(0); n != 7 {
		t.Errorf("heard of %d", n)
	}
	g.Told(0, 5)
	if n := g.Heard(0); n != 7 {
		t.Errorf("heard of %d, later", n)
	}
}

// A feed that is no longer wanted and has yet to end must not serve a new subscriber: that
// subscriber would lose the events after the end.
func TestAFeedThatEndsIsWaitedForAnew(t *testing.T) {
	n, _, g := one(t)
	g.listen(t, command.EventString)
	g.mu.Lock()
	n.run(fsm.TxnID{}, "early") // its events are being delivered, which holds the feed up
	eventually(t, "it is on its way", func() bool { return g.Consumer.batches.Load() == 1 })
	g.events.Store(0)
	// There are three calls in each review, one of which may have begun before.
	for enough := g.looked.Load() + 6; g.looked.Load() < enough; {
		g.Kick()
		runtime.Gosched()
	}
	g.events.Store(uint32(command.EventString))
	g.Consumer.mu.Lock()
	if g.allLiveLocked(kindEvents) {
		t.Error("the feed that ends will do")
	}
	g.Consumer.mu.Unlock()
	g.mu.Unlock()
	g.listen(t, command.EventString)
	n.run(fsm.TxnID{}, "late")
	eventually(t, "it is heard", func() bool { all := g.soFar(); return len(all) > 0 && strings.HasSuffix(all[len(all)-1], "late") })
}

func TestWaitingForAFeedIsBounded(t *testing.T) {
	_, w, g := one(t)
	w.lose(only("a", notSent))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	done := g.AwaitChanges(ctx)
	if ctx.Err() == nil {
		t.Error("returned without a feed")
	}
	done()
	g.Kick()
	eventually(t, "nobody wants it any more", func() bool { return g.Counts().Feeds == 0 })
}

// deaf is a itemReceiver that only counts.
type deaf struct{ items, keys int }

func (d *deaf) event(command.EventClass, string, int, []byte) { d.items++ }
func (d *deaf) changed(_ fsm.TxnID, keys [][]byte) {
	d.items++
	d.keys += len(keys)
}

func FuzzItems(f *testing.F) {
	b, _ := appendChanged(nil, nil, named("a", "*", ""))
	b, _ = appendChanged(b, &fsm.TxnID{Origin: fsm.Origin{Lane: 3}, Seq: 1 << 40}, named("b"))
	f.Add(appendEvent(b, command.EventList, "rpush", 15, []byte("key")))
	f.Fuzz(func(t *testing.T, b []byte) {
		var d deaf
		err := scanItems(b, &d)
		if d.items > len(b) || d.keys > len(b) {
			t.Errorf("%d items with %d keys in %d bytes", d.items, d.keys, len(b))
		}
		if err == nil && len(b) > 0 && d.items == 0 {
			t.Error("nothing was in it")
		}
		n := newNode()
		n.source.Serve(b, func([]byte) {})
		n.source.End(0)
	})
}

func TestEveryCutOfABatchIsNoticed(t *testing.T) {
	b := appendEvent(nil, command.EventList, "rpush", 15, []byte("key"))
	first := len(b)
	b, _ = appendChanged(b, &fsm.TxnID{Origin: fsm.Origin{Lane: 300}, Seq: 1}, named("a", "*"))
	for i := range b {
		var d deaf
		if err := scanItems(b[:i], &d); (err == nil) != (i == 0 || i == first) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
}

// A client that waits for an unreachable shard costs almost nothing meanwhile.
func TestWaitingForAFeedIsCheap(t *testing.T) {
	_, w, g := one(t)
	w.lose(func(string, []byte) fate { return notSent })
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		g.AwaitChanges(ctx)()
	}()
	const tries = 30
	eventually(t, "the shard is looked for", func() bool { return g.doubts.Load() >= tries })
	cancel()
	<-waited
	if n := g.looked.Load(); n > 50*tries {
		t.Errorf("%d looks at what is wanted, for %d tries", n, g.doubts.Load())
	}
}

// TestAFeedGoesOnBehindAPanic: if a report of a source makes the gateway panic, the feed begins
// again and reports a gap.
func TestAFeedGoesOnBehindAPanic(t *testing.T) {
	n, _, g := one(t)
	panics := caught.New(slog.New(slog.NewTextHandler(io.Discard, nil)))
	g.cfg.Panics = panics
	g.track(t)
	g.wants(t, "(unheard)")
	g.breaks.Store(true)
	n.run(fsm.TxnID{}, "x")
	g.wants(t, "(unheard)")
	eventually(t, "the feed to be open again", func() bool { return g.Counts().Live == 1 })
	n.run(fsm.TxnID{}, "y")
	g.wants(t, "y")
	if c := panics.Count(); c != 1 {
		t.Errorf("%d panics are counted", c)
	}
}

// fixedAnswer is a source that gives the same answer to every request.
type fixedAnswer []byte

func (a fixedAnswer) Go(_ string, _ uint8, _ []byte, done func([]byte, error)) { done(a, nil) }

// FuzzAnswer: whatever a source answers, to a gateway that opens a subscription or polls, the
// gateway delivers it or rejects it as nonsense.
func FuzzAnswer(f *testing.F) {
	b, _ := appendChanged(appendAll([]byte{statusDone}, 1, 5, 4, 1), nil, named("a", "*", ""))
	f.Add(b)
	f.Add(appendAll([]byte{statusDone}, 9, 3))
	f.Add([]byte{statusGone})
	f.Fuzz(func(t *testing.T, answer []byte) {
		for _, events := range []command.EventClass{0, command.EventList} {
			g := &gateway{}
			g.addrs.Store(&[]string{"a"})
			in := NewConsumer(Config{
				Shards: 1, Node: gatewayNode, Sink: g, Peers: fixedAnswer(answer),
				Wants: func() (bool, command.EventClass) { return events == 0, events }, Own: func(int) bool { return false },
				Queued: func(int) uint64 { return 0 }, Executed: func(int) uint64 { return 0 },
				Leader: func(int) string { return "a" }, Replicas: func(int) []string { return []string{"a"} }, Doubt: func(int) {},
			})
			cur := &cursor{consumer: in, want: Want{events}}
			if cur.open(t.Context(), true) && cur.at.addr != "a" {
				t.Fatalf("%+v", cur.at)
			}
			if s, err := cur.call(t.Context(), "a", nil, time.Second); err == nil {
				_ = cur.deliver(t.Context(), &s)
			}
			if len(g.soFar()) > len(answer)+2 {
				t.Fatalf("%d pieces of news in %d bytes", len(g.soFar()), len(answer))
			}
		}
	})
}
