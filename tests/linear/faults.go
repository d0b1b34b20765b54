package linear

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
)

// progressWrites is how many writes must be acknowledged between two faults. A cluster that is
// always in trouble would prove little.
const progressWrites = 100

// fault is a single disturbance of a node.
type fault struct {
	what string
	at   int64
	// recovered is the time until a write was acknowledged that was called after the fault.
	recovered time.Duration
	// longest is the longest time that a client waited for a reply before the next fault began.
	longest time.Duration
}

func (f fault) String() string {
	return fmt.Sprintf("%-24s at %6.1fs, writes went on after %v, longest wait %v",
		f.what, float64(f.at)/1e9, f.recovered.Round(time.Millisecond), f.longest.Round(time.Millisecond))
}

// faults disturbs nodes while a workload runs.
type faults struct {
	t *testing.T
	w *workload
	// done are the faults so far.
	done []fault
}

// begin records a fault before it happens.
func (f *faults) begin(format string, args ...any) {
	f.done = append(f.done, fault{what: fmt.Sprintf(format, args...), at: f.w.history.Now()})
}

// awaitProgress waits until enough writes that were called after the last fault are acknowledged.
func (f *faults) awaitProgress() {
	f.t.Helper()
	since := f.w.history.Now()
	if len(f.done) > 0 {
		since = f.done[len(f.done)-1].at
	}
	proc.Wait(f.t, proc.ElectionPatience, fmt.Sprintf("%d writes after the last fault", progressWrites), func() bool {
		return f.w.history.writesSince(since) >= progressWrites
	})
}

// kill ends a node with kill -9, waits until the others make progress, and starts the node again.
func (f *faults) kill(role string, n *proc.Node) {
	f.t.Helper()
	f.begin("kill -9 of %s %s", role, n.Name)
	f.w.lives[n.Index].Add(1)
	n.Kill9()
	f.awaitProgress()
	n.Start()
	f.w.lives[n.Index].Add(1)
	n.WaitReady()
	f.awaitNode(n)
}

// restart ends a node with kill -9 and starts it at once. Then it waits until clients make
// progress, including those of this node.
func (f *faults) restart(n *proc.Node) {
	f.t.Helper()
	f.begin("kill -9 of %s, back at once", n.Name)
	f.w.lives[n.Index].Add(1)
	n.Kill9()
	n.Start()
	f.w.lives[n.Index].Add(1)
	f.awaitProgress()
	f.awaitNode(n)
}

// pause stops a node with SIGSTOP until the others have made progress without it, and for at least
// as long as hold. Then the node continues.
func (f *faults) pause(n *proc.Node, hold time.Duration) {
	f.t.Helper()
	waiting := lieInWait(f.t, f.w, n)
	f.begin("SIGSTOP of %s", n.Name)
	n.Pause()
	held := time.After(hold)
	f.awaitProgress()
	<-held
	waiting.spring()
	n.Continue()
	waiting.wg.Wait()
	f.awaitNode(n)
}

// awaitNode waits until clients of the node are served again.
func (f *faults) awaitNode(n *proc.Node) {
	f.t.Helper()
	since := f.w.history.Now()
	proc.Wait(f.t, proc.ElectionPatience, "clients of "+n.Name+" are served again", func() bool {
		return f.w.history.servedSince(n.Name, since)
	})
}

// servedSince reports whether a client of the node has been answered since.
func (h *History) servedSince(node string, since int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.ops) - 1; i >= 0 && h.ops[i].Return >= since; i-- {
		if o := &h.ops[i]; o.Node == node && o.Outcome == Done && o.Call >= since {
			return true
		}
	}
	return false
}

// report computes and prints how long each fault had an effect.
func (f *faults) report() {
	f.t.Helper()
	ops := f.w.history.Ops()
	for i := range f.done {
		at, next := f.done[i].at, int64(math.MaxInt64)
		if i+1 < len(f.done) {
			next = f.done[i+1].at
		}
		first := int64(-1)
		for _, o := range ops {
			if o.Return >= at && o.Call < next {
				f.done[i].longest = max(f.done[i].longest, time.Duration(o.Return-o.Call))
			}
			if o.Outcome == Done && o.isWrite() && o.Call >= at && (first < 0 || o.Return < first) {
				first = o.Return
			}
		}
		if first < 0 {
			f.t.Errorf("%s: no write that was called afterwards was acknowledged", f.done[i].what)
			continue
		}
		f.done[i].recovered = time.Duration(first - at)
		f.t.Log(f.done[i])
	}
}

// recoveredAtMost is several times as long as an election. On a busy machine one fault of many may
// take longer, but not all of them.
const recoveredAtMost = 15 * time.Second

// soon fails the test unless writes went on soon after at least one of the faults whose description
// contains the words. It is called after report.
func (f *faults) soon(words string) {
	f.t.Helper()
	least := time.Duration(-1)
	for _, d := range f.done {
		if strings.Contains(d.what, words) && (least < 0 || d.recovered < least) {
			least = d.recovered
		}
	}
	if least < 0 || least > recoveredAtMost {
		f.t.Errorf("writes went on after %v at the soonest behind %q, not within %v", least, words, recoveredAtMost)
	}
}
