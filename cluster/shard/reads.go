package shard

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"

	"lockstep/cluster"
	"lockstep/fsm"
)

// dueRetriesMax bounds how often a read waits for the log's time to pass a
// key's expiry; each wait brings it a whole entry further.
const dueRetriesMax = 8

// readBytesMax is the size of replies beyond which the txns that remain are left
// to the next call: a client may ask for a thousand large values in one go.
const readBytesMax = 1 << 20

// Read answers read-only txns, in order, each after the one before; the last
// ones are left out when the replies are large. It returns ErrNotLeader where
// this node cannot prove that it leads.
func (s *Shard) Read(ctx context.Context, txns []fsm.Txn) ([]Reply, error) {
	if err := s.gate(ctx); err != nil {
		return nil, err
	}
	replies := make([]Reply, 0, len(txns))
	size := 0
	opt := fsm.ReadOptions{LeaderMs: s.clock.nowMs(), Seed: rand.Uint64()}
	for i := range txns {
		bytes, err := s.readOne(ctx, &txns[i], opt)
		opt.Seed++
		if err != nil {
			return nil, err
		}
		replies = append(replies, Reply{Bytes: bytes})
		if size += len(bytes); size > readBytesMax {
			break
		}
	}
	return replies, nil
}

// ReadOwn answers read-only txns from this replica's state, however old.
func (s *Shard) ReadOwn(ctx context.Context, txns []fsm.Txn) ([]Reply, error) {
	replies := make([]Reply, 0, len(txns))
	size := 0
	for i := range txns {
		bytes, err := s.machine.Read(ctx, &txns[i], fsm.ReadOptions{Seed: rand.Uint64()})
		if err != nil {
			return nil, err
		}
		replies = append(replies, Reply{Bytes: bytes})
		if size += len(bytes); size > readBytesMax {
			break
		}
	}
	return replies, nil
}

// gate waits for proof, newer than the call, that this node leads, and for the
// term's first entry to have executed: what an earlier leader acknowledged is
// then in the state.
func (s *Shard) gate(ctx context.Context) error {
	term := s.readyTerm.Load()
	if term == 0 {
		return cluster.ErrNotLeader
	}
	if err := s.group.ConfirmLeadership(ctx, s.cfg.ReadMode()); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return cluster.ErrNotLeader
	}
	if s.readyTerm.Load() != term || s.group.Term() != term {
		return cluster.ErrNotLeader
	}
	return nil
}

func (s *Shard) readOne(ctx context.Context, t *fsm.Txn, opt fsm.ReadOptions) ([]byte, error) {
	for range dueRetriesMax {
		reply, err := s.machine.Read(ctx, t, opt)
		if !errors.Is(err, fsm.ErrDue) {
			return reply, err
		}
		if err := s.ticks.tick(ctx); err != nil {
			return nil, cluster.ErrNotLeader
		}
	}
	return nil, cluster.ErrOverloaded
}

// ticker carries the log's time onwards for reads that wait for it; reads that
// wait together share an entry.
type ticker struct {
	shard *Shard
	mu    sync.Mutex
	next  *tickRound
}

type tickRound struct {
	done chan struct{}
	err  error
}

func (t *ticker) init(s *Shard) { t.shard = s }

// tick returns when an entry stamped after the call has executed.
func (t *ticker) tick(ctx context.Context) error {
	t.mu.Lock()
	r := t.next
	if r == nil {
		r = &tickRound{done: make(chan struct{})}
		t.next = r
		go t.run(r)
	}
	t.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *ticker) run(r *tickRound) {
	// From here on the entry's stamp is fixed: later callers need the next round.
	t.mu.Lock()
	t.next = nil
	t.mu.Unlock()
	r.err = t.shard.proposeTick(t.shard.ctx)
	close(r.done)
}
