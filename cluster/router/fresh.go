package router

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/raftio"
	"lockstep/cluster/shard"
	"lockstep/ground/caught"
)

// How fresh this node's own replicas are.
//
// No clock of another node says how old a replica is, nor when a message came:
// a paused process finds old ones waiting. So the replica asks: the leader names
// an index that holds all that was acknowledged before the question (ReadIndex),
// and when the replica has taken that index up, it is no older than the
// question, by this node's own clock. One such question at a time is under way
// for a shard, and only while there are readers who want a bound.

// age is when this node's replica of a shard was last known to be the leader's
// equal.
type age struct {
	mu sync.Mutex // guards what follows
	// equal is when that was, by raftio.Now: a replica grows old while its machine is
	// suspended, too. It is 0 if it never was.
	equal time.Duration
	// of is the replica that equal is said of. One that came in its place is as old
	// as it says itself.
	of Shard
	// asking is true if a question is under way.
	asking bool
}

// Left says that this node's replica of a shard has gone, when Replica tells it no
// more. Nothing is kept of it: it has all the shard's keys.
func (r *Router) Left(index int) {
	a := &r.ages[index]
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of, a.equal = nil, 0
}

// probeMax bounds one question, the replica's catching up included.
const probeMax = time.Second

// freshEnough reports whether a read may run on this node's own replica.
func (r *Router) freshEnough(ctx context.Context, index int, replica Shard, want *cluster.Freshness) bool {
	if want == nil {
		return true
	}
	if replica.Taken() < want.Floors[index] {
		return false
	}
	if want.MaxAge <= 0 {
		return true
	}
	if replica.Leader().Self {
		// The way through the read gate costs as little.
		return false
	}
	a := &r.ages[index]
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of != replica {
		if r.cfg.Replica(index) != replica {
			return false // it has just gone
		}
		a.of, a.equal = replica, 0
	}
	old := func(limit time.Duration) bool { return a.equal == 0 || raftio.Now()-a.equal > limit }
	if old(want.MaxAge/2) && !a.asking && ctx.Err() == nil {
		a.asking = true
		go r.probe(index, replica)
	}
	return !old(want.MaxAge)
}

// probe asks the leader, and notes how fresh the replica is then.
func (r *Router) probe(index int, replica Shard) {
	asked, deadline := raftio.Now(), time.Now().Add(probeMax)
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	n, err := r.leaderIndex(route{ctx, index, deadline})
	if err == nil {
		err = replica.WaitTaken(ctx, n)
	}
	a := &r.ages[index]
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asking = false
	if err == nil && a.of == replica && asked > a.equal {
		a.equal = asked
	}
}

// Indexes asks the leaders of shards for log indexes that hold all that was
// acknowledged before the call, and all that this node's own replicas have run.
func (r *Router) Indexes(ctx context.Context, shards []int) ([]uint64, error) {
	deadline := time.Now().Add(time.Duration(r.cfg.TimeoutMs()) * time.Millisecond)
	indexes, errs := make([]uint64, len(shards)), make([]error, len(shards))
	var wait caught.Group
	for i, index := range shards {
		wait.Go(func() { indexes[i], errs[i] = r.indexKnown(ctx, deadline, index) })
	}
	wait.Wait()
	return indexes, errors.Join(errs...)
}

// indexKnown is an index of a shard's leader that holds what this node knows of, too: a
// follower can run an entry before its leader does, and be read.
func (r *Router) indexKnown(ctx context.Context, deadline time.Time, index int) (uint64, error) {
	known := r.known(index)
	for try := 0; ; try++ {
		n, err := r.leaderIndex(route{ctx, index, deadline})
		if err != nil || n >= known {
			return n, err
		}
		if d := pauseBehind(try); time.Until(deadline) <= d || !pause(ctx, d) {
			return 0, cluster.ErrNoLeader
		}
	}
}

// leaderIndex asks a shard's leader for a log index that holds all that was acknowledged before the
// call, and waits for the answer.
func (r *Router) leaderIndex(at route) (uint64, error) {
	answered := make(chan struct{})
	s := r.newSending(at, KindIndex, nil, func(bool) { close(answered) })
	s.n = 1
	s.attempt()
	<-answered
	return s.found, s.last
}

// Await waits until this node's own replicas have taken the indexes up; false:
// not all of them have by the time ctx ends. Where this node has no replica
// there is nothing to wait for, for reads go to the leader.
func (r *Router) Await(ctx context.Context, floors map[int]uint64) bool {
	for index, floor := range floors {
		if replica := r.cfg.Replica(index); replica != nil && replica.WaitTaken(ctx, floor) != nil {
			return false
		}
	}
	return true
}

func indexReply(index uint64, err error) ([]shard.Reply, error) {
	if err != nil {
		return nil, err
	}
	return []shard.Reply{{Bytes: binary.AppendUvarint(nil, index)}}, nil
}

func indexOf(replies []shard.Reply, err error) (uint64, error) {
	if err != nil {
		if errors.Is(err, cluster.ErrUnknown) {
			err = cluster.ErrNoLeader
		}
		return 0, err
	}
	n, width := binary.Uvarint(replies[0].Bytes)
	if width <= 0 {
		return 0, cluster.ErrNoLeader
	}
	return n, nil
}

// ServeIndex handles a KindIndex request; it may block.
func (r *Router) ServeIndex(ctx context.Context, payload []byte, reply func([]byte)) {
	replica, _ := r.local(payload)
	if replica == nil {
		reply(appendResult(nil, shard.Result{Err: cluster.ErrNotLeader}))
		return
	}
	replies, err := indexReply(replica.ReadIndex(ctx))
	reply(appendResult(nil, shard.Result{Err: err, Replies: replies}))
}
