package alone

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/cluster"
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/reply"
	"lockstep/engine/sched"
	"lockstep/fsm"
)

// shard is the state machine and its log. It implements client.Executor, and runs one call at a
// time.
type shard struct {
	// wanted returns the settings that the machine should have.
	wanted func() command.Settings

	mu      sync.Mutex
	machine *fsm.Machine
	index   uint64
	stampMs int64
	receive *receiver

	// waiting holds the waiting clients, in order. filled is true if one of them may find
	// something. waits counts all of them, to number them.
	waiting []*waiting
	filled  atomic.Bool
	waits   uint64
}

// waiting is a client with a blocking command.
type waiting struct {
	call   *cluster.Call
	txn    fsm.Txn
	served chan struct{}
}

const (
	group = 7
	// dueMax is the largest number of expired keys that one entry deletes.
	dueMax = 512
	// patience is how long a transaction may run.
	patience = 30 * time.Second
	// readTriesMax bounds how often a read is tried again because a key has just expired.
	readTriesMax = 8
)

// receiver takes the reply of the only transaction in an entry.
type receiver struct {
	reply   []byte
	outcome fsm.Outcome
	done    chan struct{}
}

// Deliver implements fsm.Receiver.
func (r *receiver) Deliver(_ int, reply []byte, outcome fsm.Outcome, _ int64) {
	r.reply, r.outcome = reply, outcome
	close(r.done)
}

// Receiver implements fsm.Sink. Entries come one after the other.
func (a *shard) Receiver(fsm.EntryID) fsm.Receiver { return a.receive }

// Wants implements command.Observer.
func (a *shard) Wants(command.EventClass) bool { return false }

// Event implements command.Observer.
func (a *shard) Event(command.EventClass, string, int, []byte) {}

// Filled implements command.Observer.
func (a *shard) Filled(int, []byte, engine.Kind) { a.filled.Store(true) }

// Gone implements command.Observer.
func (a *shard) Gone(int, []byte) { a.filled.Store(true) }

// Shards implements client.Executor.
func (a *shard) Shards() int { return 1 }

// ShardOfSlot implements client.Executor.
func (a *shard) ShardOfSlot(uint16) int { return 0 }

// Indexes implements client.Executor.
func (a *shard) Indexes(_ context.Context, shards []int) ([]uint64, error) {
	indexes := make([]uint64, len(shards))
	for i := range indexes {
		indexes[i] = a.machine.Taken()
	}
	return indexes, nil
}

// Await implements client.Executor. This is the only replica.
func (a *shard) Await(ctx context.Context, floors map[int]uint64) bool {
	return a.machine.WaitTaken(ctx, floors[0]) == nil
}

// Go implements client.Executor.
func (a *shard) Go(ctx context.Context, calls []*cluster.Call, done func(alone bool)) (answered bool) {
	go func() {
		a.Do(ctx, calls)
		done(true)
	}()
	return false
}

// Do implements client.Executor.
func (a *shard) Do(ctx context.Context, calls []*cluster.Call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range calls {
		if c.Err = a.prepareLocked(ctx); c.Err != nil {
			continue
		}
		if c.ReadOnly {
			c.Reply, c.Err = a.readLocked(ctx, &c.Txn)
		} else {
			c.Reply, c.Err = a.applyLocked(c.Txn)
		}
		a.serveLocked()
	}
}

// Block implements client.Executor.
func (a *shard) Block(ctx context.Context, timeout time.Duration, call *cluster.Call, waits func()) bool {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	w := a.enter(call)
	select {
	case <-w.served:
		return true
	default:
		waits()
	}
	select {
	case <-w.served:
		return true
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = slices.DeleteFunc(a.waiting, func(other *waiting) bool { return other == w })
	select {
	case <-w.served:
		return true
	default:
		return false
	}
}

// enter serves a client at once, or adds it behind the other waiting clients.
func (a *shard) enter(call *cluster.Call) *waiting {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waits++
	w := &waiting{call: call, txn: call.Txn, served: make(chan struct{})}
	w.txn.Kind = fsm.KindServe
	w.txn.Serve.Wait = fsm.TxnID{Origin: fsm.Origin{Node: 1, Boot: 1, Lane: fsm.WaitLane + uint32(a.waits%fsm.WaitLanes)}, Seq: a.waits}
	if call.Err = a.prepareLocked(context.Background()); call.Err != nil {
		close(w.served)
	} else if !a.tryLocked(w, fsm.ServeComes) {
		a.waiting = append(a.waiting, w)
	}
	a.serveLocked()
	return w
}

// serveLocked serves the waiting clients, the oldest first, as long as one may find something.
func (a *shard) serveLocked() {
	for a.filled.Swap(false) {
		a.waiting = slices.DeleteFunc(a.waiting, func(w *waiting) bool { return a.tryLocked(w, 0) })
	}
}

// tryLocked serves a client if its key has something for it.
func (a *shard) tryLocked(w *waiting, how fsm.ServeHow) bool {
	c := w.call
	if c.ReadOnly {
		c.Reply, c.Err = a.readLocked(context.Background(), &c.Txn)
		if reply.IsNull(c.Reply) {
			return false
		}
	} else {
		w.txn.Serve.How = how
		if c.Reply, c.Err = a.applyLocked(w.txn); c.Err == nil && a.receive.outcome == fsm.OutcomeUnserved {
			return false
		}
	}
	close(w.served)
	return true
}

// applyLocked logs and runs a transaction, and returns its reply.
func (a *shard) applyLocked(t fsm.Txn) ([]byte, error) {
	a.index++
	a.stampMs = max(a.stampMs, time.Now().UnixMilli())
	a.receive = &receiver{done: make(chan struct{})}
	b := fsm.NewEntryBuilder(group, fsm.EntryID{Node: 1, Boot: 1, N: a.index}, a.stampMs, 128)
	b.Add(fsm.AppendBundle(nil, &fsm.Bundle{Txns: []fsm.Txn{t}}))
	if err := a.machine.Apply(a.index, b.Finish()); err != nil {
		return nil, err
	}
	select {
	case <-a.receive.done:
		return a.receive.reply, nil
	case <-time.After(patience):
		return nil, cluster.ErrUnknown
	}
}

// readLocked runs a read. If the read meets an expired key, an entry moves the log's time on. If it
// runs a script that is not cached, an entry caches the script.
func (a *shard) readLocked(ctx context.Context, t *fsm.Txn) ([]byte, error) {
	for range readTriesMax {
		reply, err := a.machine.Read(ctx, t, fsm.ReadOptions{LeaderMs: max(a.stampMs, time.Now().UnixMilli()), Seed: a.index})
		var uncached *fsm.UncachedError
		needed := fsm.Txn{Kind: fsm.KindTick}
		switch {
		case errors.As(err, &uncached):
			needed = fsm.KeepScript(uncached.Source)
		case !errors.Is(err, fsm.ErrDue):
			return reply, err
		}
		if _, err := a.applyLocked(needed); err != nil {
			return nil, err
		}
	}
	return nil, cluster.ErrOverloaded
}

// prepareLocked does a part of the work of a shard's leader: it logs changed settings, and deletes
// expired keys.
func (a *shard) prepareLocked(ctx context.Context) error {
	want, have := a.wanted(), a.machine.Settings()
	for _, name := range command.SettingNames() {
		if value := *want.Ref(name); value != *have.Ref(name) {
			args := [][]byte{[]byte("lockstep.set"), []byte(name), strconv.AppendInt(nil, value, 10)}
			if _, err := a.applyLocked(fsm.Txn{Kind: fsm.KindSetting, Ops: []fsm.Op{{Args: args}}}); err != nil {
				return err
			}
		}
	}
	due, err := a.dueLocked(ctx, time.Now().UnixMilli())
	if err != nil || len(due) == 0 {
		return err
	}
	args := [][]byte{[]byte("lockstep.expire")}
	for _, d := range due {
		args = append(args, strconv.AppendInt(nil, int64(d.DB), 10), []byte(d.Key))
	}
	_, err = a.applyLocked(fsm.Txn{Kind: fsm.KindExpire, Ops: []fsm.Op{{Args: args}}})
	return err
}

func (a *shard) dueLocked(ctx context.Context, nowMs int64) ([]engine.Due, error) {
	var due []engine.Due
	ks, locks := a.machine.Keyspace(), a.machine.Sched()
	for slot := range int32(ks.LockSlots()) {
		if at := ks.SlotDueMs(slot); at == 0 || at > nowMs {
			continue
		}
		var ticket sched.Ticket
		access := sched.Access{Slots: []sched.SlotMode{{Slot: slot, Mode: sched.Shared}}}
		if err := locks.Lock(ctx, &ticket, &access); err != nil {
			return nil, err
		}
		due = ks.AppendDue(due, slot, nowMs, dueMax-len(due))
		locks.Unlock(&ticket)
	}
	return due, nil
}
