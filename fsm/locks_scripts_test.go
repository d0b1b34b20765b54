package fsm

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/engine/command"
	"lockstep/engine/script"
)

// gate is a Witness. Scripts that publish to "gate" stop there until it is opened. Meanwhile they
// run and hold their locks.
type gate struct {
	entered chan string
	open    chan struct{}
	once    sync.Once
}

func (g *gate) letGo() { g.once.Do(func() { close(g.open) }) }

func (*gate) Log(int, string)                                                                       {}
func (*gate) Began() int64                                                                          { return 0 }
func (*gate) Ended(command.Caller, int64, *command.Spec, [][]byte, int, []byte)                     {}
func (*gate) Refused(command.Caller, command.User, *command.Spec, [][]byte, command.Denial, []byte) {}
func (*gate) Raised([]byte)                                                                         {}

func (g *gate) Publish(_ bool, channel string, payload []byte) {
	if channel == "gate" {
		g.entered <- string(payload)
		<-g.open
	}
}

func newGatedMachine(t *testing.T) (*lockedMachine, *gate) {
	m := newLockedMachine(t)
	g := &gate{entered: make(chan string, 16), open: make(chan struct{})}
	m.cfg.Witness = g
	t.Cleanup(g.letGo)
	return m, g
}

const (
	flagged   = "#!lua flags=allow-key-locking\n"
	reads     = "#!lua flags=no-writes,allow-key-locking\n"
	readsAll  = "#!lua flags=no-writes\n"
	stopsHere = "redis.call('publish', 'gate', 'x') "
	incrs     = "return redis.call('incr', KEYS[1])"
	gets      = "return redis.call('get', KEYS[1])"
)

func evalTxn(source string, keys ...string) Txn {
	return txnOf(0, append([]string{"eval", source, fmt.Sprint(len(keys))}, keys...)...)
}

func inExec(txns ...Txn) Txn {
	t := Txn{Kind: KindExec, Proto: 2}
	for _, txn := range txns {
		t.Ops = append(t.Ops, txn.Ops...)
	}
	return t
}

// TestWhichScriptsOverlap stops a script in the middle and checks whether another txn can run
// beside it (D15 to D18, D24, D32, B23, B25).
func TestWhichScriptsOverlap(t *testing.T) {
	slow := map[string]Txn{
		"flagged on a":        evalTxn(flagged+stopsHere+incrs, "a"),
		"unflagged on a":      evalTxn(stopsHere+incrs, "a"),
		"flagged in MULTI":    inExec(evalTxn(flagged+stopsHere+incrs, "a")),
		"flagged, a argument": txnOf(0, "eval", flagged+stopsHere+incrs, "1", "b", "a"),
	}
	quick := map[string]Txn{
		"flagged on a": evalTxn(flagged+incrs, "a"), "flagged on b": evalTxn(flagged+incrs, "b"),
		"unflagged on b": evalTxn(incrs, "b"), "flagged on b in MULTI": inExec(evalTxn(flagged+incrs, "b")),
		"INCR a": txnOf(0, "incr", "a"), "INCR b": txnOf(0, "incr", "b"),
		"reads a": evalTxn(reads+gets, "a"), "reads b": evalTxn(reads+gets, "b"), "unflagged, reads b": evalTxn(readsAll+gets, "b"),
	}
	overlap := map[string]string{
		"flagged on a":        "flagged on b, INCR b, reads b",
		"unflagged on a":      "",
		"flagged in MULTI":    "",
		"flagged, a argument": "flagged on a, INCR a, reads a",
	}
	for s := range slow {
		for q := range quick {
			t.Run(s+" and "+q, func(t *testing.T) {
				m, g := newGatedMachine(t)
				first := m.apply(slow[s])
				await(t, g.entered)
				second := m.apply(quick[q])
				want := false
				for _, name := range strings.Split(overlap[s], ", ") {
					want = want || name == q
				}
				if waits := m.Sched().Stats().WaitingTickets; waits != map[bool]int{true: 0, false: 1}[want] {
					t.Errorf("%d wait", waits)
				}
				if want {
					m.eventually("the quick one is answered beside the slow one", func() bool { return m.reply(second) != "" })
					if m.reply(first) != "" {
						t.Error("the slow one has ended")
					}
				} else if m.reply(second) != "" {
					t.Error("the quick one has run")
				}
				g.letGo()
				m.executed(second)
				if strings.HasPrefix(m.reply(first)+m.reply(second), "-") {
					t.Errorf("%q and %q", m.reply(first), m.reply(second))
				}
			})
		}
	}
}

// TestHowManyScriptsRunAtOnce counts the scripts that have stopped in the middle (D15, D16, D17,
// D18, D32, B25).
func TestHowManyScriptsRunAtOnce(t *testing.T) {
	const all = 4
	each := func(flag string, keys ...string) (txns []Txn) {
		for i := range all {
			txns = append(txns, evalTxn(flag+stopsHere+incrs, keys[i%len(keys)]))
		}
		return txns
	}
	queued := each(flagged, "a", "b", "c", "d")
	for i := range queued {
		queued[i] = inExec(queued[i])
	}
	for _, c := range []struct {
		name string
		txns []Txn
		want int
	}{
		{"flagged, disjoint keys", each(flagged, "a", "b", "c", "d"), all},
		{"flagged, two keys", each(flagged, "a", "b"), 2},
		{"flagged, one key", each(flagged, "a"), 1},
		{"without the flag, disjoint keys", each("", "a", "b", "c", "d"), 1},
		{"flagged in MULTI, disjoint keys", queued, 1},
	} {
		m, g := newGatedMachine(t)
		last := m.apply(c.txns...)
		for range c.want {
			await(t, g.entered)
		}
		m.eventually("the others wait", func() bool { return m.Sched().Stats().WaitingTickets == all-c.want })
		t.Logf("%s: %d of %d at once", c.name, c.want+len(g.entered), all)
		if len(g.entered) > 0 {
			t.Errorf("%s: more than %d at once", c.name, c.want)
		}
		g.letGo()
		m.executed(last)
	}
}

func await[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(locksPatience):
		t.Fatal("nothing came")
	}
	panic("unreachable")
}

// TestScriptsOverlapByTheirCachedFlags checks that the locks of EVALSHA follow from the flags of the
// script that is in the cache at the call's place in the log.
func TestScriptsOverlapByTheirCachedFlags(t *testing.T) {
	m, g := newGatedMachine(t)
	source := flagged + incrs
	sha := script.SHA1([]byte(source))
	m.apply(evalTxn(flagged+stopsHere+incrs, "a"))
	await(t, g.entered)
	unknown := m.apply(txnOf(0, "evalsha", sha, "1", "b"))
	m.eventually("NOSCRIPT, whatever runs", func() bool { return strings.HasPrefix(m.reply(unknown), "-NOSCRIPT") })
	load := m.apply(txnOf(0, "script", "load", source))
	m.eventually("SCRIPT LOAD waits for nobody", func() bool { return m.reply(load) == fmt.Sprintf("$40\r\n%s\r\n", sha) })
	ran := m.apply(txnOf(0, "evalsha", sha, "1", "b"))
	m.eventually("EVALSHA runs beside the slow script", func() bool { return m.reply(ran) == ":1\r\n" })
	behind := m.apply(txnOf(0, "evalsha", sha, "1", "a"))
	// The flush comes before the call runs, but behind the call's place in the log.
	flush := m.apply(txnOf(0, "script", "flush"))
	m.eventually("SCRIPT FLUSH waits for nobody", func() bool { return m.reply(flush) == "+OK\r\n" })
	if m.reply(behind) != "" {
		t.Error("it passed the script on its key")
	}
	gone := m.apply(txnOf(0, "evalsha", sha, "1", "b"))
	g.letGo()
	m.executed(gone)
	if m.reply(behind) != ":2\r\n" || !strings.HasPrefix(m.reply(gone), "-NOSCRIPT") {
		t.Errorf("%q and %q", m.reply(behind), m.reply(gone))
	}
}

// heldRead runs a script that only reads and holds it in the middle, until its Stop returns.
func (m *lockedMachine) heldRead(txn Txn) (running chan struct{}, stop chan error, answer chan string) {
	running, stop, answer = make(chan struct{}), make(chan error), make(chan string, 1)
	asked := false
	go func() {
		reply, err := m.Read(m.t.Context(), &txn, ReadOptions{Uncached: true, Stop: func() error {
			if asked {
				return nil
			}
			asked = true
			close(running)
			return <-stop
		}})
		answer <- fmt.Sprintf("%s%v", reply, err)
	}()
	return running, stop, answer
}

const long = "for i = 1, 20000 do end "

// TestReadingScriptsRunBesideTheLog: with allow-key-locking scripts that read hold only their keys,
// and shared, also if only EVAL_RO says that they read. Without the flag nothing else runs
// meanwhile (D23, D24, B23).
func TestReadingScriptsRunBesideTheLog(t *testing.T) {
	for source, waiting := range map[string]int{reads: 1, flagged: 1, readsAll: 3} {
		m := newLockedMachine(t)
		m.apply(txnOf(0, "set", "a", "1"))
		call := evalTxn(source+long+gets, "a")
		call.Ops[0].Args[0] = []byte("eval_ro")
		running, stop, answer := m.heldRead(call)
		await(t, running)
		reader := make(chan string, 1)
		go func() {
			reply, err := m.Read(t.Context(), ptr(evalTxn(reads+gets, "a")), ReadOptions{Uncached: true})
			reader <- fmt.Sprintf("%s%v", reply, err)
		}()
		if waiting == 1 {
			if got := await(t, reader); got != "$1\r\n1\r\n<nil>" {
				t.Errorf("another reader is told %q", got)
			}
		} else {
			m.eventually("another reader waits", func() bool { return m.Sched().Stats().WaitingTickets == 1 })
		}
		set := m.apply(txnOf(0, "set", "a", "2"))
		other := m.apply(txnOf(0, "incr", "b"))
		if waiting == 1 {
			m.eventually("another key is written", func() bool { return m.reply(other) != "" })
		}
		if got := m.Sched().Stats().WaitingTickets; got != waiting {
			t.Errorf("%q: %d wait, not %d", source, got, waiting)
		}
		stop <- nil
		if got := await(t, answer); got != "$1\r\n1\r\n<nil>" {
			t.Errorf("the script says %q", got)
		}
		m.executed(other)
		if m.reply(set) != "+OK\r\n" {
			t.Errorf("%q", m.reply(set))
		}
	}
}

func ptr(t Txn) *Txn { return &t }

// TestReadingScriptsCanBeStopped: SCRIPT KILL, which takes no lock, stops scripts that read, and so
// does their timeout. Scripts from the log cannot be stopped.
func TestReadingScriptsCanBeStopped(t *testing.T) {
	m, g := newGatedMachine(t)
	kill := ptr(txnOf(0, "script", "kill"))
	killed := func() string {
		reply, err := m.Read(t.Context(), kill, ReadOptions{})
		return fmt.Sprintf("%s%v", reply, err)
	}
	if got := killed(); !strings.HasPrefix(got, "-NOTBUSY") {
		t.Errorf("%q", got)
	}
	running, stop, answer := m.heldRead(evalTxn(readsAll + "while true do end"))
	await(t, running)
	if got := killed(); got != "+OK\r\n<nil>" {
		t.Errorf("%q", got)
	}
	stop <- nil
	if got := await(t, answer); !strings.Contains(got, "Script killed by user with SCRIPT KILL") {
		t.Errorf("%q", got)
	}
	running, stop, answer = m.heldRead(evalTxn(readsAll + "while true do pcall(function() while true do end end) end"))
	await(t, running)
	stop <- errors.New("it had its time")
	if got := await(t, answer); !strings.Contains(got, "it had its time") {
		t.Errorf("%q", got)
	}
	entry := m.apply(evalTxn(stopsHere+incrs, "a"))
	await(t, g.entered)
	if got := killed(); !strings.HasPrefix(got, "-UNKILLABLE") {
		t.Errorf("%q", got)
	}
	g.letGo()
	m.executed(entry)
	if got := killed(); m.reply(entry) != ":1\r\n" || !strings.HasPrefix(got, "-NOTBUSY") {
		t.Errorf("%q, and then %q", m.reply(entry), got)
	}
}

// TestAReadOfAProgramThatWritesMustBeLogged: a program that writes is refused as a read.
func TestAReadOfAProgramThatWritesMustBeLogged(t *testing.T) {
	m := newLockedMachine(t)
	if _, err := m.Read(t.Context(), ptr(evalTxn(incrs, "a")), ReadOptions{}); !errors.Is(err, ErrLogged) {
		t.Errorf("%v", err)
	}
	_, err := m.Read(t.Context(), ptr(evalTxn(readsAll+gets, "a")), ReadOptions{})
	var uncached *UncachedError
	if !errors.As(err, &uncached) || string(uncached.Source) != readsAll+gets {
		t.Fatalf("%v", err)
	}
	m.apply(KeepScript(uncached.Source))
	for _, txn := range []Txn{evalTxn(readsAll+gets, "a"), txnOf(0, "evalsha_ro", script.SHA1(uncached.Source), "1", "a")} {
		if reply, err := m.Read(t.Context(), &txn, ReadOptions{}); string(reply) != "$-1\r\n" || err != nil {
			t.Errorf("%q, %v", reply, err)
		}
	}
}
