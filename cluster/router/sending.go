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
	// retryFirst and retryMost bound the pause before another attempt.
	retryFirst = time.Millisecond
	retryMost  = 50 * time.Millisecond
)

var (
	// errAbandoned: another leader is known than the one that was asked.
	errAbandoned = errors.New("the shard has another leader")
	// errFault: the code that made the attempt panicked.
	errFault = errors.New("the attempt ended by a fault")
)

// route is where calls go, for whom, and until when.
type route struct {
	ctx   context.Context
	index int
	// deadline is zero as long as nothing had to wait.
	deadline time.Time
}

// sending is one bundle of writes, or one run of reads, on its way to one shard. It makes attempts, one
// after the other, until one of them is answered for good or the time is over.
//
// Nobody waits in it. An attempt is answered by a callback, a pause ends by a timer, and the watch
// (watch.go) ends an attempt that nobody answers. Whoever ends an attempt owns the sending, until it opens
// the next; a later answer is ignored. All fields but those under mu belong to the owner.
type sending struct {
	request
	ctx    context.Context
	router *Router
	calls  []*cluster.Call
	list   *[]fsm.Txn
	// done is called once, when the calls are answered; over: it was, or is about to be.
	done func(alone bool)
	over bool
	// texts: all scripts travel with their texts. maybe: the bundle may be in the log.
	texts, maybe bool
	// from and id are what a bundle is numbered by.
	from *lanes
	id   unanswered
	// client is who may go before a bundle is answered that may take long; else nil.
	client cluster.Leaver
	// others are the replicas that a stale read has yet to ask.
	others []string
	// tries counts what was tried, last is the error of the last one. found is the answer to a KindIndex.
	tries int
	last  error
	found uint64

	mu sync.Mutex // guards what follows, but place
	// open is the number of the attempt that waits for its answer; 0: none does. number is that
	// of the last one.
	open, number int
	// to is who is asked. waits: the request has left, and the watch may end the attempt. late: the
	// deadline was seen to have passed. takenBack: the leader was told that the client has gone.
	to                     shard.Leader
	waits, late, takenBack bool
	turns                  turns
	// asked is when another node was asked last, for an answer or who leads; lookedAt when it was
	// looked whether the client has gone.
	asked, lookedAt time.Time
	// place is where the watch has it, and under the watch's lock; 0: nowhere.
	place int
}

// deadlineNow is the deadline of calls that begin to wait now.
func (r *Router) deadlineNow() time.Time {
	return time.Now().Add(time.Duration(r.cfg.TimeoutMs()) * time.Millisecond)
}

// newSending returns a sending of calls that has made no attempt yet.
func (r *Router) newSending(at route, kind uint8, calls []*cluster.Call, done func(alone bool)) *sending {
	if at.deadline.IsZero() {
		at.deadline = r.deadlineNow()
	}
	req := request{index: at.index, kind: kind, n: len(calls), deadline: at.deadline}
	return &sending{request: req, ctx: at.ctx, router: r, calls: calls, done: done}
}

// attempt asks once: the leader that this node knows of, or for a stale read the next replica. The
// answer comes to answered.
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

// ask is the one place where an attempt leaves.
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

// sent notes that a request of an attempt has left, and which way.
func (s *sending) sent(number int, via string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == number {
		s.waits, s.turns.via = true, via
	}
}

// target is who is to be asked next.
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

// opened begins an attempt: from here on the first that ends it owns the sending.
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

// answered ends an attempt with an answer to one of its requests, or, final, because none will come.
// It does nothing if the attempt has ended.
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
		// Whoever brings the answer may hold locks, and what follows asks others.
		go s.judge(res.Err)
	}
}

// caught ends an attempt after a fault of the code that makes it, or looks after it.
func (s *sending) caught(number int) {
	if p := recover(); p != nil {
		s.router.cfg.Panics.Note(faulty, p)
		s.answered(number, shard.Result{Err: errFault}, true)
	}
}

// faulty names what had the fault.
const faulty = "a command on its way to its shard"

// guard ends the sending after a fault of its owner. Whatever it was doing, the calls are
// answered, and the number of the bundle is given back.
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

// fault ends the sending after a fault: a bundle may be in the log.
func (s *sending) fault() {
	if s.kind == KindPropose {
		s.fail(cluster.ErrUnknown)
	} else {
		s.fail(cluster.ErrNoAnswer)
	}
}

// judge goes on behind an attempt that has failed: the sending ends, or another attempt follows.
func (s *sending) judge(err error) {
	defer s.guard()
	r := s.router
	switch {
	case errors.Is(err, errFault):
		s.fault()
		return
	case s.kind == KindStale:
		s.attempt() // another replica, or the leader
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

// later calls f behind a pause; false: there is no time left for it.
func (s *sending) later(f func()) bool {
	d := pauseBehind(s.tries - 1)
	if time.Until(s.deadline) <= d || s.ctx.Err() != nil {
		return false
	}
	time.AfterFunc(d, f)
	return true
}

// pauseBehind is the pause behind an attempt, by how many there were before it.
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

// refusesForGood tells whether to ask again would be in vain. It is no answer to a
// bundle that may be in the log: another leader may have taken it, whose limits were
// others.
func refusesForGood(err error) bool {
	return slices.ContainsFunc([]error{
		cluster.ErrTooLarge, cluster.ErrNotKnown, cluster.ErrMustLog, cluster.ErrOutOfMemory, cluster.ErrTooMuchAtOnce,
		cluster.ErrBusy, cluster.ErrOverworked, cluster.ErrTakenBack, cluster.ErrKilled,
	}, func(forGood error) bool { return errors.Is(err, forGood) })
}

// finish takes what became of the sending.
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

// resend has calls sent again, in another sending.
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

// complete says that the calls are answered.
func (s *sending) complete(alone bool) {
	s.router.watch.remove(s)
	s.id.close()
	s.over = true
	s.done(alone)
}

// failAll answers those calls with an error that have no answer.
func failAll(calls []*cluster.Call, err error) {
	for _, c := range calls {
		if !c.Answered() {
			c.Err = err
		}
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
