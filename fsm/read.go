package fsm

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/sched"
)

// ErrDue says that a read met a key that has expired by the leader's clock but not
// yet by the log's. The read must be retried once the log's time has moved on.
var ErrDue = errors.New("fsm: a key is due")

// ErrLogged says that a program that was taken for a read writes, and must enter
// the log.
var ErrLogged = errors.New("fsm: the program writes")

// UncachedError says that a read runs a script that is not in the cache yet.
// KeepScript puts it there. With ReadOptions.Uncached the read runs without that.
type UncachedError struct{ Source []byte }

func (*UncachedError) Error() string { return "fsm: the script is not in the cache" }

// KeepScript is the txn that caches a script that a read has evaluated.
func KeepScript(source []byte) Txn {
	return Txn{Ops: []Op{{Args: [][]byte{[]byte("lockstep.keep"), source}}}}
}

// ReadOptions are the values that a read gets from the node it runs on.
type ReadOptions struct {
	// LeaderMs is the leader's log time. It is 0 on a replica that answers from its own state;
	// there the log's time alone decides what has expired, and ReplicaMs is the replica's own
	// clock, for commands that ask for the time.
	LeaderMs, ReplicaMs int64
	// Seed is the read's random seed.
	Seed uint64
	// Uncached lets scripts run that are not in the cache.
	Uncached bool
	// Patient bounds how long the read waits for its locks; nil means as long as its context lasts.
	// A read that waited too long fails with a *sched.WaitError.
	Patient sched.Patient
	// Stop is called now and then, and returns why a running script must end, or
	// nil. If Stop is nil, scripts are never stopped.
	Stop func() error
}

// Read runs a read-only txn (one command under shared locks, or a transaction) and
// returns its reply. It sees every txn whose ticket was taken before. A key counts
// as expired by the log's time at that instant: a later time may be that of a txn
// that waits behind the read and keeps the key.
func (m *Machine) Read(ctx context.Context, t *Txn, opt ReadOptions) ([]byte, error) {
	if t.Kind == KindExec {
		return m.readExec(ctx, t, opt)
	}
	st := m.state.Load()
	x := m.executions.get()
	defer m.executions.put(x)
	x.out.Reset(int(t.Proto))
	op := &t.Ops[0]
	spec := op.lookup()
	x.ctx = m.readContext(st, x, opt)
	x.ctx.DB, x.ctx.NoTouch = op.DB, t.NoTouch
	x.ctx.User, x.ctx.Caller = m.users.of(t.User), t.Caller
	if err := m.planRead(st, op, &opt, false); err != nil {
		return nil, err
	}
	if spec.Scope != command.ScopeKeys && (op.plan == nil || op.plan.Access == command.PlanNothing) {
		// The command locks each slot by itself as it walks.
		x.ctx.NowMs, x.ctx.DayOffsetMs = m.stampMs.Load(), m.DayOffsetMs()
		w := &slotWalker{ctx: ctx, patient: opt.Patient, sched: st.sched, ticket: sched.Ticket{Label: spec.Name, Detail: op.program(), Long: op.TakesLong()}}
		x.ctx.Walk = w
		runOp(m, &x.ctx, op)
		w.close()
		if w.err != nil {
			return nil, w.err
		}
		return shared(x.out.Bytes()), nil
	}
	r := readPool.Get().(*reading)
	defer readPool.Put(r)
	r.ticket.Label, r.ticket.Detail, r.ticket.Long = spec.Name, op.program(), op.TakesLong()
	if err := m.lockRead(ctx, st, r, op, &opt); err != nil {
		return nil, err
	}
	x.ctx.NowMs, x.ctx.DayOffsetMs = r.ticket.Moment, m.DayOffsetMs()
	runOp(m, &x.ctx, op)
	st.sched.Unlock(&r.ticket)
	if x.ctx.Due {
		return nil, ErrDue
	}
	return shared(x.out.Bytes()), nil
}

// readExec runs a transaction whose commands only read. It takes the same locks as
// it would in the log.
func (m *Machine) readExec(ctx context.Context, t *Txn, opt ReadOptions) ([]byte, error) {
	if !t.mayOnlyRead() {
		return nil, ErrLogged
	}
	st := m.state.Load()
	x := m.executions.get()
	defer m.executions.put(x)
	x.out.Reset(int(t.Proto))
	x.ctx = m.readContext(st, x, opt)
	x.ctx.NoTouch, x.ctx.Walk = t.NoTouch, command.HeldWalker{}
	x.ctx.User, x.ctx.Caller = m.users.of(t.User), t.Caller
	r := readPool.Get().(*reading)
	defer readPool.Put(r)
	if err := m.lockExec(ctx, st, r, t, &opt); err != nil {
		return nil, err
	}
	x.ctx.NowMs, x.ctx.DayOffsetMs = r.ticket.Moment, m.DayOffsetMs()
	for i := range t.Watches {
		// A watched key that has expired counts as changed.
		x.ctx.PeekDB(t.Watches[i].DB, t.Watches[i].Key)
	}
	runTxn(m, &x.ctx, t)
	st.sched.Unlock(&r.ticket)
	if x.ctx.Due {
		return nil, ErrDue
	}
	return shared(x.out.Bytes()), nil
}

// readContext is the context of a read, without its keys and arguments. The txn's
// number is taken before the ticket: it may then be too small, but never too large.
func (m *Machine) readContext(st *state, x *execution, opt ReadOptions) command.Ctx {
	c := command.Ctx{
		KS:           st.ks,
		Out:          &x.out,
		TxnNo:        m.txnNo.Load(),
		Seed:         opt.Seed,
		Owns:         m.cfg.Owns,
		Stop:         opt.Stop,
		Commands:     commands.Table(),
		Times:        command.Times{LeaderMs: opt.LeaderMs, ReplicaMs: opt.ReplicaMs},
		Meter:        command.Meter{Settings: m.settings.Load(), Rest: m.cfg.Rest},
		Listeners:    command.Listeners{Observer: m.cfg.Observer, Witness: m.cfg.Witness},
		ProgramState: command.ProgramState{Programs: st.programs, TakeBack: m.cfg.TakeBack},
	}
	if m.cfg.UseTick != nil {
		c.UseTick = m.cfg.UseTick()
	}
	return c
}

// lockExec plans a transaction whose commands only read, and takes its locks.
func (m *Machine) lockExec(ctx context.Context, st *state, r *reading, t *Txn, opt *ReadOptions) error {
	for range readPlansMax {
		for i := range t.Ops {
			if err := m.planRead(st, &t.Ops[i], opt, true); err != nil {
				return err
			}
		}
		r.access.Reset()
		var first engine.Lookup
		accessOf(&r.access, &first, st.ks, t)
		r.ticket.Label, r.ticket.Detail, r.ticket.Long = "exec", "", t.TakesLong()
		if t.has((*command.Spec).RunsProgram) {
			r.ticket.Label, r.ticket.Detail = t.label()
		}
		if err := st.sched.LockWithin(ctx, opt.Patient, &r.ticket, &r.access); err != nil {
			return err
		}
		if !t.outOfDate(st.programs) {
			return nil
		}
		st.sched.Unlock(&r.ticket)
	}
	return ErrLogged
}

// outOfDate reports whether the functions have changed since the txn's calls were planned.
func (t *Txn) outOfDate(programs *command.Programs) bool {
	for i := range t.Ops {
		if plan := t.Ops[i].plan; plan != nil && plan.OutOfDate(programs) {
			return true
		}
	}
	return false
}

// planRead plans a read, or a command of a read-only transaction, if its row asks for it.
func (m *Machine) planRead(st *state, op *Op, opt *ReadOptions, inExec bool) error {
	if op.Sum != nil {
		// Only the log leaves texts out.
		return ErrLogged
	}
	if op.lookup().Plan == nil {
		return nil
	}
	op.makePlan(&command.Planning{Programs: st.programs, Settings: m.settings.Load(), InExec: inExec})
	switch {
	case op.plan.Writes:
		return ErrLogged
	case op.plan.Uncached != nil && !opt.Uncached:
		return &UncachedError{op.plan.Uncached}
	}
	return nil
}

// readPlansMax is how often a read is planned again because functions changed
// before it had its locks. After that it goes through the log.
const readPlansMax = 16

// lockRead takes a read's locks.
func (m *Machine) lockRead(ctx context.Context, st *state, r *reading, op *Op, opt *ReadOptions) error {
	for range readPlansMax {
		r.access.Reset()
		if op.plan != nil {
			op.lock(&r.access, st.ks)
		} else if spec := op.lookup(); spec.Wanders != nil && spec.Wanders(op.Args) {
			r.access.Global = true
		} else {
			for _, k := range spec.AppendKeys(r.keys[:0], op.Args) {
				r.access.Add(st.ks.LockSlot(op.Args[k.Pos]), sched.Shared)
			}
		}
		if err := st.sched.LockWithin(ctx, opt.Patient, &r.ticket, &r.access); err != nil {
			return err
		}
		if op.plan == nil || !op.plan.OutOfDate(st.programs) {
			return nil
		}
		st.sched.Unlock(&r.ticket)
		if err := m.planRead(st, op, opt, false); err != nil {
			return err
		}
	}
	return ErrLogged
}

// slotWalker locks one lock slot at a time and nothing in between, so that it never
// holds a permit while it waits for a slot.
type slotWalker struct {
	ctx     context.Context
	patient sched.Patient
	sched   *sched.Scheduler
	ticket  sched.Ticket
	access  sched.Access
	held    bool
	// err is why a slot could not be locked.
	err error
}

// Enter implements command.Walker.
func (w *slotWalker) Enter(slot int32) error {
	w.access.Reset()
	w.access.Add(slot, sched.Shared)
	w.err = w.sched.LockWithin(w.ctx, w.patient, &w.ticket, &w.access)
	w.held = w.err == nil
	return w.err
}

// Leave implements command.Walker.
func (w *slotWalker) Leave(int32) { w.close() }

// Sum implements command.Walker.
func (w *slotWalker) Sum(slots int32, of func(slot int32) int) (int, error) {
	ctx := w.ctx
	if w.patient != nil {
		var cancel context.CancelFunc
		ctx, cancel = w.patient(ctx)
		defer cancel()
	}
	var n atomic.Int64
	w.err = w.sched.Sweep(ctx, w.ticket.Label, func(slot int32) {
		if slot < slots { // behind them is the lane (backlog.go)
			n.Add(int64(of(slot)))
		}
	})
	return int(n.Load()), w.err
}

// close releases a slot that a failed command left locked.
func (w *slotWalker) close() {
	if w.held {
		w.held = false
		w.sched.Unlock(&w.ticket)
	}
}

// reading is the pooled state that reads need for their ticket. lookups and ends
// belong to reads that run together: the keys, and where the replies end.
type reading struct {
	ticket  sched.Ticket
	access  sched.Access
	keys    [8]command.KeyRef
	lookups []engine.Lookup
	ends    []int
}

var readPool = sync.Pool{New: func() any { return new(reading) }}
