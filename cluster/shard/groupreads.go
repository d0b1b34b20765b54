package shard

import (
	"context"
	"sync"
	"time"

	"lockstep/cluster/raftio"
)

// ConfirmLeadership returns nil when this node led the group at some time after
// the call: at once by the lease, or after a quorum has acknowledged requests
// sent after the call. Raft's own VerifyLeader would not do: it counts answers
// to requests sent before the call, which after a pause of this process may
// say what was true long ago.
func (g *Group) ConfirmLeadership(ctx context.Context, mode ReadMode) error {
	r := g.raft.Load()
	if !g.IsLeader() {
		return ErrNotLeading
	}
	term := r.CurrentTerm()
	if mode == ReadLease && g.lease.Valid(term) {
		return nil
	}
	return g.rounds.join(ctx, term)
}

// quorumRounds lets readers that wait together share the question.
type quorumRounds struct {
	group *Group
	mu    sync.Mutex
	// next is the round that has not begun to ask.
	next *quorumRound
	busy bool
}

type quorumRound struct {
	term uint64
	done chan struct{}
	err  error
}

// roundTimeout bounds one round; a leader that hears from no quorum for so long
// is none.
const roundTimeout = 3 * time.Second

func (q *quorumRounds) join(ctx context.Context, term uint64) error {
	q.mu.Lock()
	r := q.next
	if r == nil || r.term != term {
		r = &quorumRound{term: term, done: make(chan struct{})}
		q.next = r
	}
	if !q.busy {
		q.busy = true
		go q.run()
	}
	q.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
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
		r.err = q.group.askQuorum(r.term)
		close(r.done)
	}
}

// askQuorum waits for acknowledgements of requests sent from now on.
func (g *Group) askQuorum(term uint64) error {
	begin := raftio.Now()
	deadline := time.NewTimer(roundTimeout)
	defer deadline.Stop()
	// The heartbeats this sends out are what is wanted; its answer is not.
	g.raft.Load().VerifyLeader()
	for {
		changed := g.acks.Changed()
		voters, err := g.currentVoters()
		if err != nil || !g.IsLeader() || g.Term() != term {
			return ErrNotLeading
		}
		if raftio.QuorumSent(g.acks, g.cfg.LocalID, voters, term, raftio.Now()) >= begin {
			return nil
		}
		select {
		case <-changed:
		case <-deadline.C:
			return ErrNotLeading
		}
	}
}
