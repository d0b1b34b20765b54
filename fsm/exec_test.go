package fsm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands/scriptcmd"
	"lockstep/engine/reply"
	"lockstep/engine/sched"
	"lockstep/tests/kit/standstill"
)

// stamped applies a txn in an entry with that stamp, and returns its reply.
func (m *lockedMachine) stamped(stampMs int64, txn Txn) string {
	m.t.Helper()
	m.executed(m.stampedAt(stampMs, txn))
	return m.reply(m.index)
}

// stampedAt applies the txns in an entry with that stamp, and returns the entry's number.
func (m *lockedMachine) stampedAt(stampMs int64, txns ...Txn) uint64 {
	m.t.Helper()
	m.index++
	b := NewEntryBuilder(7, EntryID{1, 1, m.index}, stampMs, 128)
	b.Add(AppendBundle(nil, &Bundle{Txns: txns}))
	if err := m.Apply(m.index, b.Finish()); err != nil {
		m.t.Fatal(err)
	}
	return m.index
}

// A leader whose clock is behind that of the leader before does not turn the log's time back.
// Otherwise a key that had expired would exist again.
func TestTheLogsTimeDoesNotRunBackwards(t *testing.T) {
	m := newLockedMachine(t)
	m.stamped(1000, txnOf(0, "set", "k", "v", "pxat", "2000"))
	m.stamped(2000, Txn{Kind: KindTick})
	if got := m.stamped(1500, txnOf(0, "get", "k")); got != "$-1\r\n" {
		t.Errorf("in the log: %q", got)
	}
	if got := readText(t, m.Machine, "get", "k"); got != "$-1\r\n" || m.StampMs() != 2000 {
		t.Errorf("at %d a read gets %q", m.StampMs(), got)
	}
}

func TestEveryTxnDrawsByItself(t *testing.T) {
	seen := map[uint64]string{}
	for index := range uint64(100) {
		for ordinal := range 100 {
			s, at := seed(index, ordinal), fmt.Sprintf("%d/%d", index, ordinal)
			if other, twice := seen[s]; twice {
				t.Fatalf("%s draws as %s", at, other)
			}
			seen[s] = at
		}
	}
}

// A txn that takes long, or has many arguments, does not keep the log waiting.
func TestLongWorkIsHandedOver(t *testing.T) {
	many := append([]string{"del"}, strings.Split(strings.Repeat("k ", heavyArgs)+"k", " ")...)
	for _, c := range []struct {
		txn    Txn
		handed uint64
	}{
		{txnOf(0, "get", "k"), 0},
		{txnOf(0, many[:heavyArgs]...), 0},
		{txnOf(0, many...), 1},
		{txnOf(0, "keys", "*"), 1},
	} {
		m := newLockedMachine(t)
		m.executed(m.apply(c.txn))
		if got := m.Sched().Stats().OnWorkers; got != c.handed {
			t.Errorf("%s with %d arguments: %d on workers", c.txn.Ops[0].Args[0], len(c.txn.Ops[0].Args), got)
		}
	}
}

// A command that panics answers an error and nothing else, whatever it had written. Other commands
// of the same transaction have their replies. Trackers are notified that any key may have changed.
func TestACommandThatBreaksDownAnswersAnError(t *testing.T) {
	m := testMachine(t, nil)
	bad := command.Spec{Name: "bad", Run: func(c *command.Ctx, _ [][]byte) {
		c.Out.Array(2)
		c.Out.OK()
		panic("broken")
	}}
	set := txnOf(0, "set", "k", "v").Ops[0]
	ops := []Op{set, NewOp(0, [][]byte{[]byte("bad")}, &bad), set}
	out, changes := reply.NewWriter(2), command.Changes{}
	settings := m.Settings()
	ctx := command.Ctx{KS: m.Keyspace(), Out: out, TxnNo: 1, Logged: true, Meter: command.Meter{Settings: &settings}, Listeners: command.Listeners{Changes: &changes}}
	runOps(m, &ctx, ops)
	if got, want := string(out.Bytes()), "*3\r\n+OK\r\n-"+scriptcmd.ErrPanic([]byte("bad"))+"\r\n+OK\r\n"; got != want {
		t.Errorf("%q", got)
	}
	if m.Counters().Panics.Load() != 1 || !slices.ContainsFunc(changes.Keys, func(key []byte) bool { return key == nil }) {
		t.Errorf("%d counted, changed: %q", m.Counters().Panics.Load(), changes.Keys)
	}
}

// A client reads a key's version while an entry is being applied that makes the key and deletes it
// again. The client has seen the state before both, so its EXEC fails.
func TestAWatchOfTheMiddleOfAnEntry(t *testing.T) {
	g := standstill.New("gate")
	m := &lockedMachine{t: t, replies: newRecorder()}
	m.Machine = New(Config{Group: 7, Engine: engine.Config{LockSlots: 64}, Sink: m.replies, Observer: g, Sched: sched.Config{Permits: 8, Workers: 4}})
	t.Cleanup(m.Close)
	// There are more txns than run together: the last ones have no ticket yet.
	txns := []Txn{txnOf(0, "set", "gate", "v")}
	for len(txns) < 64 {
		txns = append(txns, txnOf(0, "set", "gate", "v"))
	}
	txns = append(txns, txnOf(0, "set", "w", "v"), txnOf(0, "del", "w"))
	applied := make(chan uint64, 1)
	go func() { applied <- m.apply(txns...) }()
	<-g.Entered
	var version, seenAt uint64
	seen := readText(t, m.Machine, "lockstep.versions", "w")
	if _, err := fmt.Sscanf(seen, "*2\r\n:%d\r\n:%d\r\n", &version, &seenAt); err != nil || version != 0 {
		t.Fatalf("%q: %v", seen, err)
	}
	close(g.Open)
	m.executed(<-applied)
	exec := txnOf(0, "set", "done", "1")
	exec.Kind, exec.Watches = KindExec, []Watch{{Key: []byte("w"), SeenAt: seenAt}}
	entry := m.apply(exec)
	m.executed(entry)
	if got := m.reply(entry); got != "*-1\r\n" {
		t.Errorf("EXEC answers %q; the key was seen at %d", got, seenAt)
	}
}

// A client has the reply to its DEL while the rest of the entry is being applied, and watches the
// key. The key does not change after that, so its EXEC runs.
func TestAWatchBehindADeletionInTheMiddleOfAnEntry(t *testing.T) {
	g := standstill.New("gate")
	m := &lockedMachine{t: t, replies: newRecorder()}
	m.Machine = New(Config{Group: 7, Engine: engine.Config{LockSlots: 64}, Sink: m.replies, Observer: g, Sched: sched.Config{Permits: 8, Workers: 4}})
	t.Cleanup(m.Close)
	keys := m.elsewhere("gate", 2)
	w, other := keys[0], keys[1]
	m.executed(m.apply(txnOf(0, "set", w, "v")))
	// There are more txns than run together: the slots of the first ones are free when the last one
	// runs.
	txns := []Txn{txnOf(0, "del", w)}
	for len(txns) < 64 {
		txns = append(txns, txnOf(0, "set", other, "v"))
	}
	txns = append(txns, txnOf(0, "set", "gate", "v"))
	applied := make(chan uint64, 1)
	go func() { applied <- m.apply(txns...) }()
	<-g.Entered
	var version, seenAt uint64
	seen := readText(t, m.Machine, "lockstep.versions", w)
	if _, err := fmt.Sscanf(seen, "*2\r\n:%d\r\n:%d\r\n", &version, &seenAt); err != nil || version != 0 {
		t.Fatalf("%q: %v", seen, err)
	}
	close(g.Open)
	m.executed(<-applied)
	exec := txnOf(0, "set", "done", "1")
	exec.Kind, exec.Watches = KindExec, []Watch{{Key: []byte(w), SeenAt: seenAt}}
	entry := m.apply(exec)
	m.executed(entry)
	if got := m.reply(entry); got != "*1\r\n+OK\r\n" {
		t.Errorf("EXEC answers %q; the key was seen at %d", got, seenAt)
	}
}

// A key that did not exist when it was watched was made since then, and has expired. EXEC does
// nothing, whether or not the key was deleted. A key that had expired before it was watched does
// not count as made.
func TestAWatchedKeyThatCameAndLapsed(t *testing.T) {
	for _, c := range []struct {
		what   string
		before bool
		reply  string
	}{
		{"made since", false, "*-1\r\n"},
		{"made before", true, "*1\r\n+OK\r\n"},
	} {
		m := newLockedMachine(t)
		short := txnOf(0, "set", "w", "v", "pxat", "2000")
		if c.before {
			m.stamped(1000, short)
			m.stamped(2000, Txn{Kind: KindTick})
		}
		var version, seenAt uint64
		seen := readText(t, m.Machine, "lockstep.versions", "w")
		if _, err := fmt.Sscanf(seen, "*2\r\n:%d\r\n:%d\r\n", &version, &seenAt); err != nil || version != 0 {
			t.Fatalf("%s: %q: %v", c.what, seen, err)
		}
		if !c.before {
			m.stamped(1000, short)
			m.stamped(2000, Txn{Kind: KindTick})
		}
		exec := txnOf(0, "set", "done", "1")
		exec.Kind, exec.Watches = KindExec, []Watch{{Key: []byte("w"), SeenAt: seenAt}}
		if got := m.stamped(2000, exec); got != c.reply {
			t.Errorf("%s: EXEC answers %q, want %q", c.what, got, c.reply)
		}
	}
}

func TestTheUsersThatAreKeptAreBounded(t *testing.T) {
	var c userCache
	for i := range 3 * usersMax {
		c.of(fmt.Append(nil, "~key:", i))
		if len(c.users) > usersMax {
			t.Fatalf("%d users", len(c.users))
		}
	}
	if c.of(nil) != nil {
		t.Error("a user that may do everything has rules")
	}
}
