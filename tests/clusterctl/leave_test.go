package clusterctl

import (
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
)

// A node that leaves hands over its leaderships, ends by itself and is never accepted again with
// its folder. The others remain a complete cluster with all the data.
func TestANodeLeaves(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	leaver := c.WaitLeader()
	const keys = 20
	fill(t, leaver.Addr(), "stays", keys)
	id := nodeOf(t, healthy(t, leaver.Addr(), 3, keys), leaver.Name).ID

	if out, code := proc.Ctl(t, leaver.Addr(), "leave"); code == 0 || !leaver.Running() {
		t.Fatalf("it left without being asked: exit %d, %s", code, out)
	}
	before := len(leaver.Log())
	out, code := proc.Ctl(t, leaver.Addr(), "leave", "--yes")
	if code != 0 {
		t.Fatalf("leave: exit %d, %s", code, out)
	}
	says(t, out, id+" was removed")
	code, log := ends(t, leaver, before)
	if code != 0 {
		t.Errorf("exit status %d", code)
	}
	says(t, log, "removed from the cluster", "by an operator")

	for _, n := range c.Nodes {
		if n == leaver {
			continue
		}
		left := healthy(t, n.Addr(), 2, keys)
		if len(left.Removed) != 1 || left.Removed[0].ID != id {
			t.Errorf("removed are %+v, not %s", left.Removed, id)
		}
		proc.Wait(t, patience, "the table says so", func() bool {
			table, _ := proc.Ctl(t, n.Addr(), "status")
			return strings.Contains(table, "healthy, 2 nodes") && strings.Contains(table, "removed: "+id)
		})
		holds(t, n.Addr(), "stays", keys)
		fill(t, n.Addr(), "new:"+n.Name, 1)
		holds(t, n.Addr(), "new:"+n.Name, 1)
		if _, err := proc.Ask(n.Addr(), "DEL", "new:"+n.Name+":0"); err != nil {
			t.Error(err)
		}
	}

	before = len(leaver.Log())
	leaver.Start()
	code, log = ends(t, leaver, before)
	if code == 0 {
		t.Error("it started from a folder that its cluster has let go of")
	}
	says(t, log, "no longer part of its cluster", "move the folder away to join as a new node")
}

// If a drain is not waited for, its reply does not say that it is done.
func TestADrainThatIsNotWaitedForSaysSo(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 2, proc.Options{})
	leader := c.WaitLeader()
	out, code := proc.Ctl(t, leader.Addr(), "drain", leader.Name, "--wait", "0")
	if code != 0 || strings.Contains(out, "leads nothing") {
		t.Errorf("exit %d, %s", code, out)
	}
	says(t, out, "gives up what it leads")
}
