package linear

import (
	"fmt"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
)

func TestMain(m *testing.M) { proc.Main(m) }

// rounds is the number of faults in a short or a long run.
func rounds(short, long_ int) int {
	if proc.Long() {
		return long_
	}
	return short
}

// electionTime is the maximum time that a follower waits by default before it stands for election:
// twice raft-heartbeat-ms.
const electionTime = 2 * time.Second

// TestKill9OfLeaderAndFollowerIsAPause: clients of surviving nodes see no error, no write is lost
// or doubled, and each key is linearizable.
func TestKill9OfLeaderAndFollowerIsAPause(t *testing.T) {
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	w := startWorkload(c)
	f := &faults{t: t, w: w}
	f.awaitProgress()
	for i := range rounds(4, 40) {
		if i%2 == 0 {
			f.kill("leader", c.WaitLeader())
		} else {
			f.kill("follower", c.Follower())
		}
	}
	w.stop()
	f.report()
	f.soon("of leader")
	verify(t, w)
}

// testPause stops the leader for longer than an election takes, while clients
// read and write through it and through the others.
func testPause(t *testing.T, readMode string) {
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Args: []string{"--read-mode", readMode}})
	w := startWorkload(c)
	f := &faults{t: t, w: w}
	f.awaitProgress()
	for range rounds(2, 20) {
		f.pause(c.WaitLeader(), 2*electionTime)
	}
	w.stop()
	f.report()
	f.soon("SIGSTOP")
	verify(t, w)
}

func TestPausedLeaderReadsNothingStaleByLease(t *testing.T)  { testPause(t, "lease") }
func TestPausedLeaderReadsNothingStaleByQuorum(t *testing.T) { testPause(t, "quorum") }

// TestRestartOfEveryNodeKeepsEverything stops all nodes at once with kill -9: acknowledged writes
// must be on disk, even if shards share a log.
func TestRestartOfEveryNodeKeepsEverything(t *testing.T) {
	for _, shards := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d shards", shards), func(t *testing.T) { restartEveryNode(t, shards) })
	}
}

func restartEveryNode(t *testing.T, shards int) {
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Shards: shards})
	w := startWorkload(c)
	f := &faults{t: t, w: w}
	f.awaitProgress()
	for range rounds(1, 10) {
		f.begin("kill -9 of all")
		for _, n := range c.Nodes {
			w.lives[n.Index].Add(1)
		}
		for _, n := range c.Nodes {
			n.Kill9()
		}
		for _, n := range c.Nodes {
			n.Start()
			w.lives[n.Index].Add(1)
		}
		for _, n := range c.Nodes {
			n.WaitReady()
		}
		f.awaitProgress()
	}
	w.stop()
	f.report()
	f.soon("of all")
	verify(t, w)
}
