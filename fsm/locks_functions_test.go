package fsm

import (
	"fmt"
	"strings"
	"testing"
)

// libraryOf is a library named l with one function for each pair of flags and body: f0, f1 and so
// on.
func libraryOf(pairs ...string) string {
	s := "#!lua name=l\n"
	for i := 0; i < len(pairs); i += 2 {
		s += fmt.Sprintf("redis.register_function{function_name='f%d', callback=function(keys, args) %s end, flags={%s}}\n", i/2, pairs[i+1], pairs[i])
	}
	return s
}

func fcallTxn(name string, keys ...string) Txn {
	return txnOf(0, append([]string{"fcall", name, fmt.Sprint(len(keys))}, keys...)...)
}

func loadLibrary(pairs ...string) Txn {
	return txnOf(0, "function", "load", "replace", libraryOf(pairs...))
}

const (
	lockKeys = "'allow-key-locking'"
	readKeys = "'allow-key-locking', 'no-writes'"
	stopHere = "redis.call('publish', 'gate', 'x') "
	incrKey  = "return redis.call('incr', keys[1])"
	getKey   = "return redis.call('get', keys[1])"
)

// TestWhichFunctionsOverlap stops a function in the middle and checks whether another txn can run
// beside it (D28, D29, D32, D33).
func TestWhichFunctionsOverlap(t *testing.T) {
	library := loadLibrary(lockKeys, stopHere+incrKey, "", stopHere+incrKey, lockKeys, incrKey, "", incrKey, readKeys, getKey, "'no-writes'", getKey)
	slow := map[string]Txn{
		"flagged on a": fcallTxn("f0", "a"), "unflagged on a": fcallTxn("f1", "a"), "flagged in MULTI": inExec(fcallTxn("f0", "a")),
		"flagged, a argument": txnOf(0, "fcall", "f0", "1", "b", "a"),
	}
	quick := map[string]Txn{
		"flagged on a": fcallTxn("f2", "a"), "flagged on b": fcallTxn("f2", "b"), "unflagged on b": fcallTxn("f3", "b"),
		"flagged on b in MULTI": inExec(fcallTxn("f2", "b")), "INCR a": txnOf(0, "incr", "a"), "INCR b": txnOf(0, "incr", "b"),
		"reads a": fcallTxn("f4", "a"), "reads b": fcallTxn("f4", "b"), "unflagged, reads b": fcallTxn("f5", "b"),
		"FCALL_RO b": txnOf(0, "fcall_ro", "f4", "1", "b"), "FUNCTION LOAD": library, "no such function": fcallTxn("f9", "a"),
	}
	overlap := map[string][]string{
		"flagged on a":        {"flagged on b", "INCR b", "reads b", "FCALL_RO b", "no such function"},
		"unflagged on a":      {"no such function"},
		"flagged in MULTI":    {"no such function"},
		"flagged, a argument": {"flagged on a", "INCR a", "reads a", "no such function"},
	}
	for s := range slow {
		for q := range quick {
			t.Run(s+" and "+q, func(t *testing.T) {
				m, g := newGatedMachine(t)
				m.executed(m.apply(library))
				first := m.apply(slow[s])
				await(t, g.entered)
				second := m.apply(quick[q])
				want := strings.Contains(strings.Join(overlap[s], ",")+",", q+",")
				if waits := m.Sched().Stats().WaitingTickets; waits != map[bool]int{true: 0, false: 1}[want] {
					t.Errorf("%d wait", waits)
				}
				if want {
					m.eventually("the quick one is answered beside the slow one", func() bool { return m.reply(second) != "" })
				} else if m.reply(second) != "" {
					t.Error("the quick one has run")
				}
				g.letGo()
				m.executed(second)
				if failed := strings.HasPrefix(m.reply(second), "-"); m.reply(first)[0] == '-' || failed != (q == "no such function") {
					t.Errorf("%q and %q", m.reply(first), m.reply(second))
				}
			})
		}
	}
}

// TestFunctionsThatReadOneKeyOverlap: functions that read one key run together, and a function that
// writes it waits for them.
func TestFunctionsThatReadOneKeyOverlap(t *testing.T) {
	m := newLockedMachine(t)
	m.executed(m.apply(loadLibrary(readKeys, "for i = 1, 20000 do end "+getKey, lockKeys, incrKey)))
	running, stop, answer := m.heldRead(fcallTxn("f0", "a"))
	await(t, running)
	beside := m.apply(fcallTxn("f0", "a"))
	m.eventually("a reader in the log", func() bool { return m.reply(beside) == "$-1\r\n" })
	if got := readText(t, m.Machine, "fcall_ro", "f0", "1", "a"); got != "$-1\r\n" {
		t.Errorf("another reader says %q", got)
	}
	writer := m.apply(fcallTxn("f1", "a"))
	if waits := m.Sched().Stats().WaitingTickets; waits != 1 || m.reply(writer) != "" {
		t.Errorf("%d wait, and the writer says %q", waits, m.reply(writer))
	}
	stop <- nil
	if got := await(t, answer); got != "$-1\r\n<nil>" {
		t.Errorf("the first reader says %q", got)
	}
	m.executed(writer)
}

// TestCallsBehindAChangeFindWhatItMade: while a change waits for its turn, calls behind it lock
// everything. They then run the functions as of their own place in the log.
func TestCallsBehindAChangeFindWhatItMade(t *testing.T) {
	m, g := newGatedMachine(t)
	m.executed(m.apply(loadLibrary(lockKeys, stopHere+incrKey, lockKeys, "return 'old'", readKeys, "return 'old'")))
	m.apply(fcallTxn("f0", "a"))
	await(t, g.entered)
	before := m.apply(fcallTxn("f1", "b"))
	m.eventually("a call before the change", func() bool { return m.reply(before) == "$3\r\nold\r\n" })
	change := m.apply(loadLibrary(lockKeys, incrKey, lockKeys, "return redis.pcall('get', 'other')", lockKeys, "return 'new'", readKeys, "return 'newer'"))
	behind := m.apply(fcallTxn("f1", "b"))
	plain := m.apply(txnOf(0, "incr", "b"))
	reads := map[string]chan string{"fcall_ro f2 1 b": nil, "function list": nil, "fcall f3 1 b": nil}
	for line := range reads {
		answer := make(chan string, 1)
		reads[line] = answer
		go func() {
			reply, err := m.Read(t.Context(), ptr(txnOf(0, strings.Fields(line)...)), ReadOptions{})
			answer <- fmt.Sprintf("%s%v", reply, err)
		}()
	}
	m.eventually("all but the slow one wait", func() bool { return m.Sched().Stats().WaitingTickets == 6 })
	if m.reply(change)+m.reply(behind)+m.reply(plain) != "" {
		t.Errorf("%q, %q, %q", m.reply(change), m.reply(behind), m.reply(plain))
	}
	g.letGo()
	m.executed(plain)
	if got := m.reply(behind); !strings.HasPrefix(got, "-ERR Dynamic keys are not allowed") {
		t.Errorf("behind the change: %q", got)
	}
	for line, want := range map[string]string{
		"fcall_ro f2 1 b": "$3\r\nnew", "function list": "*1", "fcall f3 1 b": "$5\r\nnewer",
	} {
		if got := await(t, reads[line]); !strings.HasPrefix(got, want+"\r\n") || line == "function list" && !strings.Contains(got, "f3") {
			t.Errorf("%s, asked before the change had run: %q", line, got)
		}
	}
}

// TestAChangeThatIsNotMadeIsSettled: a watch that fails leaves the functions unchanged, and their
// calls lock only their keys again.
func TestAChangeThatIsNotMadeIsSettled(t *testing.T) {
	m, g := newGatedMachine(t)
	m.executed(m.apply(loadLibrary(lockKeys, stopHere+incrKey, lockKeys, incrKey), txnOf(0, "set", "w", "1")))
	exec := inExec(txnOf(0, "function", "flush"), txnOf(0, "set", "x", "1"))
	exec.Watches = []Watch{{Key: []byte("w")}}
	failed := m.apply(exec)
	m.executed(failed)
	if got := m.reply(failed); got != "*-1\r\n" {
		t.Fatalf("the transaction says %q", got)
	}
	m.apply(fcallTxn("f0", "a"))
	await(t, g.entered)
	beside := m.apply(fcallTxn("f1", "b"))
	m.eventually("a call of another key is answered", func() bool { return m.reply(beside) == ":1\r\n" })
}

// TestFunctionsThatReadCanBeKilled: functions that only read can be killed, and are listed while
// they run.
func TestFunctionsThatReadCanBeKilled(t *testing.T) {
	m, g := newGatedMachine(t)
	m.executed(m.apply(loadLibrary("'no-writes'", "while true do end", "", stopHere+incrKey)))
	ask := func(args ...string) string {
		reply, err := m.Read(t.Context(), ptr(txnOf(0, args...)), ReadOptions{LeaderMs: 5000})
		return strings.ReplaceAll(fmt.Sprintf("%s%v", reply, err), "\r\n", " ")
	}
	const engines = "$7 engines *2 $3 LUA *4 $15 libraries_count :1 $15 functions_count :2 <nil>"
	if got := ask("function", "stats"); got != "*4 $14 running_script $-1 "+engines {
		t.Errorf("%q", got)
	}
	if got := ask("function", "kill"); !strings.HasPrefix(got, "-NOTBUSY") {
		t.Errorf("%q", got)
	}
	running, stop, answer := m.heldRead(txnOf(0, "fcall", "f0", "0", "x"))
	await(t, running)
	want := "*4 $14 running_script *6 $4 name $2 f0 $7 command *4 $5 fcall $2 f0 $1 0 $1 x $11 duration_ms :"
	if got := ask("function", "stats"); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, engines) {
		t.Errorf("%q", got)
	}
	if got := ask("script", "kill"); !strings.HasPrefix(got, "-NOTBUSY") {
		t.Errorf("SCRIPT KILL ends a function: %q", got)
	}
	if got := ask("function", "kill"); got != "+OK <nil>" {
		t.Errorf("%q", got)
	}
	stop <- nil
	if got := await(t, answer); !strings.Contains(got, "Script killed by user") || !strings.Contains(got, "script: f0, on @user_function:2.") {
		t.Errorf("%q", got)
	}
	entry := m.apply(fcallTxn("f1", "a"))
	await(t, g.entered)
	if got := ask("function", "kill"); !strings.HasPrefix(got, "-UNKILLABLE") {
		t.Errorf("%q", got)
	}
	g.letGo()
	m.executed(entry)
}

// TestAReadOfAFunctionThatWritesMustBeLogged: a function that writes is refused as a read.
func TestAReadOfAFunctionThatWritesMustBeLogged(t *testing.T) {
	m := newLockedMachine(t)
	m.executed(m.apply(loadLibrary(lockKeys, incrKey)))
	if _, err := m.Read(t.Context(), ptr(fcallTxn("f0", "a")), ReadOptions{}); err != ErrLogged {
		t.Errorf("%v", err)
	}
	if _, err := m.Read(t.Context(), ptr(txnOf(0, "function", "flush")), ReadOptions{}); err != ErrLogged {
		t.Errorf("%v", err)
	}
}

// TestWhatAFunctionDeletesDoesNotDependOnItsLocks: behind a change of the libraries a call locks
// the whole shard on one replica, and its keys, shared, on another replica that has come further.
// On both an expired key stays, because the function only reads.
func TestWhatAFunctionDeletesDoesNotDependOnItsLocks(t *testing.T) {
	call, change := fcallTxn("f0", "k"), txnOf(0, "function", "load", "#!lua name=other\nredis.register_function('g', function() end)")
	left := map[bool]int{}
	for _, settled := range []bool{true, false} {
		m := newLockedMachine(t)
		m.apply(loadLibrary(readKeys, "return redis.call('get', keys[1])"))
		m.executed(m.apply(txnOf(0, "set", "k", "v", "px", "2")))
		last := uint64(0)
		if settled {
			m.executed(m.apply(change))
			last = m.apply(call)
		} else {
			m.apply(Txn{Kind: KindTick, Proto: 2})
			last = m.apply(change, call)
		}
		m.executed(last)
		left[settled] = m.Keyspace().Keys(0)
	}
	if left[true] != 1 || left[false] != 1 {
		t.Errorf("keys that are left, by whether the libraries were settled: %v", left)
	}
}
