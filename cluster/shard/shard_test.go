package shard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/raftio"
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/sched"
	"lockstep/fsm"
	"lockstep/tests/kit/standstill"
)

// shardWorld is a world whose nodes have replicas of one shard.
type shardWorld struct {
	*world
	mode atomic.Uint32
	// boot grows with every start, like that of a real node.
	boot     atomic.Uint64
	observer command.Observer
	seq      atomic.Uint64
}

func (w *shardWorld) shardOf(group GroupConfig) Config {
	settings := command.DefaultSettings
	return Config{
		Group: group, Machine: fsm.Config{Engine: engine.Config{LockSlots: 64}, Sched: sched.Config{Permits: 8}, Observer: w.observer},
		Node: 1, Boot: w.boot.Add(1), ReadMode: func() ReadMode { return ReadMode(w.mode.Load()) },
		EntryBytesMax: 1 << 20, OutstandingBytesMax: 64 << 20, OutstandingTxnsMax: 1 << 20,
		Settings: func() command.Settings { return settings }, Log: group.Log,
		SendList: func(_ context.Context, addr string, list []byte) error {
			i := slices.IndexFunc(w.nodes, func(n *testNode) bool { return n.door.addr == addr })
			return w.nodes[i].shard.TakeList(bytes.Clone(list))
		},
	}
}

func newShardWorld(t *testing.T, n int, set func(*GroupConfig)) *shardWorld {
	w := &shardWorld{world: &world{t: t}}
	w.found(n, raftio.StoreBolt, set, w.shardOf)
	return w
}

func commandTxn(args ...string) fsm.Txn {
	op := fsm.Op{}
	for _, a := range args {
		op.Args = append(op.Args, []byte(a))
	}
	return fsm.Txn{Proto: 2, Ops: []fsm.Op{op}}
}

// propose proposes a command to a node's shard.
func (w *shardWorld) propose(n *testNode, args ...string) <-chan Result {
	b := fsm.Bundle{Origin: fsm.Origin{Node: 9, Boot: 1}, FirstSeq: w.seq.Add(1), Txns: []fsm.Txn{commandTxn(args...)}}
	b.Origin.Lane = uint32(b.FirstSeq % fsm.Lanes)
	answer := make(chan Result, 1)
	n.shard.Propose(Offer{Bundle: fsm.AppendBundle(nil, &b), Txns: b.Txns, Until: time.Now().Add(time.Minute)}, func(r Result) { answer <- r })
	return answer
}

// set sets a key through whichever of the nodes leads.
func (w *shardWorld) set(key, value string, among ...*testNode) {
	w.t.Helper()
	w.until("SET "+key, func() bool {
		r := <-w.propose(w.leader(among...), "set", key, value)
		return r.Err == nil && string(r.Replies[0].Bytes) == "+OK\r\n"
	})
}

// get reads a key from a node within patience.
func (w *shardWorld) get(n *testNode, key string, patience time.Duration) (string, error) {
	replies, err := n.shard.Read(w.t.Context(), time.Now().Add(patience), []fsm.Txn{commandTxn("get", key)}, 0)
	if err != nil {
		return "", err
	}
	return string(replies[0].Bytes), nil
}

// ask reads a key from whichever of the nodes leads.
func (w *shardWorld) ask(key string, among ...*testNode) (got string) {
	w.t.Helper()
	w.until("GET "+key, func() (ok bool) {
		var err error
		got, err = w.get(w.leader(among...), key, patience)
		return err == nil
	})
	return got
}

// deposed returns a world whose first node believes that it leads, while the others have another
// leader and write. The first node receives no messages, and does not know for how long.
func deposed(t *testing.T) (w *shardWorld, old *testNode, rest []*testNode) {
	w = newShardWorld(t, 3, unequalClocks)
	old, rest = w.lead(func(among ...*testNode) { w.set("k", "before", among...) })
	w.until("it serves", old.shard.Leads)
	cutOff([]*testNode{old}, rest, true)
	patient(rest, false)
	w.set("k", "after", rest...)
	if !old.group.IsLeader() {
		t.Fatal("the old leader knows already")
	}
	return w, old, rest
}

// A deposed leader answers no read: neither by a lease that has ended nor, if a quorum must be
// asked, by a lease that still holds.
func TestADeposedLeaderAnswersNoRead(t *testing.T) {
	t.Parallel()
	w, old, rest := deposed(t)
	if !old.group.lease.Valid(old.group.Term()) {
		t.Fatal("it has no lease")
	}
	ask := func(what string) {
		t.Helper()
		if got, err := w.get(old, "k", 300*time.Millisecond); err == nil {
			t.Errorf("%s: a read gets %q", what, got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if index, err := old.shard.ReadIndex(ctx); err == nil {
			t.Errorf("%s: it names the index %d", what, index)
		}
	}
	w.mode.Store(uint32(ReadQuorum))
	ask("read-mode quorum")
	w.mode.Store(uint32(ReadLease))
	old.group.lease.TurnOff(old.group.Term())
	ask("no lease")
	if got := w.ask("k", rest...); got != "$5\r\nafter\r\n" {
		t.Errorf("from the new leader: %q", got)
	}
}

// A leader that is cut off acknowledges no write. It does not know the outcome: the write is
// neither done nor certainly not done.
func TestAWriteThatNoQuorumHasIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	w, old, rest := deposed(t)
	answer := w.propose(old, "set", "k", "lost")
	select {
	case r := <-answer:
		t.Fatalf("alone it answers %+v", r)
	case <-time.After(100 * time.Millisecond):
	}
	cutOff([]*testNode{old}, rest, false)
	select {
	case r := <-answer:
		if !errors.Is(r.Err, cluster.ErrUnknown) {
			t.Errorf("then it answers %+v", r)
		}
	case <-time.After(patience):
		t.Fatal("it is never answered")
	}
	if got := w.ask("k", rest...); got != "$5\r\nafter\r\n" {
		t.Errorf("from the new leader: %q", got)
	}
}

// A new leader knows what earlier leaders acknowledged once it has run its own first entry. Before
// that it answers nothing.
func TestANewLeaderAnswersWhenItHasRunWhatWasAcknowledged(t *testing.T) {
	w := newShardWorld(t, 1, nil)
	n := w.nodes[0]
	w.set("gate", "v")
	w.set("k", "v")
	n.stop()
	gate := standstill.New("gate")
	w.observer = gate
	n.start()
	<-gate.Entered
	w.until("it leads", n.group.IsLeader)
	if got, err := w.get(n, "k", 100*time.Millisecond); err == nil {
		t.Errorf("before the log has run a read gets %q", got)
	}
	close(gate.Open)
	w.until("it serves", n.shard.Leads)
	if got, err := w.get(n, "k", patience); err != nil || got != "$1\r\nv\r\n" {
		t.Errorf("then it gets %q, %v", got, err)
	}
}

// A client that has seen an entry gets no answer from a state before that entry.
func TestReadsAreNotOlderThanTheyMayBe(t *testing.T) {
	w := newShardWorld(t, 1, nil)
	n := w.nodes[0]
	w.set("k", "v")
	w.until("it serves", n.shard.Leads)
	get := []fsm.Txn{commandTxn("get", "k")}
	now := n.shard.Taken()
	if _, err := n.shard.Read(t.Context(), time.Now().Add(patience), get, now); err != nil {
		t.Error(err)
	}
	if _, err := n.shard.ReadOwn(t.Context(), get, now); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if replies, err := n.shard.Read(ctx, time.Now().Add(patience), get, now+100); err == nil {
		t.Errorf("the leader answers %q", replies[0].Bytes)
	}
	if replies, err := n.shard.ReadOwn(ctx, get, now+100); err == nil {
		t.Errorf("the replica answers %q", replies[0].Bytes)
	}
}

// A follower can run an entry before its leader does. A client that has read the entry on the
// follower, and asks the leader for its index, gets no earlier index.
func TestAnIndexHoldsWhatAFollowerHasRun(t *testing.T) {
	t.Parallel()
	w := newShardWorld(t, 3, steady)
	w.set("k", "before")
	leader := w.leader()
	w.until("it serves", leader.shard.Leads)
	before := leader.shard.Queued()
	held := &leader.group.parts.fsm.mu
	held.Lock()
	answer := w.propose(leader, "set", "k", "after")
	follower := w.others(leader)[0]
	w.until("a follower has run it", func() bool { return follower.shard.Queued() > before })
	seen := follower.shard.Queued()
	ctx, cancel := context.WithTimeout(w.ctx(), 50*time.Millisecond)
	if now, err := leader.shard.ReadIndex(ctx); err == nil && now < seen {
		t.Errorf("the leader says %d, and a follower has run %d", now, seen)
	}
	cancel()
	held.Unlock()
	<-answer
	w.until("the leader says so", func() bool {
		now, err := w.leader().shard.ReadIndex(w.ctx())
		return err == nil && now >= seen
	})
}

// A key that is due by the leader's clock is gone, even if no entry has moved the log's time on:
// the read waits for an entry that does.
func TestAKeyThatIsDueIsGone(t *testing.T) {
	w := newShardWorld(t, 1, nil)
	n := w.nodes[0]
	w.until("it serves", n.shard.Leads)
	n.shard.SetActiveExpire(false)
	due := n.shard.clock.nowMs() + 50
	if r := <-w.propose(n, "set", "k", "v", "pxat", fmt.Sprint(due)); r.Err != nil {
		t.Fatal(r.Err)
	}
	w.until("the key is due", func() bool { return n.shard.clock.nowMs() >= due })
	// As a single read, and as one of many.
	for _, txn := range []fsm.Txn{commandTxn("get", "k"), commandTxn("bitcount", "k")} {
		replies, err := n.shard.Read(t.Context(), time.Now().Add(patience), []fsm.Txn{txn}, 0)
		if err != nil || (string(replies[0].Bytes) != "$-1\r\n" && string(replies[0].Bytes) != ":0\r\n") {
			t.Errorf("%s gets %v, %v", txn.Ops[0].Args[0], replies, err)
		}
	}
	if at := n.shard.Machine().StampMs(); at < due {
		t.Errorf("the log's time is %d ms before the key's", due-at)
	}
}

// An entry takes the bundles that fit, in the order of arrival. A bundle that is too long for any
// entry goes alone.
func TestAnEntryIsBounded(t *testing.T) {
	p := proposer{shard: &Shard{cfg: Config{EntryBytesMax: 100}}}
	for _, c := range []struct{ bytes, txns int }{{40, 1}, {60, 1}, {1, 1}, {500, 1}, {50, 1}, {10, entryTxnsMax}, {10, entryTxnsMax + 1}, {10, 1}} {
		p.queue = append(p.queue, newBundleCall(make([]byte, c.bytes), c.txns, nil, &admission{}))
	}
	var sizes []string
	for {
		calls, bytes := p.cut()
		if len(calls) == 0 {
			break
		}
		sizes = append(sizes, fmt.Sprintf("%d of %d", len(calls), bytes))
	}
	if got, want := fmt.Sprint(sizes), "[2 of 100 1 of 1 1 of 500 1 of 50 1 of 10 1 of 10 1 of 10]"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

// However long entries may be by the settings, none becomes so long that the log refuses it: then
// everything in it would be refused.
func TestWhatIsPutTogetherFitsIntoTheLog(t *testing.T) {
	p := proposer{shard: &Shard{cfg: Config{EntryBytesMax: 64 << 20}}}
	const each = 9 << 20
	bundle := make([]byte, each)
	for range 8 {
		p.queue = append(p.queue, newBundleCall(bundle, 1, nil, &admission{}))
	}
	calls, bytes := p.cut()
	b := fsm.NewEntryBuilder(1, fsm.EntryID{}, 0, bytes)
	for _, c := range calls {
		b.Add(c.bundle)
	}
	if entry := len(b.Finish()); entry > fsm.EntryBytesMax || entry+each <= fsm.EntryBytesMax {
		t.Errorf("%d bundles make an entry of %d bytes, of %d", len(calls), entry, fsm.EntryBytesMax)
	}
	if entry := len(fsm.NewEntryBuilder(1, fsm.EntryID{}, 0, 0).Finish()); bundlesBytesMax+entry > fsm.EntryBytesMax {
		t.Errorf("what stands around bundles takes %d bytes", entry)
	}
}

// Admission is bounded, and each answer gives its room back.
func TestAdmissionIsBounded(t *testing.T) {
	var a admission
	a.init(100, 10)
	for what, c := range map[string]struct {
		txns, bytes int
		enters      bool
	}{"too many bytes": {1, 51, false}, "too many txns": {6, 10, false}, "both fit": {5, 50, true}} {
		if !a.enter(5, 50) {
			t.Fatal("there is no room for the first")
		}
		if got := a.enter(c.txns, c.bytes); got != c.enters {
			t.Errorf("%s: %v", what, got)
		} else if got {
			a.leave(c.txns, c.bytes)
		}
		a.leave(5, 50)
		if txns, bytes := a.outstanding(); txns != 0 || bytes != 0 {
			t.Fatalf("%s: %d txns and %d bytes are left", what, txns, bytes)
		}
	}
	if !a.enter(1, 1000) {
		t.Error("what is larger than all the room does not enter alone")
	}
	w := newShardWorld(t, 1, nil)
	for i := range 100 {
		w.set("k", fmt.Sprint(i))
	}
	w.until("nothing outstanding", func() bool { txns, bytes := w.nodes[0].shard.Outstanding(); return txns == 0 && bytes == 0 })
}

// When Close returns, no goroutine of the shard runs: then its folder may be deleted.
func TestAClosedShardHasNothingAtWork(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w := &shardWorld{world: &world{t: t}}
	w.found(1, raftio.StoreBolt, nil, func(group GroupConfig) Config {
		cfg := w.shardOf(group)
		settings := cfg.Settings
		cfg.Settings = func() command.Settings {
			once.Do(func() { close(asked) })
			<-answer
			return settings()
		}
		return cfg
	})
	n := w.nodes[0]
	select {
	case <-asked:
	case <-w.ctx().Done():
		t.Fatal("a new leader asks for no settings")
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		n.stop()
	}()
	w.until("its group is closed", func() bool {
		n.group.mu.Lock()
		defer n.group.mu.Unlock()
		return n.group.closed
	})
	var answered atomic.Bool
	time.AfterFunc(testHeartbeatMs*time.Millisecond, func() {
		answered.Store(true)
		close(answer)
	})
	<-closed
	if !answered.Load() {
		t.Error("it was closed while it asked for the settings")
	}
}

// The goroutine that records that a term may be served may be delayed until a later term.
func TestALaterTermIsServedWhateverComesLateOfAnEarlierOne(t *testing.T) {
	s := &Shard{}
	raise(&s.readyTerm, 5)
	raise(&s.readyTerm, 7)
	raise(&s.readyTerm, 5)
	if term := s.readyTerm.Load(); term != 7 {
		t.Errorf("term %d is served", term)
	}
}
