package shard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/fsm"
)

// Errors of proposals and of questions to the leader.
var (
	// ErrNotProposed says that the entry never entered the log.
	ErrNotProposed = errors.New("shard: not proposed")
	// ErrEntryTooLong says that no log store accepts such an entry. It wraps
	// ErrNotProposed.
	ErrEntryTooLong = fmt.Errorf("%w: longer than a log entry may be", ErrNotProposed)
	// ErrOutcomeUnknown says that the entry may still be committed.
	ErrOutcomeUnknown = errors.New("shard: outcome unknown")
	// ErrNotLeading says that this node does not lead, or cannot prove that it does.
	ErrNotLeading = errors.New("shard: not leading")
)

// proposeTimeout bounds the wait for room in Raft's queue.
const proposeTimeout = 5 * time.Second

// listenAfter is the time after which a goroutine waits for Raft's answer to a proposal
// that has none. When this node loses the lead, a goroutine does so at once.
const listenAfter = 20 * time.Millisecond

// Proposal is an entry on its way into the log. It is made before it is sent, because it
// may be applied before the call that sends it returns.
type Proposal struct {
	group *Group
	done  func(error)
	began time.Time
	// future is Raft's answer, once the entry has been sent. heard is true if a goroutine
	// waits for that answer. Both are guarded by proposals.mu.
	future raft.ApplyFuture
	heard  bool
}

// NewProposal prepares a proposal. done is called once: with nil when the entry is
// committed, otherwise with ErrNotProposed or ErrOutcomeUnknown.
func (g *Group) NewProposal(done func(error)) *Proposal { return &Proposal{group: g, done: done} }

// Send gives the proposal's entry to Raft. data must not be changed afterwards.
//
// Normally no goroutine waits for Raft's answer: one goroutine per entry would cost as
// much as writing several txns. Instead, the caller that sees the entry applied calls
// Applied.
func (p *Proposal) Send(data []byte) {
	g := p.group
	if len(data) > fsm.EntryBytesMax {
		go p.done(ErrEntryTooLong)
		return
	}
	p.began = time.Now()
	if !g.proposals.add(p) {
		go p.done(ErrNotProposed)
		return
	}
	r := g.raft.Load()
	future := r.Apply(data, proposeTimeout)
	g.proposals.sent(p, future)
	if r.State() != raft.Leader {
		g.proposals.listen(0)
	}
}

// Applied reports that the entry is being applied here.
func (p *Proposal) Applied() { p.group.proposals.finish(p, nil) }

// Propose is for an entry whose application no caller here sees: a goroutine waits for
// Raft's answer. done is called from another goroutine.
func (g *Group) Propose(data []byte, done func(error)) {
	g.NewProposal(done).Send(data)
	g.proposals.listen(0)
}

// proposals are the proposals without an answer. The library forgets some of them when it
// shuts down: a future that was in its queue is never answered.
type proposals struct {
	mu   sync.Mutex // guards what follows, and future and heard of each Proposal
	open map[*Proposal]struct{}
	// timer is set while any are open.
	timer  *time.Timer
	timing bool
	closed bool
	// refused is true if the leadership is being given away.
	refused bool
}

func (ps *proposals) init() {
	ps.open = map[*Proposal]struct{}{}
	ps.timer = time.AfterFunc(time.Hour, ps.look)
	ps.timer.Stop()
}

// add records a proposal. It returns false if no Raft is open or proposals are refused.
func (ps *proposals) add(p *Proposal) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.closed || ps.refused {
		return false
	}
	ps.open[p] = struct{}{}
	if !ps.timing {
		ps.timing = true
		ps.timer.Reset(listenAfter)
	}
	return true
}

// sent records the future on which Raft answers a proposal.
func (ps *proposals) sent(p *Proposal, future raft.ApplyFuture) {
	ps.mu.Lock()
	p.future = future
	ps.mu.Unlock()
}

// look listens to late proposals, as long as any are open.
func (ps *proposals) look() {
	ps.listen(listenAfter)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.timing = len(ps.open) > 0; ps.timing {
		ps.timer.Reset(listenAfter)
	}
}

// listen starts goroutines that wait for Raft's answer to all proposals that are at least
// so old.
func (ps *proposals) listen(age time.Duration) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for p := range ps.open {
		if p.heard || p.future == nil || time.Since(p.began) < age {
			continue
		}
		p.heard = true
		go func() { ps.finish(p, classify(p.future.Error())) }()
	}
}

// finish answers a proposal that has no answer yet.
func (ps *proposals) finish(p *Proposal, err error) {
	ps.mu.Lock()
	_, open := ps.open[p]
	delete(ps.open, p)
	ps.mu.Unlock()
	if open {
		p.answer(err)
	}
}

func (p *Proposal) answer(err error) {
	p.group.cfg.took(Commit, p.began)
	p.group.counts.answered(err)
	p.done(err)
}

// close answers all open proposals with an unknown outcome, and refuses further ones.
// Raft must have ended: a proposal after its end would never be answered.
func (ps *proposals) close() {
	ps.mu.Lock()
	ps.closed = true
	all := ps.open
	ps.open = map[*Proposal]struct{}{}
	ps.mu.Unlock()
	for p := range all {
		p.answer(ErrOutcomeUnknown)
	}
}

// reopen accepts proposals again, for another raft.Raft. No transfer of its leadership is
// under way.
func (ps *proposals) reopen() {
	ps.mu.Lock()
	ps.closed, ps.refused = false, false
	ps.mu.Unlock()
}

// refuse makes the group refuse proposals, or accept them again.
func (ps *proposals) refuse(yes bool) {
	ps.mu.Lock()
	ps.refused = yes
	ps.mu.Unlock()
}

// classify returns the error that a proposal ends with.
func classify(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return fmt.Errorf("%w: %w", ErrNotProposed, err)
	default:
		// The library lost the lead, failed to store, or shut down: the entry may be in a
		// log.
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
}

func notProposed(err error) bool { return errors.Is(err, ErrNotProposed) }

// Append proposes an entry and waits until it is committed.
func (g *Group) Append(ctx context.Context, data []byte) error {
	c := make(chan error, 1)
	g.Propose(data, func(err error) { c <- err })
	select {
	case err := <-c:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, ctx.Err())
	}
}
