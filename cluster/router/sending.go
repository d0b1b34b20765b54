package router

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/fsm"
)

const (
	// retryFirst and retryMost are the least and greatest pause before another attempt.
	retryFirst = time.Millisecond
	retryMost  = 50 * time.Millisecond
)

var (
	// errAbandoned says that another leader is known than the one that was asked.
	errAbandoned = errors.New("the shard has another leader")
	// errFault says that the code that made the attempt panicked.
	errFault = errors.New("the attempt ended by a fault")
)

// route says to which shard calls go, with which context, and until when.
type route struct {
	ctx   context.Context
	index int
	// deadline is zero as long as no call had to wait.
	deadline time.Time
}

// sending is one bundle of writes, or one run of reads, on its way to one shard. It makes
// one attempt after the other, until one is answered for good or the time is over.
//
// No goroutine waits in it. A callback answers an attempt, a timer ends a pause, and the
// watch (watch.go) ends an attempt that has no answer. The goroutine that ends an attempt
// owns the sending until it opens the next one; a later answer is ignored. The fields
// under mu are guarded by mu, and all others belong to the owner.
type sending struct {
	request
	ctx    context.Context
	router *Router
	calls  []*cluster.Call
	list   *[]fsm.Txn
	// done is called once, when the calls are answered. over is true from just before
	// that call.
	done func(alone bool)
	over bool
	// If texts is true, all scripts are sent with their texts. If maybe is true, the
	// bundle may be in the log.
	texts, maybe bool
	// from and id are the lanes and the numbers of a bundle.
	from *lanes
	id   unanswered
	// client is the client of a bundle that may take long: it may go before the answer
	// comes. It is nil for other bundles.
	client cluster.Leaver
	// others are the replicas that a stale read has not asked yet.
	others []string
	// tries counts the attempts, and last is the error of the last one. found is the
	// answer to a KindIndex.
	tries int
	last  error
	found uint64

	mu sync.Mutex // guards what follows, but place
	// open is the number of the attempt that waits for its answer, or 0 if none does. number is
	// that of the last attempt.
	open, number int
	// to is the node that is asked. waits is true if the request has been sent and the
	// watch may end the attempt. late is true if the watch has seen that the deadline had
	// passed. takenBack is true if the leader was told that the client has gone.
	to                     shard.Leader
	waits, late, takenBack bool
	turns                  turns
	// asked is when a node was last asked for an answer or for the leader. lookedAt is
	// when the router last checked whether the client has gone.
	asked, lookedAt time.Time
	// place is the index in the watch's list plus one, or 0 if the sending is not in it.
	// The watch's lock guards it.
	place int
}

// deadlineNow is the deadline of calls that start to wait now.
func (r *Router) deadlineNow() time.Time {
	return time.Now().Add(time.Duration(r.cfg.TimeoutMs()) * time.Millisecond)
}

// newSending returns a sending that has made no attempt yet.
func (r *Router) newSending(at route, kind uint8, calls []*cluster.Call, done func(alone bool)) *sending {
	if at.deadline.IsZero() {
		at.deadline = r.deadlineNow()
	}
	req := request{index: at.index, kind: kind, n: len(calls), deadline: at.deadline}
	return &sending{request: req, ctx: at.ctx, router: r, calls: calls, done: done}
}

// attempt makes one attempt: it asks the leader that this node knows of, or for a stale
// read the next replica. The answer goes to answered.
func (s *sending) attempt() {
	defer s.guard()
	if s.tries > 0 && s.ctx.Err() != nil {
		s.giveUp()
		return
	}
	s.tries++
	s.router.watch.add(s)
	to, replica := s.target(), s.router.cfg.Replica(s.index)
	s.ask(s.opened(to), to, replica)
}

// ask is the one function that sends the request of an attempt.
func (s *sending) ask(number int, to shard.Leader, replica Shard) {
	defer s.caught(number)
	answer, via := func(res shard.Result) { s.answered(number, res, false) }, ""
	switch {
	case to.Addr == "" && !to.Self:
		answer(shard.Result{Err: cluster.ErrNoLeader})
	case !to.Self:
		via = s.router.forward(to.Addr, &s.request, s.encode(), answer)
	case replica == nil:
		answer(shard.Result{Err: cluster.ErrNotLeader}) // it has just been closed
	case s.kind == KindPropose:
		replica.Propose(s.offer(), answer)
	default:
		go s.readHere(replica, number)
		return
	}
	s.sent(number, via)
}

// sent records that a request of an attempt has been sent, and by which way.
func (s *sending) sent(number int, via string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == number {
		s.waits, s.turns.via = true, via
	}
}

// target is the node to ask next.
func (s *sending) target() shard.Leader {
	if len(s.others) > 0 {
		next := s.others[0]
		s.others, s.kind = s.others[1:], KindStale
		return shard.Leader{Addr: next}
	}
	if s.kind == KindStale {
		s.kind = KindRead
	}
	return s.router.Leader(s.index)
}

// opened opens an attempt. From here on the goroutine that ends it first owns the
// sending.
func (s *sending) opened(to shard.Leader) (number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	s.open, s.to, s.waits, s.late = s.number, to, false, false
	s.turns = turns{made: 1, open: 1}
	if !to.Self {
		s.asked = time.Now()
		s.turns = turnsOf(&s.request, s.asked)
	}
	return s.number
}

// answered ends an attempt with an answer to one of its requests. If final is true, no
// more answers are awaited. answered does nothing if the attempt has ended.
func (s *sending) answered(number int, res shard.Result, final bool) {
	s.mu.Lock()
	over := s.open == number && (final || s.turns.over(s.kind, &res))
	if over {
		s.open, s.waits = 0, false
	}
	s.mu.Unlock()
	switch {
	case !over:
	case res.Err == nil:
		defer s.guard()
		s.finish(res.Replies, nil, res.Alone)
	default:
		// The goroutine that brings the answer may hold locks, and judge asks other
		// nodes.
		go s.judge(res.Err)
	}
}

// caught ends an attempt after a panic in the code that makes the attempt or watches it.
func (s *sending) caught(number int) {
	if p := recover(); p != nil {
		s.router.cfg.Panics.Note(faulty, p)
		s.answered(number, shard.Result{Err: errFault}, true)
	}
}

// faulty names the code in which the panic was.
const faulty = "a command on its way to its shard"

// guard ends the sending after a panic of its owner. The calls are answered, and the
// number of the bundle is given back, at whatever point the owner was.
func (s *sending) guard() {
	p := recover()
	if p == nil {
		return
	}
	s.router.cfg.Panics.Note(faulty, p)
	if !s.over {
		s.fault()
	}
}

// fault ends the sending after a panic: a bundle may be in the log.
func (s *sending) fault() {
	if s.kind == KindPropose {
		s.fail(cluster.ErrUnknown)
	} else {
		s.fail(cluster.ErrNoAnswer)
	}
}

// judge continues after an attempt has failed: the sending ends, or another attempt
// follows.
func (s *sending) judge(err error) {
	defer s.guard()
	r := s.router
	switch {
	case errors.Is(err, errFault):
		s.fault()
		return
	case s.kind == KindStale:
		s.attempt() // the next attempt asks another replica, or the leader
		return
	case !s.to.Self:
		r.leaders.ask(s.index)
	}
	s.last = err
	switch {
	case !s.maybe && refusesForGood(err):
		s.finish(nil, err, false)
		return
	case s.kind == KindPropose && (errors.Is(err, cluster.ErrUnknown) || errors.Is(err, errAbandoned)):
		s.maybe, s.again = true, true
	}
	if !s.maybe && s.clientGone() {
		s.finish(nil, cluster.ErrTakenBack, false)
		return
	}
	r.Counters.Retried.Add(1)
	if !s.later(s.attempt) {
		s.giveUp()
	}
}

// later calls f after a pause. It returns false if there is no time left for the pause.
func (s *sending) later(f func()) bool {
	d := pauseBehind(s.tries - 1)
	if time.Until(s.deadline) <= d || s.ctx.Err() != nil {
		return false
	}
	time.AfterFunc(d, f)
	return true
}

// pauseBehind is the pause after an attempt. try is how many attempts there were before
// it.
func pauseBehind(try int) time.Duration { return min(retryFirst<<min(try, 10), retryMost) }

// giveUp ends a sending whose time is over.
func (s *sending) giveUp() {
	r, unanswered := s.router, errors.Is(s.last, cluster.ErrUnknown) || errors.Is(s.last, errAbandoned)
	switch leader := r.Leader(s.index); {
	case s.maybe:
		r.Counters.Unknown.Add(1)
		s.explain()
	case errors.Is(s.last, cluster.ErrOverloaded), errors.Is(s.last, cluster.ErrShuttingDown):
		s.finish(nil, s.last, false)
	case unanswered && (leader.Self || leader.Addr != ""):
		s.finish(nil, cluster.ErrNoAnswer, false)
	default:
		r.Counters.NoLeader.Add(1)
		s.finish(nil, cluster.ErrNoLeader, false)
	}
}

// refusesForGood reports whether another request would be refused, too. For a bundle that
// may be in the log such an error is no answer: another leader, with other limits, may
// have accepted the bundle.
func refusesForGood(err error) bool {
	return slices.ContainsFunc([]error{
		cluster.ErrTooLarge, cluster.ErrNotKnown, cluster.ErrMustLog, cluster.ErrOutOfMemory, cluster.ErrTooMuchAtOnce,
		cluster.ErrBusy, cluster.ErrOverworked, cluster.ErrTakenBack, cluster.ErrKilled,
	}, func(forGood error) bool { return errors.Is(err, forGood) })
}

// finish ends the sending with its replies or its error.
func (s *sending) finish(replies []shard.Reply, err error, alone bool) {
	switch s.kind {
	case KindPropose:
		s.completeWrites(replies, err, alone)
	case KindIndex:
		s.found, s.last = indexOf(replies, err)
		s.complete(alone)
	default:
		s.completeReads(replies, err, alone)
	}
}

// resend sends calls again, in another sending.
func (s *sending) resend(calls []*cluster.Call, texts bool, done func(alone bool)) {
	s.router.watch.remove(s)
	s.over = true
	go s.router.write(route{s.ctx, s.index, s.deadline}, calls, texts, done)
}

// fail answers all calls that have no answer with an error.
func (s *sending) fail(err error) {
	failAll(s.calls, err)
	s.last = err
	s.complete(false)
}

// complete reports that the calls are answered.
func (s *sending) complete(alone bool) {
	s.router.watch.remove(s)
	s.id.close()
	s.over = true
	s.done(alone)
}

// failAll answers the calls that have no answer with an error.
func failAll(calls []*cluster.Call, err error) {
	for _, c := range calls {
		if !c.Answered() {
			c.Err = err
		}
	}
}

// fill answers calls with replies. Of reads there may be fewer replies than calls.
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

// txnPool keeps lists of txns for later use. It does not keep the lists of large batches.
var txnPool = sync.Pool{New: func() any { return new([]fsm.Txn) }}

const txnsKept = 256

// takeTxns lists the txns of calls. The caller returns the list with giveTxns.
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
