package fsm

import (
	"context"
	"slices"
	"sync"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/reply"
	"lockstep/engine/sched"
	"lockstep/engine/script"
)

// run is the application of one entry.
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
	// ordinal is the txn's position in its entry, no its number in the shard.
	ordinal  int
	no       uint64
	settings *command.Settings
	// dayOffsetMs is that of command.Ctx.
	dayOffsetMs int64
	// origin and seq are the txn's identity.
	origin *Origin
	seq    uint64
	// next runs right behind this txn and under the same ticket, which is that of
	// head. It is a KindServe for a client that waits for data that this txn may
	// bring.
	next, head *work
	// left means that the txn was left out.
	left bool
	// watchFailed means that a watch of the txn is already known not to hold.
	watchFailed bool
	// before is the outcome of the previous KindServe of the same wait.
	before *dupRecord
	task   sched.Task
	// slot is room for the one lock slot that most txns need.
	slot [1]sched.SlotMode
	// first is the first key the txn names; its Key is nil if there is none.
	first engine.Lookup
	// mark is the told work at the txn's position in the log, or nil for a txn that does not take
	// long. own is what a long txn locks for itself, without the locks of the txns behind it
	// (next), and as if it asked for no more than it needs (Plan.Asks).
	mark *mark
	own  sched.Access
	// laned means that the txn also holds the lane.
	laned bool
}

// applying is the memory in which entries are decoded and their txns prepared, one
// entry after the other. It belongs to the applying goroutine. If a txn that was
// handed to a worker may still need the memory, the goroutine goes on with new
// memory.
type applying struct {
	decoder entryDecoder
	// run is reused if all txns of the entry have run when it is done.
	run     *run
	works   []work
	tasks   []*sched.Task
	lookups []engine.Lookup
}

// keptBytes is the longest entry, and keptTxns the largest number of txns, for
// which the memory is kept for the next entry.
const (
	keptBytes = 64 << 10
	keptTxns  = 2048
)

// nextRun returns the run of the next entry.
func (a *applying) nextRun() *run {
	if a.run == nil {
		a.run = new(run)
	}
	return a.run
}

// end makes the memory ready for the next entry, or drops it.
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
		// A bundle's records are forgotten together. If they shared memory with other bundles'
		// records, that memory would be kept as long as the longest-lived of them.
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

// stale reports to the receiver of a gateway's txn that it was stale.
func (r *run) stale(ordinal int, node uint64) {
	if r.receiver != nil {
		r.receiver.Deliver(ordinal, r.st.dup.staleReply(node), OutcomeStale, 0)
	}
}

func (r *run) submit(works []work, a *applying) (free bool) {
	a.tasks = a.tasks[:0]
	no := r.m.txnNo.Load()
	// gone is the origin of the bundle that must not be continued.
	var gone *Origin
	// early means that all tasks that were submitted before the others have run.
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
			r.planPrograms(w.txn)
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

// changesPrograms reports whether a transaction names a command that changes the scripts or
// functions of its shard.
func (t *Txn) changesPrograms() bool {
	return t.Kind == KindExec && t.has((*command.Spec).ChangesPrograms)
}

// watchesHold reports whether the watches of a txn will hold when it runs. All txns before it must
// have been submitted. What a transaction does to the script cache is done when it is planned, and
// must not be done if a watch fails. So here, and only here, applying waits for running txns. No
// watched key can change between this check and the txn, because all changes of keys go through
// this goroutine.
func (r *run) watchesHold(t *Txn) bool {
	ticket := sched.Ticket{Label: "exec"}
	var access sched.Access
	for i := range t.Watches {
		access.Add(r.st.ks.LockSlot(t.Watches[i].Key), sched.Shared)
	}
	// It fails only when its context ends.
	_ = r.st.sched.Lock(context.Background(), &ticket, &access)
	defer r.st.sched.Unlock(&ticket)
	return watchesHold(&command.Ctx{KS: r.st.ks, Times: command.Times{NowMs: r.stampMs}}, t)
}

// warm looks up, in parallel, the keys of txns that are about to run.
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

// setting applies a change of settings at its position in the log. Txns behind it
// get the new ones.
func (r *run) setting(t *Txn) {
	if t.Kind != KindSetting {
		return
	}
	s := *r.st.settings
	s.Set(string(t.Ops[0].Args[1]), string(t.Ops[0].Args[2])) // check has made sure that the setting is valid
	r.st.settings = &s
	r.m.settings.Store(&s)
}

// findScripts finds the scripts that a txn names by their SHA1, at its position in
// the log. It returns false if one of them is missing. All are found before the
// first op is planned, so that a SCRIPT FLUSH in the same txn does not make it
// fail.
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

// leaveOut ends a txn that does not run because a script is gone from the cache.
func (w *work) leaveOut() {
	w.run.m.counters.ScriptsGone.Add(1)
	w.record.finish(nil, OutcomeScriptGone, false)
	w.run.deliver(w.ordinal, nil, OutcomeScriptGone, 0)
	w.run.m.progress.done(w.run.entry, 1)
}

// planPrograms plans the txn's calls of programs at their position in the log.
func (r *run) planPrograms(t *Txn) {
	for i := range t.Ops {
		if op := &t.Ops[i]; op.lookup().Plan != nil {
			op.makePlan(&command.Planning{Programs: r.st.programs, Settings: r.st.settings, Logged: true, InExec: t.Kind == KindExec})
		}
	}
}

// settleFunctions ends the function changes that the txn has announced, whether it
// made them or not: a watch may have failed.
func (w *work) settleFunctions() {
	for i := range w.txn.Ops {
		if plan := w.txn.Ops[i].plan; plan != nil && plan.ChangesFunctions {
			w.run.st.programs.Functions.Settle()
		}
	}
}

// accessOf fills in the locks of a logged txn and the first of its keys, and reports whether the
// txn may take long. Work on the whole keyspace takes the global lock here even if it only reads,
// because it must see the same state on every replica.
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

// loggedMode is how a logged command locks a key. With some arguments a command
// that can write only reads its key (GETEX). In the log it still deletes expired
// keys on its way, so it locks the key exclusively.
func loggedMode(spec *command.Spec, k command.KeyRef) sched.Mode {
	if spec.Is(command.Write) && k.Flags&command.KeyRO == 0 {
		return sched.Exclusive
	}
	return k.Mode
}

// lockPlanned adds the locks of a planned op. A script in a transaction locks
// everything, whatever its flags say.
func lockPlanned(a *sched.Access, ks *engine.Keyspace, t *Txn, op *Op) {
	if t.Kind == KindExec && op.plan.Access != command.PlanNothing {
		a.Global = true
		return
	}
	op.lock(a, ks)
}

// execution is the pooled state that running a txn needs.
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

// bufferKept is the largest reply buffer that goes back into the pool.
const bufferKept = 64 << 10

func (p *executionPool) put(x *execution) {
	x.out.Release(bufferKept)
	x.ctx = command.Ctx{}
	x.changes.Reset()
	p.pool.Put(x)
}

// Run implements sched.Runner: it runs the txn and those behind it under the same
// ticket.
func (w *work) Run() {
	for w != nil {
		next := w.next
		w.runOne()
		w = next
	}
}

// runOne runs the txn under its locks and delivers the reply.
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

// context fills in the context that the txn runs in.
func (w *work) context(x *execution) {
	m := w.run.m
	x.ctx = command.Ctx{
		KS:           w.run.st.ks,
		Out:          &x.out,
		TxnNo:        w.no,
		Seed:         seed(w.run.index, w.ordinal),
		Logged:       true,
		Walk:         command.HeldWalker{},
		Commands:     commands.Table(),
		Owns:         m.cfg.Owns,
		User:         m.users.of(w.txn.User),
		Times:        command.Times{NowMs: w.run.stampMs, DayOffsetMs: w.dayOffsetMs},
		Meter:        command.Meter{Settings: w.settings, Rest: m.cfg.Rest},
		Listeners:    command.Listeners{Observer: m.cfg.Observer},
		Uses:         command.Uses{NoTouch: w.txn.NoTouch},
		ProgramState: command.ProgramState{Programs: w.run.st.programs, MemoryFull: w.txn.MemoryFull},
	}
	if m.cfg.UseTick != nil {
		x.ctx.UseTick = m.cfg.UseTick()
	}
	if w.run.receiver != nil {
		// Only the replica that answers the client has a receiver, so the scripts are reported once.
		x.ctx.Witness, x.ctx.Caller = m.cfg.Witness, w.txn.Caller
	}
}

// noteBacklog records, for a long txn, the told work at its position in the log.
func (w *work) noteBacklog() {
	if w.txn.Kind != KindCommand && w.txn.Kind != KindExec || !w.txn.TakesLong() {
		return // neither the leader's own txns nor short ones are ever refused
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

// asks is Plan.Asks of the txn, or nil if it has none.
func (w *work) asks() func(*command.Programs, [][]byte) (command.PlanAccess, bool) {
	if w.txn.Kind != KindCommand || w.txn.Ops[0].plan == nil {
		return nil
	}
	return w.txn.Ops[0].plan.Asks
}

// laneOf is the lane, the row behind the last lock slot (backlog.go).
func laneOf(ks *engine.Keyspace) int32 { return int32(ks.LockSlots()) }

// holds is what the txn locks, or would lock if it asked for no more than it needs; this is the
// same on every replica. The txn's turn has come.
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

// comesTooLate reports whether more work was outstanding before the txn than the
// limit allows.
func (w *work) comesTooLate() bool {
	limitMs := w.settings.OutstandingWorkMaxMs
	if w.mark == nil || limitMs == 0 {
		return false
	}
	return w.run.st.backlog.ahead(w.mark, w.holds()) > uint64(limitMs)*(command.WorkSecond/1000)
}

// refuse ends a txn that does not run because too much work was outstanding before
// it.
func (w *work) refuse() {
	w.settleFunctions()
	w.run.m.counters.Refused.Add(1)
	w.record.finish(nil, OutcomeRefused, false)
	w.run.deliver(w.ordinal, nil, OutcomeRefused, 0)
	w.run.m.progress.done(w.run.entry, 1)
}

// countWork counts the work of a txn that took long or was expected to.
func (w *work) countWork(did int64) {
	if w.mark != nil || did >= workLeast {
		w.run.st.backlog.add(w.no, uint64(did), w.holds())
	}
}

// commandsWork is the work that a txn's commands cause by their arguments.
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

// seed derives the txn's random seed from its position in the log (the SplitMix64
// finalizer, Steele et al. 2014).
func seed(index uint64, ordinal int) uint64 {
	z := index<<16 + uint64(ordinal) + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// shared returns a copy of a reply that may be kept. The most common replies share
// one copy each.
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
