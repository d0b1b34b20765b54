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
// The clock of another node cannot say how old a replica is, and neither can the time at
// which a message arrives: a paused process finds old messages waiting. So the replica
// asks the leader for an index that covers everything that was acknowledged before the
// question (ReadIndex). When the replica has applied that index, it is no older than the
// question, by this node's own clock. At most one such question per shard is under way,
// and only while readers want a bound.

// freshness says how fresh this node's own replicas are.
type freshness struct {
	router *Router
	ages   []age
}

// age records when this node's replica of a shard was last known to be as new as the
// leader.
type age struct {
	mu sync.Mutex // guards what follows
	// equal is when that was, by raftio.Now: a replica grows old while its machine is
	// suspended, too. It is 0 if it never was.
	equal time.Duration
	// of is the replica that equal belongs to. A replica that came in its place starts
	// with an age of its own.
	of Shard
	// asking is true if a question is under way.
	asking bool
}

// Left records that this node's replica of a shard has gone, when Replica does not return
// it any more. The router then drops its reference, because the replica holds all the
// shard's keys.
func (r *Router) Left(index int) {
	a := &r.fresh.ages[index]
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of, a.equal = nil, 0
}

// probeMax bounds one question, including the time for the replica to catch up.
const probeMax = time.Second

// suffices reports whether a read may run on this node's own replica.
func (f *freshness) suffices(ctx context.Context, index int, replica Shard, want *cluster.Freshness) bool {
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
		// Going through the read gate costs as little.
		return false
	}
	a := &f.ages[index]
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of != replica {
		if f.router.cfg.Replica(index) != replica {
			return false // it has just gone
		}
		a.of, a.equal = replica, 0
	}
	old := func(limit time.Duration) bool { return a.equal == 0 || raftio.Now()-a.equal > limit }
	if old(want.MaxAge/2) && !a.asking && ctx.Err() == nil {
		a.asking = true
		go f.probe(index, replica)
	}
	return !old(want.MaxAge)
}

// probe asks the leader, and records how fresh the replica is when it has caught up.
func (f *freshness) probe(index int, replica Shard) {
	asked, deadline := raftio.Now(), time.Now().Add(probeMax)
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	n, err := f.router.leaderIndex(route{ctx, index, deadline})
	if err == nil {
		err = replica.WaitTaken(ctx, n)
	}
	a := &f.ages[index]
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asking = false
	if err == nil && a.of == replica && asked > a.equal {
		a.equal = asked
	}
}

// Indexes asks the leaders of shards for log indexes. Each covers everything that was
// acknowledged before the call, and everything that this node's own replicas have run.
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

// indexKnown is an index from a shard's leader that also covers what this node knows: a
// follower can run an entry, and be read, before its leader runs it.
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

// leaderIndex asks a shard's leader for a log index that covers everything that was
// acknowledged before the call, and waits for the answer.
func (r *Router) leaderIndex(at route) (uint64, error) {
	answered := make(chan struct{})
	s := r.newSending(at, KindIndex, nil, func(bool) { close(answered) })
	s.n = 1
	s.attempt()
	<-answered
	return s.found, s.last
}

// Await waits until this node's own replicas have applied the indexes. It returns false
// if one of them has not by the time ctx ends. For a shard without a replica here there
// is nothing to wait for, because its reads go to the leader.
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
func (v *Server) ServeIndex(ctx context.Context, payload []byte, reply func([]byte)) {
	replica, _ := v.local(payload)
	if replica == nil {
		replyError(reply, cluster.ErrNotLeader)
		return
	}
	replies, err := indexReply(replica.ReadIndex(ctx))
	reply(appendResult(nil, shard.Result{Err: err, Replies: replies}))
}
