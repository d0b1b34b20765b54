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
	// ErrNotProposed: the entry never entered the log.
	ErrNotProposed = errors.New("shard: not proposed")
	// ErrEntryTooLong: no log store takes such an entry; it wraps ErrNotProposed.
	ErrEntryTooLong = fmt.Errorf("%w: longer than a log entry may be", ErrNotProposed)
	// ErrOutcomeUnknown: the entry may be committed yet.
	ErrOutcomeUnknown = errors.New("shard: outcome unknown")
	// ErrNotLeading: this node does not lead, or cannot prove that it does.
	ErrNotLeading = errors.New("shard: not leading")
)

// proposeTimeout bounds the wait for room in Raft's queue.
const proposeTimeout = 5 * time.Second

// listenAfter is after what time somebody waits for Raft's answer to a proposal of
// which nothing was heard. Where leadership is lost it is asked for at once.
const listenAfter = 20 * time.Millisecond

// Proposal is an entry on its way into the log. It is made before it sets out, for
// it may arrive before the call that sent it returns.
type Proposal struct {
	group *Group
	done  func(error)
	began time.Time
	// future is Raft's answer, once the entry has set out; heard: somebody waits for
	// it. Both are guarded by proposals.mu.
	future raft.ApplyFuture
	heard  bool
}

// NewProposal prepares a proposal. done is called once: with nil when the entry is
// committed, else with ErrNotProposed or ErrOutcomeUnknown.
func (g *Group) NewProposal(done func(error)) *Proposal { return &Proposal{group: g, done: done} }

// Send gives the proposal's entry to Raft; data must not be changed afterwards.
//
// Nobody waits for Raft's answer as long as all goes well, for that would be a
// goroutine for each entry, which costs as much as the writing of several txns: who
// sees the entry applied says so (Applied).
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

// Applied says that the entry is being applied here.
func (p *Proposal) Applied() { p.group.proposals.finish(p, nil) }

// Propose is a proposal whose entry nobody here sees applied: Raft's answer is
// waited for. done is called from another goroutine.
func (g *Group) Propose(data []byte, done func(error)) {
	g.NewProposal(done).Send(data)
	g.proposals.listen(0)
}

// proposals are the proposals without an answer. The library forgets some when
// it shuts down: a future that was in its queue is never answered.
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

// add takes note of a proposal. It returns false if there is no Raft to take it, or it
// may not.
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

// sent takes note of where Raft answers a proposal.
func (ps *proposals) sent(p *Proposal, future raft.ApplyFuture) {
	ps.mu.Lock()
	p.future = future
	ps.mu.Unlock()
}

// look listens to those that are late, as long as any are open.
func (ps *proposals) look() {
	ps.listen(listenAfter)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.timing = len(ps.open) > 0; ps.timing {
		ps.timer.Reset(listenAfter)
	}
}

// listen has somebody wait for Raft's answer to all proposals that set out so long
// ago.
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

// finish answers a proposal, if nobody has.
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

// close answers all open proposals, whose outcome is unknown, and refuses
// further ones. Raft must have ended: what comes after it would never be
// answered.
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

// reopen takes proposals again, for another raft.Raft. No transfer of its leadership is
// under way.
func (ps *proposals) reopen() {
	ps.mu.Lock()
	ps.closed, ps.refused = false, false
	ps.mu.Unlock()
}

// refuse has no proposals taken, or taken again.
func (ps *proposals) refuse(yes bool) {
	ps.mu.Lock()
	ps.refused = yes
	ps.mu.Unlock()
}

// classify says what became of a proposal.
func classify(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return fmt.Errorf("%w: %w", ErrNotProposed, err)
	default:
		// ErrLeadershipLost, a failed store, a shutdown: it may be in a log.
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
