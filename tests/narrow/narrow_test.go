package narrow

import (
	"fmt"
	"testing"
	"time"

	"lockstep/fsm"
	"lockstep/tests/kit/proc"
)

func TestMain(m *testing.M) { proc.Main(m) }

const (
	patience = 2 * time.Minute
	// bytesPerSec is the bandwidth to each node. The longest command takes several times as long as
	// a follower waits for its leader, and longer than the 10 s that a request may stand still.
	bytesPerSec = 4 << 20
	// longBytes is about the size of the longest value that one command can set.
	longBytes = fsm.ValueBytesMax - 1<<10
	heartbeat = 3 * time.Second
)

// timing are flags for a heartbeat timeout that is longer than the pauses of a busy machine.
var timing = []string{"--raft-heartbeat-ms", fmt.Sprint(heartbeat.Milliseconds()), "--raft-election-ms", fmt.Sprint(heartbeat.Milliseconds())}

// newCluster starts three nodes behind ways of their own. The first node leads everything.
func newCluster(t *testing.T) (*proc.Cluster, []member, []*Way) {
	t.Helper()
	proc.NeedProcesses(t)
	var ways []*Way
	c := proc.NewCluster(t, 3, proc.Options{Args: timing, Before: func(n *proc.Node) {
		w := NewWay(t)
		w.To = n.PeerAddr()
		n.Flags("--peer-address", w.Addr().String())
		ways = append(ways, w)
	}})
	var all []member
	for _, n := range c.Nodes {
		all = append(all, member{name: n.Name, addr: n.Addr()})
	}
	proc.MustAsk(t, all[0].addr, "CONFIG", "SET", "rebalance", "no")
	all[0].lead(t)
	return c, all, ways
}

// TestALongCommandOnNarrowWaysStopsNobody: the longest command goes to the leader over a narrow
// way, and from there to the followers over other narrow ways. That takes longer than a request may
// stand still and than a client waits. Its client may get INDETERMINATE, but the command ends, and
// then the other clients wait no longer. No follower loses its leader meanwhile, and the
// leadership can be transferred afterwards.
func TestALongCommandOnNarrowWaysStopsNobody(t *testing.T) {
	c, all, ways := newCluster(t)
	before := all[0].terms()
	for _, w := range ways {
		w.Narrow(bytesPerSec)
	}
	began := time.Now()
	others := write(all)
	reply := all[1].setLong(t, "long")
	awaitLong(t, all, "long")
	took := time.Since(began)
	others.end(t)
	t.Logf("%d MB were there after %v; their client was told %q", longBytes>>20, took.Round(time.Millisecond), <-reply)
	if took < 2*longBytes/bytesPerSec*time.Second {
		t.Errorf("all that in %v: the ways were not narrow", took)
	}
	all[0].sameTerms(t, before)
	all[2].lead(t)
	all[0].lead(t)
	proc.Wait(t, patience, "the replicas agree", func() bool { _, err := c.SameState(); return err == nil })
}

// TestALongCommandEndsBehindACut: when the ways break while they carry the entry, the command only
// takes the time of another try longer.
func TestALongCommandEndsBehindACut(t *testing.T) {
	c, all, ways := newCluster(t)
	for _, w := range ways[1:] {
		w.Narrow(bytesPerSec)
	}
	passed := ways[1].Passed()
	reply := all[0].setLong(t, "long")
	proc.Wait(t, patience, "half of the entry has passed", func() bool { return ways[1].Passed()-passed > longBytes/2 })
	for _, w := range ways {
		w.Cut()
	}
	awaitLong(t, all, "long")
	t.Logf("its client was told %q; %d MB passed to one follower", <-reply, (ways[1].Passed()-passed)>>20)
	proc.Wait(t, patience, "the replicas agree", func() bool { _, err := c.SameState(); return err == nil })
}
