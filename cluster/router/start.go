package router

import (
	"context"
	"errors"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
)

// Start begins calls without waiting for anything: such as can be read here are
// read, and one bundle of writes, or of reads for another node, sets out. It is for
// who serves many clients in turn. The caller takes what has landed with Land, and
// leaves to Finish what Land did not end, or what is late.
func (r *Router) Start(calls []*cluster.Call, f *cluster.Flight) cluster.Started {
	index, ok := r.sameShard(calls)
	if !ok {
		return cluster.StartedNone
	}
	n, logged := phase(calls)
	switch {
	case n < len(calls) || calls[0].Stale:
		return cluster.StartedNone
	case logged:
		return r.startWrite(index, calls, f)
	}
	return r.startRead(index, calls, f)
}

func (r *Router) startRead(index int, calls []*cluster.Call, f *cluster.Flight) cluster.Started {
	leader, replica := r.Leader(index), r.cfg.Replica(index)
	switch {
	case leader.Self && replica != nil:
		txns := takeTxns(calls)
		replies := replica.ReadNow(*txns, 0)
		giveTxns(txns)
		fill(calls, replies)
		if len(replies) < len(calls) {
			return cluster.StartedNone
		}
		return cluster.StartedDone
	case leader.Self || leader.Addr == "":
		return cluster.StartedNone
	}
	w := &sending{calls: calls, txns: takeTxns(calls), leader: leader}
	w.req = request{index: index, kind: KindRead, txns: *w.txns, n: len(calls), atLeast: r.known(index)}
	r.depart(w, f)
	r.toLeader(leader, &w.req, w.wait.done)
	return cluster.StartedFlight
}

func (r *Router) startWrite(index int, calls []*cluster.Call, f *cluster.Flight) cluster.Started {
	leader, replica := r.Leader(index), r.cfg.Replica(index)
	if leader.Self && replica == nil || !leader.Self && leader.Addr == "" {
		return cluster.StartedNone
	}
	w := r.seal(index, calls, false)
	if w == nil {
		return cluster.StartedNone
	}
	w.leader = leader
	r.depart(w, f) // from here on Abandon knows of it
	if leader.Self {
		replica.Propose(w.req.offer(), w.wait.done)
	} else {
		r.toLeader(leader, &w.req, w.wait.done)
	}
	return cluster.StartedFlight
}

// depart makes a flight ready to be answered.
func (r *Router) depart(w *sending, f *cluster.Flight) {
	w.deadline = time.Now().Add(time.Duration(r.cfg.TimeoutMs()) * time.Millisecond)
	w.req.deadline = w.deadline
	w.wait = takeWait(f.Landed)
	f.Way = w
}

// Land takes the answer of a flight; false: there is none yet, or none that ends it:
// it failed, or lacks large replies, which are to be asked for.
func (r *Router) Land(f *cluster.Flight) bool {
	w := f.Way.(*sending)
	if w.answered {
		return false
	}
	select {
	case w.res = <-w.wait.answer:
		w.answered = true
		waitPool.Put(w.wait)
	default:
		return false
	}
	if w.res.Err != nil || firstGone(w.res.Replies) < len(w.calls) {
		return false
	}
	if n, _ := staleOf(w.res.Replies); n > 0 {
		return false
	}
	f.Way = nil
	defer w.id.close() // also behind a panic
	r.end(context.Background(), w, w.res.Replies, nil)
	return true
}

// Abandon gives up a flight that nobody waits for any more: its client's connection has
// ended by a fault. What flies may run all the same.
func (r *Router) Abandon(f *cluster.Flight) {
	if w, ok := f.Way.(*sending); ok {
		f.Way = nil
		w.id.close()
	}
}

// Finish waits for a flight and answers its calls.
func (r *Router) Finish(ctx context.Context, f *cluster.Flight) {
	w := f.Way.(*sending)
	f.Way = nil
	defer w.id.close() // also behind a panic
	if !w.answered {
		w.res = r.await(ctx, w.deadline, &w.req, w.leader, w.wait)
	}
	if !w.leader.Self && w.res.Err != nil {
		r.leaders.ask(w.req.index)
	}
	replies, err := r.persistAfter(ctx, w.deadline, &w.req, w.res)
	r.end(ctx, w, replies, err)
}

// end gives a flight's calls what became of them.
func (r *Router) end(ctx context.Context, w *sending, replies []shard.Reply, err error) {
	if w.req.kind == KindPropose {
		r.settle(ctx, w.deadline, w, replies, err)
		return
	}
	giveTxns(w.txns)
	r.settleRead(ctx, w.deadline, w.req.index, w.calls, replies, err)
}

// settleRead gives reads what became of them.
func (r *Router) settleRead(ctx context.Context, deadline time.Time, index int, calls []*cluster.Call, replies []shard.Reply, err error) {
	switch {
	case errors.Is(err, cluster.ErrMustLog):
		// This node's programs are older than the leader's.
		r.write(ctx, deadline, index, calls)
	case errors.Is(err, cluster.ErrUnknown), errors.Is(err, cluster.ErrNoAnswer):
		failAll(calls, r.noAnswer(index, calls, r.elapsed(deadline)))
	case err != nil:
		failAll(calls, err)
	default:
		fill(calls, replies)
	}
}
