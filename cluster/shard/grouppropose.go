package shard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/raftio"
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

// EntryBytesMax is the longest entry a group takes.
const EntryBytesMax = raftio.EntryBytesMax

// proposeTimeout bounds the wait for room in Raft's queue.
const proposeTimeout = 5 * time.Second

// proposals are the proposals without an answer. The library forgets some when
// it shuts down: a future that was in its queue is never answered.
type proposals struct {
	mu     sync.Mutex
	open   map[*proposal]struct{}
	closed bool
}

type proposal struct{ done func(error) }

// add takes note of a proposal; false: there is no Raft to take it.
func (p *proposals) add(one *proposal) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.open[one] = struct{}{}
	return true
}

// finish answers a proposal, if nobody has.
func (p *proposals) finish(one *proposal, err error) {
	p.mu.Lock()
	_, open := p.open[one]
	delete(p.open, one)
	p.mu.Unlock()
	if open {
		one.done(err)
	}
}

// close answers all open proposals, whose outcome is unknown, and refuses
// further ones. Raft must have ended: what comes after it would never be
// answered.
func (p *proposals) close() {
	p.mu.Lock()
	p.closed = true
	all := p.open
	p.open = map[*proposal]struct{}{}
	p.mu.Unlock()
	for one := range all {
		one.done(ErrOutcomeUnknown)
	}
}

// reopen takes proposals again, for another raft.Raft.
func (p *proposals) reopen() {
	p.mu.Lock()
	p.closed = false
	p.mu.Unlock()
}

// Propose gives an entry to Raft. done is called once, from another goroutine:
// with nil when the entry is committed, else with ErrNotProposed or
// ErrOutcomeUnknown. data must not be changed afterwards.
func (g *Group) Propose(data []byte, done func(error)) {
	if len(data) > EntryBytesMax {
		go done(ErrEntryTooLong)
		return
	}
	p := &proposal{done}
	if !g.proposals.add(p) {
		go done(ErrNotProposed)
		return
	}
	began := time.Now()
	f := g.raft.Load().Apply(data, proposeTimeout)
	go func() {
		err := classify(f.Error())
		g.cfg.took(Commit, began)
		g.counts.answered(err)
		g.proposals.finish(p, err)
	}()
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
