package clusterctl

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"lockstep/node/status"
	"lockstep/tests/kit/proc"
)

// oneDead is a cluster of three nodes with some keys, of which a follower has just died.
func oneDead(t *testing.T, keys int) (leader, alive, dead *proc.Node) {
	t.Helper()
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	leader = c.WaitLeader()
	at := leader.Index
	dead, alive = c.Nodes[(at+1)%3], c.Nodes[(at+2)%3]
	fill(t, leader.Addr(), "kept", keys)
	healthy(t, leader.Addr(), 3, int64(keys))
	dead.Kill9()
	return leader, alive, dead
}

// A removal that would leave no quorum is refused with an explanation, even if the node that would
// be missing died a moment ago and still seems alive. The dead node itself may be removed at any
// time.
func TestARemovalThatBreaksTheQuorumIsRefused(t *testing.T) {
	leader, alive, dead := oneDead(t, 0)
	out, code := proc.Ctl(t, leader.Addr(), "remove", alive.Name, "--yes")
	if code == 0 {
		t.Errorf("exit 0: %s", out)
	}
	says(t, out, fmt.Sprintf("without %s, 1 of 2 voters would be alive, and 2 are needed", alive.Name), "force it if they are gone for good")
	proc.Wait(t, patience, "degraded", func() bool {
		s := statusOf(t, leader.Addr())
		if nodeOf(t, s, alive.Name).Membership != "member" {
			t.Fatalf("%+v", s)
		}
		return s.Health == status.Degraded
	})

	dead.Start()
	dead.WaitReady()
	id := nodeOf(t, healthy(t, leader.Addr(), 3, 0), dead.Name).ID
	dead.Kill9()
	out, code = proc.Ctl(t, alive.Addr(), "remove", dead.Name, "--yes")
	if code != 0 {
		t.Errorf("remove of a node that has just died: exit %d, %s", code, out)
	}
	says(t, out, id+" was removed")
	healthy(t, alive.Addr(), 2, 0)
	table, _ := proc.Ctl(t, leader.Addr(), "status")
	says(t, table, "removed: "+id)
	if out, code := proc.Ctl(t, leader.Addr(), "remove", id, "--yes"); code == 0 && !strings.Contains(out, "was removed") {
		t.Errorf("removed again: exit %d, %s", code, out)
	}

	// The order may go to the node that is to be removed: it reports the removal, and ends.
	id = nodeOf(t, healthy(t, leader.Addr(), 2, 0), alive.Name).ID
	out, code = proc.Ctl(t, alive.Addr(), "remove", alive.Name, "--yes")
	if code != 0 {
		t.Errorf("a node that removes itself: exit %d, %s", code, out)
	}
	says(t, out, id+" was removed")
	if code, log := ends(t, alive, 0); code != 0 {
		t.Errorf("it ended with %d: %s", code, log)
	}
}

// If a change of members cannot proceed, status shows the reason, and the node that blocks it can
// be removed again.
func TestAChangeOfMembersThatWaitsSaysWhy(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 1, proc.Options{})
	addr := c.Nodes[0].Addr()
	// It announces an address at which nothing listens.
	lost := join(t, addr, "n2", "--peer-address", fmt.Sprintf("127.0.0.1:%d", proc.FreePort(t)))
	proc.Wait(t, patience, "status says what is waited for", func() bool {
		out, code := proc.Ctl(t, addr, "status")
		return code == 1 && strings.Contains(out, "joining") &&
			strings.Contains(out, "shard 0 has 1 of 2 replicas") &&
			strings.Contains(out, "the meta group waits with a change of its members: n2.")
	})
	out, code := proc.Ctl(t, addr, "remove", "n2", "--yes")
	if code != 0 {
		t.Fatalf("remove: exit %d, %s", code, out)
	}
	says(t, out, "was removed")
	proc.Wait(t, patience, "the removed node ends", func() bool { return lost.exited() })
	healthy(t, addr, 1, 0)
}

// A forced removal begins whatever it costs. Once the dead node is back, the remaining nodes are a
// cluster again.
func TestARemovalThatIsForcedIsBegun(t *testing.T) {
	leader, alive, dead := oneDead(t, 5)
	s := speak(t, "-a", leader.Addr(), "remove", alive.Name, "--yes", "--force")
	proc.Wait(t, patience, "it is on its way out", func() bool {
		return nodeOf(t, statusOf(t, leader.Addr()), alive.Name).Membership == "leaving"
	})
	dead.Start()
	dead.WaitReady()
	s.says(regexp.MustCompile("was removed"))
	healthy(t, leader.Addr(), 2, 5)
	holds(t, dead.Addr(), "kept", 5)
}
