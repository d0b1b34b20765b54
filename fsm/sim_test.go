package fsm

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/sched"
)

// The determinism run: one random log runs on machines with 1, 2 and 8 workers and different
// numbers of permits, with random yields of the processor, snapshots and restores at random points,
// snapshots that are written while later entries run, and a replay. The log contains every command,
// small and big values, and the txns that a leader proposes itself. After every entry all machines
// must have given the same replies and, at the checkpoints, have the same state.

// simGroup is the shard the simulated log belongs to.
const simGroup = 7

func simEngine() engine.Config {
	return engine.Config{LockSlots: 64, Seed: [16]byte{1, 2, 3}}
}

// recorder is a Sink that keeps every reply.
type recorder struct {
	mu      sync.Mutex
	replies map[EntryID]map[int]string
	work    map[workOf]int64
}

// workOf identifies the txn that did the work.
type workOf struct {
	id  EntryID
	txn int
}

func newRecorder() *recorder {
	return &recorder{replies: map[EntryID]map[int]string{}, work: map[workOf]int64{}}
}

type recordEntry struct {
	r  *recorder
	id EntryID
}

func (r *recorder) Receiver(id EntryID) Receiver { return recordEntry{r, id} }

func (e recordEntry) Deliver(txn int, reply []byte, outcome Outcome, work int64) {
	e.r.mu.Lock()
	defer e.r.mu.Unlock()
	if e.r.replies[e.id] == nil {
		e.r.replies[e.id] = map[int]string{}
	}
	if old, twice := e.r.replies[e.id][txn]; twice {
		panic(fmt.Sprintf("txn %d of %v answered twice: %q", txn, e.id, old))
	}
	e.r.replies[e.id][txn] = fmt.Sprintf("%d %s", outcome, reply)
	e.r.work[workOf{e.id, txn}] = work
}

// simMachine is one replica of the simulation.
type simMachine struct {
	name     string
	cfg      Config
	m        *Machine
	recorder *recorder
}

func newSimMachine(name string, workers, permits int) *simMachine {
	s := &simMachine{name: name, recorder: newRecorder()}
	s.cfg = Config{Group: simGroup, Engine: simEngine(), Sink: s.recorder, Sched: sched.Config{Permits: permits, Workers: workers}}
	s.m = New(s.cfg)
	return s
}

// reload replaces the machine by one restored from its snapshot.
func (s *simMachine) reload(t *testing.T) {
	t.Helper()
	image := s.snapshot(t)
	index, counted := s.m.Executed(), s.counted()
	s.m.Close()
	s.m = New(s.cfg)
	if err := s.m.Restore(bytes.NewReader(image)); err != nil {
		t.Fatalf("%s: restore: %v", s.name, err)
	}
	if got := s.m.Executed(); got != index {
		t.Fatalf("%s: executed is %d after restore, was %d", s.name, got, index)
	}
	if got := s.counted(); got != counted {
		t.Fatalf("%s: after entry %d there are\n%s and in its snapshot\n%s", s.name, index, counted, got)
	}
}

// counted is what a keyspace knows about its keys without visiting them: how many there are, and
// which are due when. It is updated with each change, and a loaded snapshot counts anew. The
// machine must be idle.
func (s *simMachine) counted() string {
	ks := s.m.Keyspace()
	var text strings.Builder
	for db := range engine.Databases {
		n := ks.Counts(db)
		fmt.Fprintf(&text, "database %d: %d keys, %d with an expiry, at %d s, %d with fields that have one\n",
			db, n.Keys, n.Volatile, n.MeanExpirySec, n.Perishing)
	}
	for slot := range int32(ks.LockSlots()) {
		fmt.Fprintf(&text, "slot %d: %d keys, %v due\n", slot, ks.Weight(slot, false), ks.AppendDue(nil, slot, math.MaxInt64, math.MaxInt))
	}
	return text.String()
}

// measure expects the memory that is counted change by change to equal that of all keys. The
// machine must be idle.
func (s *simMachine) measure(t *testing.T) {
	t.Helper()
	ks, sum := s.m.Keyspace(), int64(0)
	for slot := range int32(ks.LockSlots()) {
		for db := range engine.Databases {
			ks.Slot(slot).Walk(db, 0, func(_ uint32, e *engine.Entry) bool { sum += int64(e.MemoryBytes()); return true })
		}
	}
	if got := ks.MemoryBytes(); got != sum {
		t.Fatalf("%s: %d bytes are counted, all keys take %d", s.name, got, sum)
	}
}

func (s *simMachine) snapshot(t *testing.T) []byte {
	t.Helper()
	return imageOf(t, s.m)
}

func (s *simMachine) await(t *testing.T, index uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := s.m.WaitExecuted(ctx, index); err != nil {
		t.Fatalf("%s: entry %d has not run: %v", s.name, index, err)
	}
}

// simLog makes random entries.
type simLog struct {
	rng   *rand.Rand
	specs []*command.Spec
	seq   [Lanes]uint64
	sent  []Bundle
	stamp int64
	n     uint64
	waits [simWaits]simWait
	// candidates are keys that may be evicted.
	candidates []engine.Candidate
	// told is the work that a leader has seen done.
	told []Told
}

func newSimLog(seed uint64) *simLog {
	l := &simLog{rng: rand.New(rand.NewPCG(seed, 1)), stamp: 1_700_000_000_000}
	for _, s := range commands.All() {
		if s.Run != nil || sensible[s.Name] != nil {
			l.specs = append(l.specs, s)
		}
	}
	return l
}

func (l *simLog) entry() []byte {
	l.n++
	l.stamp += l.rng.Int64N(40) - 4
	b := NewEntryBuilder(simGroup, EntryID{1, 1, l.n}, l.stamp, 512)
	if l.n == 1 {
		b.Add(AppendBundle(nil, &Bundle{Txns: simScriptLimits()}))
	}
	if l.rng.IntN(25) == 0 {
		limit := []string{"1", "2", "0"}[l.rng.IntN(3)]
		b.Add(AppendBundle(nil, &Bundle{Txns: []Txn{settingTxn("outstanding-work-max-ms", limit)}}))
	}
	txns := 0
	for range 1 + l.rng.IntN(6) {
		if len(l.sent) > 0 && l.rng.IntN(20) == 0 {
			again := l.sent[l.rng.IntN(len(l.sent))]
			txns += len(again.Txns)
			b.Add(AppendBundle(nil, &again))
			continue
		}
		if l.rng.IntN(8) == 0 {
			// One of the leader's own txns.
			b.Add(AppendBundle(nil, &Bundle{Txns: []Txn{l.serve()}}))
		}
		bundle := l.bundle()
		txns += len(bundle.Txns)
		l.sent = append(l.sent, bundle)
		if len(l.sent) > 64 {
			l.sent = l.sent[1:]
		}
		b.Add(AppendBundle(nil, &bundle))
	}
	b.Tell(l.tell(txns))
	return b.Finish()
}

// tell is the leader's report in an entry of so many txns: the work that it has seen done, and the
// programs that need not hold the lane.
func (l *simLog) tell(txns int) (told []Told, free []int) {
	if l.rng.IntN(10) == 0 {
		told, l.told = l.told, nil
	}
	if l.rng.IntN(3) > 0 {
		return told, nil
	}
	free = []int{}
	for i := range txns {
		if l.rng.IntN(4) == 0 {
			free = append(free, i)
		}
	}
	return told, free
}

// simLanes is the number of lanes of the only gateway, each with at most simUnacked records and
// those of one bundle.
const simLanes, simUnacked, simBundle = 4, 300, 5

func (l *simLog) bundle() Bundle {
	lane := l.rng.IntN(simLanes)
	b := Bundle{Origin: Origin{Node: 42, Boot: 1, Lane: uint32(lane)}, FirstSeq: l.seq[lane]}
	if l.seq[lane] > simUnacked {
		b.AckedBelow = l.seq[lane] - simUnacked
	}
	for range 1 + l.rng.IntN(simBundle) {
		b.Txns = append(b.Txns, l.txn())
	}
	l.seq[lane] += uint64(len(b.Txns))
	b.Txns = l.withServes(b.Txns)
	return b
}

func (l *simLog) txn() Txn {
	t := Txn{Proto: uint8(2 + l.rng.IntN(2))}
	switch l.rng.IntN(26) {
	case 6:
		t.Kind, t.Ops = KindEvict, []Op{l.evict()}
	case 7:
		t.Ops = []Op{l.big()}
	case 0, 4:
		t.Kind = KindExec
		for range 1 + l.rng.IntN(4) {
			t.Ops = append(t.Ops, l.op())
		}
		if l.rng.IntN(2) == 0 {
			t.Watches = []Watch{{DB: 0, Key: l.word(), Version: l.rng.Uint64N(50), SeenAt: l.rng.Uint64N(4000)}}
		}
	case 1:
		t.Kind = KindTick
	case 5:
		t = l.setDay()
	case 2, 8:
		l.scriptTxn(&t)
	case 3, 9:
		l.functionTxn(&t)
	default:
		t.Ops = []Op{l.op()}
	}
	return t
}

// setDay sets the time of day, often so that it moves from ahead to behind.
func (l *simLog) setDay() Txn {
	const anHour = 3_600_000
	t := SetDay([]int64{0, 1, -1, anHour, -anHour, -50 * 365 * 24 * anHour, l.rng.Int64N(anHour)}[l.rng.IntN(7)])
	t.Proto = 2
	return t
}

// sensible draws arguments with which a command usually succeeds, by its name. The files for each
// kind fill it.
var sensible = map[string]func(*simLog) []string{}

// sensibleArgs draws arguments with which a command usually succeeds. It returns nil if none are
// known, and sometimes to get random ones.
func (l *simLog) sensibleArgs(spec *command.Spec) [][]byte {
	if l.rng.IntN(8) == 0 && spec.Run != nil {
		return nil
	}
	if draw := sensible[spec.Name]; draw != nil {
		args := commandWords(spec)
		for _, a := range draw(l) {
			args = append(args, []byte(a))
		}
		return args
	}
	if args := l.draw(spec.Name); args != nil {
		return args
	}
	if args := l.setOp(spec); args != nil {
		return args
	}
	if args := l.sortedSetOp(spec); args != nil {
		return args
	}
	return l.fromForm(spec)
}

// op draws a command with a correct number of mostly sensible arguments.
func (l *simLog) op() Op {
	spec := l.specs[l.rng.IntN(len(l.specs))]
	if (spec.Scope == command.ScopeGlobal || spec.Name == "pfselftest") && l.rng.IntN(10) != 0 {
		spec = commands.Get("set") // the first may undo much, the second takes long
	}
	return l.opOf(spec.Name)
}

// opOf draws a command's arguments.
func (l *simLog) opOf(name string) Op {
	spec := commands.Get(name)
	if args := l.sensibleArgs(spec); args != nil {
		return Op{DB: l.rng.IntN(3), Args: args}
	}
	n := spec.Arity
	if n < 0 {
		n = -n + l.rng.IntN(4)
	}
	args := commandWords(spec)
	for len(args) < n {
		args = append(args, l.word())
	}
	return Op{DB: l.rng.IntN(3), Args: args}
}

// commandWords are the names of the command and its subcommand.
func commandWords(spec *command.Spec) [][]byte {
	if p := spec.Parent(); p != nil {
		return [][]byte{[]byte(p.Name), []byte(spec.Name[len(p.Name)+1:])}
	}
	return [][]byte{[]byte(spec.Name)}
}

func (l *simLog) word() []byte {
	switch l.rng.IntN(8) {
	case 0:
		return fmt.Appendf(nil, "%d", l.rng.IntN(200)-20)
	case 1:
		words := []string{"NX", "XX", "EX", "PX", "GET", "KEEPTTL", "MATCH", "COUNT", "*", "0", "1", "LEN", "IDX", "REPLACE", "DB", "GT", "LT", "ASYNC", "encoding", "PERSIST", "3.25"}
		return []byte(words[l.rng.IntN(len(words))])
	default:
		return fmt.Appendf(nil, "{k%d}%d", l.rng.IntN(12), l.rng.IntN(3))
	}
}

func TestSameLogSameStateSameReplies(t *testing.T) {
	entries := 3000
	if testing.Short() {
		entries = 250
	}
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { simulate(t, seed, entries) })
	}
}

func simulate(t *testing.T, seed uint64, entries int) {
	log := newSimLog(seed)
	machines := []*simMachine{
		newSimMachine("1 worker", 1, 1), newSimMachine("2 workers", 2, 3), newSimMachine("8 workers", 8, 16),
		newSimMachine("8 workers, snapshots", 8, 16),
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	var data [][]byte
	var late *lateSnapshot
	for i := range entries {
		index := uint64(i + 1)
		data = append(data, log.entry())
		for _, s := range machines {
			if err := s.m.Apply(index, data[i]); err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			for range rng.IntN(3) {
				runtime.Gosched()
			}
		}
		if rng.IntN(97) == 0 {
			s := machines[len(machines)-1]
			s.await(t, index)
			s.reload(t)
		}
		if late == nil && rng.IntN(40) == 0 {
			late = machines[1+rng.IntN(2)].beginSnapshot(t)
		}
		if i%50 == 49 {
			if late != nil {
				late.check(t, data)
				late = nil
			}
			compare(t, machines, index)
			log.look(machines[0].m)
		}
	}
	replay(t, machines[0], data)
	if refused := machines[0].m.Counters().Refused.Load(); refused < uint64(entries)/20 {
		t.Errorf("only %d txns were refused for the work before them", refused)
	}
	for _, s := range machines {
		s.m.Close()
	}
}

// compare checks that all machines have given the same replies so far and have the same state.
func compare(t *testing.T, machines []*simMachine, index uint64) {
	t.Helper()
	want := ""
	for i, s := range machines {
		s.await(t, index)
		s.measure(t)
		if i > 0 {
			compareReplies(t, machines[0], s)
		}
		got := string(s.snapshot(t))
		if i == 0 {
			want = got
		} else if got != want {
			t.Fatalf("after entry %d the state of %q differs from that of %q", index, s.name, machines[0].name)
		}
	}
	for _, s := range machines {
		s.recorder.mu.Lock()
		clear(s.recorder.replies)
		clear(s.recorder.work)
		s.recorder.mu.Unlock()
	}
}

// sameReply reports whether the replies of two machines agree. A repeated txn gets a reply that is
// too long to keep if the first one is still running; otherwise the reply is lost. Timing may
// decide only this, because it is not state.
func sameReply(a, b string) bool {
	const always = simLanes*(simUnacked+simBundle) + simWaits
	lost, kept := fmt.Sprintf("%d ", OutcomeReplyLost), replyRoom(always)
	return a == b || a == lost && len(b) > kept || b == lost && len(a) > kept
}

func compareReplies(t *testing.T, a, b *simMachine) {
	t.Helper()
	a.recorder.mu.Lock()
	defer a.recorder.mu.Unlock()
	b.recorder.mu.Lock()
	defer b.recorder.mu.Unlock()
	if len(a.recorder.replies) != len(b.recorder.replies) {
		t.Fatalf("%q answered %d entries, %q %d", a.name, len(a.recorder.replies), b.name, len(b.recorder.replies))
	}
	for id, replies := range a.recorder.replies {
		for txn, reply := range replies {
			if other := b.recorder.replies[id][txn]; !sameReply(reply, other) {
				t.Fatalf("entry %v txn %d: %q says %.200q, %q says %.200q", id, txn, a.name, reply, b.name, other)
			}
		}
	}
	for of, work := range a.recorder.work {
		if other := b.recorder.work[of]; work != other {
			t.Fatalf("entry %v txn %d: it was %d units of work for %q, and %d for %q", of.id, of.txn, work, a.name, other, b.name)
		}
	}
}

// replay runs the whole log through a fresh machine, as after a restart without a snapshot, and
// expects the same state.
func replay(t *testing.T, s *simMachine, data [][]byte) {
	t.Helper()
	fresh := newSimMachine("replay", 4, 8)
	defer fresh.m.Close()
	for i, d := range data {
		if err := fresh.m.Apply(uint64(i+1), d); err != nil {
			t.Fatal(err)
		}
	}
	fresh.await(t, uint64(len(data)))
	if !bytes.Equal(fresh.snapshot(t), s.snapshot(t)) {
		t.Fatal("a replay of the whole log leads to another state")
	}
	if done, again := s.m.Counters().Work.Load(), fresh.m.Counters().Work.Load(); done != again {
		t.Fatalf("a replay of the whole log is %d units of work, and was %d", again, done)
	}
}
