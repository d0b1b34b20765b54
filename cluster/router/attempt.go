package router

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/fsm"
)

// Counters count what routing met.
type Counters struct {
	Forwarded, Retried, Unknown, NoLeader atomic.Uint64
	// Relayed are requests to a leader that went through another node, PassedOn those of other
	// nodes that this one passed on to a leader.
	Relayed, PassedOn atomic.Uint64
	// TextsLeftOut are scripts that were named by their SHA1, TextsSentAgain calls
	// that were sent anew because a script had gone.
	TextsLeftOut, TextsSentAgain atomic.Uint64
	// Renewed are new boot numbers, taken because a shard knew others of this gateway.
	Renewed atomic.Uint64
	// Refused are requests of other nodes that make no sense, or speak for another node.
	Refused atomic.Uint64
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

// read sends calls to the leader, or runs them here when they may be stale.
func (r *Router) read(ctx context.Context, deadline time.Time, index int, calls []*cluster.Call) {
	txns := takeTxns(calls)
	defer giveTxns(txns)
	if calls[0].Stale {
		if replies, ok := r.readStale(ctx, deadline, index, *txns, calls[0].Fresh); ok {
			fill(calls, replies)
			return
		}
	}
	req := request{index: index, kind: KindRead, txns: *txns, n: len(calls), atLeast: r.known(index), deadline: deadline}
	replies, err := r.persist(ctx, deadline, &req)
	r.settleRead(ctx, deadline, index, calls, replies, err)
}

// known is the index up to which clients of this node may have been told of
// changes, by its own replica or by others'.
func (r *Router) known(index int) uint64 {
	known := r.heard(index)
	if replica := r.cfg.Replica(index); replica != nil {
		known = max(known, replica.Queued())
	}
	return known
}

func (r *Router) heard(index int) uint64 {
	if r.cfg.Heard == nil {
		return 0
	}
	return r.cfg.Heard(index)
}

// hears tells whether a replica of this node may soon know what clients have been told of: one
// that is cut off from its leader does not, where another node tells them.
func (r *Router) hears(index int, replica Shard) bool {
	return replica.Taken() >= r.heard(index) || r.ways.shut(index) == ""
}

// staleWait is how long a replica may take for a stale read before another is
// asked.
const staleWait = 500 * time.Millisecond

// readStale has reads answered by this node's replica, or where it has none by
// some other; false: none does, or none that is as fresh as is wanted, so that the
// leader is to be asked.
func (r *Router) readStale(ctx context.Context, deadline time.Time, index int, txns []fsm.Txn, want *cluster.Freshness) ([]shard.Reply, bool) {
	if replica := r.cfg.Replica(index); replica != nil && replica.Votes() && r.hears(index, replica) && r.freshEnough(ctx, index, replica, want) {
		if replies, err := replica.ReadOwn(ctx, txns, r.heard(index)); err == nil {
			return replies, true
		}
	}
	if want != nil && (want.MaxAge > 0 || want.Floors[index] > 0) {
		// Of the other replicas nobody here knows how old they are.
		return nil, false
	}
	req := request{index: index, kind: KindStale, txns: txns, n: len(txns), atLeast: r.known(index), deadline: deadline}
	addrs := r.cfg.Replicas(index)
	turn := int(r.turns.Add(1) % (1 << 16))
	for i := range addrs {
		timeout := min(staleWait, time.Until(deadline))
		if timeout <= 0 || ctx.Err() != nil {
			return nil, false
		}
		answer := make(chan shard.Result, 1)
		r.toReplica(addrs[(turn+i)%len(addrs)], &req, func(res shard.Result) { answer <- res })
		timer := time.NewTimer(timeout)
		select {
		case res := <-answer:
			timer.Stop()
			if res.Err == nil {
				return res.Replies, true
			}
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
	return nil, false
}

// persist makes attempts until one is answered, or the time is used up.
func (r *Router) persist(ctx context.Context, deadline time.Time, req *request) ([]shard.Reply, error) {
	return r.persistAfter(ctx, deadline, req, r.attempt(ctx, deadline, req))
}

// persistAfter is persist behind a first attempt that ended with res.
func (r *Router) persistAfter(ctx context.Context, deadline time.Time, req *request, res shard.Result) ([]shard.Reply, error) {
	maybe := false
	for try := 0; ; try++ {
		if try > 0 {
			res = r.attempt(ctx, deadline, req)
		}
		switch {
		case res.Err == nil:
			return res.Replies, nil
		case !maybe && refusesForGood(res.Err):
			return nil, res.Err
		case errors.Is(res.Err, cluster.ErrUnknown), errors.Is(res.Err, errAbandoned):
			maybe = maybe || req.kind == KindPropose
			req.again = maybe
		}
		if !maybe && r.isGone(deadline, req) {
			return nil, cluster.ErrTakenBack
		}
		r.Counters.Retried.Add(1)
		if r.backOff(ctx, deadline, try) {
			continue
		}
		if maybe {
			r.Counters.Unknown.Add(1)
			return nil, r.unknown(req.index, req.calls, r.elapsed(req.deadline))
		}
		return nil, r.gaveUp(req, res.Err)
	}
}

// gaveUp is the error of a request that was not carried out before its deadline, and will not
// be; err is that of the last attempt.
func (r *Router) gaveUp(req *request, err error) error {
	if errors.Is(err, cluster.ErrOverloaded) || errors.Is(err, cluster.ErrShuttingDown) {
		return err
	}
	if l := r.Leader(req.index); (errors.Is(err, cluster.ErrUnknown) || errors.Is(err, errAbandoned)) && (l.Self || l.Addr != "") {
		return cluster.ErrNoAnswer
	}
	r.Counters.NoLeader.Add(1)
	return cluster.ErrNoLeader
}

// refusesForGood tells whether to ask again would be in vain. It is no answer to a
// bundle that may be in the log: another leader may have taken it, whose limits were
// others.
func refusesForGood(err error) bool {
	for _, forGood := range []error{
		cluster.ErrTooLarge, cluster.ErrNotKnown, cluster.ErrMustLog, cluster.ErrOutOfMemory, cluster.ErrTooMuchAtOnce,
		cluster.ErrBusy, cluster.ErrOverworked, cluster.ErrTakenBack, cluster.ErrKilled,
	} {
		if errors.Is(err, forGood) {
			return true
		}
	}
	return false
}

// backOff pauses before try+1; false when there is no time left.
func (r *Router) backOff(ctx context.Context, deadline time.Time, try int) bool {
	d := min(retryFirst<<min(try, 10), retryMost)
	return time.Until(deadline) > d && pause(ctx, d)
}

// pause waits for d; false: ctx ended before.
func pause(ctx context.Context, d time.Duration) bool {
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
	leader := r.Leader(req.index)
	if leader.Addr == "" && !leader.Self {
		return shard.Result{Err: cluster.ErrNoLeader}
	}
	req.deadline = deadline
	replica := r.cfg.Replica(req.index)
	if leader.Self && replica == nil {
		return shard.Result{Err: cluster.ErrNotLeader} // it has just been closed
	}
	if leader.Self && req.kind != KindPropose {
		// The deadline is that of an attempt: a leader cut off from the others
		// must be given up for the next one.
		replies, err := readHere(ctx, deadline, replica, req)
		return shard.Result{Err: err, Replies: replies}
	}
	w := takeWait(nil)
	if leader.Self {
		replica.Propose(req.offer(), w.done)
	} else {
		r.toLeader(leader, req, w.done)
	}
	res := r.await(ctx, deadline, req, leader, w)
	if !leader.Self && res.Err != nil {
		r.leaders.ask(req.index)
	}
	return res
}

// readHere answers a request that reads, where this node leads.
func readHere(ctx context.Context, deadline time.Time, replica Shard, req *request) ([]shard.Reply, error) {
	if req.kind == KindIndex {
		ctx, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		return indexReply(replica.ReadIndex(ctx))
	}
	return replica.Read(ctx, deadline, req.txns, 0)
}

// wait is what an attempt waits with. It is used again once the answer was taken:
// an attempt that was given up may be answered yet.
type wait struct {
	answer chan shard.Result
	done   func(shard.Result)
	timer  *time.Timer
	// landed, when set, is told that there is an answer.
	landed func(alone bool)
}

// takeWait is a wait that tells landed when there is an answer.
func takeWait(landed func(bool)) *wait {
	w := waitPool.Get().(*wait)
	w.landed = landed
	return w
}

var waitPool = sync.Pool{New: func() any {
	w := &wait{answer: make(chan shard.Result, 1), timer: time.NewTimer(watchEvery)}
	w.done = func(res shard.Result) {
		// First, for who takes the answer may use the wait again.
		landed := w.landed
		w.answer <- res
		if landed != nil {
			landed(res.Alone)
		}
	}
	return w
}}

// await waits for an attempt's answer, and gives it up when another leader
// shows itself: the bundle's identity makes it safe to ask that one too. Where the way to
// the leader turns out to be shut, it sends the request the other way, too (relay.go).
//
// The deadline counts when it has passed twice: where this process stood still, the
// answer may be there, and not have been read yet.
func (r *Router) await(ctx context.Context, deadline time.Time, req *request, leader shard.Leader, w *wait) shard.Result {
	doubt, late := time.Now().Add(doubtAfter), false
	ways, first := r.turnsOf(req, leader), w.answer
	w.timer.Reset(watchEvery)
	for {
		select {
		case res := <-first:
			first = nil
			if res, over := ways.over(res, false); over {
				w.timer.Stop()
				waitPool.Put(w)
				return res
			}
		case res := <-ways.second:
			ways.second = nil
			if res, over := ways.over(res, first != nil); over {
				w.timer.Stop()
				return res
			}
		case <-ctx.Done():
			w.timer.Stop()
			return shard.Result{Err: cluster.ErrUnknown}
		case <-w.timer.C:
			now := time.Now()
			if now.After(deadline) {
				if late {
					return r.lastLook(first, w)
				}
				late = true
				w.timer.Reset(watchEvery)
				continue
			}
			r.takeBackIfGone(deadline, req, leader)
			if !leader.Self && now.After(doubt) {
				r.ways.doubt(req.index, leader.Addr)
				r.leaders.ask(req.index)
				doubt = now.Add(doubtAfter)
			}
			ways.look(now)
			if other := r.leaders.of(req.index); other.Addr != leader.Addr && other.Addr != "" {
				return shard.Result{Err: errAbandoned}
			}
			w.timer.Reset(watchEvery)
		}
	}
}

// lastLook takes an answer that came together with the end of the time.
func (r *Router) lastLook(first <-chan shard.Result, w *wait) shard.Result {
	select {
	case res := <-first:
		waitPool.Put(w)
		return res
	default:
		return shard.Result{Err: cluster.ErrUnknown}
	}
}

// txnPool keeps lists of txns; those of large batches are not kept.
var txnPool = sync.Pool{New: func() any { return new([]fsm.Txn) }}

const txnsKept = 256

// takeTxns lists the txns of calls, until giveTxns.
func takeTxns(calls []*cluster.Call) *[]fsm.Txn {
	txns := txnPool.Get().(*[]fsm.Txn)
	for _, c := range calls {
		*txns = append(*txns, c.Txn)
	}
	return txns
}

func giveTxns(txns *[]fsm.Txn) {
	if cap(*txns) > txnsKept {
		return
	}
	clear(*txns)
	*txns = (*txns)[:0]
	txnPool.Put(txns)
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
		case fsm.OutcomeRefused:
			c.Err = cluster.ErrOverworked
		default:
			c.Err = cluster.ErrUnknown
		}
	}
}
