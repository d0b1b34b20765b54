package fsm

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"lockstep/engine"
	"lockstep/engine/sched"
)

// All kinds of work on a set of a million members run while SETs on other keys continue. The SETs
// must not wait for the work unless they share its lock slot. The bounds are generous and allow for
// a busy machine: a goroutine that only waits for the next millisecond is measured at the same
// time, to see how long it is delayed. A disturbance that stops only one of the two happens once;
// work that really delays others does so in every one of scaleRounds.
const (
	scaleMembers      = 1_000_000
	scaleMembersShort = 100_000
	scaleP99Max       = 100 * time.Millisecond
	// scaleIdleFactor is how many times longer than that goroutine a SET may wait in addition.
	scaleIdleFactor = 4
	// scaleGapMax is the greatest average time between two SETs during the work.
	scaleGapMax = 100 * time.Millisecond
	scaleSlots  = 4096
	scaleRounds = 3
)

// waitingSink passes each reply to the goroutine that waits for the entry.
type waitingSink struct {
	mu   sync.Mutex
	wait map[EntryID]chan string
}

func (s *waitingSink) Receiver(id EntryID) Receiver {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ch := s.wait[id]; ch != nil {
		delete(s.wait, id)
		return waitingReceiver(ch)
	}
	return nil
}

type waitingReceiver chan string

func (r waitingReceiver) Deliver(_ int, reply []byte, _ Outcome, _ int64) { r <- string(reply) }

// scaleRun applies entries of one txn each, from one goroutine, as Raft does.
type scaleRun struct {
	t    *testing.T
	m    *Machine
	sink *waitingSink
	n    uint64
	// slow describes the measurements beyond the bounds, by the work that ran at the same time.
	slow map[string]string
}

func newScaleRun(t *testing.T) *scaleRun {
	r := &scaleRun{t: t, sink: &waitingSink{wait: map[EntryID]chan string{}}, slow: map[string]string{}}
	r.m = New(scaleConfig(r.sink))
	t.Cleanup(r.m.Close)
	return r
}

func scaleConfig(sink Sink) Config {
	return Config{Group: 7, Engine: engine.Config{LockSlots: scaleSlots}, Sink: sink, Sched: sched.Config{Permits: 8, Workers: 4}}
}

// begin applies a command and returns a channel for its reply.
func (r *scaleRun) begin(args ...[]byte) <-chan string {
	r.t.Helper()
	r.n++
	id, reply := EntryID{1, 1, r.n}, make(chan string, 1)
	b := NewEntryBuilder(7, id, 1000+int64(r.n), 128)
	b.Add(AppendBundle(nil, &Bundle{
		Origin: Origin{Node: 1, Boot: 1, Lane: 1}, FirstSeq: r.n, AckedBelow: r.n,
		Txns: []Txn{{Proto: 2, Ops: []Op{{Args: args}}}},
	}))
	r.sink.mu.Lock()
	r.sink.wait[id] = reply
	r.sink.mu.Unlock()
	if err := r.m.Apply(r.n, b.Finish()); err != nil {
		r.t.Fatal(err)
	}
	return reply
}

// do applies a command and waits for its reply.
func (r *scaleRun) do(args ...[]byte) string {
	r.t.Helper()
	select {
	case reply := <-r.begin(args...):
		return reply
	case <-time.After(time.Minute):
		r.t.Fatalf("%q is not answered", args[0])
		return ""
	}
}

func (r *scaleRun) words(words ...string) string {
	r.t.Helper()
	return r.do(argsOf(words...)...)
}

func argsOf(words ...string) [][]byte {
	args := make([][]byte, len(words))
	for i, word := range words {
		args[i] = []byte(word)
	}
	return args
}

// beside sends SETs to other keys, one after the other, while work runs. It reports their
// durations, from Apply to the reply.
func (r *scaleRun) beside(phase string, work func() error) {
	r.t.Helper()
	begin, done := time.Now(), make(chan error, 1)
	go func() { done <- work() }()
	r.measure(phase, begin, done)
}

// besideLogged is beside for work that is a command of the log.
func (r *scaleRun) besideLogged(phase, want string, args ...[]byte) {
	r.t.Helper()
	begin, done := time.Now(), make(chan error, 1)
	answer := r.begin(args...)
	go func() {
		reply := <-answer
		if len(reply) > 200 {
			reply = reply[:200]
		}
		if want != "" && reply != want {
			done <- fmt.Errorf("the answer is %q, not %q", reply, want)
			return
		}
		done <- nil
	}()
	r.measure(phase, begin, done)
}

// setsAtLeast is the least number of SETs in a measurement, even if the work ends sooner.
const setsAtLeast = 200

func (r *scaleRun) measure(phase string, begin time.Time, done <-chan error) {
	r.t.Helper()
	var sets, idle waits
	sets.add(time.Since(begin)) // no SET could be sent while the work was submitted
	stopIdle, idled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(idled)
		idle.whileIdle(stopIdle)
	}()
	sent, meanwhile, worked := 0, 0, time.Duration(0)
	for deadline := begin.Add(2 * time.Minute); worked == 0 || sent < setsAtLeast; sent++ {
		at := time.Now()
		if at.After(deadline) {
			r.t.Fatalf("%s: no end", phase)
		}
		if got := r.words("set", r.otherKey(), "value"); got != "+OK\r\n" {
			r.t.Fatalf("%s: SET answers %q", phase, got)
		}
		sets.add(time.Since(at))
		select {
		case err := <-done:
			if err != nil {
				r.t.Fatalf("%s: %v", phase, err)
			}
			worked, meanwhile = max(time.Since(begin), 1), sent
		default:
		}
	}
	close(stopIdle)
	<-idled
	p99, idleP99 := sets.percentile(99), idle.percentile(99)
	r.t.Logf("%-34s %6d ms, %6d SETs: p50 %3d us, p99 %6d us, max %7d us; an idle goroutine: p99 %6d us", phase, worked.Milliseconds(),
		meanwhile, sets.percentile(50).Microseconds(), p99.Microseconds(), sets.percentile(100).Microseconds(), idleP99.Microseconds())
	if p99 > scaleP99Max+scaleIdleFactor*idleP99 {
		r.slow[phase] = fmt.Sprintf("the p99 of SETs on other keys is %v, that of an idle goroutine %v", p99, idleP99)
	}
	if meanwhile < int(worked/scaleGapMax) {
		r.slow[phase] += fmt.Sprintf(" %d SETs were done in %v", meanwhile, worked)
	}
}

// waits are the delays of an operation that is due every millisecond.
type waits []time.Duration

// every is the longest interval between two operations.
const every = time.Millisecond

// add adds a delay, and the delays of the operations that were due meanwhile and would have waited
// for the rest of the time.
func (w *waits) add(wait time.Duration) {
	for ; wait > 0; wait -= every {
		*w = append(*w, wait)
	}
}

// percentile returns the delay that n percent do not exceed.
func (w waits) percentile(n int) time.Duration {
	if len(w) == 0 {
		return 0
	}
	slices.Sort(w)
	return w[(len(w)-1)*n/100]
}

// whileIdle adds how late a ticker's ticks arrive.
func (w *waits) whileIdle(stop <-chan struct{}) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-stop:
			return
		case <-tick.C:
			now := time.Now()
			w.add(max(now.Sub(last)-every, 1))
			last = now
		}
	}
}

// largeKeys are the keys of the large sets.
var largeKeys = []string{"large", "again", "union", "diff", "copy"}

// otherKey returns a key in another lock slot than those of the large sets.
func (r *scaleRun) otherKey() string {
	slot := func(key string) int32 { return r.m.Keyspace().LockSlot([]byte(key)) }
	for i := r.n; ; i++ {
		key := fmt.Sprintf("other:%d", i%20_000)
		if !slices.ContainsFunc(largeKeys, func(large string) bool { return slot(large) == slot(key) }) {
			return key
		}
	}
}

// fill makes the large set with entries of a thousand members.
func (r *scaleRun) fill(key string, members int) {
	r.t.Helper()
	const batch = 1000
	for at := 0; at < members; at += batch {
		args := argsOf("sadd", key)
		for i := range batch {
			args = append(args, fmt.Appendf(nil, "member:%d", at+i))
		}
		if got := r.do(args...); got != fmt.Sprintf(":%d\r\n", batch) {
			r.t.Fatalf("SADD answers %q", got)
		}
	}
}

func (r *scaleRun) read(words ...string) (string, error) {
	reply, err := r.m.Read(context.Background(), &Txn{Proto: 2, Ops: []Op{{Args: argsOf(words...)}}}, ReadOptions{Seed: 1})
	return string(reply), err
}

// restored loads a snapshot into a machine of its own and compares.
func (r *scaleRun) restored(image []byte, members int, digest string) error {
	m := New(scaleConfig(nil))
	defer m.Close()
	if err := m.Restore(bytes.NewReader(image)); err != nil {
		return err
	}
	other := &scaleRun{t: r.t, m: m}
	for _, ask := range []struct{ words, want string }{
		{"scard", fmt.Sprintf(":%d\r\n", members)},
		{"lockstep.digest-value", digest},
	} {
		got, err := other.read(ask.words, "large")
		if err != nil {
			return err
		}
		if got != ask.want {
			return fmt.Errorf("%s of the restored set is %q, not %q", ask.words, got, ask.want)
		}
	}
	return nil
}

func TestALargeSetHoldsNobodyUp(t *testing.T) {
	members := scaleMembers
	if testing.Short() {
		members = scaleMembersShort
	}
	var slow map[string]string
	for round := range scaleRounds {
		again := workOnALargeSet(t, members)
		maps.DeleteFunc(again, func(phase, _ string) bool { return round > 0 && slow[phase] == "" })
		if slow = again; len(slow) == 0 {
			return
		}
	}
	for phase, how := range slow {
		t.Errorf("%s: %s", phase, how)
	}
}

// workOnALargeSet makes a large set and works on it. It returns the kinds of work during which SETs
// were beyond the bounds.
func workOnALargeSet(t *testing.T, members int) (slow map[string]string) {
	t.Helper()
	r := newScaleRun(t)
	defer r.m.Close()
	r.fill("large", members)
	read := func(want string, words ...string) func() error {
		return func() error {
			reply, err := r.read(words...)
			if len(reply) < len(want) || reply[:len(want)] != want {
				return fmt.Errorf("%v answers %.40q, not %q", words, reply, want)
			}
			return err
		}
	}
	digest, err := r.read("lockstep.digest-value", "large")
	if err != nil {
		t.Fatal(err)
	}
	r.beside("nothing", func() error { return nil })

	// The snapshot is fixed between two entries. Then the set changes.
	snap, err := r.m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Release()
	if got := r.words("sadd", "large", "later"); got != ":1\r\n" {
		t.Fatalf("SADD answers %q", got)
	}
	var image bytes.Buffer
	r.beside("a snapshot is written", func() error { return snap.Persist(&image) })
	r.beside("it is restored in another machine", func() error { return r.restored(image.Bytes(), members, digest) })

	var payload []byte
	r.beside("DUMP", func() error {
		reply, err := r.read("dump", "large")
		head := bytes.IndexByte([]byte(reply), '\n') + 1
		payload = []byte(reply[head : len(reply)-2])
		return err
	})
	r.besideLogged("RESTORE", "+OK\r\n", []byte("restore"), []byte("again"), []byte("0"), payload)
	head := fmt.Sprintf("*%d\r\n", members+1)
	r.beside("SMEMBERS", read(head, "smembers", "large"))
	r.beside("SINTER", read(head, "sinter", "large", "again"))
	r.besideLogged("SUNIONSTORE", fmt.Sprintf(":%d\r\n", members+1), argsOf("sunionstore", "union", "large", "again")...)
	r.besideLogged("SDIFFSTORE", ":0\r\n", argsOf("sdiffstore", "diff", "large", "again")...)
	r.besideLogged("COPY", ":1\r\n", argsOf("copy", "large", "copy")...)
	r.besideLogged("SPOP of half", "", argsOf("spop", "copy", fmt.Sprint(members/2))...)
	if got, want := r.words("scard", "copy"), fmt.Sprintf(":%d\r\n", members+1-members/2); got != want {
		t.Errorf("SPOP left %q, not %q", got, want)
	}
	r.besideLogged("DEL", ":4\r\n", argsOf("del", "large", "again", "union", "copy")...)
	if got, err := r.read("exists", "large", "again", "union", "copy"); got != ":0\r\n" || err != nil {
		t.Errorf("after DEL: %q, %v", got, err)
	}
	return r.slow
}
