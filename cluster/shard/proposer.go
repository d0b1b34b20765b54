package shard

import (
	"context"
	"errors"
	"sync"

	"lockstep/cluster"
	"lockstep/fsm"
)

// entryTxnsMax bounds the txns of one entry.
const entryTxnsMax = 8192

// proposer turns waiting bundles into entries, one on its way at a time: what
// arrives meanwhile becomes the next entry. The next one leaves when the one
// before it is committed and begins to be applied here, so the disks work while
// it executes. More entries in flight were measured and are slower, on one node
// as on three: they are smaller, and each costs the same in Raft.
type proposer struct {
	shard *Shard
	mu    sync.Mutex
	// queue holds bundles in order of arrival, bounded by admission.
	queue   []*bundleCall
	stopped bool
	wake    chan struct{}
	// landed takes a token when the entry on its way is committed, or is known
	// to have failed.
	landed  chan struct{}
	entries uint64
}

func (p *proposer) init(s *Shard) {
	p.shard = s
	p.wake = make(chan struct{}, 1)
	p.landed = make(chan struct{}, 1)
}

// Propose puts a bundle of n txns into the log; bundle is its encoding, which
// must not be changed afterwards. done is called once, from any goroutine, and
// must not block. Bundles are proposed in the order of calls.
func (s *Shard) Propose(bundle []byte, n int, done func(Result)) {
	if !s.group.IsLeader() {
		done(Result{Err: cluster.ErrNotLeader})
		return
	}
	if !s.admit.enter(n, len(bundle)) {
		done(Result{Err: cluster.ErrOverloaded})
		return
	}
	c := &bundleCall{bundle: bundle, replies: make([]Reply, n), done: done, admit: &s.admit}
	c.left.Store(int32(n))
	if !s.propose.push(c) {
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
	first := len(p.queue) == 1
	p.mu.Unlock()
	if first {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
	return true
}

// stop refuses further bundles and answers those not yet proposed.
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

// take cuts off as many waiting bundles as fit into one entry, one at least.
func (p *proposer) take() (calls []*bundleCall, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, txns := 0, 0
	for n < len(p.queue) {
		c := p.queue[n]
		if n > 0 && (bytes+len(c.bundle) > p.shard.cfg.EntryBytesMax || txns+len(c.replies) > entryTxnsMax) {
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
	return calls, bytes
}

// loop proposes until the shard is closed.
func (p *proposer) loop() {
	defer close(p.shard.done)
	ctx := p.shard.ctx
	flying := false
	for {
		select {
		case <-p.wake:
		case <-p.landed:
			flying = false
		case <-ctx.Done():
			return
		}
		if flying {
			continue
		}
		if calls, bytes := p.take(); len(calls) > 0 {
			flying = true
			p.send(calls, bytes)
		}
	}
}

// send proposes one entry and sees to its outcome.
func (p *proposer) send(calls []*bundleCall, bytes int) {
	s := p.shard
	p.entries++
	e := &pendingEntry{
		id:    fsm.EntryID{Node: s.cfg.Node, Boot: s.cfg.Boot, N: p.entries},
		calls: calls,
		first: make([]int, len(calls)),
		land:  sync.OnceFunc(func() { p.landed <- struct{}{} }),
	}
	b := fsm.NewEntryBuilder(s.cfg.Group.ID, e.id, s.clock.nowMs(), bytes)
	txns := 0
	for i, c := range calls {
		e.first[i] = txns
		txns += len(c.replies)
		b.Add(c.bundle)
	}
	s.pending.add(e)
	s.group.Propose(b.Finish(), func(err error) {
		if err != nil {
			s.pending.fail(e.id, proposeError(err))
		}
		e.land()
	})
}

// proposeError tells what became of an entry that Raft did not apply.
func proposeError(err error) error {
	switch {
	case errors.Is(err, ErrEntryTooLong):
		return cluster.ErrTooLarge
	case errors.Is(err, ErrNotProposed):
		return cluster.ErrNotLeader
	}
	return cluster.ErrUnknown
}

// proposeOwn puts one txn of the leader's own into the log and waits until it
// has executed.
func (s *Shard) proposeOwn(ctx context.Context, t fsm.Txn) error {
	bundle := fsm.AppendBundle(nil, &fsm.Bundle{Txns: []fsm.Txn{t}})
	result := make(chan Result, 1)
	s.Propose(bundle, 1, func(r Result) { result <- r })
	select {
	case r := <-result:
		return r.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Shard) proposeTick(ctx context.Context) error {
	return s.proposeOwn(ctx, fsm.Txn{Kind: fsm.KindTick})
}
