package shard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/engine/sched"
	"lockstep/fsm"
)

// slowScript does about two milliseconds of work for each hundred thousand in ARGV[1].
const slowScript = "for i = 1, ARGV[1] do end redis.call('rpush', 'ran', ARGV[2])"

// throttled is a node with a small limit, whose execution the test can stop.
type throttled struct {
	*loneNode
	t *testing.T
	s *Shard
}

func newThrottled(t *testing.T) *throttled {
	settings := command.DefaultSettings
	settings.OutstandingWorkMaxMs = 20
	n := newLoneNode(t, 1, settings)
	return &throttled{n, t, n.shards[0]}
}

// stop stops the execution of entries until goOn is called.
func (n *throttled) stop() (goOn func()) {
	n.t.Helper()
	ticket := sched.Ticket{Label: "flushall"}
	if err := n.s.machine.Sched().Lock(n.t.Context(), &ticket, &sched.Access{Global: true}); err != nil {
		n.t.Fatal(err)
	}
	done := false
	goOn = func() {
		if !done {
			done = true
			n.s.machine.Sched().Unlock(&ticket)
		}
	}
	n.t.Cleanup(goOn)
	return goOn
}

// offer offers a bundle of commands.
func (n *throttled) offer(patience time.Duration, commands ...[]string) (id fsm.TxnID, answer chan Result) {
	b := fsm.Bundle{Origin: fsm.Origin{Node: 9, Boot: 1}, FirstSeq: n.seq.Add(uint64(len(commands)))}
	b.Origin.Lane = uint32(b.FirstSeq % fsm.Lanes)
	for _, c := range commands {
		b.Txns = append(b.Txns, commandTxn(c...))
	}
	answer = make(chan Result, 1)
	n.s.Propose(Offer{Bundle: fsm.AppendBundle(nil, &b), Txns: b.Txns, Until: time.Now().Add(patience)}, func(r Result) { answer <- r })
	return fsm.TxnID{Origin: b.Origin, Seq: b.FirstSeq}, answer
}

func (n *throttled) script(patience time.Duration, name string) (fsm.TxnID, chan Result) {
	return n.offer(patience, []string{"eval", slowScript, "0", "300000", name})
}

// answered waits for an answer, and checks its error.
func (n *throttled) answered(what string, answer chan Result, want error) {
	n.t.Helper()
	select {
	case r := <-answer:
		if !errors.Is(r.Err, want) {
			n.t.Errorf("%s: %v, want %v", what, r.Err, want)
		}
	case <-time.After(patience):
		n.t.Fatalf("%s is not answered", what)
	}
}

func (n *throttled) waiting(want int64) {
	n.t.Helper()
	n.until(fmt.Sprint(want, " wait"), func() bool { return n.s.ThrottleCounts().Waiting.Load() == want })
}

// learn makes the leader see how long the script takes.
func (n *throttled) learn() {
	n.t.Helper()
	_, answer := n.script(time.Minute, "first")
	n.answered("the first", answer, nil)
}

// fill puts as many scripts into the log as the throttle admits, and one more that waits.
func (n *throttled) fill() (inLog []chan Result, waits chan Result) {
	n.t.Helper()
	for i := range 100 {
		before := n.s.ThrottleCounts().Held.Load()
		_, answer := n.script(time.Minute, fmt.Sprint("filled", i))
		if n.s.ThrottleCounts().Held.Load() > before {
			return inLog, answer
		}
		inLog = append(inLog, answer)
	}
	n.t.Fatal("no script had to wait")
	return nil, nil
}

// Commands that take long wait before the log, in order of arrival, as soon as the limit is
// reached. Short commands pass them. When there is room again the waiting ones continue.
func TestWhatTakesLongWaitsBeforeTheLogInOrder(t *testing.T) {
	n := newThrottled(t)
	n.learn()
	goOn := n.stop()
	inLog, waits := n.fill()
	work := n.s.ThrottleCounts().Work.Load()
	if limit := int64(20 * command.WorkSecond / 1000); len(inLog) < 2 || work > limit || work < limit/2 {
		t.Errorf("%d are in the log, %d units of work, %d may be", len(inLog), work, limit)
	}
	all := append(inLog, waits)
	for i := range 5 {
		_, answer := n.script(time.Minute, fmt.Sprint("later", i))
		all = append(all, answer)
	}
	n.waiting(6)
	_, brief := n.offer(time.Minute, []string{"set", "k", "v"})
	last := n.s.group.Stats().LastIndex
	goOn()
	n.answered("what is brief", brief, nil)
	for i, answer := range all {
		n.answered(fmt.Sprint("script ", i), answer, nil)
	}
	n.waiting(0)
	n.until("nothing is outstanding", func() bool { return n.s.ThrottleCounts().Work.Load() == 0 })
	if now := n.s.group.Stats().LastIndex; now <= last {
		t.Error("they were in the log already")
	}
	list, err := n.propose(0, "eval", "return table.concat(redis.call('lrange', 'ran', 0, -1), ' ')", "0")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range len(inLog) + 1 {
		want = append(want, fmt.Sprint("filled", i))
	}
	for i := range 5 {
		want = append(want, fmt.Sprint("later", i))
	}
	if got := string(list); !strings.HasSuffix(strings.TrimSpace(got), strings.Join(want, " ")) {
		t.Errorf("they ran in the order %q, want %q", got, want)
	}
}

// A call that waits before the log gets an answer that says that nothing was executed: when its
// time is over, when it is taken back, after a SCRIPT KILL, when the node no longer leads, and when
// the node ends.
func TestWhoWaitsBeforeTheLogIsAnswered(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(n *throttled, id fsm.TxnID)
		want error
		// remain is how many continue to wait.
		remain int64
	}{
		{"taken back", func(n *throttled, id fsm.TxnID) { n.s.TakeBack(id) }, cluster.ErrTakenBack, 1},
		{"killed", func(n *throttled, _ fsm.TxnID) {
			if back := n.s.throttle.takeBackPrograms(command.KindFunction); back != 0 {
				n.t.Errorf("FUNCTION KILL has taken back %d scripts", back)
			}
			if back := n.s.throttle.takeBackPrograms(command.KindScript); back != 2 {
				n.t.Errorf("SCRIPT KILL has taken back %d", back)
			}
		}, cluster.ErrKilled, 0},
		{"closed", func(n *throttled, _ fsm.TxnID) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			// Scripts that are in the log already run first, and they wait for this test to go on.
			var closing sync.WaitGroup
			closing.Go(func() { _ = n.s.Close(ctx) })
			n.t.Cleanup(closing.Wait)
		}, cluster.ErrShuttingDown, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newThrottled(t)
			n.learn()
			goOn := n.stop()
			n.fill()
			id, answer := n.script(time.Minute, "x")
			n.waiting(2)
			c.end(n, id)
			n.answered(c.name, answer, c.want)
			n.waiting(c.remain)
			goOn()
		})
	}
}

func TestWhoHasNoTimeLeftIsAnswered(t *testing.T) {
	n := newThrottled(t)
	n.learn()
	defer n.stop()()
	n.fill()
	_, answer := n.script(200*time.Millisecond, "x")
	n.waiting(2)
	n.answered("it", answer, cluster.ErrOverworked)
	_, answer = n.script(0, "x")
	n.answered("one without time", answer, cluster.ErrOverworked)
	n.waiting(1)
	if expired := n.s.ThrottleCounts().Expired.Load(); expired != 2 {
		t.Errorf("%d are counted", expired)
	}
}

func TestWhoWaitsAtALeaderThatIsNoneIsAnswered(t *testing.T) {
	w := newShardWorld(t, 3, nil)
	w.set("k", "v")
	old := w.leader()
	ticket := sched.Ticket{}
	if err := old.shard.machine.Sched().Lock(t.Context(), &ticket, &sched.Access{Global: true}); err != nil {
		t.Fatal(err)
	}
	defer old.shard.machine.Sched().Unlock(&ticket)
	var answers []<-chan Result
	for old.shard.ThrottleCounts().Waiting.Load() == 0 {
		answers = append(answers, w.propose(old, "eval", "return 1", "0"))
		if len(answers) > 1<<16 {
			t.Fatal("none has to wait")
		}
	}
	if err := old.shard.Transfer(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if r := <-answers[len(answers)-1]; !errors.Is(r.Err, cluster.ErrNotLeader) {
		t.Errorf("%v", r.Err)
	}
}

// A gateway divides a bundle that has more work than may be in the log at a time. A single txn with
// that much work goes in alone.
func TestABundleOfTooMuchWorkIsDivided(t *testing.T) {
	n := newThrottled(t)
	n.learn()
	one := []string{"eval", slowScript, "0", "300000", "x"}
	var many [][]string
	for range 20 {
		many = append(many, one)
	}
	_, answer := n.offer(time.Minute, many...)
	n.answered("20 at once", answer, cluster.ErrTooMuchAtOnce)
	n.change(func(s *command.Settings) { s.OutstandingWorkMaxMs = 1 })
	_, answer = n.offer(time.Minute, one)
	n.answered("one", answer, nil)
	n.change(func(s *command.Settings) { s.OutstandingWorkMaxMs = 0 })
	_, answer = n.offer(time.Minute, many...)
	n.answered("20 at once, without a limit", answer, nil)
}

// A bundle that may be in the log already is let in whatever its work, because its outcome must be
// learnt.
func TestWhatWasProposedBeforeDoesNotWait(t *testing.T) {
	n := newThrottled(t)
	n.learn()
	goOn := n.stop()
	n.fill()
	b := fsm.Bundle{Origin: fsm.Origin{Node: 9, Boot: 1, Lane: 5}, FirstSeq: n.seq.Add(1), Txns: []fsm.Txn{commandTxn("eval", slowScript, "0", "1", "x")}}
	answer := make(chan Result, 1)
	n.s.Propose(Offer{Bundle: fsm.AppendBundle(nil, &b), Txns: b.Txns, Again: true}, func(r Result) { answer <- r })
	if held := n.s.ThrottleCounts().Held.Load(); held != 1 {
		t.Errorf("%d were held", held)
	}
	goOn()
	n.answered("it", answer, nil)
}

// At most half of the admitted work may wait: the rest is for commands that need not.
func TestThereIsRoomBesideThoseThatWait(t *testing.T) {
	n := newThrottled(t)
	n.learn()
	defer n.stop()()
	n.s.cfg.OutstandingTxnsMax = 8 // the throttle's limit; admission has its own
	n.fill()
	var last chan Result
	for range 4 {
		_, last = n.script(time.Minute, "x")
	}
	n.answered("the fifth", last, cluster.ErrOverloaded)
	n.waiting(4)
}

// The guess follows the work that was seen, up fast and down slowly. Open commands count with the
// new guess. The guess for a new program is the recent work of other new programs.
func TestWhatProgramsAreTakenToDo(t *testing.T) {
	var e estimates
	e.init(4)
	plain := func() bool { return false }
	row := e.of([]byte("a"), plain)
	for range 3 {
		e.countOpen(row)
	}
	if e.open != 3*estimateFirst {
		t.Errorf("%d are open", e.open)
	}
	e.end(row)
	e.learn(row, 50*estimateFirst)
	if e.open != 2*50*estimateFirst {
		t.Errorf("%d are open when one was seen", e.open)
	}
	if next := e.of([]byte("b"), plain); next.work <= estimateFirst || next.work >= 50*estimateFirst {
		t.Errorf("the next new one is taken for %d", next.work)
	}
	for range 100 {
		e.learn(row, estimateLeast)
	}
	if row.work > 2*estimateLeast {
		t.Errorf("it was cheap a hundred times, and is taken for %d", row.work)
	}
	e.learn(row, 100*estimateFirst)
	if row.work < 40*estimateFirst {
		t.Errorf("it was not cheap once more, and is taken for %d", row.work)
	}
	e.end(row)
	e.end(row)
	if e.open != 0 {
		t.Errorf("%d are open", e.open)
	}
	for i := range 3 * estimatesMax {
		e.of(fmt.Append(nil, i), plain)
	}
	if len(e.rows) > estimatesMax {
		t.Errorf("%d guesses are kept", len(e.rows))
	}
}

// As many programs with key locks are free of the lane as may run at once. Half of these places are
// for programs that are known to be slow.
func TestWhoIsFreeOfTheLane(t *testing.T) {
	var e estimates
	e.init(4)
	yes := func() bool { return true }
	small, slow := e.of([]byte("small"), yes), e.of([]byte("slow"), yes)
	e.learn(small, estimateLeast)
	e.learn(slow, 10*slowLeast)
	took := []bool{}
	for _, row := range []*estimate{small, small, small, slow, slow, slow} {
		took = append(took, e.takeFree(row))
	}
	if got := fmt.Sprint(took); got != "[true true false true true false]" {
		t.Errorf("free are %s", got)
	}
	e.free--
	if !e.takeFree(slow) || e.free != 4 {
		t.Errorf("a place is not given again; %d are taken", e.free)
	}
	e.free = 0
	if e.takeFree(e.of([]byte("everything"), func() bool { return false })) {
		t.Error("what locks everything is free of the lane")
	}
}

// A program has one name, however it is called.
func TestWhatProgramsAreKnownBy(t *testing.T) {
	const text = "return 1"
	sum := "e0e1f9fabfc9d4800c877a703b823ac0578ff8db" // of the text
	name := func(args ...string) string {
		txn := commandTxn(args...)
		return string(nameOf(nil, &txn.Ops[0]))
	}
	byText := name("eval", text, "0")
	if len(byText) != 20 || name("evalsha", sum, "0") != byText || name("evalsha", strings.ToUpper(sum), "0") != byText {
		t.Errorf("%q, %q", byText, name("evalsha", sum, "0"))
	}
	txn := commandTxn("eval", "", "0")
	txn.Ops[0].Args[1], txn.Ops[0].Sum = nil, []byte(byText)
	if got := string(nameOf(nil, &txn.Ops[0])); got != byText {
		t.Errorf("by its sum %q", got)
	}
	for call, want := range map[[2]string]string{
		{"evalsha", "nonsense"}: "evalsha", {"evalsha", strings.Repeat("x", 40)}: "evalsha", {"fcall", "f"}: "function f", {"sort", "k"}: "sort",
	} {
		if got := name(call[0], call[1], "0"); got != want {
			t.Errorf("%s is known by %q", call, got)
		}
	}
}
