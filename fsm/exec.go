package fsm

import (
	"fmt"
	"sync"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/reply"
	"lockstep/engine/sched"
)

// run is the applying of one entry.
type run struct {
	m        *Machine
	st       *state
	index    uint64
	stampMs  int64
	receiver Receiver
	entry    *openEntry
}

// work is one txn with its ticket.
type work struct {
	run    *run
	txn    *Txn
	record *dupRecord
	// ordinal is the txn's place in its entry, no its number in the shard.
	ordinal  int
	no       uint64
	settings *command.Settings
	task     sched.Task
	// slot is room for the one lock slot that most txns need.
	slot [1]sched.SlotMode
}

// apply judges every txn of the entry and submits those that are to run.
func (r *run) apply(e *Entry) {
	works := make([]work, 0, e.Txns)
	records := make([]dupRecord, e.Txns)
	ordinal := 0
	for i := range e.Bundles {
		b := &e.Bundles[i]
		lane := r.st.dup.lane(b, r.index)
		for j := range b.Txns {
			record, verdict := lane.judge(b.FirstSeq+uint64(j), &records[ordinal])
			switch verdict {
			case verdictStale:
				r.m.counters.Stale.Add(1)
				r.deliver(ordinal, nil, OutcomeStale)
			case verdictKnown:
				r.m.counters.Duplicates.Add(1)
				record.answer(r.receiver, ordinal)
			case verdictRun:
				works = append(works, work{run: r, txn: &b.Txns[j], record: record, ordinal: ordinal})
			}
			ordinal++
		}
	}
	r.entry.left.Add(int64(len(works)))
	r.submit(works)
	r.m.progress.done(r.entry, 1)
}

func (r *run) deliver(ordinal int, reply []byte, outcome Outcome) {
	if r.receiver != nil {
		r.receiver.Deliver(ordinal, reply, outcome)
	}
}

func (r *run) submit(works []work) {
	tasks := make([]*sched.Task, len(works))
	no := r.m.txnNo.Load()
	for i := range works {
		w := &works[i]
		no++
		w.no = no
		r.setting(w.txn)
		w.settings = r.st.settings
		w.task.Access.Slots = w.slot[:0]
		w.task.Heavy = accessOf(&w.task.Access, r.st.ks, w.txn)
		w.task.Work = w
		if len(w.txn.Ops) > 0 {
			w.task.SetLabel(w.txn.Ops[0].lookup().Name)
		}
		tasks[i] = &w.task
	}
	// Readers take the number before their ticket: it may then be too small,
	// which costs a watch a needless retry, but never too large.
	defer r.m.txnNo.Store(no)
	r.st.sched.SubmitAll(tasks)
}

// setting applies a change of settings at its place in the log: txns behind it
// get the new ones.
func (r *run) setting(t *Txn) {
	if t.Kind != KindSetting {
		return
	}
	s := *r.st.settings
	if s.Set(string(t.Ops[0].Args[1]), string(t.Ops[0].Args[2])) {
		r.st.settings = &s
		r.m.settings.Store(&s)
	}
}

// accessOf fills in what a logged txn locks, and tells whether it may take
// long. Work that touches the whole keyspace is global here even when it only
// reads: on every replica it must see the same moment.
func accessOf(a *sched.Access, ks *engine.Keyspace, t *Txn) (heavy bool) {
	var buf [8]command.KeyRef
	for i := range t.Ops {
		args := t.Ops[i].Args
		spec := t.Ops[i].lookup()
		if spec.Scope != command.ScopeKeys {
			a.SetGlobal(sched.Exclusive)
		}
		heavy = heavy || spec.Is(command.Heavy) || len(args) > heavyArgs
		for _, k := range spec.AppendKeys(buf[:0], args) {
			a.Add(ks.LockSlot(args[k.Pos]), k.Mode)
		}
	}
	for i := range t.Watches {
		a.Add(ks.LockSlot(t.Watches[i].Key), sched.Shared)
	}
	if t.Kind == KindExec {
		a.Raise()
	}
	return heavy
}

// heavyArgs is the number of arguments beyond which a command is handed to a
// worker: it takes more than some tens of microseconds.
const heavyArgs = 256

// execution is what running a txn needs; pooled.
type execution struct {
	ctx command.Ctx
	out reply.Writer
}

type executionPool struct{ pool sync.Pool }

func (p *executionPool) get() *execution {
	if x, ok := p.pool.Get().(*execution); ok {
		return x
	}
	return &execution{}
}

// bufferKept is the size of a reply buffer worth keeping.
const bufferKept = 64 << 10

func (p *executionPool) put(x *execution) {
	x.out.Release(bufferKept)
	x.ctx = command.Ctx{}
	p.pool.Put(x)
}

// Run implements sched.Runner: it runs the txn under its locks, and hands out
// the reply.
func (w *work) Run() {
	m := w.run.m
	x := m.executions.get()
	x.out.Reset(int(w.txn.Proto))
	x.ctx = command.Ctx{
		KS: w.run.st.ks, Out: &x.out,
		NowMs: w.run.stampMs, TxnNo: w.no, Seed: seed(w.run.index, w.ordinal),
		Logged: true, Walk: heldWalker{}, Settings: w.settings,
	}
	if m.cfg.AccessSec != nil {
		x.ctx.AccessSec = m.cfg.AccessSec()
	}
	runTxn(m, &x.ctx, w.txn)
	answer := shared(x.out.Bytes())
	m.executions.put(x)
	w.record.finish(answer)
	w.run.deliver(w.ordinal, answer, OutcomeDone)
	m.counters.Txns.Add(1)
	m.progress.done(w.run.entry, 1)
}

// runTxn runs all ops of a txn.
func runTxn(m *Machine, ctx *command.Ctx, t *Txn) {
	switch t.Kind {
	case KindTick, KindSetting:
		ctx.Out.OK()
	case KindExec:
		if !watchesHold(ctx, t) {
			ctx.Out.NullArray()
			return
		}
		ctx.Out.Array(len(t.Ops))
		for i := range t.Ops {
			runOp(m, ctx, &t.Ops[i])
		}
	default:
		runOp(m, ctx, &t.Ops[0])
	}
}

func watchesHold(ctx *command.Ctx, t *Txn) bool {
	for i := range t.Watches {
		w := &t.Watches[i]
		if !ctx.KS.Unchanged(ctx.KS.LockSlot(w.Key), w.DB, w.Key, w.Version, w.SeenAt, ctx.NowMs) {
			return false
		}
	}
	return true
}

// runOp runs one command. A panic becomes the command's error: the log would
// bring it to every replica, and again after every restart.
func runOp(m *Machine, ctx *command.Ctx, op *Op) {
	ctx.DB = op.DB
	begin := ctx.Out.Len()
	defer func() {
		if p := recover(); p != nil {
			m.counters.Panics.Add(1)
			ctx.Out.Truncate(begin)
			ctx.Out.Error(fmt.Sprintf("ERR internal error in '%s'; please report it", op.Args[0]))
		}
	}()
	spec := op.lookup()
	spec.Run(ctx, op.Args)
}

// heldWalker serves scan-like commands in a txn that holds everything.
type heldWalker struct{}

// Enter implements command.Walker.
func (heldWalker) Enter(int32) error { return nil }

// Leave implements command.Walker.
func (heldWalker) Leave(int32) {}

// seed makes the txn's source of chance from its place in the log (the
// SplitMix64 finalizer, Steele et al. 2014).
func seed(index uint64, ordinal int) uint64 {
	z := index<<16 + uint64(ordinal) + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// shared returns a copy of a reply that may be kept; the most common ones are
// copied once for all.
func shared(b []byte) []byte {
	switch string(b) {
	case "+OK\r\n":
		return replyOK
	case ":0\r\n":
		return replyZero
	case ":1\r\n":
		return replyOne
	case "$-1\r\n":
		return replyNull
	}
	return append([]byte(nil), b...)
}

var (
	replyOK   = []byte("+OK\r\n")
	replyZero = []byte(":0\r\n")
	replyOne  = []byte(":1\r\n")
	replyNull = []byte("$-1\r\n")
)
