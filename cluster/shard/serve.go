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

// filled is told that a txn has filled a key. Clients that take something are mostly being
// served already, behind that txn; else the oldest is now, and those behind when it has
// been (landed).
func (w *waiters) filled(db int, key []byte, kind engine.Kind) {
	if w.number.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.eachQueueLocked(waitKey{db: db, key: string(key), kind: kind}, false, func(_ waitKey, q *waitQueue) {
		w.fills++
		q.filledAt = w.fills
		w.tellReadersLocked(q)
		w.offerLocked(q, 1)
	})
}

// gone serves all clients that wait to read as one of a stream's groups: they find out what
// has gone.
func (w *waiters) gone(db int, key []byte) {
	if w.number.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.eachQueueLocked(waitKey{db: db, key: string(key), kind: engine.KindStream}, false, func(k waitKey, q *waitQueue) {
		// Those that are being served may be so in vain: they are looked after later.
		w.offerLocked(q, math.MaxInt)
	})
}

// offerLocked serves up to n waiters of a queue, the oldest first. Those that are being
// served already are among them.
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

// flight is a KindServe that is to go into the log by itself.
type flight struct {
	x   *waiter
	how fsm.ServeHow
}

// flyLocked has a waiter's command put into the log, behind those of others for which
// this was asked before.
func (w *waiters) flyLocked(x *waiter, how fsm.ServeHow) {
	if w.holding {
		return // all keys are looked at afterwards, here or by the next leader
	}
	x.flying++
	x.unsure++
	w.flights = append(w.flights, flight{x, how})
	if !w.launching {
		w.launching = true
		w.shard.work(w.launch)
	}
}

// launch puts into the log what is to go there.
func (w *waiters) launch() {
	for {
		w.mu.Lock()
		flights := slices.DeleteFunc(w.flights, func(f flight) bool { return f.x.over })
		w.flights, w.launching = nil, len(flights) > 0
		w.mu.Unlock()
		if len(flights) == 0 {
			return
		}
		for _, f := range flights {
			o := f.x.offer(f.how)
			// A command that comes may, as any other, need memory that there is not.
			o.Again = f.how&fsm.ServeComes == 0
			// It waits for what is in the log, as long as its gateway waits for a word.
			o.Until = time.Now().Add(renewEvery)
			w.shard.Propose(o, func(r Result) { w.landed(f.x, r, false) })
		}
	}
}

// serve is the txn that serves the waiter.
func (x *waiter) serve(how fsm.ServeHow) *fsm.Txn {
	t := x.txn
	t.Serve.How = how
	return &t
}

// offer is that txn by itself.
func (x *waiter) offer(how fsm.ServeHow) Offer {
	txns := []fsm.Txn{*x.serve(how)}
	return Offer{Bundle: fsm.AppendBundle(nil, &fsm.Bundle{Txns: txns}), Txns: txns}
}

// landed is told what became of a KindServe.
func (w *waiters) landed(x *waiter, r Result, sure bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
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
		// Its gateway has given it up, or begun anew.
		w.removeLocked(x)
		w.answerLocked(x, r)
	default:
		w.servedLocked(x, r)
	}
	// More may be there, or have come while this one found nothing.
	w.lookLaterLocked(x.keys, nil)
}

// servedLocked gives a waiter what it was served; where its gateway is not there at
// the moment, when it comes.
func (w *waiters) servedLocked(x *waiter, r Result) {
	r.Alone = false
	w.removeLocked(x)
	if x.told != nil {
		w.answerLocked(x, r)
		return
	}
	if w.byID[x.id] == nil {
		x.result, x.since = &r, time.Now()
		w.rememberLocked(x)
	}
}

// failedLocked goes on with a waiter of which a KindServe did not reach the log, or
// may not have.
func (w *waiters) failedLocked(x *waiter, err error) {
	switch {
	case x.flying > 0:
		return // the others tell
	case (errors.Is(err, cluster.ErrOverloaded) || errors.Is(err, cluster.ErrOverworked)) && x.looked:
		w.shard.work(func() {
			pause(w.shard.ctx, serveAgainAfter)
			w.look(x.keys, nil)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.restLocked(x)
		})
		return
	case errors.Is(err, cluster.ErrOverloaded), errors.Is(err, cluster.ErrOverworked), errors.Is(err, cluster.ErrTooLarge),
		errors.Is(err, cluster.ErrOutOfMemory), errors.Is(err, cluster.ErrTooMuchAtOnce):
	default:
		// The next leader knows, or this one when it is asked again.
		err = cluster.ErrUnknown
	}
	w.removeLocked(x)
	w.answerLocked(x, Result{Err: err})
}

// settle ends a wait that is not known here, by the log: another leader may have
// served it. Else it is tried for the last time.
func (w *waiters) settle(x *waiter, settles bool, told func(Result)) {
	how := fsm.ServeLast | fsm.ServeComes
	if settles {
		how = fsm.ServeLast | fsm.ServeSettles
	}
	o := x.offer(how)
	o.Again = true
	w.shard.Propose(o, told)
}

// proveMax bounds the wait for proof that this node still leads.
const proveMax = time.Second

// proveLeft answers a gateway after its client was taken out unserved. "Nothing has come" is
// true only if this node still leads.
func (s *Shard) proveLeft(told func(Result)) {
	unserved := Result{Replies: []Reply{{Outcome: fsm.OutcomeUnserved}}}
	if s.provenNow() {
		told(unserved)
		return
	}
	s.work(func() {
		ctx, cancel := context.WithTimeout(s.ctx, proveMax)
		defer cancel()
		if s.gate(ctx) != nil {
			unserved = Result{Err: ErrLeft}
		}
		told(unserved)
	})
}
