package router

import (
	"context"
	"runtime"
	"testing"
	"time"
	"weak"

	"lockstep/cluster"
	"lockstep/cluster/raftio"
)

// follower returns a router whose node follows the leader's, and the shard 0 of both nodes.
func follower() (r *Router, own, leader *fakeShard) {
	own, leader = &fakeShard{addr: "leader", queued: 5, taken: 5}, &fakeShard{self: true, queued: 9, taken: 9}
	peers := &fakePeers{to: routerOf(5000, nil, leader, leader)}
	return routerOf(5000, peers, own, own), own, leader
}

// staleRead makes a stale read and reports whether the node's own replica answered it.
func staleRead(t *testing.T, r *Router, own *fakeShard, want *cluster.Freshness) bool {
	t.Helper()
	c := callOf(0, "get", "k")
	c.Stale, c.Fresh = true, want
	own.mu.Lock()
	before := own.own
	own.mu.Unlock()
	r.Do(t.Context(), []*cluster.Call{c})
	if c.Err != nil {
		t.Fatal(c.Err)
	}
	own.mu.Lock()
	defer own.mu.Unlock()
	return own.own > before
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s: did not happen", what)
		}
	}
}

func TestAStaleReadMayBeAnyAgeUnlessItSaysOtherwise(t *testing.T) {
	r, own, leader := follower()
	if !staleRead(t, r, own, nil) || !staleRead(t, r, own, &cluster.Freshness{}) {
		t.Error("the leader was asked")
	}
	if leader.asked != 0 {
		t.Error("the leader was asked for an index")
	}
}

func TestAReplicaBelowTheFloorDoesNotAnswer(t *testing.T) {
	r, own, _ := follower()
	want := &cluster.Freshness{Floors: map[int]uint64{0: 6, 1: 99}}
	if staleRead(t, r, own, want) {
		t.Error("a replica at 5 answered who wants 6")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r.Await(ctx, want.Floors) {
		t.Error("5 was taken for 6")
	}
	own.mu.Lock()
	own.taken = 6
	own.mu.Unlock()
	if !staleRead(t, r, own, want) {
		t.Error("a replica at 6 did not answer who wants 6")
	}
	if !r.Await(ctx, map[int]uint64{0: 6}) {
		t.Error("6 was not taken for 6")
	}
}

// TestAReplicaAnswersWithinTheBound: reads go to the leader until the replica is known to have
// caught up. Its age counts from the question.
func TestAReplicaAnswersWithinTheBound(t *testing.T) {
	r, own, leader := follower()
	want := &cluster.Freshness{MaxAge: time.Hour}
	begun := raftio.Now()
	if staleRead(t, r, own, want) {
		t.Error("a replica of unknown age answered")
	}
	eventually(t, "the leader is asked for an index", func() bool {
		leader.mu.Lock()
		defer leader.mu.Unlock()
		return leader.asked > 0
	})
	if staleRead(t, r, own, want) {
		t.Error("a replica at 5 answered while the leader is at 9")
	}
	caughtUp := raftio.Now()
	own.mu.Lock()
	own.taken = 9
	own.mu.Unlock()
	eventually(t, "the replica answers", func() bool { return staleRead(t, r, own, want) })
	// On a machine that stood still the router gave up the first question and asked again.
	if caughtUp-begun < probeMax {
		if r.fresh.ages[0].equal > caughtUp {
			t.Error("its age is counted from when it had caught up")
		}
		if leader.asked != 1 {
			t.Errorf("the leader was asked for an index %d times", leader.asked)
		}
	}
	if staleRead(t, r, own, &cluster.Freshness{MaxAge: 1}) {
		t.Error("the replica answered who wants a nanosecond")
	}
}

// A replica that replaces another is asked for its own age.
func TestAnotherReplicaIsNotAsFreshAsTheOneBefore(t *testing.T) {
	r, own, _ := follower()
	own.taken = 9
	want := &cluster.Freshness{MaxAge: time.Hour}
	eventually(t, "the replica answers", func() bool { return staleRead(t, r, own, want) })
	late := &fakeShard{addr: "leader", taken: 5}
	r.cfg.Replica = func(int) Shard { return late }
	if staleRead(t, r, late, want) {
		t.Error("a replica of unknown age answered")
	}
	late.mu.Lock()
	late.taken = 9
	late.mu.Unlock()
	eventually(t, "it answers when it is known to be fresh", func() bool { return staleRead(t, r, late, want) })
}

func TestALeaderThatCannotProveItNamesNoIndex(t *testing.T) {
	r, own, leader := follower()
	leader.steps = []error{cluster.ErrNotLeader, cluster.ErrNoLeader}
	indexes, err := r.Indexes(t.Context(), []int{0, 1})
	if err != nil || indexes[0] != 9 || indexes[1] != 9 {
		t.Errorf("%v, %v", indexes, err)
	}
	if leader.asked != 4 {
		t.Errorf("asked %d times", leader.asked)
	}
	own.addr = ""
	r.cfg.TimeoutMs = func() int { return 1 }
	if _, err := r.Indexes(t.Context(), []int{0}); err == nil {
		t.Error("an index of a shard without a leader")
	}
}

// A follower can run an entry before its leader does. A client that has read the entry on
// the follower gets no token that is older than the entry.
func TestATokenIsNotOlderThanWhatThisNodesReplicaHasRun(t *testing.T) {
	r, own, leader := follower()
	own.queued = 12
	got := make(chan []uint64, 1)
	go func() {
		indexes, _ := r.Indexes(t.Context(), []int{0})
		got <- indexes
	}()
	eventually(t, "the leader is asked again", func() bool {
		leader.mu.Lock()
		defer leader.mu.Unlock()
		return leader.asked > 1 || len(got) > 0
	})
	leader.mu.Lock()
	leader.queued = 12
	leader.mu.Unlock()
	if indexes := <-got; indexes[0] != 12 {
		t.Errorf("%v, and this node's replica has run 12", indexes)
	}
}

// A replica holds its shard's keys: when it has gone, nothing may keep them in memory.
func TestNothingIsKeptOfAReplicaThatHasGone(t *testing.T) {
	r, own, _ := follower()
	own.taken = 9
	want := &cluster.Freshness{MaxAge: time.Hour}
	eventually(t, "the replica answers", func() bool { return staleRead(t, r, own, want) })
	gone := weak.Make(own)
	r.cfg.Replica = func(int) Shard { return nil }
	r.Left(0)
	if r.fresh.suffices(t.Context(), 0, own, want) {
		t.Error("it answers, and is gone")
	}
	own = nil
	eventually(t, "it is forgotten", func() bool {
		runtime.GC()
		return gone.Value() == nil
	})
}
