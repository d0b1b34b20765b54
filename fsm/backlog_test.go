package fsm

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/sched"
)

const (
	backlogLimitMs = 10
	// spinsFor is a script of some milliseconds of work. ARGV[1] is the length of its loop.
	spinsFor   = "for i = 1, ARGV[1] do end redis.call('incr', 'ran')"
	spinsOwn   = flagged + "for i = 1, ARGV[1] do end redis.call('incr', KEYS[1])"
	spinsLong  = "100000"
	spinsBrief = "1"
)

// backlogMachine is a machine with a small limit.
type backlogMachine struct {
	*lockedMachine
	no uint64
}

func newBacklogMachine(t *testing.T) *backlogMachine {
	m := &backlogMachine{lockedMachine: newLockedMachine(t)}
	m.executed(m.apply(limitTxn(backlogLimitMs)))
	return m
}

func limitTxn(ms int) Txn {
	return Txn{Kind: KindSetting, Proto: 2, Ops: txnOf(0, "lockstep.set", "outstanding-work-max-ms", fmt.Sprint(ms)).Ops}
}

// entry is the next entry, with one bundle of these txns.
func (m *backlogMachine) entry(told []Told, free []int, txns ...Txn) []byte {
	m.index++
	b := NewEntryBuilder(7, EntryID{1, 1, m.index}, 1000+int64(m.index), 128)
	b.Add(AppendBundle(nil, &Bundle{Origin: Origin{Node: 3, Boot: 1}, FirstSeq: m.no, AckedBelow: m.no, Txns: txns}))
	m.no += uint64(len(txns))
	b.Tell(told, free)
	return b.Finish()
}

// run applies an entry and returns the outcomes of its txns.
func (m *backlogMachine) run(told []Told, free []int, txns ...Txn) outcomes {
	m.t.Helper()
	data := m.entry(told, free, txns...)
	if err := m.Apply(m.index, data); err != nil {
		m.t.Fatal(err)
	}
	m.executed(m.index)
	return m.outcomes(m.index, len(txns))
}

// outcomes has a letter for each txn of an entry: whether it ran or was refused.
type outcomes string

func (m *backlogMachine) outcomes(index uint64, n int) outcomes {
	m.replies.mu.Lock()
	defer m.replies.mu.Unlock()
	text := make([]byte, n)
	for i := range text {
		switch reply := m.replies.replies[EntryID{1, 1, index}][i]; {
		case strings.HasPrefix(reply, fmt.Sprint(OutcomeRefused)+" "):
			text[i] = '-'
		case strings.HasPrefix(reply, "0 -"):
			text[i] = '!'
		default:
			text[i] = 'r'
		}
	}
	return outcomes(text)
}

// ranThen is n txns that ran, and all-n that were refused.
func ranThen(n, all int) outcomes {
	return outcomes(strings.Repeat("r", n) + strings.Repeat("-", all-n))
}

// fits is how many txns with that much work run, one after the other, before the limit is exceeded.
func fits(work int64) int { return int(backlogLimitMs*(command.WorkSecond/1000)/work) + 1 }

// workOf is the work of a txn on a fresh machine.
func (m *backlogMachine) workOf(t Txn) int64 {
	m.t.Helper()
	fresh := newBacklogMachine(m.t)
	fresh.run(nil, nil, t)
	return fresh.replies.work[workOf{EntryID{1, 1, fresh.index}, 0}]
}

func repeated(t Txn, n int) (all []Txn) {
	for range n {
		all = append(all, t)
	}
	return all
}

// A long txn that comes too late behind other long txns does not run, on any replica, and has no
// effects. A short txn runs.
func TestWhatComesTooLateIsRefused(t *testing.T) {
	const n = 12
	for _, c := range []struct {
		name string
		long Txn
		// free is Entry.Free of the entry.
		free []int
	}{
		{"a script", txnOf(0, "eval", spinsFor, "0", spinsLong), nil},
		{"a transaction", inExec(txnOf(0, "eval", spinsFor, "0", spinsLong), txnOf(0, "incr", "x")), nil},
		{"a script on one lock slot", txnOf(0, "eval", spinsOwn, "1", "ran", spinsLong), nil},
		{"the same, in the lane", txnOf(0, "eval", spinsOwn, "1", "ran", spinsLong), []int{}},
		{"the same, free of the lane", txnOf(0, "eval", spinsOwn, "1", "ran", spinsLong), []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newBacklogMachine(t)
			fit := fits(m.workOf(c.long))
			if fit >= n-1 || fit < 2 {
				t.Fatalf("%d fit: the test wants some and not all", fit)
			}
			got := m.run(nil, c.free, append(repeated(c.long, n), txnOf(0, "incr", "after"))...)
			if want := ranThen(fit, n) + "r"; got != want {
				t.Errorf("%s, want %s", got, want)
			}
			if ran := readText(t, m.Machine, "get", "ran"); ran != fmt.Sprintf("$1\r\n%d\r\n", fit) {
				t.Errorf("%q have run, want %d", ran, fit)
			}
			if refused := m.Counters().Refused.Load(); refused != uint64(n-fit) {
				t.Errorf("%d are counted as refused", refused)
			}
			// The work that the leader has seen done by the time of the next entry no longer
			// counts.
			if got := m.run(m.Untold(), c.free, repeated(c.long, n)...); got != ranThen(fit, n) {
				t.Errorf("behind what was told %s", got)
			}
			if got := m.run(nil, nil, c.long); got != "-" {
				t.Errorf("before it was told %s", got)
			}
		})
	}
}

// Programs with key locks run side by side if the leader names them as free. The others hold the
// lane, and their work adds up, whatever their keys are.
func TestTheLaneBoundsProgramsOnManySlots(t *testing.T) {
	const n = 12
	m := newBacklogMachine(t)
	var txns []Txn
	for i := range n {
		txns = append(txns, txnOf(0, "eval", spinsOwn, "1", fmt.Sprint("k", i), spinsLong))
	}
	fit := fits(m.workOf(txns[0]))
	if got := m.run(nil, nil, txns...); got != ranThen(n, n) {
		t.Errorf("without a lane: %s", got)
	}
	if got := m.run(m.Untold(), []int{}, txns...); got != ranThen(fit, n) {
		t.Errorf("in the lane: %s", got)
	}
	free := []int{n - 2, n - 1}
	if got, want := m.run(m.Untold(), free, txns...), ranThen(fit, n-2)+"rr"; got != want {
		t.Errorf("two of them free: %s, want %s", got, want)
	}
	if st := m.Sched().Stats(); st.WaitingTickets != 0 {
		t.Errorf("%+v", st)
	}
	// Work that locks everything counts for txns that lock little, and the other way round.
	everything := txnOf(0, "eval", spinsFor, "0", spinsLong)
	fit = fits(m.workOf(everything))
	got := m.run(m.Untold(), nil, append(repeated(everything, fit), txns[0])...)
	if want := ranThen(fit, fit+1); got != want {
		t.Errorf("behind what locks everything: %s, want %s", got, want)
	}
	fit = fits(m.workOf(txns[0]))
	got = m.run(m.Untold(), nil, append(slices.Clone(txns[:fit]), everything)...)
	if want := ranThen(fit, fit+1); got != want {
		t.Errorf("before what locks everything: %s, want %s", got, want)
	}
}

// A script that was cheap until now is not an exception. Nor is a program without keys that asks
// for no locks: it has the locks of the empty key.
func TestCheapScriptsThatAreCheapNoMore(t *testing.T) {
	const n = 12
	for name, keys := range map[string][]string{"everything": {spinsFor, "0"}, "one slot": {spinsOwn, "1", "ran"}, "no key": {flagged + "for i = 1, ARGV[1] do end", "0"}} {
		t.Run(name, func(t *testing.T) {
			of := func(spins string) Txn { return txnOf(0, append(append([]string{"eval"}, keys...), spins)...) }
			m := newBacklogMachine(t)
			if got := m.run(nil, nil, repeated(of(spinsBrief), 200)...); got != ranThen(200, 200) {
				t.Errorf("cheap ones: %s", got)
			}
			fit := fits(m.workOf(of(spinsLong)))
			if got := m.run(m.Untold(), nil, repeated(of(spinsLong), n)...); got != ranThen(fit, n) && got != ranThen(fit-1, n) {
				t.Errorf("%s, want about %d", got, fit)
			}
		})
	}
}

// A transaction is judged once, before its first command.
func TestATransactionIsJudgedOnce(t *testing.T) {
	m := newBacklogMachine(t)
	long := txnOf(0, "eval", spinsFor, "0", spinsLong)
	fit := fits(m.workOf(long))
	got := m.run(nil, nil, inExec(repeated(long, fit+3)...), inExec(txnOf(0, "incr", "x"), long), txnOf(0, "incr", "after"))
	if got != "r-r" {
		t.Errorf("%s", got)
	}
	if ran := readText(t, m.Machine, "get", "ran"); ran != fmt.Sprintf("$1\r\n%d\r\n", fit+3) {
		t.Errorf("%q have run", ran)
	}
	if x := readText(t, m.Machine, "get", "x"); x != "$-1\r\n" {
		t.Errorf("a part of the second has run: %q", x)
	}
}

// Without a limit no txn is refused. A leader's own txns never are.
func TestWhatIsNeverRefused(t *testing.T) {
	m := newBacklogMachine(t)
	long := txnOf(0, "eval", spinsFor, "0", spinsLong)
	m.run(nil, nil, repeated(long, 12)...)
	deletion := Txn{Kind: KindExpire, Proto: 2, Ops: txnOf(0, append([]string{"lockstep.expire"}, strings.Split(strings.Repeat("0 k ", heavyArgs)+"0 k", " ")...)...).Ops}
	if !deletion.TakesLong() {
		t.Fatal("it is brief")
	}
	if got := m.run(nil, nil, deletion, Txn{Kind: KindTick}, limitTxn(0)); got != "rrr" {
		t.Errorf("%s", got)
	}
	if got := m.run(nil, nil, repeated(long, 12)...); got != ranThen(12, 12) {
		t.Errorf("without a limit: %s", got)
	}
}

// A client that repeats a refused request gets the same outcome, also from a replica that began
// with a snapshot. The same holds for the txns behind it, before and after the snapshot, and when
// the log is replayed from its beginning.
func TestRefusalsAreTheSameOnEveryReplica(t *testing.T) {
	m := newBacklogMachine(t)
	log := [][]byte{entryOf(1, Bundle{Txns: []Txn{limitTxn(backlogLimitMs)}})}
	long := txnOf(0, "eval", spinsFor, "0", spinsLong)
	own := txnOf(0, "eval", spinsOwn, "1", "ran", spinsLong)
	apply := func(told []Told, free []int, txns ...Txn) {
		log = append(log, m.entry(told, free, txns...))
		if err := m.Apply(m.index, log[m.index-1]); err != nil {
			t.Fatal(err)
		}
	}
	apply(nil, nil, repeated(long, 3)...)
	apply(nil, []int{}, repeated(own, 4)...)
	// The cut is opened while these txns wait to run, and written after later ones have run.
	snap, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	cut := int(m.index)
	apply(nil, nil, append(repeated(own, 3), repeated(long, 2)...)...)
	m.executed(m.index)
	told := m.Untold()
	apply(told, nil, repeated(own, 3)...)
	apply(nil, nil, repeated(long, 6)...)
	m.executed(m.index)
	var image bytes.Buffer
	if err := snap.Persist(&image); err != nil {
		t.Fatal(err)
	}
	snap.Release()
	if len(told) == 0 {
		t.Error("nothing had to be told")
	}
	again := newLockedMachine(t)
	if err := again.Restore(&image); err != nil {
		t.Fatal(err)
	}
	anew := newLockedMachine(t)
	for i, data := range log {
		if err := anew.Apply(uint64(i+1), data); err != nil {
			t.Fatal(err)
		}
		if i < cut {
			continue
		}
		if err := again.Apply(uint64(i+1), data); err != nil {
			t.Fatal(err)
		}
	}
	again.executed(m.index)
	anew.executed(m.index)
	refused := m.sameReplies(anew, 0, len(log)) + m.sameReplies(again, cut, len(log))
	if refused == 0 {
		t.Error("nothing was refused")
	}
	if a, b, c := imageOf(t, m.Machine), imageOf(t, again.Machine), imageOf(t, anew.Machine); !bytes.Equal(a, b) || !bytes.Equal(a, c) {
		t.Error("they have come to other states")
	}
	// The last bundle once more.
	m.no -= 6
	if got := m.run(nil, nil, repeated(long, 6)...); got != m.outcomes(m.index-1, 6) {
		t.Errorf("asked again: %s, was %s", got, m.outcomes(m.index-1, 6))
	}
}

// sameReplies expects another machine's replies to entries to equal this one's, and counts
// refusals.
func (m *backlogMachine) sameReplies(other *lockedMachine, from, to int) (refused int) {
	m.t.Helper()
	for i := from; i < to; i++ {
		id := EntryID{1, 1, uint64(i + 1)}
		for txn, reply := range m.replies.replies[id] {
			if got := other.replies.replies[id][txn]; got != reply {
				m.t.Errorf("txn %d of entry %d: %q, was %q", txn, i+1, got, reply)
			}
			if strings.HasPrefix(reply, fmt.Sprint(OutcomeRefused)+" ") {
				refused++
			}
		}
	}
	return refused
}

// A leader reports the work that it has seen done since its last report, in at most as many rows as
// an entry may have.
func TestWhatALeaderTells(t *testing.T) {
	b := newBacklog()
	slots := func(n int32) *sched.Access {
		a := &sched.Access{}
		for slot := range n {
			a.Add(slot, sched.Exclusive)
		}
		return a
	}
	b.add(1, tellLeast-1, slots(1))
	if told := b.untoldNow(); told != nil {
		t.Errorf("%v", told)
	}
	b.add(2, 1, slots(1))
	want := []Told{{rowAll, tellLeast}, {0, tellLeast}}
	if told := b.untoldNow(); !slices.Equal(told, want) {
		t.Errorf("%v, want %v", told, want)
	}
	b.tell(want)
	if told := b.untoldNow(); told != nil {
		t.Errorf("told twice: %v", told)
	}
	b.tell([]Told{{0, 1}})
	if told := b.untoldNow(); told != nil {
		t.Errorf("an older leader's word made it forget: %v", told)
	}
	// A replica that is behind its leader has nothing to report.
	b.tell([]Told{{5, 100 * tellLeast}})
	b.add(3, tellLeast, &sched.Access{Slots: []sched.SlotMode{{Slot: 5, Mode: sched.Exclusive}}})
	if told := b.untoldNow(); slices.ContainsFunc(told, func(told Told) bool { return told.Row == 5 }) {
		t.Errorf("%v", told)
	}
	b.add(4, tellLeast, slots(2*toldRowsMax))
	for rounds := 0; ; rounds++ {
		told := b.untoldNow()
		if len(told) == 0 {
			break
		}
		if len(told) > toldRowsMax || rounds > 3 {
			t.Fatalf("%d rows in round %d", len(told), rounds)
		}
		b.tell(told)
	}
}

// A report survives encoding and decoding. An invalid report is refused.
func TestWhatIsToldTravels(t *testing.T) {
	bundle := AppendBundle(nil, &Bundle{Txns: repeated(txnOf(0, "get", "k"), 5)})
	encode := func(told []Told, free []int) []byte {
		b := NewEntryBuilder(7, EntryID{1, 1, 1}, 1000, 64)
		b.Add(bundle)
		b.Tell(told, free)
		return b.Finish()
	}
	for _, c := range []struct {
		told []Told
		free []int
	}{
		{nil, nil}, {nil, []int{}}, {nil, []int{0, 1, 4}}, {[]Told{{rowAll, 1 << 60}, {rowGlobal, 0}, {16383, 7}}, nil}, {[]Told{{0, 1}}, []int{4}},
	} {
		e, err := decodeEntry(7, encode(c.told, c.free))
		if err != nil || !slices.Equal(e.Told, c.told) || !slices.Equal(e.Free, c.free) || (e.Free == nil) != (c.free == nil) {
			t.Errorf("%v %v: %v %v, %v", c.told, c.free, e.Told, e.Free, err)
		}
	}
	for name, data := range map[string][]byte{
		"a place behind the last": encode(nil, []int{5}), "far behind": encode(nil, []int{1 << 40}), "two that are too far together": encode(nil, []int{4, 8}),
		"a row that there cannot be": encode([]Told{{-3, 1}}, nil),
	} {
		if _, err := decodeEntry(7, data); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
