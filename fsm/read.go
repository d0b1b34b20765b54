package fsm

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/sched"
)

// ErrDue says that a read met a key which is due by the leader's clock but not
// yet by the log's: it must be asked again once the log's time has moved on.
var ErrDue = errors.New("fsm: a key is due")

// ErrLogged says that what was taken for a read writes, and must enter the log.
var ErrLogged = errors.New("fsm: the program writes")

// UncachedError says that a read runs a script that is not in the cache yet:
// KeepScript puts it there. With ReadOptions.Uncached the read runs all the same.
type UncachedError struct{ Source []byte }

func (*UncachedError) Error() string { return "fsm: the script is not in the cache" }

// KeepScript is the txn that puts a script into the cache which was evaluated
// by a read.
func KeepScript(source []byte) Txn {
	return Txn{Ops: []Op{{Args: [][]byte{[]byte("lockstep.keep"), source}}}}
}

// ReadOptions are what a read gets from the node it runs on.
type ReadOptions struct {
	// LeaderMs is the leader's log time, 0 where the log's time alone says what has
	// expired: on a replica that is asked for what it has. There ReplicaMs is its own
	// clock, for what is asked of time.
	LeaderMs, ReplicaMs int64
	// Seed is the read's source of chance.
	Seed uint64
	// Uncached lets scripts run that are not in the cache.
	Uncached bool
	// Patient bounds how long the read waits for its locks; nil: as long as its context lasts.
	// Then it ends with a *sched.WaitError.
	Patient sched.Patient
	// Stop is asked now and then whether a script is to end, and why; nil: never.
	Stop func() error
}

// Read runs a read-only txn, of one command under shared locks or a transaction,
// and returns its reply. It sees every txn whose ticket was taken before, and what
// has expired by the log's time at that instant: a later time may be that of a txn
// which waits behind it and keeps the key.
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
		// Each slot is locked for itself as the command walks.
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

// readExec runs a transaction whose commands only read. It takes the locks that it
// would take in the log.
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
		// A watched key that is due has changed.
		x.ctx.PeekDB(t.Watches[i].DB, t.Watches[i].Key)
	}
	runTxn(m, &x.ctx, t)
	st.sched.Unlock(&r.ticket)
	if x.ctx.Due {
		return nil, ErrDue
	}
	return shared(x.out.Bytes()), nil
}

// readContext is the context of a read, but for what it reads. The txn's number is
// taken before the ticket: it may then be too small, never too large.
func (m *Machine) readContext(st *state, x *execution, opt ReadOptions) command.Ctx {
	c := command.Ctx{
		KS: st.ks, Out: &x.out,
		TxnNo: m.txnNo.Load(), Seed: opt.Seed, LeaderMs: opt.LeaderMs, ReplicaMs: opt.ReplicaMs, Settings: m.settings.Load(), Observer: m.cfg.Observer,
		Programs: st.programs, Owns: m.cfg.Owns, Stop: opt.Stop, Witness: m.cfg.Witness, Rest: m.cfg.Rest, TakeBack: m.cfg.TakeBack,
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

// planRead plans a read, or a command of a transaction that only reads, if its row asks for it.
func (m *Machine) planRead(st *state, op *Op, opt *ReadOptions, inExec bool) error {
	if op.Sum != nil {
		// Texts are left out in the log alone.
		return ErrLogged
	}
	if op.lookup().Plan == nil {
		return nil
	}
	op.settle(&command.Planning{Programs: st.programs, Settings: m.settings.Load(), InExec: inExec})
	switch {
	case op.plan.Writes:
		return ErrLogged
	case op.plan.Uncached != nil && !opt.Uncached:
		return &UncachedError{op.plan.Uncached}
	}
	return nil
}

// readPlansMax is how often a read is planned again because functions changed
// before it had its locks. Then it goes through the log.
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

// slotWalker locks one lock slot at a time, and nothing in between, so that it
// never holds a permit while it waits for a slot.
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

// close gives back a slot that a command left held when it failed.
func (w *slotWalker) close() {
	if w.held {
		w.held = false
		w.sched.Unlock(&w.ticket)
	}
}

// reading is what reads need for their ticket; pooled. lookups and ends are those
// of reads that run together: the keys, and where the replies end.
type reading struct {
	ticket  sched.Ticket
	access  sched.Access
	keys    [8]command.KeyRef
	lookups []engine.Lookup
	ends    []int
}

var readPool = sync.Pool{New: func() any { return new(reading) }}
