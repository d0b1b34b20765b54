package shard

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"lockstep/cluster"
	"lockstep/engine"
	"lockstep/fsm"
)

// serveAgainAfter is the pause before a KindServe that found no room is tried again.
const serveAgainAfter = 20 * time.Millisecond

// filled is called when a txn has filled a key. Clients that take elements are mostly
// being served already, behind that txn. Otherwise filled serves the oldest one, and the
// outcome of that serves the next (serveEnded).
func (w *waiters) filled(db int, key []byte, kind engine.Kind) {
	if w.table.number.Load() == 0 {
		return
	}
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	w.table.eachQueueLocked(waitKey{db: db, key: string(key), kind: kind}, false, func(_ waitKey, q *waitQueue) {
		w.fills++
		q.filledAt = w.fills
		w.tellReadersLocked(q)
		w.offerLocked(q, 1)
	})
}

// gone serves all clients that wait to read as one of a stream's groups: they learn that
// the stream or the group has gone.
func (w *waiters) gone(db int, key []byte) {
	if w.table.number.Load() == 0 {
		return
	}
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	w.table.eachQueueLocked(waitKey{db: db, key: string(key), kind: engine.KindStream}, false, func(k waitKey, q *waitQueue) {
		// Serving those that are being served already may find nothing: serveEnded
		// looks after them.
		w.offerLocked(q, math.MaxInt)
	})
}

// offerLocked serves up to n waiters of a queue, the oldest first. Those that are being
// served already count.
func (w *waiters) offerLocked(q *waitQueue, n int) {
	for _, x := range q.list {
		switch {
		case n == 0:
			return
		case x.flying > 0:
			n--
		case x.reachable():
			n--
			w.flyLocked(x, 0)
		}
	}
}

// flight is a KindServe that goes into the log by itself.
type flight struct {
	x   *waiter
	how fsm.ServeHow
}

// flyLocked puts a waiter's command into the log, behind the commands for which this was
// asked before.
func (w *waiters) flyLocked(x *waiter, how fsm.ServeHow) {
	if w.holding {
		return // all keys are checked afterwards, here or by the next leader
	}
	x.flying++
	x.unsure++
	w.flights = append(w.flights, flight{x, how})
	if !w.launching {
		w.launching = true
		w.shard.work(w.launch)
	}
}

// launch puts all flights into the log.
func (w *waiters) launch() {
	for {
		w.table.mu.Lock()
		flights := slices.DeleteFunc(w.flights, func(f flight) bool { return f.x.over })
		w.flights, w.launching = nil, len(flights) > 0
		w.table.mu.Unlock()
		if len(flights) == 0 {
			return
		}
		for _, f := range flights {
			o := f.x.offer(f.how)
			// Like any other command, the command of a new client may need memory that is
			// not there.
			o.Again = f.how&fsm.ServeComes == 0
			// It waits for the work in the log, as long as its gateway waits for an
			// answer.
			o.Until = time.Now().Add(renewEvery)
			w.shard.Propose(o, func(r Result) { w.serveEnded(f.x, r, false) })
		}
	}
}

// serve returns the txn that serves the waiter.
func (x *waiter) serve(how fsm.ServeHow) *fsm.Txn {
	t := x.txn
	t.Serve.How = how
	return &t
}

// offer returns a bundle with that txn alone.
func (x *waiter) offer(how fsm.ServeHow) Offer {
	txns := []fsm.Txn{*x.serve(how)}
	return Offer{Bundle: fsm.AppendBundle(nil, &fsm.Bundle{Txns: txns}), Txns: txns}
}

// serveEnded handles the outcome of a KindServe.
func (w *waiters) serveEnded(x *waiter, r Result, sure bool) {
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	x.flying--
	if !sure {
		x.unsure--
	}
	switch {
	case x.over:
	case w.holding && errors.Is(r.Err, cluster.ErrNotLeader):
		return // it was not proposed
	case r.Err != nil:
		w.failedLocked(x, r.Err)
	case r.Replies[0].Outcome == fsm.OutcomeUnserved:
		x.looked = true
		w.restLocked(x)
	case r.Replies[0].Outcome == fsm.OutcomeStale:
		// Its gateway has given it up, or has taken a new boot number.
		w.table.removeLocked(x)
		w.answerLocked(x, r)
	default:
		w.servedLocked(x, r)
	}
	// There may be more elements, or new ones since this one found nothing.
	w.looker.laterLocked(x.keys, nil)
}

// servedLocked gives a waiter its result. If the gateway has no request open at the
// moment, it gets the result with its next request.
func (w *waiters) servedLocked(x *waiter, r Result) {
	r.Alone = false
	w.table.removeLocked(x)
	if x.told != nil {
		w.answerLocked(x, r)
		return
	}
	if w.table.byID[x.id] == nil {
		x.result, x.since = &r, time.Now()
		w.table.rememberLocked(x)
	}
}

// failedLocked handles a KindServe that did not reach the log, or may not have reached
// it.
func (w *waiters) failedLocked(x *waiter, err error) {
	switch {
	case x.flying > 0:
		return // the outcome of the others decides
	case (errors.Is(err, cluster.ErrOverloaded) || errors.Is(err, cluster.ErrOverworked)) && x.looked:
		w.shard.work(func() {
			pause(w.shard.ctx, serveAgainAfter)
			w.looker.look(x.keys, nil)
			w.table.mu.Lock()
			defer w.table.mu.Unlock()
			w.restLocked(x)
		})
		return
	case errors.Is(err, cluster.ErrOverloaded), errors.Is(err, cluster.ErrOverworked), errors.Is(err, cluster.ErrTooLarge),
		errors.Is(err, cluster.ErrOutOfMemory), errors.Is(err, cluster.ErrTooMuchAtOnce):
	default:
		// The next leader knows the outcome, or this one when it is asked again.
		err = cluster.ErrUnknown
	}
	w.table.removeLocked(x)
	w.answerLocked(x, Result{Err: err})
}

// endUnknown ends a wait that this leader does not know. The log decides, because another
// leader may have served the wait. If not, the client's command runs for the last time,
// unless settles is true.
func (w *waiters) endUnknown(x *waiter, settles bool, told func(Result)) {
	how := fsm.ServeLast | fsm.ServeComes
	if settles {
		how = fsm.ServeLast | fsm.ServeSettles
	}
	o := x.offer(how)
	o.Again = true
	w.shard.Propose(o, told)
}

// proveMax bounds how long this node tries to prove that it still leads.
const proveMax = time.Second

// proveLeft answers a gateway after its client was removed without a result. "Nothing has
// come" is true only if this node still leads.
func (w *waiters) proveLeft(told func(Result)) {
	s := w.shard
	unserved := Result{Replies: []Reply{{Outcome: fsm.OutcomeUnserved}}}
	if s.reads.provenNow() {
		told(unserved)
		return
	}
	s.work(func() {
		ctx, cancel := context.WithTimeout(s.ctx, proveMax)
		defer cancel()
		if s.reads.gate(ctx) != nil {
			unserved = Result{Err: ErrLeft}
		}
		told(unserved)
	})
}
