package linear

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
)

// progressWrites is how many writes must be acknowledged after a fault before
// the next: a cluster that is always in trouble proves little.
const progressWrites = 100

// fault is one thing that was done to a node.
type fault struct {
	what string
	at   int64
	// recovered is how long it took until a write that was called after the
	// fault was acknowledged.
	recovered time.Duration
	// longest is the longest that a client waited for an answer, until the next
	// fault began.
	longest time.Duration
}

func (f fault) String() string {
	return fmt.Sprintf("%-24s at %6.1fs, writes went on after %v, longest wait %v",
		f.what, float64(f.at)/1e9, f.recovered.Round(time.Millisecond), f.longest.Round(time.Millisecond))
}

// faults does things to nodes while a workload runs.
type faults struct {
	t *testing.T
	w *workload
	// done are the faults so far.
	done []fault
}

// begin notes a fault, before it is done.
func (f *faults) begin(format string, args ...any) {
	f.done = append(f.done, fault{what: fmt.Sprintf(format, args...), at: f.w.history.Now()})
}

// awaitProgress waits until enough writes called after the last fault are
// acknowledged.
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

// kill ends a node by kill -9, waits until the others go on, and starts it
// again.
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

// restart ends a node by kill -9 and starts it at once, then waits until clients
// go on, its own too.
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

// pause stops a node by SIGSTOP until the others have gone on without it, and
// for at least as long as hold; then it goes on.
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

// report works out how long each fault was felt and prints it.
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

// recoveredAtMost is several times what an election takes. One fault of many may take
// longer on a busy machine, but not all of them.
const recoveredAtMost = 15 * time.Second

// soon fails the test unless writes went on soon after one of the faults at least
// whose description has the words. It is for behind report.
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
