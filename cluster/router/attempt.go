package router

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/fsm"
)

// Counters count what routing met.
type Counters struct {
	Forwarded, Retried, Unknown, NoLeader atomic.Uint64
}

const (
	// watchEvery is how often a call under way looks whether its shard has
	// another leader by now; the one it waits for may never answer.
	watchEvery = 50 * time.Millisecond
	// retryFirst and retryMost bound the pause before asking again.
	retryFirst = time.Millisecond
	retryMost  = 50 * time.Millisecond
)

// errAbandoned: another leader is known than the one being waited for.
var errAbandoned = errors.New("the shard has another leader")

// write sends calls as one bundle and keeps at it until the outcome is known.
func (r *Router) write(ctx context.Context, deadline time.Time, index int, calls []*cluster.Call) {
	b := fsm.Bundle{Txns: make([]fsm.Txn, len(calls))}
	for i, c := range calls {
		b.Txns[i] = c.Txn
	}
	var id ticket
	for try := 0; ; try++ {
		var ok bool
		if id, ok = r.lanes[index].open(&b); ok {
			break
		}
		if !r.backOff(ctx, deadline, try) {
			failAll(calls, cluster.ErrOverloaded)
			return
		}
	}
	defer id.close()
	req := request{index: index, kind: KindPropose, bundle: fsm.AppendBundle(nil, &b), n: len(calls)}
	replies, err := r.persist(ctx, deadline, &req)
	if err != nil {
		failAll(calls, err)
		return
	}
	fill(calls, replies)
}

// read sends calls to the leader, or runs them here when they may be stale.
func (r *Router) read(ctx context.Context, deadline time.Time, index int, calls []*cluster.Call) {
	txns := make([]fsm.Txn, len(calls))
	for i, c := range calls {
		txns[i] = c.Txn
	}
	if calls[0].Stale {
		if replica := r.cfg.Replica(index); replica != nil {
			replies, err := replica.ReadOwn(ctx, txns)
			if err != nil {
				failAll(calls, cluster.ErrNoLeader)
				return
			}
			fill(calls, replies)
			return
		}
	}
	req := request{index: index, kind: KindRead, txns: txns, n: len(calls)}
	replies, err := r.persist(ctx, deadline, &req)
	if err != nil {
		if errors.Is(err, cluster.ErrUnknown) {
			err = cluster.ErrNoLeader
		}
		failAll(calls, err)
		return
	}
	fill(calls, replies)
}

// persist makes attempts until one is answered, or the time is used up.
func (r *Router) persist(ctx context.Context, deadline time.Time, req *request) ([]shard.Reply, error) {
	maybe := false
	for try := 0; ; try++ {
		res := r.attempt(ctx, deadline, req)
		switch {
		case res.Err == nil:
			return res.Replies, nil
		case errors.Is(res.Err, cluster.ErrTooLarge):
			return nil, res.Err
		case errors.Is(res.Err, cluster.ErrUnknown), errors.Is(res.Err, errAbandoned):
			maybe = maybe || req.kind == KindPropose
		}
		r.Counters.Retried.Add(1)
		if r.backOff(ctx, deadline, try) {
			continue
		}
		if maybe {
			r.Counters.Unknown.Add(1)
			return nil, cluster.ErrUnknown
		}
		r.Counters.NoLeader.Add(1)
		if errors.Is(res.Err, cluster.ErrOverloaded) || errors.Is(res.Err, cluster.ErrShuttingDown) {
			return nil, res.Err
		}
		return nil, cluster.ErrNoLeader
	}
}

// backOff pauses before try+1; false when there is no time left.
func (r *Router) backOff(ctx context.Context, deadline time.Time, try int) bool {
	d := min(retryFirst<<min(try, 10), retryMost)
	if time.Until(deadline) <= d {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// attempt asks the leader this node knows of, once.
func (r *Router) attempt(ctx context.Context, deadline time.Time, req *request) shard.Result {
	replica := r.cfg.Replica(req.index)
	if replica == nil {
		return shard.Result{Err: cluster.ErrNoShard}
	}
	addr, self := replica.Leader()
	if addr == "" && !self {
		return shard.Result{Err: cluster.ErrNoLeader}
	}
	if self && req.kind == KindRead {
		// The deadline is that of an attempt: a leader cut off from the others
		// must be given up for the next one.
		ctx, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		replies, err := replica.Read(ctx, req.txns)
		return shard.Result{Err: err, Replies: replies}
	}
	answer := make(chan shard.Result, 1)
	if self {
		replica.Propose(req.bundle, req.n, func(res shard.Result) { answer <- res })
	} else {
		r.Counters.Forwarded.Add(1)
		r.forward(addr, req, answer)
	}
	return r.await(ctx, deadline, replica, addr, answer)
}

// await waits for an attempt's answer, and gives it up when another leader
// shows itself: the bundle's identity makes it safe to ask that one too.
func (r *Router) await(ctx context.Context, deadline time.Time, replica Shard, addr string, answer chan shard.Result) shard.Result {
	timer := time.NewTimer(watchEvery)
	defer timer.Stop()
	for {
		select {
		case res := <-answer:
			return res
		case <-ctx.Done():
			return shard.Result{Err: cluster.ErrUnknown}
		case <-timer.C:
			if time.Now().After(deadline) {
				return shard.Result{Err: cluster.ErrUnknown}
			}
			if now, _ := replica.Leader(); now != addr && now != "" {
				return shard.Result{Err: errAbandoned}
			}
			timer.Reset(watchEvery)
		}
	}
}

func failAll(calls []*cluster.Call, err error) {
	for _, c := range calls {
		c.Err = err
	}
}

// fill answers calls with replies; of reads there may be fewer than calls.
func fill(calls []*cluster.Call, replies []shard.Reply) {
	for i, c := range calls[:len(replies)] {
		switch replies[i].Outcome {
		case fsm.OutcomeDone:
			c.Reply = replies[i].Bytes
		case fsm.OutcomeReplyLost:
			c.Err = cluster.ErrReplyLost
		default:
			c.Err = cluster.ErrUnknown
		}
	}
}
