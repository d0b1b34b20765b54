package shard

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/batching"
	"lockstep/fsm"
)

const (
	// entryTxnsMax bounds the txns of one entry.
	entryTxnsMax = 8192
	// bundlesBytesMax bounds the bundles of one entry, even if Config.EntryBytesMax is
	// greater: an entry that no log store accepts is refused with everything in it.
	bundlesBytesMax = fsm.EntryBytesMax - 1<<10
)

// delayLimits say how long an entry waits for the clients that were just answered.
var delayLimits = batching.Limits{
	Share: 2, Least: time.Millisecond, Most: 4 * time.Millisecond, Missing: 0.125, RestMax: 1024, Trust: 16,
}

// proposer turns waiting bundles into entries, one on its way at a time: what
// arrives meanwhile becomes the next entry. The next one leaves when the one
// before it is committed and begins to be applied here, or a moment later, when
// the clients that were answered by that one are back (delay). More entries in flight were
// measured and are slower, on one node as on three: they are smaller, and each
// costs the same in Raft.
//
// A proposer has no goroutine. The goroutine that proposes the first bundle sends an
// entry, and the goroutine that learns that an entry has landed sends the next.
// Waking another goroutine to send an entry would cost more than sending it.
type proposer struct {
	shard *Shard
	mu    sync.Mutex // guards what follows
	// queue holds bundles in order of arrival, bounded by admission.
	queue   []*bundleCall
	stopped bool
	// flying is true if an entry is on its way, neither committed nor known to have
	// failed.
	flying bool
	// delay holds the next entry back; one that is held back counts as flying.
	delay *batching.Delay
}

// entryNumbers counts the entries of this process. A replica that replaces a dropped one may lead
// before it has run the entries of its predecessor. So no number may be used twice, or the replica
// would take those entries for its own.
var entryNumbers atomic.Uint64

func (p *proposer) init(s *Shard) { p.shard, p.delay = s, batching.New(delayLimits, p.late) }

// Offer is a bundle that is to enter the log.
type Offer struct {
	// Bundle is its encoding, which must not be changed afterwards.
	Bundle []byte
	// Txns are the txns in it. Propose reads them before it returns.
	Txns []fsm.Txn
	// Again is true if the bundle may be in the log already. Then it is proposed whatever
	// memory and time it may take, because otherwise its outcome would not be learnt.
	Again bool
	// Until is how long it may wait in front of the log.
	Until time.Time
}

// Propose puts a bundle into the log. done is called once, from any goroutine, and must
// not block. Bundles are proposed in the order of calls, except for those that wait for
// memory, or for commands in the log to run. ErrOutOfMemory says that there is no memory,
// ErrTooMuchAtOnce that there may be room for parts of the bundle, and ErrOverworked that
// its time was over.
func (s *Shard) Propose(o Offer, done func(Result)) {
	if !s.clock.begun() || !o.Again && s.group.Short() {
		// As in an election, the gateway asks again until it may write.
		done(Result{Err: cluster.ErrNotLeader})
		return
	}
	c := s.proposer.admitted(&o, done)
	if c == nil {
		return
	}
	if o.Again {
		s.throttle.pass(c)
		return
	}
	switch verdict, need := s.evictor.judge(o.Bundle, len(o.Txns)); verdict {
	case memoryRefuses:
		c.finish(Result{Err: cluster.ErrOutOfMemory})
	case memoryDivides:
		c.finish(Result{Err: cluster.ErrTooMuchAtOnce})
	case memoryWaits:
		s.evictor.wait(c, need)
	default:
		c.grow(need)
		s.throttle.pass(c)
	}
}

// admitted admits a bundle. It returns nil if the bundle was refused.
func (p *proposer) admitted(o *Offer, done func(Result)) *bundleCall {
	s := p.shard
	if !s.group.IsLeader() {
		done(Result{Err: cluster.ErrNotLeader})
		return nil
	}
	if !s.admit.enter(len(o.Txns), len(o.Bundle)) {
		done(Result{Err: cluster.ErrOverloaded})
		return nil
	}
	c := newBundleCall(o.Bundle, len(o.Txns), done, &s.admit)
	c.long = s.throttle.weigh(o)
	return c
}

// enqueue makes a bundle wait for the next entry.
func (p *proposer) enqueue(c *bundleCall) {
	c.left.Store(int32(len(c.replies)))
	if !p.push(c) {
		c.finish(Result{Err: cluster.ErrShuttingDown})
	}
}

func (p *proposer) push(c *bundleCall) bool {
	p.mu.Lock()
	if p.stopped {
		p.mu.Unlock()
		return false
	}
	p.queue = append(p.queue, c)
	leaves := !p.flying || p.delay.Full(len(p.queue))
	p.flying = true
	p.mu.Unlock()
	if leaves {
		p.next()
	}
	return true
}

// stop refuses further bundles and answers those that are not proposed yet.
func (p *proposer) stop() {
	p.mu.Lock()
	p.stopped = true
	queue := p.queue
	p.queue = nil
	p.mu.Unlock()
	for _, c := range queue {
		c.finish(Result{Err: cluster.ErrShuttingDown})
	}
}

// cut takes as many waiting bundles as fit into one entry, at least one. If no bundle waits, it
// sets flying to false.
func (p *proposer) cut() (calls []*bundleCall, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, txns, most := 0, 0, min(p.shard.cfg.EntryBytesMax, bundlesBytesMax)
	for n < len(p.queue) {
		c := p.queue[n]
		if n > 0 && (bytes+len(c.bundle) > most || txns+len(c.replies) > entryTxnsMax) {
			break
		}
		bytes += len(c.bundle)
		txns += len(c.replies)
		n++
	}
	calls = p.queue[:n:n]
	p.queue = p.queue[n:]
	if len(p.queue) == 0 {
		p.queue = nil
	}
	p.flying = n > 0
	return calls, bytes
}

// next proposes the waiting bundles as an entry. Only a caller that has set flying, or that knows
// that the entry on its way has landed, may call it. Raft accepts the entry without delay: its
// queue has room for many, and is empty.
func (p *proposer) next() {
	calls, bytes := p.cut()
	if len(calls) == 0 {
		return
	}
	s := p.shard
	began := time.Now()
	served := s.waiters.follow(calls, bytes)
	e := &pendingEntry{
		id:    fsm.EntryID{Node: s.cfg.Node, Boot: s.cfg.Boot, N: entryNumbers.Add(1)},
		parts: make([]entryPart, 0, len(calls)+2*len(served)),
	}
	e.proposal = s.group.NewProposal(func(err error) {
		if err != nil {
			s.pending.fail(e.id, proposeError(err))
		}
		p.landed(len(calls), began)
	})
	b := fsm.NewEntryBuilder(s.cfg.Group.ID, e.id, s.clock.nowMs(), bytes)
	calls[0].alone = len(calls) == 1 && len(served) == 0
	for i, c := range calls {
		n := 0
		for n < len(served) && served[n].of == i {
			n++
		}
		e.add(b, c, served[:n])
		served = served[n:]
	}
	b.Tell(s.machine.Untold(), freeOf(e))
	s.pending.add(e)
	e.proposal.Send(b.Finish())
}

// landed sends the bundles that wait, or leaves them to the next caller of Propose
// because others are expected soon: the callers whose n bundles were in the entry that
// landed. That entry left at began.
func (p *proposer) landed(n int, began time.Time) {
	alone := p.shard.group.Voters() == 1
	p.mu.Lock()
	p.delay.Landed(began, n, len(p.queue), alone)
	held := !p.stopped && p.delay.Start(len(p.queue))
	p.mu.Unlock()
	if !held {
		p.next()
	}
}

// late sends the waiting bundles if they still wait for others.
func (p *proposer) late() {
	p.mu.Lock()
	leaves := p.delay.Late(len(p.queue))
	p.mu.Unlock()
	if leaves {
		p.next()
	}
}

// proposeError is the error of calls in an entry that Raft did not apply.
func proposeError(err error) error {
	switch {
	case errors.Is(err, ErrEntryTooLong):
		return cluster.ErrTooLarge
	case errors.Is(err, ErrNotProposed):
		return cluster.ErrNotLeader
	}
	return cluster.ErrUnknown
}

// own puts one txn of the leader's own into the log and waits until it has
// executed.
func (p *proposer) own(ctx context.Context, t fsm.Txn) error {
	return runOwn(ctx, t, p.queueOwn)
}

// queueOwn queues a txn of the leader's own. It needs no memory and no room for work, and
// does not depend on the time.
func (p *proposer) queueOwn(bundle []byte, done func(Result)) {
	o := Offer{Bundle: bundle, Txns: make([]fsm.Txn, 1), Again: true}
	if c := p.admitted(&o, done); c != nil {
		p.enqueue(c)
	}
}

// runOwn proposes one txn of the leader's own and waits until it has executed.
func runOwn(ctx context.Context, t fsm.Txn, propose func(bundle []byte, done func(Result))) error {
	bundle := fsm.AppendBundle(nil, &fsm.Bundle{Txns: []fsm.Txn{t}})
	result := make(chan Result, 1)
	propose(bundle, func(r Result) { result <- r })
	select {
	case r := <-result:
		return r.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tick moves the log's time on, and returns when that entry has executed.
func (p *proposer) tick(ctx context.Context) error {
	return p.own(ctx, fsm.Txn{Kind: fsm.KindTick})
}
