package fsm

import (
	"context"
	"errors"
	"sync"

	"lockstep/engine/command"
	"lockstep/engine/sched"
)

// ErrDue says that a read met a key which is due by the leader's clock but not
// yet by the log's: it must be asked again once the log's time has moved on.
var ErrDue = errors.New("fsm: a key is due")

// ReadOptions are what a read gets from the node it runs on.
type ReadOptions struct {
	// LeaderMs is the leader's clock, 0 where the log's time alone counts (on a
	// follower).
	LeaderMs int64
	// Seed is the read's source of chance.
	Seed uint64
}

// Read runs a read-only txn of one command under shared locks and returns its
// reply. It sees every txn whose ticket was taken before.
func (m *Machine) Read(ctx context.Context, t *Txn, opt ReadOptions) ([]byte, error) {
	st := m.state.Load()
	x := m.executions.get()
	defer m.executions.put(x)
	x.out.Reset(int(t.Proto))
	op := &t.Ops[0]
	spec := op.lookup()
	x.ctx = command.Ctx{
		KS: st.ks, DB: op.DB, Out: &x.out,
		TxnNo: m.txnNo.Load(), Seed: opt.Seed, LeaderMs: opt.LeaderMs, Settings: st.settings,
	}
	if m.cfg.AccessSec != nil {
		x.ctx.AccessSec = m.cfg.AccessSec()
	}
	if spec.Scope != command.ScopeKeys {
		// Each slot is locked for itself as the command walks.
		x.ctx.NowMs = m.stampMs.Load()
		w := &slotWalker{ctx: ctx, sched: st.sched}
		x.ctx.Walk = w
		runOp(m, &x.ctx, op)
		w.close()
		return shared(x.out.Bytes()), nil
	}
	r := readPool.Get().(*reading)
	defer readPool.Put(r)
	r.access.Reset()
	for _, k := range spec.AppendKeys(r.keys[:0], op.Args) {
		r.access.Add(st.ks.LockSlot(op.Args[k.Pos]), sched.Shared)
	}
	if err := st.sched.Lock(ctx, &r.ticket, &r.access); err != nil {
		return nil, err
	}
	x.ctx.NowMs = m.stampMs.Load()
	runOp(m, &x.ctx, op)
	st.sched.Unlock(&r.ticket)
	if x.ctx.Due {
		return nil, ErrDue
	}
	return shared(x.out.Bytes()), nil
}

// slotWalker locks one lock slot at a time, and nothing in between, so that it
// never holds a permit while it waits for a slot.
type slotWalker struct {
	ctx    context.Context
	sched  *sched.Scheduler
	ticket sched.Ticket
	access sched.Access
	held   bool
}

// Enter implements command.Walker.
func (w *slotWalker) Enter(slot int32) error {
	w.access.Reset()
	w.access.Add(slot, sched.Shared)
	err := w.sched.Lock(w.ctx, &w.ticket, &w.access)
	w.held = err == nil
	return err
}

// Leave implements command.Walker.
func (w *slotWalker) Leave(int32) { w.close() }

// close gives back a slot that a command left held when it failed.
func (w *slotWalker) close() {
	if w.held {
		w.held = false
		w.sched.Unlock(&w.ticket)
	}
}

// reading is what a read needs for its ticket; pooled.
type reading struct {
	ticket sched.Ticket
	access sched.Access
	keys   [8]command.KeyRef
}

var readPool = sync.Pool{New: func() any { return new(reading) }}
