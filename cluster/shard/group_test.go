package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/raftio"
	"lockstep/cluster/transport"
	"lockstep/fsm"
)

var bothStores = []string{raftio.StoreBolt, raftio.StoreWAL}

func TestGroupElectsReplicatesAndAgrees(t *testing.T) {
	t.Parallel()
	for _, store := range bothStores {
		t.Run(store, func(t *testing.T) {
			w := newWorld(t, 3, store, nil)
			w.write(50)
			w.agree()
			for _, n := range w.nodes {
				if members, index := n.group.Members(); len(members) != 3 || index != 1 || n.group.Voters() != 3 {
					t.Errorf("%s: members %v at %d", n.id, members, index)
				}
				if !n.group.HasState() {
					t.Errorf("%s has no state", n.id)
				}
			}
		})
	}
}

func TestLostLeaderIsReplacedAndComesBack(t *testing.T) {
	t.Parallel()
	for _, store := range bothStores {
		t.Run(store, func(t *testing.T) {
			w := newWorld(t, 3, store, nil)
			w.write(20)
			old := w.leader()
			old.stop()
			w.write(20, w.others(old)...)
			old.start()
			w.write(20)
			w.agree()
			// An entry whose outcome was unknown is written again.
			if got := old.sm.entries(); got < 60 {
				t.Errorf("%d entries", got)
			}
		})
	}
}

func TestEveryNodeRestartsAndNothingIsLost(t *testing.T) {
	t.Parallel()
	for _, store := range bothStores {
		t.Run(store, func(t *testing.T) {
			w := newWorld(t, 3, store, nil)
			w.write(30)
			w.agree()
			w.must(w.nodes[0].group.TakeSnapshot())
			want := w.nodes[0].sm.state()
			for _, n := range w.nodes {
				n.stop()
			}
			for _, n := range w.nodes {
				n.start()
			}
			w.until("the state", func() bool {
				for _, n := range w.nodes {
					if n.sm.state() != want {
						return false
					}
				}
				return true
			})
		})
	}
}

func TestNodeThatWasAwayGetsASnapshot(t *testing.T) {
	t.Parallel()
	for _, store := range bothStores {
		t.Run(store, func(t *testing.T) {
			w := newWorld(t, 3, store, func(c *GroupConfig) { c.TrailingEntries = 3 })
			w.write(10)
			leader := w.leader()
			away := w.others(leader)[0]
			away.stop()
			rest := w.others(away)
			w.write(40, rest...)
			w.agree(rest...)
			w.must(w.leader(rest...).group.TakeSnapshot())
			away.start()
			w.agree()
			w.write(5)
			w.agree()
			if ended := away.ended(); len(ended) > 0 {
				t.Errorf("it ended: %v", ended)
			}
			if members, index := away.group.Members(); len(members) != 3 || index != 1 {
				t.Errorf("it knows %v at %d", members, index)
			}
		})
	}
}

// On a busy machine an election may come in between, and a third node may win it. If the name in
// the order had no effect, that would happen every other time.
func TestLeadershipIsGivenToWhoIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, raftio.StoreBolt, steady)
	w.write(5)
	given, missed := 0, 0
	w.until("leadership is given eight times", func() bool {
		old := w.leader()
		to := w.others(old)[0]
		w.caughtUp(old, to)
		term := old.group.Term()
		if old.group.TransferTo(w.ctx(), to.id) != nil {
			return false
		}
		if old.group.lease.Valid(term) {
			t.Error("the old leader still has its lease")
		}
		w.until("a newer term", func() bool { return w.leader().group.Term() > term })
		if w.leader() == to {
			given++
		} else if missed++; missed > 2 {
			t.Fatalf("given to another node %d times, to the node that was named %d times", missed, given)
		}
		return given == 8
	})
	w.write(5)
	w.agree()
	leader := w.leader()
	if err := leader.group.TransferTo(w.ctx(), "nobody"); err == nil {
		t.Error("given to nobody")
	}
}

// A voter that has not joined yet, and may never, has none of the entries that were acknowledged
// before.
func TestAVoterCountsWhenItsPlaceIsCommitted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, raftio.StoreBolt, nil)
	n := w.leader()
	w.write(1)
	if got := n.group.VotersCertain(); got != 1 {
		t.Fatalf("%d voters of one", got)
	}
	ctx, cancel := context.WithCancel(w.ctx())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = n.group.Changes().AddVoter(ctx, "nobody", "127.0.0.1:1", 0)
	}()
	w.until("two are to vote", func() bool { return n.group.Voters() == 2 })
	if got := n.group.VotersCertain(); got != 1 {
		t.Errorf("%d voters, of which one does not answer", got)
	}
	w.until("it leads no more, alone of two", func() bool { return !n.group.IsLeader() })
	if got := n.group.VotersCertain(); got != 1 {
		t.Errorf("%d voters, of which one has never answered, and nobody leads", got)
	}
	cancel()
	<-ended
	for _, size := range []int{2, 3} {
		w := newWorld(t, size, raftio.StoreBolt, nil)
		w.write(1)
		w.until("all count, on each", func() bool {
			return !slices.ContainsFunc(w.nodes, func(n *testNode) bool { return n.group.VotersCertain() != size })
		})
	}
}

func TestFollowerRefusesDefinitely(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, raftio.StoreBolt, steady)
	follower := w.others(w.leader())[0]
	if err := follower.group.Append(w.ctx(), []byte("x")); !errors.Is(err, ErrNotProposed) {
		t.Error(err)
	}
	if err := follower.group.ConfirmLeadership(w.ctx(), ReadLease); !errors.Is(err, ErrNotLeading) {
		t.Error(err)
	}
}

func TestEntryNoStoreTakesIsRefused(t *testing.T) {
	w := newWorld(t, 1, raftio.StoreWAL, nil)
	if err := w.leader().group.Append(w.ctx(), make([]byte, fsm.EntryBytesMax+1)); !errors.Is(err, ErrEntryTooLong) || !errors.Is(err, ErrNotProposed) {
		t.Error(err)
	}
}

func TestEntryThatCannotBeAppliedEndsTheNodeAndNothingBehindItIsApplied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, raftio.StoreBolt, steady)
	w.write(3)
	w.agree()
	leader := w.leader()
	victim := w.others(leader)[0]
	before := victim.sm.state()
	victim.sm.mu.Lock()
	victim.sm.poison = "poison"
	victim.sm.mu.Unlock()
	w.must(leader.group.Append(w.ctx(), []byte("poison")))
	w.write(5)
	w.until("the end", func() bool { return len(victim.ended()) == 1 })
	w.agree(w.others(victim)...)
	if got := victim.sm.state(); got != before {
		t.Errorf("the state is %s, and was %s", got, before)
	}
	if err := victim.group.TakeSnapshot(); err == nil {
		t.Error("it became a snapshot")
	}
}

func TestEveryProposalIsAnsweredWhenTheGroupCloses(t *testing.T) {
	w := newWorld(t, 3, raftio.StoreBolt, nil)
	leader := w.leader()
	// Now nothing can be committed.
	cutOff([]*testNode{leader}, w.others(leader), true)
	const n = 200
	answers := make(chan error, 2*n)
	var proposed sync.WaitGroup
	for i := range n {
		proposed.Go(func() { leader.group.Propose(fmt.Append(nil, i), func(err error) { answers <- err }) })
	}
	leader.stop()
	proposed.Wait()
	for range n {
		select {
		case err := <-answers:
			if err == nil {
				t.Error("committed")
			}
		case <-time.After(patience):
			t.Fatal("a proposal was never answered")
		}
	}
	if err := leader.group.Append(w.ctx(), []byte("x")); err == nil {
		t.Error("a closed group takes proposals")
	}
}

func TestDefiniteRefusalsNeverEnterTheLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, raftio.StoreBolt, nil)
	for _, n := range w.nodes {
		n.sm.mu.Lock()
		n.sm.seen = map[string]bool{}
		n.sm.mu.Unlock()
	}
	ctx, cancel := context.WithCancel(context.Background())
	var mu sync.Mutex
	refused, done := map[string]bool{}, map[string]bool{}
	no, yes := 0, 0
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			for k := 0; ctx.Err() == nil; k++ {
				data := fmt.Sprintf("%d-%d", i, k)
				err := w.nodes[k%3].group.Append(w.ctx(), []byte(data))
				mu.Lock()
				if refused[data] = errors.Is(err, ErrNotProposed); refused[data] {
					no++
				}
				if done[data] = err == nil; done[data] {
					yes++
				}
				mu.Unlock()
			}
		})
	}
	for range 3 {
		old := w.leader()
		w.until("another leader", func() bool {
			_ = old.group.TransferTo(w.ctx(), "")
			return !old.group.IsLeader()
		})
		old = w.leader()
		cutOff([]*testNode{old}, w.others(old), true)
		w.leader(w.others(old)...)
		cutOff([]*testNode{old}, w.others(old), false)
	}
	w.until("some are refused, and some committed", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return no > 0 && yes > 0
	})
	cancel()
	writers.Wait()
	w.write(1)
	w.agree()
	n := w.nodes[0]
	n.sm.mu.Lock()
	defer n.sm.mu.Unlock()
	for data, was := range refused {
		if was && n.sm.seen[data] {
			t.Errorf("%s was refused and is in the log", data)
		}
		if done[data] && !n.sm.seen[data] {
			t.Errorf("%s was committed and is lost", data)
		}
	}
}

// The library goes on calling a server that was removed while it was dead. Its dials must fail:
// another node may be at that address.
func TestWhoWasTakenOutIsNotDialled(t *testing.T) {
	w := newWorld(t, 3, raftio.StoreBolt, nil)
	w.write(5)
	w.agree() // all nodes know the members
	gone, stay := w.nodes[0], w.nodes[1:]
	dial := func(to *testNode) error {
		conn, err := stay[0].group.parts.stream.Dial(raft.ServerAddress(transport.Target(string(to.id), to.door.addr)), patience)
		if err == nil {
			conn.Close()
		}
		return err
	}
	w.must(dial(gone))
	gone.stop()
	w.until("the removal", func() bool {
		// An uncommitted removal may be taken back.
		return w.leader(stay...).group.Changes().Remove(w.ctx(), gone.id, 0) == nil && !stay[0].group.latest.has(gone.id)
	})
	gone.start()
	if err := dial(gone); !errors.Is(err, raftio.ErrNoMember) {
		t.Errorf("a dial of a member that was taken out: %v", err)
	}
	w.must(dial(stay[1]))
	w.until("its return", func() bool {
		_ = w.leader(stay...).group.Changes().AddNonvoter(w.ctx(), gone.id, raft.ServerAddress(gone.door.addr), 0)
		return stay[0].group.latest.has(gone.id)
	})
	w.must(dial(gone))
}

// A late order to lead, from a leader that another one has followed long ago, must not depose the
// later leader, whose lease rests on the promises of its followers.
func TestALateOrderToLeadUnseatsNobody(t *testing.T) {
	w := newWorld(t, 3, raftio.StoreBolt, nil)
	w.write(1)
	var old, next, third *testNode
	var term uint64
	w.until("a transfer, and no election beside it", func() bool {
		old = w.leader()
		next, third = w.others(old)[0], w.others(old)[1]
		term = old.group.Term()
		w.caughtUp(old, next)
		_ = old.group.TransferTo(w.ctx(), next.id)
		w.until("a leader with a lease", func() bool { l := w.leader(); return l.group.lease.Valid(l.group.Term()) })
		return next.group.IsLeader() && next.group.Term() == term+1
	})
	w.caughtUp(next, third)
	// The new leader is not asked, and no message reaches it.
	cutOff([]*testNode{next}, []*testNode{third}, true)
	defer cutOff([]*testNode{next}, []*testNode{third}, false)
	// The order was sent while its leader led: the old leader would not send it now.
	bears := fmt.Appendf(nil, "%s@%d", old.id, term)
	order := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: bears, Addr: []byte(old.door.addr)}}
	to := raft.ServerAddress(transport.Target(string(third.id), third.door.addr))
	if err := old.group.parts.trans.NetworkTransport.TimeoutNow(third.id, to, order, &raft.TimeoutNowResponse{}); err == nil {
		t.Error("the order was taken")
		w.leader(third) // the test world compares the leases at this election
	}
}

// While the library waits for the server that is to lead, it accepts no entries.
func TestATransferToWhoStandsStillHoldsUpNoEntries(t *testing.T) {
	w := newWorld(t, 3, raftio.StoreBolt, nil)
	w.write(1)
	leader := w.leader()
	still := w.others(leader)[0]
	w.caughtUp(leader, still)
	cutOff([]*testNode{leader}, []*testNode{still}, true)
	defer cutOff([]*testNode{leader}, []*testNode{still}, false)
	begun := time.Now()
	_ = leader.group.TransferTo(w.ctx(), still.id)
	w.write(1, w.others(still)...)
	if took := time.Since(begun); took > 2*rpcTimeout/5 {
		t.Errorf("nothing was taken for %v", took)
	}
}

// The library would wait for the goroutine that sends the log to the server that is to lead. That
// goroutine is busy for long if the server does not answer, and never answers if it has ended with
// the leadership.
func TestTransfersToWhoIsBehindHoldUpNoEntries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, raftio.StoreBolt, nil)
	w.write(1)
	leader := w.leader()
	behind := w.others(leader)[0]
	w.caughtUp(leader, behind)
	cutOff([]*testNode{leader}, []*testNode{behind}, true)
	defer cutOff([]*testNode{leader}, []*testNode{behind}, false)
	const more = 300 // more than are sent without an answer
	w.write(more, w.others(behind)...)
	begun := time.Now()
	term := leader.group.Term()
	leads := func() bool { now, yes := leader.group.Leadership(); return yes && now == term }
	for range 3 {
		ended := make(chan error, 1)
		go func() { ended <- leader.group.TransferTo(w.ctx(), behind.id) }()
		for taken := 0; len(ended) == 0; taken++ {
			if err := leader.group.Append(w.ctx(), []byte("meanwhile")); err != nil && leads() {
				t.Fatalf("behind %d entries that were taken during the transfer: %v", taken, err)
			}
		}
		if err := <-ended; !errors.Is(err, errNotCaughtUp) && leads() {
			t.Errorf("the transfer: %v", err)
		}
	}
	w.write(1, w.others(behind)...)
	if took := time.Since(begun); took > 2*rpcTimeout/5 {
		t.Errorf("nothing was taken for %v", took)
	}
}

// The library records a new group's term and then writes its first entry. If the process ends in
// between, the group can still be founded.
func TestAGroupWhoseFoundingWasCutShortIsFoundedAgain(t *testing.T) {
	for _, store := range bothStores {
		w := &world{t: t}
		n := w.add("n1", store, nil)
		stores, err := raftio.OpenStores(&raftio.StoresConfig{
			Dir: n.dir, Kind: store, Group: 3, Guards: raftio.Guards{StallLimit: time.Minute, Fatal: n.fatal}, Log: raftio.NewLogger(n.log(), "test"),
		})
		w.must(err)
		w.must(errors.Join(stores.Stable.SetUint64(keyTerm, 1), stores.Close()))
		n.start()
		w.must(n.group.Bootstrap([]raft.Server{{ID: n.id, Address: raft.ServerAddress(n.door.addr)}}))
		w.leader()
		w.write(3)
		before := n.sm.entries()
		n.stop()
		n.start()
		w.leader()
		w.until("all entries", func() bool { return n.sm.entries() == before })
	}
}
