package shard

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/raftio"
)

func TestLeaderConfirmsItselfInBothModes(t *testing.T) {
	w := newWorld(t, 3, raftio.StoreBolt, nil)
	for _, mode := range []ReadMode{ReadLease, ReadQuorum} {
		// On a busy machine the node may lose its leadership meanwhile.
		w.until("a leader that leads on", func() bool {
			leader := w.leader()
			term, begun := leader.group.Term(), time.Now()
			refusals := make(chan error, 50)
			var readers sync.WaitGroup
			for range cap(refusals) {
				readers.Go(func() {
					if err := leader.group.ConfirmLeadership(w.ctx(), mode); err != nil {
						refusals <- err
					}
				})
			}
			readers.Wait()
			if !leader.group.IsLeader() || leader.group.Term() != term {
				return false
			}
			if len(refusals) > 0 && time.Since(begun) >= 2*ms(testHeartbeatMs) {
				return false // no follower has answered for so long, and it still leads
			}
			if len(refusals) > 0 {
				t.Errorf("mode %d: %d of %d, %v", mode, len(refusals), cap(refusals), <-refusals)
			}
			return true
		})
	}
	w.until("a lease", func() bool { leader := w.leader(); return leader.group.lease.Valid(leader.group.Term()) })
}

func TestOnlyVoterConfirmsItselfAlone(t *testing.T) {
	w := newWorld(t, 1, raftio.StoreBolt, nil)
	leader := w.leader()
	for _, mode := range []ReadMode{ReadLease, ReadQuorum} {
		if err := leader.group.ConfirmLeadership(w.ctx(), mode); err != nil {
			t.Errorf("mode %d: %v", mode, err)
		}
	}
}

// A leader that is cut off may not read once another one leads. At the election of the other, every
// test here checks that no lease is left (testNode.leads).
func TestIsolatedLeaderIsRefusedInBothModes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, raftio.StoreBolt, nil)
	w.write(1)
	for range 3 {
		old := w.leader()
		rest := w.others(old)
		cutOff([]*testNode{old}, rest, true)
		w.write(1, rest...)
		for _, mode := range []ReadMode{ReadLease, ReadQuorum} {
			if err := old.group.ConfirmLeadership(w.ctx(), mode); !errors.Is(err, ErrNotLeading) {
				t.Errorf("mode %d: %v", mode, err)
			}
		}
		cutOff([]*testNode{old}, rest, false)
		w.write(1)
		w.agree()
	}
}

// This simulates a pause of the leader in one process. The leader has a clock of its own (a long
// heartbeat timeout, so that it does not step down), receives no answers to its requests, and its
// new requests do not arrive. Meanwhile another leader is elected and writes. Then the old answers
// arrive. The library takes them for proof; Group must not.
func TestOldAnswersProveNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, raftio.StoreBolt, unequalClocks)
	old, rest := w.lead(func(among ...*testNode) { w.write(3, among...) })
	w.caughtUp(old, rest[0])
	w.caughtUp(old, rest[1])

	sent := raftio.Now()
	for _, n := range rest {
		n.door.set(func() { n.door.held["n1"] = true })
	}
	// Requests are on their way, and their answers are held.
	w.until("requests of the leader", func() bool {
		for _, n := range rest {
			if last := n.group.raft.Load().LastContact(); time.Since(last) > raftio.Now()-sent {
				return false
			}
		}
		return true
	})
	for _, n := range rest {
		n.door.set(func() { n.door.cut["n1"] = true; old.door.cut[string(n.id)] = true })
	}
	patient(rest, false)
	w.write(1, rest...)
	if !old.group.IsLeader() {
		t.Fatal("the old leader knows already")
	}

	library := old.group.raft.Load().VerifyLeader()
	ctx, cancel := context.WithTimeout(w.ctx(), 2*time.Second)
	defer cancel()
	ours := make(chan error, 1)
	go func() { ours <- old.group.ConfirmLeadership(ctx, ReadQuorum) }()
	// The question was asked: its heartbeats wait at the doors.
	w.until("heartbeats", func() bool {
		for _, n := range rest {
			n.door.mu.Lock()
			waiting := n.door.waiting["n1"]
			n.door.mu.Unlock()
			if waiting == 0 {
				return false
			}
		}
		return true
	})
	for _, n := range rest {
		n.door.set(func() { n.door.held["n1"] = false })
	}
	if err := library.Error(); err != nil {
		t.Logf("the library was not deceived this time: %v", err)
	}
	if err := <-ours; err == nil {
		t.Error("a deposed leader may read")
	}
}

// After a transfer another node can be elected despite the followers' promise, and a change of
// members may change the quorum. Then an earlier proof no longer counts, although the library still
// says that this node leads.
func TestNoLeaseOutlivesATransferOrAChange(t *testing.T) {
	leased := func(t *testing.T) (*world, *Group, []*testNode) {
		w := newWorld(t, 3, raftio.StoreBolt, unequalClocks)
		leader, rest := w.lead(func(among ...*testNode) { w.write(1, among...) })
		w.until("a lease", func() bool { return leader.group.lease.Valid(leader.group.Term()) })
		return w, leader.group, rest
	}
	t.Run("transfer", func(t *testing.T) {
		w, g, rest := leased(t)
		term := g.Term()
		w.must(g.TransferTo(w.ctx(), rest[0].id))
		if g.lease.Valid(term) {
			t.Error("the lease is on")
		}
	})
	t.Run("change", func(t *testing.T) {
		w, g, rest := leased(t)
		term := g.Term()
		cutOff(w.nodes[:1], rest, true)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = g.Changes().Demote(ctx, rest[0].id, 0) }()
		w.until("the change begins", func() bool { return g.Voters() == 2 })
		if g.lease.Valid(term) {
			t.Error("the lease is on")
		}
	})
}

// The leader's lease rests on a follower that restarts and has forgotten its promise. The third
// node, cut off from the leader, asks that follower for its vote.
func TestRestartedFollowerDoesNotBreakTheLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, raftio.StoreBolt, nil)
	w.write(1)
	for range 3 {
		leader := w.leader()
		rest := w.others(leader)
		w.caughtUp(leader, rest[0])
		w.caughtUp(leader, rest[1])
		// The third node stands for election.
		cutOff([]*testNode{leader}, rest[1:], true)
		w.until("a candidate", func() bool { return rest[1].group.Stats().Role == "candidate" || rest[1].group.IsLeader() })
		// The leader hears the other follower until that one stops, and not afterwards.
		rest[0].stop()
		cutOff([]*testNode{leader}, rest[:1], true)
		rest[0].start()
		// The test world compares the leases at this election.
		w.leader(rest...)
		cutOff([]*testNode{leader}, rest, false)
		w.write(1)
		w.agree()
	}
}

func TestReadersShareARoundAndNoneWaitsForEver(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	rounds := 0
	q := &quorumRounds{ask: func() (uint64, error) {
		rounds++
		begun <- struct{}{}
		<-goOn
		return uint64(rounds), nil
	}}
	var waiting atomic.Int64
	join := func(n int) chan uint64 {
		terms := make(chan uint64, n)
		for range n {
			go func() {
				term, err := q.join(noted{context.Background(), &waiting})
				if err != nil {
					t.Error(err)
				}
				terms <- term
			}()
		}
		return terms
	}
	first := join(1)
	<-begun
	// They come while a round is under way: its proof is too old for them.
	later := join(100)
	(&world{t: t}).until("all wait", func() bool { return waiting.Load() == 101 })
	goOn <- struct{}{}
	if term := <-first; term != 1 {
		t.Errorf("the first reader got round %d", term)
	}
	for answered := 0; answered < 100; {
		select {
		case <-begun:
		case goOn <- struct{}{}:
		case term := <-later:
			if term < 2 {
				t.Errorf("a later reader got round %d", term)
			}
			answered++
		}
	}
	if rounds != 2 {
		t.Errorf("%d rounds", rounds)
	}
}

// noted is a context that counts the callers that have begun to wait under it.
type noted struct {
	context.Context
	waiting *atomic.Int64
}

func (n noted) Done() <-chan struct{} {
	n.waiting.Add(1)
	return n.Context.Done()
}

// forgotten is a future of a raft.Raft that shut down and forgot it.
type forgotten struct{ raft.IndexFuture }

// Error never returns.
func (forgotten) Error() error { select {} }

// A change that Raft forgot when it ended no longer suspends the lease.
func TestAForgottenChangeEndsWithItsRaft(t *testing.T) {
	w := newWorld(t, 1, raftio.StoreBolt, nil)
	w.write(3)
	g := w.leader().group
	// The group is opened again from this snapshot.
	w.must(g.TakeSnapshot())
	begun, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- g.Changes().change(w.ctx(), func(*raft.Raft, time.Duration) raft.IndexFuture { close(begun); return forgotten{} })
	}()
	<-begun
	if g.lease.Valid(g.Term()) {
		t.Error("the lease is on during the change")
	}
	g.contradicted(g.parts, 0)
	if err := <-ended; !errors.Is(err, ErrOutcomeUnknown) {
		t.Error(err)
	}
	w.until("a lease", func() bool { return g.IsLeader() && g.lease.Valid(g.Term()) })
}
