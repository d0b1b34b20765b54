package fsm

import (
	"errors"
	"strings"
	"testing"

	"lockstep/engine/sched"
)

// A transaction whose commands only read gets the same reply as in the log, as of one instant, and
// without an entry.
func TestATransactionThatOnlyReadsIsARead(t *testing.T) {
	m := newLockedMachine(t)
	m.executed(m.stampedAt(1000, txnOf(0, "set", "a", "1"), txnOf(0, "rpush", "l", "x", "y"), txnOf(0, "set", "due", "v", "pxat", "2000")))
	read := func(txn Txn, opt ReadOptions) (string, error) {
		reply, err := m.Read(t.Context(), &txn, opt)
		return string(reply), err
	}
	all := inExec(txnOf(0, "get", "a"), txnOf(0, "lrange", "l", "0", "-1"), txnOf(0, "dbsize"), txnOf(0, "get", "l"))
	const answers = "*4\r\n$1\r\n1\r\n*2\r\n$1\r\nx\r\n$1\r\ny\r\n:3\r\n-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
	if got, err := read(all, ReadOptions{}); got != answers || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if replies := m.ReadTogether([]Txn{all}, ReadOptions{}, nil); len(replies) != 0 {
		t.Error("it ran together with other reads, under their locks")
	}
	for name, watch := range map[string]Watch{"another version": {Key: []byte("a"), Version: 99}, "no version": {Key: []byte("a")}} {
		watched := inExec(txnOf(0, "get", "a"))
		watched.Watches = []Watch{watch}
		if got, err := read(watched, ReadOptions{}); got != "*-1\r\n" || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	// A read or a watch of a key that is due by the leader's clock waits for the log's time.
	watched := Txn{Kind: KindExec, Proto: 2, Watches: []Watch{{Key: []byte("due"), Version: 3}}}
	for name, txn := range map[string]Txn{"read": inExec(txnOf(0, "get", "due")), "watched": watched} {
		if got, err := read(txn, ReadOptions{LeaderMs: 1999}); err != nil || got == "*-1\r\n" {
			t.Errorf("%s before its time: %q, %v", name, got, err)
		}
		if _, err := read(txn, ReadOptions{LeaderMs: 2000}); !errors.Is(err, ErrDue) {
			t.Errorf("%s and due: %v", name, err)
		}
	}
	for name, other := range map[string]Txn{"a write": txnOf(0, "set", "a", "2"), "a script": evalTxn(incrs, "a"), "a look at scripts": txnOf(0, "script", "exists", sha(gets))} {
		if _, err := read(inExec(txnOf(0, "get", "a"), other), ReadOptions{}); !errors.Is(err, ErrLogged) {
			t.Errorf("with %s: %v", name, err)
		}
	}
}

// Programs that only read, by their command or by their flags, need no entry either.
func TestATransactionOfProgramsThatReadIsARead(t *testing.T) {
	m := newLockedMachine(t)
	m.executed(m.apply(loadLibrary(readKeys, getKey, lockKeys, incrKey), txnOf(0, "set", "a", "1"), txnOf(0, "script", "load", gets)))
	ro := func(name, program string) Txn { return txnOf(0, name, program, "1", "a") }
	read := func(opt ReadOptions, txns ...Txn) (string, error) {
		reply, err := m.Read(t.Context(), ptr(inExec(txns...)), opt)
		return string(reply), err
	}
	all := []Txn{txnOf(0, "get", "a"), ro("eval_ro", gets), ro("evalsha_ro", sha(gets)), ro("fcall_ro", "f0"), fcallTxn("f0", "a"), ro("fcall_ro", "f9")}
	const one = "$1\r\n1\r\n"
	if got, err := read(ReadOptions{}, all...); got != "*6\r\n"+one+one+one+one+one+"-ERR Function not found\r\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	var uncached *UncachedError
	if _, err := read(ReadOptions{}, evalTxn(reads+gets, "a")); !errors.As(err, &uncached) || string(uncached.Source) != reads+gets {
		t.Errorf("a script that is not known: %v", err)
	}
	if got, err := read(ReadOptions{Uncached: true}, evalTxn(reads+gets, "a"), ro("eval_ro", incrs)); !strings.HasPrefix(got, "*2\r\n"+one+"-ERR Write commands are not allowed") || err != nil {
		t.Errorf("the same, or one that tries to write: %q, %v", got, err)
	}
	if _, err := read(ReadOptions{}, fcallTxn("f1", "a")); !errors.Is(err, ErrLogged) {
		t.Errorf("a function that writes: %v", err)
	}
}

// Such a transaction calls the functions that exist when it has its locks.
func TestATransactionThatReadsBehindAChangeFindsWhatItMade(t *testing.T) {
	m, g := newGatedMachine(t)
	m.executed(m.apply(loadLibrary(lockKeys, stopHere+incrKey, readKeys, "return 'old'")))
	m.apply(fcallTxn("f0", "a"))
	await(t, g.entered)
	answers := map[string]<-chan string{}
	for _, name := range []string{"fcall", "fcall_ro"} {
		answers[name] = m.reading(inExec(txnOf(0, name, "f1", "1", "b")))
	}
	m.eventually("both wait for the one that runs", func() bool { return m.Sched().Stats().WaitingTickets == 2 })
	change := m.apply(loadLibrary(lockKeys, incrKey, readKeys, "return 'new'"))
	for _, name := range []string{"fcall", "fcall_ro"} {
		answers[name+" behind it"] = m.reading(inExec(txnOf(0, name, "f1", "1", "b")))
	}
	m.eventually("all wait", func() bool { return m.Sched().Stats().WaitingTickets == 5 })
	g.letGo()
	m.executed(change)
	for name, answer := range answers {
		want := "old"
		if strings.HasSuffix(name, "behind it") {
			want = "new"
		}
		if got := await(t, answer); got != "*1\r\n$3\r\n"+want+"\r\n" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// It takes the same locks as in the log: it sees no half of a RENAME, and waits for the writers of
// the keys that it reads or watches.
func TestATransactionThatOnlyReadsLocksItsKeys(t *testing.T) {
	watches := Txn{Kind: KindExec, Proto: 2, Watches: []Watch{{Key: []byte("a")}}}
	for name, txn := range map[string]Txn{"reads": inExec(txnOf(0, "get", "a"), txnOf(0, "get", "b")), "watches": watches, "all": inExec(txnOf(0, "dbsize"))} {
		m := newLockedMachine(t)
		letGo := m.hold("a", sched.Exclusive)
		answer := m.reading(txn)
		m.eventually(name+": it waits", func() bool { return m.Sched().Stats().WaitingTickets == 1 })
		letGo()
		if got := await(t, answer); !strings.HasPrefix(got, "*") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A transaction whose WATCH fails leaves the scripts unchanged. Its changes of scripts are made
// before it runs. So its watches are checked even before that, behind everything that comes before
// it in the log, also in its own entry.
func TestAFailedWatchLeavesTheScriptsAlone(t *testing.T) {
	m := newLockedMachine(t)
	loaded, other := "return 'loaded'", "return 'other'"
	m.executed(m.apply(txnOf(0, "set", "w", "1"), txnOf(0, "script", "load", loaded)))
	version := m.TxnNo() - 1
	change := func(version uint64) Txn {
		txn := inExec(txnOf(0, "script", "flush"), txnOf(0, "script", "load", other), txnOf(0, "evalsha", sha(other), "0"))
		txn.Watches = []Watch{{Key: []byte("w"), Version: version}}
		return txn
	}
	exists := func(want string) {
		t.Helper()
		if got := readText(t, m.Machine, "script", "exists", sha(loaded), sha(other)); got != want {
			t.Errorf("SCRIPT EXISTS says %q, not %q", got, want)
		}
	}
	before := "*2\r\n:1\r\n:0\r\n"
	m.wants(change(version+1), "*-1\r\n")
	exists(before)
	// The write that makes the watch fail is in the same entry, and holds its key when the
	// transaction's turn comes.
	g := gate{entered: make(chan string, 1), open: make(chan struct{})}
	m.cfg.Witness = &g
	slow := evalTxn(flagged+stopsHere+"return redis.call('set', KEYS[1], 2)", "w")
	applied := make(chan uint64, 1)
	go func() { applied <- m.apply(slow, change(version), txnOf(0, "set", "behind", "1")) }()
	await(t, g.entered)
	m.eventually("its watches are looked at behind that write", func() bool { return m.Sched().Stats().WaitingTickets == 1 })
	g.letGo()
	entry := <-applied
	m.executed(entry)
	exists(before)
	if got := m.replies.replies[EntryID{1, 1, entry}]; got[1] != "0 *-1\r\n" || got[2] != "0 +OK\r\n" {
		t.Errorf("%v", got)
	}
	// With a watch that holds everything is done.
	m.wants(change(m.TxnNo()-2), "*3\r\n+OK\r\n$40\r\n"+sha(other)+"\r\n$5\r\nother\r\n")
	exists("*2\r\n:0\r\n:1\r\n")
}
