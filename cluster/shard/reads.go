package shard

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"lockstep/cluster"
	"lockstep/fsm"
)

// dueRetriesMax bounds how often a read waits for the log's time to pass a key's expiry.
// Each wait moves the time on by a whole entry.
const dueRetriesMax = 8

// readBytesMax is the size of replies after which the remaining txns are left for the
// next call: a client may ask for a thousand large values at once.
const readBytesMax = 1 << 20

// reads answers a shard's reads.
type reads struct {
	shard *Shard
	ticks ticker
	// using is held shared while a read uses the state machine, which keeps it open. It guards
	// closed.
	using  sync.RWMutex
	closed bool
}

func (r *reads) init(s *Shard) {
	r.shard = s
	r.ticks.init(s)
}

// Read answers read-only txns in order, one after the other. It leaves the last ones out
// if the replies are large. It returns ErrNotLeader if this node cannot prove that it
// leads, and ends with ctx or at the deadline.
//
// The result shows all entries up to atLeast, even those that are only committed: a
// follower can run an entry before its leader does, and a client of that follower may
// have seen it.
func (s *Shard) Read(ctx context.Context, deadline time.Time, txns []fsm.Txn, atLeast uint64) ([]Reply, error) {
	return s.reads.read(ctx, deadline, txns, atLeast)
}

func (r *reads) read(ctx context.Context, deadline time.Time, txns []fsm.Txn, atLeast uint64) ([]Reply, error) {
	replies := r.readNow(txns, atLeast)
	if len(replies) == len(txns) {
		return replies, nil
	}
	opt := fsm.ReadOptions{Seed: rand.Uint64()}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	if err := r.gate(ctx); err != nil {
		return nil, err
	}
	if err := r.catchUp(ctx, atLeast); err != nil {
		return nil, err
	}
	if !r.enter() {
		return nil, cluster.ErrNotLeader
	}
	defer r.using.RUnlock()
	return r.readOn(ctx, txns, replies, opt)
}

// ReadNow answers the read-only txns at the front that are quick and need not wait for
// anything. It answers none if this node cannot prove at once that it leads. It never
// waits.
func (s *Shard) ReadNow(txns []fsm.Txn, atLeast uint64) []Reply {
	return s.reads.readNow(txns, atLeast)
}

func (r *reads) readNow(txns []fsm.Txn, atLeast uint64) []Reply {
	s := r.shard
	replies := make([]Reply, 0, len(txns))
	if r.provenNow() && s.machine.Taken() >= atLeast && r.enter() {
		opt := fsm.ReadOptions{Seed: rand.Uint64(), LeaderMs: s.clock.nowMs()}
		replies = s.machine.ReadTogether(txns, opt, replies)
		r.using.RUnlock()
	}
	return replies
}

// readOn answers the txns after those that have replies.
func (r *reads) readOn(ctx context.Context, txns []fsm.Txn, replies []Reply, opt fsm.ReadOptions) ([]Reply, error) {
	s := r.shard
	size := bytesOf(replies)
	for len(replies) < len(txns) && (size <= readBytesMax || len(replies) == 0) {
		opt.Seed += uint64(len(txns))
		opt.LeaderMs = s.clock.nowMs()
		begin := len(replies)
		replies = s.machine.ReadTogether(txns[begin:], opt, replies)
		if begin == len(replies) {
			bytes, err := r.readOne(ctx, &txns[begin], opt)
			if err != nil {
				return nil, err
			}
			replies = append(replies, Reply{Bytes: bytes})
		}
		size += bytesOf(replies[begin:])
	}
	return replies, nil
}

func bytesOf(replies []Reply) (n int) {
	for i := range replies {
		n += len(replies[i].Bytes)
	}
	return n
}

// catchUpMax is how long a read waits for this leader to run what another node has run
// already. Then the gateway asks again.
const catchUpMax = time.Second

func (r *reads) catchUp(ctx context.Context, atLeast uint64) error {
	if r.shard.machine.Taken() >= atLeast {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpMax)
	defer cancel()
	if r.shard.machine.WaitTaken(ctx, atLeast) != nil {
		return cluster.ErrNotLeader
	}
	return nil
}

// Queued is the index of the last entry that this replica has started to run.
func (s *Shard) Queued() uint64 { return s.machine.Queued() }

// Executed is the index up to which this replica has run every entry.
func (s *Shard) Executed() uint64 { return s.machine.Executed() }

// enter keeps the state machine from being closed until the caller unlocks r.using. It
// returns false if it is closed.
func (r *reads) enter() bool {
	r.using.RLock()
	if r.closed {
		r.using.RUnlock()
		return false
	}
	return true
}

// close waits for the reads that use the state machine, and lets no more in.
func (r *reads) close() {
	r.using.Lock()
	r.closed = true
	r.using.Unlock()
}

// ReadOwn answers read-only txns from this replica's state, however old it is, if it is
// not older than the entry atLeast.
func (s *Shard) ReadOwn(ctx context.Context, txns []fsm.Txn, atLeast uint64) ([]Reply, error) {
	return s.reads.readOwn(ctx, txns, atLeast)
}

func (r *reads) readOwn(ctx context.Context, txns []fsm.Txn, atLeast uint64) ([]Reply, error) {
	if err := r.catchUp(ctx, atLeast); err != nil {
		return nil, err
	}
	if !r.enter() {
		return nil, cluster.ErrNoShard
	}
	defer r.using.RUnlock()
	s := r.shard
	replies := make([]Reply, 0, len(txns))
	for size := 0; len(replies) < len(txns) && size <= readBytesMax; {
		begin := len(replies)
		opt := fsm.ReadOptions{ReplicaMs: s.clock.nowMs(), Seed: rand.Uint64(), Uncached: true, Stop: r.stopper(ctx)}
		replies = s.machine.ReadTogether(txns[begin:], opt, replies)
		if begin == len(replies) {
			bytes, err := s.machine.Read(ctx, &txns[begin], opt)
			if err != nil {
				return nil, r.readError(err)
			}
			replies = append(replies, Reply{Bytes: bytes})
		}
		size += bytesOf(replies[begin:])
	}
	return replies, nil
}

// provenNow is gate without waiting: it reports whether the lease holds now.
func (r *reads) provenNow() bool {
	s := r.shard
	term := s.readyTerm.Load()
	return term != 0 && s.group.Leased(term, s.cfg.ReadMode()) && s.readyTerm.Load() == term
}

// ReadIndex returns a log index. The log up to that index holds everything that was
// acknowledged before the call, and everything that could be read from any replica by
// then (a follower may run an entry before its leader does). A replica that has applied
// the log up to that index shows all of that. ReadIndex returns ErrNotLeader if this node
// cannot prove that it leads, or is far behind.
func (s *Shard) ReadIndex(ctx context.Context) (uint64, error) {
	if err := s.reads.gate(ctx); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpMax)
	defer cancel()
	if s.group.awaitCommitted(ctx) != nil {
		return 0, cluster.ErrNotLeader
	}
	return s.machine.Queued(), nil
}

// Taken is the index up to which a read on this replica sees everything.
func (s *Shard) Taken() uint64 { return s.machine.Taken() }

// WaitTaken waits until Taken has reached index.
func (s *Shard) WaitTaken(ctx context.Context, index uint64) error {
	return s.machine.WaitTaken(ctx, index)
}

// gate waits for proof, newer than the call, that this node leads, and until the term's
// first entry has executed: then the state holds everything that earlier leaders
// acknowledged.
func (r *reads) gate(ctx context.Context) error {
	s := r.shard
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

func (r *reads) readOne(ctx context.Context, t *fsm.Txn, opt fsm.ReadOptions) ([]byte, error) {
	for range dueRetriesMax {
		opt.Stop, opt.Patient = r.stopper(ctx), r.patient
		reply, err := r.shard.machine.Read(ctx, t, opt)
		var uncached *fsm.UncachedError
		switch {
		case errors.As(err, &uncached):
			if err := r.keepScript(ctx, uncached.Source); err != nil {
				return nil, cluster.ErrNotLeader
			}
			// The cache may have had no room for it.
			opt.Uncached = true
		case errors.Is(err, fsm.ErrDue):
			if err := r.ticks.tick(ctx); err != nil {
				return nil, cluster.ErrNotLeader
			}
		default:
			return reply, r.readError(err)
		}
	}
	return nil, cluster.ErrOverloaded
}

// keepScript puts a script that a read evaluates into the cache of every replica, so that
// EVALSHA finds it.
func (r *reads) keepScript(ctx context.Context, source []byte) error {
	return r.shard.proposer.own(ctx, fsm.KeepScript(source))
}

// errBusy ends a read-only script that takes too long.
var errBusy = errors.New("the script ran for longer than busy-reply-threshold")

// patience is how long a read waits for its locks, and how long a read-only script
// may run after that. If it is 0, both may last until the read's deadline.
func (r *reads) patience() time.Duration {
	if r.shard.cfg.ScriptTimeout == nil {
		return 0
	}
	return r.shard.cfg.ScriptTimeout()
}

// patient bounds how long a read waits for its locks.
func (r *reads) patient(ctx context.Context) (context.Context, context.CancelFunc) {
	if d := r.patience(); d > 0 {
		return context.WithTimeout(ctx, d)
	}
	return ctx, func() {}
}

// stopper returns a function that ends a read-only script with an error: when no client
// waits for it any more, or when its time is over.
func (r *reads) stopper(ctx context.Context) func() error {
	patience := r.patience()
	var until time.Time
	return func() error {
		// The first call comes when the script has started.
		if until.IsZero() {
			until = time.Now().Add(patience)
		} else if patience > 0 && time.Now().After(until) {
			return errBusy
		}
		return ctx.Err()
	}
}

// ticker moves the log's time on for reads that wait for it. Reads that wait together
// share an entry.
type ticker struct {
	shard *Shard
	mu    sync.Mutex // guards next
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
	r.err = t.shard.proposer.tick(t.shard.ctx)
	close(r.done)
}
