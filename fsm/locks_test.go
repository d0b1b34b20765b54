package fsm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/sched"
)

// These tests see locks from outside: through Apply, Read and replies. The lock table's own
// guarantees are tested in package sched.

const locksPatience = 60 * time.Second

// lockedMachine is a machine that keeps its replies.
type lockedMachine struct {
	*Machine
	t       *testing.T
	replies *recorder
	index   uint64
}

func newLockedMachine(t *testing.T) *lockedMachine {
	m := &lockedMachine{t: t, replies: newRecorder()}
	m.Machine = testMachine(t, m.replies)
	return m
}

// apply applies one entry of the txns and returns its number. It must not wait for any of them.
func (m *lockedMachine) apply(txns ...Txn) uint64 {
	m.t.Helper()
	m.index++
	if err := m.Apply(m.index, entryOf(m.index, Bundle{Txns: txns})); err != nil {
		m.t.Fatal(err)
	}
	return m.index
}

// reply is the reply to an entry's first txn, or "" if there is none yet.
func (m *lockedMachine) reply(entry uint64) string {
	m.replies.mu.Lock()
	defer m.replies.mu.Unlock()
	_, text, _ := strings.Cut(m.replies.replies[EntryID{1, 1, entry}][0], " ")
	return text
}

// eventually waits until ok returns true.
func (m *lockedMachine) eventually(what string, ok func() bool) {
	m.t.Helper()
	for deadline := time.Now().Add(locksPatience); !ok(); {
		if time.Now().After(deadline) {
			m.t.Fatalf("not in time: %s", what)
		}
		runtime.Gosched()
	}
}

func (m *lockedMachine) executed(entry uint64) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), locksPatience)
	defer cancel()
	if err := m.WaitExecuted(ctx, entry); err != nil {
		m.t.Fatal(err)
	}
}

// reading runs a read in the background.
func (m *lockedMachine) reading(t Txn) <-chan string {
	answer := make(chan string, 1)
	go func() {
		reply, err := m.Read(m.t.Context(), &t, ReadOptions{})
		if err != nil {
			reply = []byte(err.Error())
		}
		answer <- string(reply)
	}()
	return answer
}

// elsewhere returns n keys in lock slots other than the key's.
func (m *lockedMachine) elsewhere(key string, n int) []string {
	slot := m.Keyspace().LockSlot([]byte(key))
	var keys []string
	for i := 0; len(keys) < n; i++ {
		if k := fmt.Sprint("other", i); m.Keyspace().LockSlot([]byte(k)) != slot {
			keys = append(keys, k)
		}
	}
	return keys
}

// hold locks a key, as a txn on that key does, until letGo is called.
func (m *lockedMachine) hold(key string, mode sched.Mode) (letGo func()) {
	m.t.Helper()
	table, ticket := m.Sched(), new(sched.Ticket)
	var access sched.Access
	access.Add(m.Keyspace().LockSlot([]byte(key)), mode)
	if err := table.Lock(m.t.Context(), ticket, &access); err != nil {
		m.t.Fatal(err)
	}
	letGo = sync.OnceFunc(func() { table.Unlock(ticket) })
	m.t.Cleanup(letGo)
	return letGo
}

// Txns of the log share the keys that they only read, and do not write a key while it is read. A
// transaction shares nothing, and waits for the writers of the keys that it watches (D3, D4, D6 to
// D10, D12 to D14, B4, B6, B13, B16).
func TestWhatTheLogsTxnsShare(t *testing.T) {
	exec := func(t Txn, watched ...string) Txn {
		t.Kind = KindExec
		for _, key := range watched {
			t.Watches = append(t.Watches, Watch{Key: []byte(key)})
		}
		return t
	}
	for _, c := range []struct {
		name  string
		txn   Txn
		mode  sched.Mode
		waits bool
	}{
		{"a read beside a reader", txnOf(0, "scard", "s"), sched.Shared, false},
		{"a read beside a writer", txnOf(0, "scard", "s"), sched.Exclusive, true},
		{"a source beside a reader", txnOf(0, "sunionstore", "to", "s"), sched.Shared, false},
		{"a source beside a writer", txnOf(0, "sunionstore", "to", "s"), sched.Exclusive, true},
		{"a write beside a reader", txnOf(0, "sadd", "s", "m"), sched.Shared, true},
		{"a destination beside a reader", txnOf(0, "sunionstore", "s", "from"), sched.Shared, true},
		{"a write of everything beside a reader", txnOf(0, "flushdb"), sched.Shared, true},
		{"a read of everything beside a writer", txnOf(0, "dbsize"), sched.Exclusive, true},
		{"a transaction that reads beside a reader", exec(txnOf(0, "scard", "s")), sched.Shared, true},
		{"a watch beside a reader", exec(txnOf(0, "set", "k", "v"), "s"), sched.Shared, true},
		{"a watch beside a writer", exec(txnOf(0, "set", "k", "v"), "s"), sched.Exclusive, true},
		{"another key beside a writer", txnOf(0, "set", "k", "v"), sched.Exclusive, false},
		{"a write that only reads beside a reader", txnOf(0, "getex", "s"), sched.Shared, true},
		{"the last of many keys beside a reader", txnOf(0, "mset", "k", "v", "l", "v", "s", "v"), sched.Shared, true},
		{"the last of many that are read beside a writer", txnOf(0, "mget", "k", "l", "s"), sched.Exclusive, true},
		{"patterns that lead anywhere beside a reader", txnOf(0, "sort", "l", "by", "w*"), sched.Shared, true},
		{"patterns that lead anywhere, read only, beside a writer", txnOf(0, "sort_ro", "l", "get", "w*"), sched.Exclusive, true},
		{"patterns that stay in their hash slot beside a writer", txnOf(0, "sort", "l", "by", "nosort", "get", "#"), sched.Exclusive, false},
		{"a transaction on other keys beside a writer", inExec(txnOf(0, "set", "k", "v"), txnOf(0, "get", "l")), sched.Exclusive, false},
		{"a transaction's last key beside a writer", inExec(txnOf(0, "set", "k", "v"), txnOf(0, "get", "s")), sched.Exclusive, true},
		{"a transaction of everything beside a reader", inExec(txnOf(0, "set", "k", "v"), txnOf(0, "flushdb")), sched.Shared, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newLockedMachine(t)
			letGo := m.hold("s", c.mode)
			entry := m.apply(c.txn)
			if waiting := m.Sched().Stats().WaitingTickets; (waiting == 1) != c.waits {
				t.Errorf("%d txns wait", waiting)
			}
			if !c.waits {
				m.executed(entry)
			}
			letGo()
			m.executed(entry)
		})
	}
}

// Locks are on slots: names that collide share one, and names with the same hash tag do so on
// purpose (B9, B20).
func TestNamesThatCollideShareALock(t *testing.T) {
	m := newLockedMachine(t)
	slot := func(key string) int32 { return m.Keyspace().LockSlot([]byte(key)) }
	collides := ""
	for i := 0; collides == ""; i++ {
		if key := fmt.Sprint("other", i); slot(key) == slot("s") {
			collides = key
		}
	}
	letGo := m.hold("s", sched.Exclusive)
	m.apply(txnOf(0, "set", collides, "v"))
	entry := m.apply(txnOf(0, "set", "{s}:total", "v"))
	if waiting := m.Sched().Stats().WaitingTickets; waiting != 2 {
		t.Errorf("%d wait, not two", waiting)
	}
	letGo()
	m.executed(entry)
}

// B2: a slow command on one key does not delay a quick one on another key.
func TestASlowCommandDelaysNoOtherSlot(t *testing.T) {
	m := newLockedMachine(t)
	keys := m.elsewhere("{slow}", 40)
	// How slow it must be depends on the machine. It is made slower until everything beside it was
	// seen before it ended.
	for length := 5000; ; length *= 2 {
		text := strings.Repeat("abcdefghij", length/10)
		m.apply(txnOf(0, "set", "{slow}a", text), txnOf(0, "set", "{slow}b", text))
		// In a transaction it holds its slot exclusively.
		exec := Txn{Kind: KindExec, Proto: 2, Ops: txnOf(0, "lcs", "{slow}a", "{slow}b", "len").Ops}
		slow := m.apply(exec)
		behind := m.apply(txnOf(0, "append", "{slow}a", "x"))
		beside(m, keys)
		passed := m.reply(behind) != ""
		ended := m.reply(slow) != ""
		executed := m.Executed()
		m.executed(m.index)
		if want := fmt.Sprintf("*1\r\n:%d\r\n", len(text)); m.reply(slow) != want {
			t.Fatalf("the slow command says %q, not %q", m.reply(slow), want)
		}
		if want := fmt.Sprintf(":%d\r\n", len(text)+1); m.reply(behind) != want {
			t.Fatalf("the command behind the slow one says %q, not %q", m.reply(behind), want)
		}
		if !ended {
			if passed {
				t.Error("a write to the slow command's slot passed it")
			}
			if executed >= slow {
				t.Errorf("executed was %d while entry %d had not run", executed, slow)
			}
			return
		}
		if length > 60_000 {
			t.Fatal("other slots were served only when the slow command had ended")
		}
	}
}

// beside uses other slots, with the log and with reads, and expects every reply.
func beside(m *lockedMachine, keys []string) {
	m.t.Helper()
	for i := range 400 {
		key := keys[i%len(keys)]
		n := m.apply(txnOf(0, "set", key, fmt.Sprint(i)))
		m.eventually("a write to another slot is answered", func() bool { return m.reply(n) == "+OK\r\n" })
		if got := readText(m.t, m.Machine, "get", key); !strings.HasSuffix(got, fmt.Sprintf("\r\n%d\r\n", i)) {
			m.t.Fatalf("a read of another slot says %q, not %d", got, i)
		}
	}
}

// held is a read that reports when it runs, and runs until it is released.
type held struct {
	runs chan struct{}
	let  chan struct{}
	once sync.Once
}

func newHeld(t *testing.T) *held {
	h := &held{runs: make(chan struct{}, 16), let: make(chan struct{})}
	t.Cleanup(h.letGo)
	return h
}

func (h *held) letGo() { h.once.Do(func() { close(h.let) }) }

func (h *held) txn(key string) Txn {
	spec := &command.Spec{
		Name: "hold", Arity: 2, Flags: command.ReadOnly,
		Keys: []command.KeySpec{{Flags: command.KeyRO, First: 1, Last: 1, Step: 1}},
		Run: func(c *command.Ctx, _ [][]byte) {
			h.runs <- struct{}{}
			<-h.let
			c.Out.OK()
		},
	}
	return Txn{Proto: 2, Ops: []Op{NewOp(0, [][]byte{[]byte("hold"), []byte(key)}, spec)}}
}

func (h *held) await(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		select {
		case <-h.runs:
		case <-time.After(locksPatience):
			t.Fatalf("%d of %d readers run at the same time", i, n)
		}
	}
}

func TestReadersOfOneKeyOverlapAndAWriterWaitsForThemAndBarsLaterOnes(t *testing.T) {
	m := newLockedMachine(t)
	m.apply(txnOf(0, "set", "k", "old"))
	h := newHeld(t)
	const readers = 3
	var before []<-chan string
	for range readers {
		before = append(before, m.reading(h.txn("k")))
	}
	h.await(t, readers)
	// A reader of the key passes while no writer waits.
	if got := readText(t, m.Machine, "get", "k"); got != "$3\r\nold\r\n" {
		t.Fatalf("beside other readers: %q", got)
	}
	write := m.apply(txnOf(0, "set", "k", "new"))
	if st := m.Sched().Stats(); st.WaitingTickets != 1 || m.reply(write) != "" {
		t.Fatalf("%d tickets wait, and the writer beside the readers says %q", st.WaitingTickets, m.reply(write))
	}
	later := m.reading(txnOf(0, "get", "k"))
	m.eventually("the later reader waits", func() bool { return m.Sched().Stats().WaitingTickets == 2 })
	for _, key := range m.elsewhere("k", 5) {
		m.eventually("another slot is written meanwhile", func() bool { return m.reply(m.apply(txnOf(0, "set", key, "x"))) == "+OK\r\n" })
	}
	if m.reply(write) != "" || len(later) != 0 {
		t.Fatal("writer or later reader did not wait")
	}
	h.letGo()
	for _, r := range append(before, later) {
		select {
		case got := <-r:
			if got != "+OK\r\n" && got != "$3\r\nnew\r\n" {
				t.Errorf("a reader says %q", got)
			}
		case <-time.After(locksPatience):
			t.Fatal("a reader does not end")
		}
	}
	m.executed(m.index)
	if got := m.reply(write); got != "+OK\r\n" {
		t.Errorf("the writer says %q", got)
	}
}

// counter is a Sink that counts the replies to each txn.
type counter struct {
	mu      sync.Mutex
	entries map[EntryID]*countedEntry
	total   atomic.Int64
}

type countedEntry struct {
	c    *counter
	seen [loadTxns]atomic.Int32
}

func (c *counter) Receiver(id EntryID) Receiver {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries[id] = &countedEntry{c: c}
	return c.entries[id]
}

func (e *countedEntry) Deliver(txn int, _ []byte, _ Outcome, _ int64) {
	e.seen[txn].Add(1)
	e.c.total.Add(1)
}

const (
	loadTxns  = 50
	loadSlots = 32
	loadPairs = 40
)

// There is no deadlock: a million mixed txns, of the log and of readers, some of them cancelled,
// all end. No reader sees half of a txn.
func TestAMillionMixedTxnsEnd(t *testing.T) {
	total := 1_000_000
	if testing.Short() || raceEnabled {
		total = 60_000
	}
	sink := &counter{entries: map[EntryID]*countedEntry{}}
	m := New(Config{Group: 7, Engine: engine.Config{LockSlots: loadSlots}, Sink: sink, Sched: sched.Config{Permits: 4, Workers: 4}})
	defer m.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	var readers sync.WaitGroup
	const goroutines = 5
	for r := range goroutines {
		readers.Go(func() { loadReader(ctx, t, m, uint64(r), total/2/goroutines) })
	}
	rng := rand.New(rand.NewPCG(7, 1))
	last := uint64(total / 2 / loadTxns)
	for n := uint64(1); n <= last; n++ {
		var b Bundle
		for range loadTxns {
			b.Txns = append(b.Txns, loadTxn(rng))
		}
		if err := m.Apply(n, entryOf(n, b)); err != nil {
			t.Fatal(err)
		}
		if n%64 == 0 { // as a shard does: the admitted entries are bounded
			if err := m.WaitExecuted(ctx, n-32); err != nil {
				t.Fatalf("entry %d does not end: %v", n-32, err)
			}
		}
	}
	if err := m.WaitExecuted(ctx, last); err != nil {
		t.Fatalf("executed is %d of %d: %v; held or awaited: %+v", m.Executed(), last, err, m.Sched().Slots())
	}
	readers.Wait()
	if ctx.Err() != nil {
		t.Fatal("the readers do not end")
	}
	checkCounted(t, sink, int(last))
	m.Sched().Drain() // a txn that has run may still hold its locks for a moment
	st := m.Sched().Stats()
	if st.PermitsInUse+st.WaitingTickets+st.WaitingPermits != 0 || len(m.Sched().Slots()) != 0 {
		t.Errorf("left behind: %+v %+v", st, m.Sched().Slots())
	}
	t.Logf("%d tickets, %d had to wait; %d ran where they were submitted, %d on workers", st.Tickets, st.Waited, st.Inline, st.OnWorkers)
}

func checkCounted(t *testing.T, sink *counter, entries int) {
	t.Helper()
	if len(sink.entries) != entries {
		t.Errorf("%d entries, not %d", len(sink.entries), entries)
	}
	for id, e := range sink.entries {
		for i := range e.seen {
			if n := e.seen[i].Load(); n != 1 {
				t.Fatalf("txn %d of entry %d was answered %d times", i, id.N, n)
			}
		}
	}
}

func loadKey(rng *rand.Rand) string { return fmt.Sprint("k", rng.IntN(200)) }

// pair is two keys, usually in two slots, that are only written together.
func pair(n int) (a, b string) { return fmt.Sprint("left", n), fmt.Sprint("right", n) }

func loadTxn(rng *rand.Rand) Txn {
	a, b := pair(rng.IntN(loadPairs))
	value := fmt.Sprint(rng.Uint32())
	switch n := rng.IntN(1000); {
	case n < 400:
		return txnOf(0, "set", loadKey(rng), value)
	case n < 600:
		return txnOf(0, "mset", a, value, b, value)
	case n < 700:
		return txnOf(0, "append", loadKey(rng), "x")
	case n < 780:
		return txnOf(0, "mget", a, b, loadKey(rng), loadKey(rng))
	case n < 860:
		ops := slices.Concat(txnOf(0, "set", b, value).Ops, txnOf(0, "get", loadKey(rng)).Ops, txnOf(0, "set", a, value).Ops)
		return Txn{Kind: KindExec, Proto: 2, Ops: ops}
	case n < 940: // on a worker
		return txnOf(0, "setrange", loadKey(rng), "5", value)
	case n < 990: // on a worker, two slots
		return txnOf(0, "copy", loadKey(rng), loadKey(rng), "replace")
	case n < 997:
		return Txn{Kind: KindTick}
	case n < 999: // everything, reading
		return txnOf(0, "dbsize")
	default: // everything
		return txnOf(0, "flushdb")
	}
}

// loadReader reads pairs, which must be equal, and the whole keyspace slot by slot. Some reads are
// cancelled while they wait.
func loadReader(ctx context.Context, t *testing.T, m *Machine, seed uint64, reads int) {
	rng := rand.New(rand.NewPCG(seed, 9))
	for range reads {
		a, b := pair(rng.IntN(loadPairs))
		txn := txnOf(0, "mget", a, b)
		whole := rng.IntN(500) == 0
		if whole {
			txn = txnOf(0, "keys", "left1*")
		}
		mine, stop := ctx, func() {}
		if rng.IntN(50) == 0 {
			mine, stop = context.WithTimeout(ctx, time.Duration(rng.IntN(30))*time.Microsecond)
		}
		reply, err := m.Read(mine, &txn, ReadOptions{})
		stop()
		if err != nil {
			if mine == ctx {
				t.Error(err)
				return
			}
			continue
		}
		if !whole && !halves(string(reply)) {
			t.Errorf("a reader saw half of a write: %q", reply)
			return
		}
	}
}

// halves reports whether the two values of a reply are the same.
func halves(reply string) bool {
	body := strings.TrimPrefix(reply, "*2\r\n")
	return len(body) < len(reply) && len(body)%2 == 0 && body[:len(body)/2] == body[len(body)/2:]
}

// A command that writes deletes expired keys that it finds, even if it changes nothing else, but
// not while the key is read. A script that shares its keys with readers deletes nothing.
func TestWhatHasExpiredIsNotDeletedBesideAReader(t *testing.T) {
	const sharing = "#!lua flags=no-writes,allow-key-locking\nreturn redis.call('get', KEYS[1])"
	for _, c := range []struct {
		name  string
		txn   Txn
		waits bool
	}{
		{"a command", txnOf(0, "getex", "k"), true},
		{"a script", txnOf(0, "eval", sharing, "1", "k"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newLockedMachine(t)
			m.executed(m.apply(txnOf(0, "set", "k", "v", "pxat", "1002")))
			letGo := m.hold("k", sched.Shared)
			entry := m.apply(c.txn)
			if !c.waits {
				m.executed(entry)
			}
			if n := m.Keyspace().Keys(0); n != 1 {
				t.Errorf("%d keys while a reader is there", n)
			}
			letGo()
			m.executed(entry)
			left := 0
			if !c.waits {
				left = 1
			}
			if n := m.Keyspace().Keys(0); n != left || m.reply(entry) != "$-1\r\n" {
				t.Errorf("%d keys, the reply is %q", n, m.reply(entry))
			}
		})
	}
}

// A replica that runs txns more slowly than they come takes on only as many as it has room for.
// Txns that have run take no room, however far the watermark is behind.
func TestWhatIsOpenIsBounded(t *testing.T) {
	const openTxns, txns = 100, 1000
	m := &lockedMachine{t: t, replies: newRecorder()}
	m.Machine = New(Config{
		Group: 7, Engine: engine.Config{LockSlots: 64}, Sink: m.replies, Sched: sched.Config{Permits: 8, Workers: 4},
		OpenBytesMax: openTxns * OpenTxnBytes,
	})
	t.Cleanup(m.Close)
	letGo := m.hold("k", sched.Exclusive)
	m.apply(txnOf(0, "append", "k", "x"))
	beside := m.elsewhere("k", 1)[0]
	for range txns {
		m.apply(txnOf(0, "set", beside, "v"))
	}
	applied := make(chan error, 1)
	go func() {
		var err error
		for index := m.index + 1; index <= m.index+txns && err == nil; index++ {
			err = m.Apply(index, entryOf(index, Bundle{Txns: []Txn{txnOf(0, "append", "k", "x")}}))
		}
		applied <- err
	}()
	m.eventually("it waits for room", func() bool {
		m.progress.mu.Lock()
		defer m.progress.mu.Unlock()
		return m.progress.mu.room != nil
	})
	if n := m.Sched().Stats().WaitingTickets; n > openTxns+1 || n < openTxns/2 {
		t.Errorf("%d txns are open", n)
	}
	letGo()
	if err := <-applied; err != nil {
		t.Fatal(err)
	}
	m.executed(m.index + txns)
	if got := readText(t, m.Machine, "strlen", "k"); got != fmt.Sprintf(":%d\r\n", txns+1) {
		t.Errorf("%q", got)
	}
	if n := m.progress.mu.openBytes; n != 0 {
		t.Errorf("%d bytes are open in the end", n)
	}
}

// A read that has waited answers as of its place among the other txns. A key may have expired since
// then by the log's time, but a write behind the read may keep it.
func TestAReadThatWaitedGoesByTheTimeOfItsPlace(t *testing.T) {
	reads := map[string]Txn{"GET": txnOf(0, "get", "s"), "a script": txnOf(0, "eval_ro", "return redis.call('get', KEYS[1])", "1", "s")}
	for name, read := range reads {
		t.Run(name, func(t *testing.T) {
			m := newLockedMachine(t)
			other := m.elsewhere("s", 1)[0]
			m.executed(m.apply(txnOf(0, "set", "s", "v", "px", "3"), KeepScript([]byte("return redis.call('get', KEYS[1])"))))
			letGo := m.hold("s", sched.Exclusive)
			answer := m.reading(read)
			m.eventually("the read waits", func() bool { return m.Sched().Stats().WaitingTickets == 1 })
			kept := m.apply(txnOf(0, "persist", "s"))
			for m.StampMs() < 1010 {
				m.apply(txnOf(0, "set", other, "v"))
			}
			letGo()
			if got := <-answer; got != "$1\r\nv\r\n" {
				t.Errorf("the read answers %q", got)
			}
			m.executed(kept)
			if got := m.reply(kept); got != ":1\r\n" {
				t.Errorf("PERSIST answers %q", got)
			}
		})
	}
}
