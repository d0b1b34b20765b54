package shard

import (
	"context"
	"sync"
	"time"

	"lockstep/cluster/raftio"
)

// ReadMode is how a leader proves that it still leads.
type ReadMode uint8

const (
	// ReadLease trusts the leader's lease, and asks a quorum if there is no lease.
	ReadLease ReadMode = iota
	// ReadQuorum asks a quorum for every batch of reads.
	ReadQuorum
)

// ConfirmLeadership returns nil if this node led the group at some time after the call:
// at once by the lease, or after a quorum has acknowledged requests sent after the call.
// Raft's own VerifyLeader would not be enough: it counts answers to requests sent before
// the call. After a pause of this process they may be long out of date.
func (g *Group) ConfirmLeadership(ctx context.Context, mode ReadMode) error {
	term, leads := g.Leadership()
	if !leads {
		return ErrNotLeading
	}
	if mode == ReadLease && g.lease.Valid(term) {
		return nil
	}
	proven, err := g.rounds.join(ctx)
	if err == nil && proven != term {
		return ErrNotLeading
	}
	return err
}

// Leased reports whether this node leads a term and the lease alone proves it.
func (g *Group) Leased(term uint64, mode ReadMode) bool {
	now, leads := g.Leadership()
	return leads && now == term && mode == ReadLease && g.lease.Valid(term)
}

// committedEvery is how often awaitCommitted checks the state machine.
const committedEvery = time.Millisecond

// awaitCommitted waits until the state machine has been given all entries that this
// leader knows to be committed: another replica may be as far. After the last command
// there are at most configurations, which the state machine is given, too.
func (g *Group) awaitCommitted(ctx context.Context) error {
	for committed := g.raft.Load().CommitIndex(); g.counts.taken.Load() < committed; pause(ctx, committedEvery) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// quorumRounds lets readers that wait together share one question to the quorum.
type quorumRounds struct {
	// ask asks a quorum and returns the term this node was confirmed in.
	ask func() (term uint64, err error)

	mu sync.Mutex // guards next, busy
	// next is the round that has not begun to ask.
	next *quorumRound
	busy bool
}

type quorumRound struct {
	done chan struct{}
	term uint64
	err  error
}

// join waits for a round that starts after the call.
func (q *quorumRounds) join(ctx context.Context) (term uint64, err error) {
	q.mu.Lock()
	r := q.next
	if r == nil {
		r = &quorumRound{done: make(chan struct{})}
		q.next = r
	}
	if !q.busy {
		q.busy = true
		go q.run()
	}
	q.mu.Unlock()
	select {
	case <-r.done:
		return r.term, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// run asks, round after round, while readers wait.
func (q *quorumRounds) run() {
	for {
		q.mu.Lock()
		r := q.next
		q.next = nil
		if r == nil {
			q.busy = false
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		r.term, r.err = q.ask()
		close(r.done)
	}
}

// askQuorum waits for acknowledgements of requests sent from now on.
func (g *Group) askQuorum() (uint64, error) {
	begin := raftio.Now()
	term, leads := g.Leadership()
	if !leads {
		return 0, ErrNotLeading
	}
	// A leader that gets no answer from a quorum for so long counts as none.
	deadline := time.NewTimer(2 * ms(g.cfg.HeartbeatMs))
	defer deadline.Stop()
	// VerifyLeader sends the heartbeats that are needed. Its own answer is not used.
	g.raft.Load().VerifyLeader()
	for {
		changed := g.acks.Changed()
		if now, leads := g.Leadership(); !leads || now != term {
			return 0, ErrNotLeading
		}
		voters := g.latest.Load().Voters()
		if raftio.QuorumSent(g.acks, g.cfg.LocalID, voters, term, raftio.Now()) >= begin {
			return term, nil
		}
		select {
		case <-changed:
		case <-deadline.C:
			return 0, ErrNotLeading
		}
	}
}
