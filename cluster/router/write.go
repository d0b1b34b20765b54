package router

import (
	"context"
	"errors"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/caught"
	"lockstep/cluster/shard"
	"lockstep/engine/script"
	"lockstep/fsm"
)

// sending is calls on their way to a shard: writes, which make one bundle, or reads.
type sending struct {
	calls []*cluster.Call
	txns  *[]fsm.Txn
	// from and id are what a bundle was numbered by.
	from *lanes
	id   unanswered
	req  request
	// texts: all scripts travel with their texts.
	texts bool
	// leader and wait are those of a first attempt that was not waited for.
	leader shard.Leader
	wait   *wait
	// deadline, res and answered are those of a flight (start.go).
	deadline time.Time
	res      shard.Result
	answered bool
}

// write sends calls as one bundle and keeps at it until the outcome is known.
func (r *Router) write(ctx context.Context, deadline time.Time, index int, calls []*cluster.Call) {
	r.writeWith(ctx, deadline, index, calls, false)
}

// writeWith is write; texts: scripts that the shard should have travel all the
// same.
func (r *Router) writeWith(ctx context.Context, deadline time.Time, index int, calls []*cluster.Call, texts bool) {
	why := cluster.ErrOverloaded
	for try := 0; ; try++ {
		if from := leaverOf(calls); from != nil && r.elapsed(deadline) > goneAfter && from.Gone() {
			failAll(calls, cluster.ErrTakenBack)
			return
		}
		if w := r.seal(index, calls, texts); w != nil {
			if r.writeOnce(ctx, deadline, w) {
				return
			}
			why = cluster.ErrUnknown
		}
		if !r.backOff(ctx, deadline, try) {
			failAll(calls, why)
			return
		}
	}
}

// writeOnce sends a bundle until its outcome is known; false: none of it has run, and it
// is to be sent under another identity.
func (r *Router) writeOnce(ctx context.Context, deadline time.Time, w *sending) bool {
	defer w.id.close() // also behind a panic
	replies, err := r.persist(ctx, deadline, &w.req)
	return r.settleOnce(ctx, deadline, w, replies, err)
}

// seal numbers calls and makes their bundle; nil: too many are under way.
func (r *Router) seal(index int, calls []*cluster.Call, texts bool) *sending {
	r.leaveTextsOut(index, calls, texts)
	w := &sending{calls: calls, txns: takeTxns(calls), texts: texts}
	b := fsm.Bundle{Txns: *w.txns}
	var ok bool
	w.from = r.lanes[index].now.Load()
	if w.id, ok = w.from.open(&b); !ok {
		giveTxns(w.txns)
		return nil
	}
	sealed := false
	defer func() {
		if !sealed {
			w.id.close()
		}
	}()
	if r.cfg.Numbered != nil && anyNamed(calls) {
		r.cfg.Numbered(index, fsm.TxnID{Origin: b.Origin, Seq: b.FirstSeq}, calls)
	}
	w.req = request{index: index, kind: KindPropose, bundle: fsm.AppendBundle(make([]byte, 0, fsm.BundleSize(&b)), &b), txns: *w.txns, n: len(calls), calls: calls}
	sealed = true
	return w
}

// settle gives calls what became of them.
func (r *Router) settle(ctx context.Context, deadline time.Time, w *sending, replies []shard.Reply, err error) {
	if !r.settleOnce(ctx, deadline, w, replies, err) {
		r.writeWith(ctx, deadline, w.req.index, w.calls, w.texts)
	}
}

// settleOnce is settle; false: the bundle has not run, and is to be sent under another
// identity.
func (r *Router) settleOnce(ctx context.Context, deadline time.Time, w *sending, replies []shard.Reply, err error) bool {
	w.id.close()
	giveTxns(w.txns)
	if n, boot := staleOf(replies); n > 0 {
		// It was not given up: somebody waits for it.
		r.renew(w.req.index, w.from, boot)
		if n == len(w.calls) && !w.req.again {
			return false // it was in the log once, and did not run there
		}
		r.Counters.Unknown.Add(uint64(n))
	}
	switch {
	case errors.Is(err, cluster.ErrOutOfMemory):
		r.writeWithoutMemory(ctx, deadline, w.req.index, w.calls)
	case errors.Is(err, cluster.ErrTooMuchAtOnce) && len(w.calls) > 1:
		half := len(w.calls) / 2
		r.write(ctx, deadline, w.req.index, w.calls[:half])
		r.write(ctx, deadline, w.req.index, w.calls[half:])
	case err != nil:
		failAll(w.calls, err)
	default:
		n := len(replies)
		if !w.texts {
			n = firstGone(replies)
		}
		fill(w.calls[:n], replies[:n])
		if n < len(replies) {
			r.Counters.TextsSentAgain.Add(uint64(len(replies) - n))
			r.writeWith(ctx, deadline, w.req.index, w.calls[n:], true)
		}
	}
	return true
}

// textLeast is how long a script's text must be to be left out, in bytes.
const textLeast = 64

// leaveTextsOut has calls name the scripts by their SHA1 that the shard has, or
// none with texts.
func (r *Router) leaveTextsOut(index int, calls []*cluster.Call, texts bool) {
	var scripts *script.Cache
	if r.cfg.Scripts != nil && !texts {
		scripts = r.cfg.Scripts(index)
	}
	for _, c := range calls {
		for i := range c.Txn.Ops {
			op := &c.Txn.Ops[i]
			op.Sum = nil
			if scripts == nil || !op.Evaluates() || len(op.Args[1]) < textLeast {
				continue
			}
			if s := scripts.Find(op.Args[1]); s != nil {
				op.Sum = s.Sum[:]
				r.Counters.TextsLeftOut.Add(1)
			}
		}
	}
}

// firstGone is how many of the replies are not for want of a script.
func firstGone(replies []shard.Reply) int {
	for i := range replies {
		if replies[i].Outcome == fsm.OutcomeScriptGone {
			return i
		}
	}
	return len(replies)
}

// launch proposes calls of one shard and does not wait; nil: they are not one
// bundle that goes to this node's own replica.
func (r *Router) launch(deadline time.Time, index int, calls []*cluster.Call) *sending {
	if n, logged := phase(calls); !logged || n < len(calls) {
		return nil
	}
	leader, replica := r.Leader(index), r.cfg.Replica(index)
	if !leader.Self || replica == nil {
		return nil
	}
	w := r.seal(index, calls, false)
	if w == nil {
		return nil
	}
	w.leader, w.wait = leader, takeWait(nil)
	launched := false
	defer func() {
		if !launched {
			w.id.close()
		}
	}()
	w.req.deadline = deadline
	replica.Propose(w.req.offer(), w.wait.done)
	launched = true
	return w
}

// awaitLaunched waits for what launch has proposed. What is not answered soon, or without
// success, goes on beside the others, each by itself.
func (r *Router) awaitLaunched(ctx context.Context, deadline time.Time, all []*sending, others *caught.Group) {
	if len(all) == 0 {
		return
	}
	soon := time.NewTimer(watchEvery)
	defer soon.Stop()
	late := false
	for _, w := range all {
		var res shard.Result
		answered := false
		if !late {
			select {
			case res = <-w.wait.answer:
				answered = true
			case <-soon.C:
				late = true
			}
		}
		if !answered {
			others.Go(func() {
				res := r.await(ctx, deadline, &w.req, w.leader, w.wait)
				replies, err := r.persistAfter(ctx, deadline, &w.req, res)
				r.settle(ctx, deadline, w, replies, err)
			})
			continue
		}
		waitPool.Put(w.wait)
		if res.Err == nil {
			r.settle(ctx, deadline, w, res.Replies, nil)
			continue
		}
		others.Go(func() {
			replies, err := r.persistAfter(ctx, deadline, &w.req, res)
			r.settle(ctx, deadline, w, replies, err)
		})
	}
}

// writeWithoutMemory runs those calls of a refused bundle that need no memory,
// in their order with the others: each run of them by itself, and what comes
// behind them is tried again, for they may have made room.
func (r *Router) writeWithoutMemory(ctx context.Context, deadline time.Time, index int, calls []*cluster.Call) {
	n := 1
	grows, bends := calls[0].Txn.GrowsMemory(), calls[0].Txn.Bends()
	for n < len(calls) && calls[n].Txn.GrowsMemory() == grows && calls[n].Txn.Bends() == bends {
		n++
	}
	switch {
	case grows && bends:
		// Scripts run all the same, and refuse what may need memory.
		for _, c := range calls[:n] {
			c.Txn.MemoryFull = true
		}
		r.write(ctx, deadline, index, calls[:n])
	case grows || n == len(calls):
		failAll(calls[:n], cluster.ErrOutOfMemory)
	default:
		r.write(ctx, deadline, index, calls[:n])
	}
	if n < len(calls) {
		r.write(ctx, deadline, index, calls[n:])
	}
}

func anyNamed(calls []*cluster.Call) bool {
	for _, c := range calls {
		if c.Client != 0 {
			return true
		}
	}
	return false
}
