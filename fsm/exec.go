package fsm

import (
	"context"
	"slices"
	"sync"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/reply"
	"lockstep/engine/sched"
	"lockstep/engine/script"
)

// run is the applying of one entry.
type run struct {
	m        *Machine
	st       *state
	index    uint64
	stampMs  int64
	receiver Receiver
	entry    *openEntry
	// free is Entry.Free.
	free []int
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
	// dayOffsetMs is command.Ctx's.
	dayOffsetMs int64
	// origin and seq are the txn's identity.
	origin *Origin
	seq    uint64
	// next runs right behind this one and under the same ticket, which is that of
	// head: a KindServe for a client that waits for what this one may bring.
	next, head *work
	// left: the txn was left out.
	left bool
	// watchFailed: it is known beforehand that a watch of the txn does not hold.
	watchFailed bool
	// before is the outcome of the KindServe before this one of the same wait.
	before *dupRecord
	task   sched.Task
	// slot is room for the one lock slot that most txns need.
	slot [1]sched.SlotMode
	// first is the first key the txn names; its Key is nil if there is none.
	first engine.Lookup
	// mark is what the txn was told of the work before it; nil: it does not take long. own is what
	// one that does locks for itself, and not for those behind it (next); what it would lock, if it
	// asked for no more than it needs (Plan.Asks).
	mark *mark
	own  sched.Access
	// laned: it holds the lane, too.
	laned bool
}

// applying is the memory in which entries are decoded and their txns made ready,
// one entry after the other. It belongs to the goroutine that applies. A txn that
// was handed over may still need it when that goroutine goes on: then it begins
// anew in other memory.
type applying struct {
	decoder entryDecoder
	// run is used again for entries whose txns have all run at the end.
	run     *run
	works   []work
	tasks   []*sched.Task
	lookups []engine.Lookup
}

// keptBytes is the length of an entry that may be held on to until the next, and
// keptTxns the number of txns for which there is room.
const (
	keptBytes = 64 << 10
	keptTxns  = 2048
)

// begin returns the run of the next entry.
func (a *applying) begin() *run {
	if a.run == nil {
		a.run = new(run)
	}
	return a.run
}

// end makes the memory ready for the next entry, or gives it up.
func (a *applying) end(free bool, bytes int) {
	if !free || bytes > keptBytes || cap(a.works) > keptTxns {
		*a = applying{}
	}
}

// apply judges every txn of the entry and submits those that are to run. It
// returns true when all of them have run.
func (r *run) apply(e *Entry, a *applying) (free bool) {
	if cap(a.works) < e.Txns {
		a.works = make([]work, 0, max(e.Txns, 2*cap(a.works)))
	}
	works := a.works[:0]
	ordinal := 0
	for i := range e.Bundles {
		b := &e.Bundles[i]
		lane := r.st.dup.lane(b, r.index, r.stampMs)
		// A bundle's records are forgotten together: had they their memory from those of
		// others, theirs would stay for as long.
		records := make([]dupRecord, len(b.Txns))
		seq := b.FirstSeq
		for j := range b.Txns {
			w := work{run: r, txn: &b.Txns[j], ordinal: ordinal, origin: &b.Origin, seq: seq}
			var verdict verdict
			if w.txn.Kind == KindServe {
				verdict = r.st.dup.serve(&w)
			} else {
				w.record, verdict = lane.judge(seq, &records[j])
				seq++
			}
			switch verdict {
			case verdictStale:
				r.m.counters.Stale.Add(1)
				r.stale(ordinal, w.id().Node)
			case verdictKnown:
				r.m.counters.Duplicates.Add(1)
				w.record.answer(r.receiver, ordinal)
			case verdictRun:
				works = append(works, w)
			}
			ordinal++
		}
	}
	r.free = e.Free
	r.st.backlog.tell(e.Told)
	r.entry.left.Add(int64(len(works)))
	free = r.submit(works, a)
	r.m.progress.took(r.index)
	r.m.progress.done(r.entry, 1)
	return free
}

func (r *run) deliver(ordinal int, reply []byte, outcome Outcome, work int64) {
	if r.receiver != nil {
		r.receiver.Deliver(ordinal, reply, outcome, work)
	}
}

// stale tells the receiver of a gateway's txn that it was stale.
func (r *run) stale(ordinal int, node uint64) {
	if r.receiver != nil {
		r.receiver.Deliver(ordinal, r.st.dup.staleReply(node), OutcomeStale, 0)
	}
}

func (r *run) submit(works []work, a *applying) (free bool) {
	a.tasks = a.tasks[:0]
	no := r.m.txnNo.Load()
	// gone is the bundle that is not to be gone on with.
	var gone *Origin
	// early: all tasks that were submitted before the others have run.
	early := true
	for i := range works {
		w := &works[i]
		if w.txn.Kind != KindServe && (w.origin == gone || !r.findScripts(w.txn)) {
			gone, w.left = w.origin, true
			w.leaveOut()
			continue
		}
		no++
		w.no = no
		r.setting(w.txn)
		r.m.setDay(w.txn)
		w.settings, w.dayOffsetMs = r.st.settings, r.m.DayOffsetMs()
		if w.txn.changesPrograms() && len(w.txn.Watches) > 0 {
			early = r.st.sched.SubmitAll(a.tasks, func(claimed []*sched.Task) { a.warm(r.st.ks, claimed) }) && early
			a.tasks = a.tasks[:0]
			w.watchFailed = !r.watchesHold(w.txn)
		}
		if !w.watchFailed {
			r.settle(w.txn)
		}
		if i > 0 && w.follows(&works[i-1]) {
			continue
		}
		w.task.Access.Slots = w.slot[:0]
		w.task.Heavy = accessOf(&w.task.Access, &w.first, r.st.ks, w.txn)
		w.task.Work = w
		if len(w.txn.Ops) > 0 {
			w.task.SetLabel(w.txn.label())
		}
		if w.task.Heavy {
			w.noteBacklog()
		}
		a.tasks = append(a.tasks, &w.task)
	}
	// Readers take the number before their ticket: it may then be too small,
	// which costs a watch a needless retry, but never too large.
	defer r.m.txnNo.Store(no)
	return r.st.sched.SubmitAll(a.tasks, func(claimed []*sched.Task) { a.warm(r.st.ks, claimed) }) && early
}

// changesPrograms reports whether a transaction changes the scripts or functions of its
// shard in so many words.
func (t *Txn) changesPrograms() bool {
	return t.Kind == KindExec && t.has((*command.Spec).ChangesPrograms)
}

// watchesHold reports beforehand whether the watches of a txn will hold when it runs.
// All txns before it must have been submitted. What a transaction does to the script
// cache is done when it is planned, and must not be done if a watch fails; so here,
// and only here, applying waits for txns that run. Nobody can change a watched key
// between this look and the txn: whoever changes keys comes by this goroutine.
func (r *run) watchesHold(t *Txn) bool {
	ticket := sched.Ticket{Label: "exec"}
	var access sched.Access
	for i := range t.Watches {
		access.Add(r.st.ks.LockSlot(t.Watches[i].Key), sched.Shared)
	}
	// It fails when its context ends alone.
	_ = r.st.sched.Lock(context.Background(), &ticket, &access)
	defer r.st.sched.Unlock(&ticket)
	return watchesHold(&command.Ctx{KS: r.st.ks, NowMs: r.stampMs}, t)
}

// warm has the keys of txns that are about to run looked up side by side.
func (a *applying) warm(ks *engine.Keyspace, claimed []*sched.Task) {
	if len(claimed) == 1 {
		return
	}
	a.lookups = a.lookups[:0]
	for _, k := range claimed {
		if w := k.Work.(*work); w.first.Key != nil {
			a.lookups = append(a.lookups, w.first)
		}
	}
	ks.Warm(a.lookups)
}

// setting applies a change of settings at its place in the log: txns behind it
// get the new ones.
func (r *run) setting(t *Txn) {
	if t.Kind != KindSetting {
		return
	}
	s := *r.st.settings
	s.Set(string(t.Ops[0].Args[1]), string(t.Ops[0].Args[2])) // check has seen that it can be set
	r.st.settings = &s
	r.m.settings.Store(&s)
}

// findScripts finds the scripts that a txn names by their SHA1, at its place in
// the log; false: one of them is not there. All are found before the first op is
// planned: a SCRIPT FLUSH of the same txn is no reason to give it up.
func (r *run) findScripts(t *Txn) bool {
	for i := range t.Ops {
		op := &t.Ops[i]
		if op.Sum == nil {
			continue
		}
		if op.script = r.st.programs.Scripts.Named(script.Sum(op.Sum)); op.script == nil {
			return false
		}
	}
	return true
}

// leaveOut ends a txn that does not run because a script has gone.
func (w *work) leaveOut() {
	w.run.m.counters.ScriptsGone.Add(1)
	w.record.finish(nil, OutcomeScriptGone, false)
	w.run.deliver(w.ordinal, nil, OutcomeScriptGone, 0)
	w.run.m.progress.done(w.run.entry, 1)
}

// settle plans the txn's calls of programs at their place in the log.
func (r *run) settle(t *Txn) {
	for i := range t.Ops {
		if op := &t.Ops[i]; op.lookup().Plan != nil {
			op.settle(&command.Planning{Programs: r.st.programs, Settings: r.st.settings, Logged: true, InExec: t.Kind == KindExec})
		}
	}
}

// settleFunctions ends the changes of functions that the txn has announced,
// whether it made them or not: a watch may have failed.
func (w *work) settleFunctions() {
	for i := range w.txn.Ops {
		if plan := w.txn.Ops[i].plan; plan != nil && plan.ChangesFunctions {
			w.run.st.programs.Functions.Settle()
		}
	}
}

// accessOf fills in what a logged txn locks and the first of its keys, and tells
// whether it may take long. Work that touches the whole keyspace is global here even when it only
// reads: on every replica it must see the same moment.
func accessOf(a *sched.Access, first *engine.Lookup, ks *engine.Keyspace, t *Txn) (heavy bool) {
	var buf [8]command.KeyRef
	for i := range t.Ops {
		args := t.Ops[i].Args
		spec := t.Ops[i].lookup()
		heavy = heavy || t.Ops[i].TakesLong()
		if t.Ops[i].plan != nil {
			lockPlanned(a, ks, t, &t.Ops[i])
			continue
		}
		if spec.Scope != command.ScopeKeys || spec.Wanders != nil && spec.Wanders(args) {
			a.Global = true
		}
		for _, k := range spec.AppendKeys(buf[:0], args) {
			slot := ks.LockSlot(args[k.Pos])
			a.Add(slot, loggedMode(spec, k))
			if first.Key == nil {
				*first = engine.Lookup{Slot: slot, DB: t.Ops[i].DB, Key: args[k.Pos]}
			}
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

// loggedMode is how a logged command takes a key. With some arguments a command
// that writes only reads its key (GETEX); but in the log it deletes on its way
// what has expired, and so it takes the key exclusively all the same.
func loggedMode(spec *command.Spec, k command.KeyRef) sched.Mode {
	if spec.Is(command.Write) && k.Flags&command.KeyRO == 0 {
		return sched.Exclusive
	}
	return k.Mode
}

// lockPlanned adds what a planned op locks. A script in a transaction locks
// everything, whatever its flags say.
func lockPlanned(a *sched.Access, ks *engine.Keyspace, t *Txn, op *Op) {
	if t.Kind == KindExec && op.plan.Access != command.PlanNothing {
		a.Global = true
		return
	}
	op.lock(a, ks)
}

// execution is what running a txn needs; pooled.
type execution struct {
	ctx     command.Ctx
	out     reply.Writer
	changes command.Changes
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
	x.changes.Reset()
	p.pool.Put(x)
}

// Run implements sched.Runner: it runs the txn, and those behind it under the
// same ticket.
func (w *work) Run() {
	for w != nil {
		next := w.next
		w.runOne()
		w = next
	}
}

// runOne runs the txn under its locks, and hands out the reply.
func (w *work) runOne() {
	m := w.run.m
	if w.comesTooLate() {
		w.refuse()
		return
	}
	x := m.executions.get()
	x.out.Reset(int(w.txn.Proto))
	w.context(x)
	tracker := m.cfg.Tracker
	if tracker != nil && tracker.Tracking() {
		x.ctx.Changes = &x.changes
	}
	outcome := OutcomeDone
	switch {
	case w.txn.Kind == KindServe:
		outcome = w.serve(&x.ctx)
	case w.watchFailed:
		x.out.NullArray()
	default:
		runTxn(m, &x.ctx, w.txn)
	}
	w.settleFunctions()
	if len(x.changes.Keys) > 0 {
		tracker.Changed(w.id(), x.changes.Keys)
	}
	answer, outcome := w.finish(x.out.Bytes(), outcome)
	did := x.ctx.Work() + commandsWork(w.txn.Ops)
	m.executions.put(x)
	m.counters.Txns.Add(1)
	m.counters.Work.Add(did)
	w.countWork(did)
	w.run.deliver(w.ordinal, answer, outcome, did)
	m.progress.done(w.run.entry, 1)
}

// context is what the txn runs in.
func (w *work) context(x *execution) {
	m := w.run.m
	x.ctx = command.Ctx{
		KS: w.run.st.ks, Out: &x.out,
		NowMs: w.run.stampMs, DayOffsetMs: w.dayOffsetMs, TxnNo: w.no, Seed: seed(w.run.index, w.ordinal),
		Logged: true, Walk: command.HeldWalker{}, Settings: w.settings, Observer: m.cfg.Observer, NoTouch: w.txn.NoTouch,
		Programs: w.run.st.programs, Owns: m.cfg.Owns, MemoryFull: w.txn.MemoryFull,
		User: m.users.of(w.txn.User), Rest: m.cfg.Rest,
	}
	if m.cfg.UseTick != nil {
		x.ctx.UseTick = m.cfg.UseTick()
	}
	if w.run.receiver != nil {
		// It runs for a client, and nowhere else for that one.
		x.ctx.Witness, x.ctx.Caller = m.cfg.Witness, w.txn.Caller
	}
}

// noteBacklog notes what is known of the work before a txn that takes long.
func (w *work) noteBacklog() {
	if w.txn.Kind != KindCommand && w.txn.Kind != KindExec || !w.txn.TakesLong() {
		return // the leader's own txns run in any case, and what is brief
	}
	ks := w.run.st.ks
	if w.asks() != nil {
		w.txn.Ops[0].lockKeys(&w.own, ks, sched.Exclusive)
	} else {
		w.own = sched.Access{Global: w.task.Access.Global, Slots: slices.Clone(w.task.Access.Slots)}
	}
	if w.run.free != nil && !w.own.Global && len(w.own.Slots) > 0 && w.txn.lanes() {
		if _, free := slices.BinarySearch(w.run.free, w.ordinal); !free {
			w.laned = true
			w.own.Add(laneOf(ks), sched.Exclusive)
			w.task.Access.Add(laneOf(ks), sched.Exclusive)
		}
	}
	w.mark = w.run.st.backlog.markOf(&w.own)
}

// asks is Plan.Asks of a txn that has one.
func (w *work) asks() func(*command.Programs, [][]byte) (command.PlanAccess, bool) {
	if w.txn.Kind != KindCommand || w.txn.Ops[0].plan == nil {
		return nil
	}
	return w.txn.Ops[0].plan.Asks
}

// laneOf is the row behind the last lock slot (backlog.go).
func laneOf(ks *engine.Keyspace) int32 { return int32(ks.LockSlots()) }

// holds is what the txn locks, or what it would lock if it asked for no more than it needs:
// that is the same on every replica. The txn has its turn.
func (w *work) holds() *sched.Access {
	if w.mark == nil {
		return &w.task.Access
	}
	asks := w.asks()
	if asks == nil {
		return &w.own
	}
	op := &w.txn.Ops[0]
	switch access, shared := asks(w.run.st.programs, op.Args); {
	case access == command.PlanGlobal:
		return &sched.Access{Global: true}
	case access == command.PlanNothing:
		return &sched.Access{}
	case shared:
		a := &sched.Access{}
		op.lockKeys(a, w.run.st.ks, sched.Shared)
		if w.laned {
			a.Add(laneOf(w.run.st.ks), sched.Exclusive)
		}
		return a
	}
	return &w.own
}

// comesTooLate reports whether more work stood in the log before the txn than may.
func (w *work) comesTooLate() bool {
	limitMs := w.settings.OutstandingWorkMaxMs
	if w.mark == nil || limitMs == 0 {
		return false
	}
	return w.run.st.backlog.ahead(w.mark, w.holds()) > uint64(limitMs)*(command.WorkSecond/1000)
}

// refuse ends a txn that does not run because too much work was before it.
func (w *work) refuse() {
	w.settleFunctions()
	w.run.m.counters.Refused.Add(1)
	w.record.finish(nil, OutcomeRefused, false)
	w.run.deliver(w.ordinal, nil, OutcomeRefused, 0)
	w.run.m.progress.done(w.run.entry, 1)
}

// countWork counts the work of a txn that took long, or was taken for one that does.
func (w *work) countWork(did int64) {
	if w.mark != nil || did >= workLeast {
		w.run.st.backlog.add(w.no, uint64(did), w.holds())
	}
}

// commandsWork is the work that the commands of a txn take for their arguments.
func commandsWork(ops []Op) (sum int64) {
	for i := range ops {
		sum += command.CommandWork(ops[i].Args)
	}
	return sum
}

// id is the txn's identity.
func (w *work) id() TxnID {
	if w.txn.Kind == KindServe {
		return w.txn.Serve.Wait
	}
	return TxnID{*w.origin, w.seq}
}

// finish records the outcome of the txn, and returns it for the receiver.
func (w *work) finish(reply []byte, outcome Outcome) ([]byte, Outcome) {
	if w.served() {
		return w.record.repeat(w.before)
	}
	return w.record.finish(reply, outcome, w.run.receiver != nil), outcome
}

// runTxn runs all ops of a txn.
func runTxn(m *Machine, ctx *command.Ctx, t *Txn) {
	switch t.Kind {
	case KindTick, KindSetting, KindDay:
		ctx.Out.OK()
	case KindExec:
		if !watchesHold(ctx, t) {
			ctx.Out.NullArray()
			return
		}
		runOps(m, ctx, t.Ops)
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
