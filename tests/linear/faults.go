package linear

import (
	"fmt"
	"testing"
	"time"

	"lockstep/tests/proc"
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
}

func (f fault) String() string {
	return fmt.Sprintf("%-24s at %6.1fs, writes went on after %v", f.what, float64(f.at)/1e9, f.recovered.Round(time.Millisecond))
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

// pause stops a node by SIGSTOP until the others have gone on without it, and
// for at least as long as hold; then it goes on.
func (f *faults) pause(n *proc.Node, hold time.Duration) {
	f.t.Helper()
	waiting := lieInWait(f.t, f.w, n)
	f.begin("SIGSTOP of leader %s", n.Name)
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
		at := f.done[i].at
		first := int64(-1)
		for _, o := range ops {
			if o.Outcome == Done && o.isWrite() && o.Call >= at && (first < 0 || o.Return < first) {
				first = o.Return
			}
		}
		f.done[i].recovered = time.Duration(first - at)
		f.t.Log(f.done[i])
	}
}
