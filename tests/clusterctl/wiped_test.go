package clusterctl

import (
	"os"
	"testing"

	"lockstep/node/status"
	"lockstep/tests/kit/proc"
)

// lose kills a node and takes its data away.
func lose(t *testing.T, n *proc.Node) {
	t.Helper()
	n.Kill9()
	if err := os.RemoveAll(n.DataDir()); err != nil {
		t.Fatal(err)
	}
}

// A node that lost its folder has forgotten whom it voted for: under its old
// name it comes in again only when the old one is given up, and as another.
func TestAWipedNodeComesBackAsAnother(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	addr, lost := c.Nodes[0].Addr(), c.Nodes[2]
	const keys = 20
	fill(t, addr, "first", keys)
	ids := []string{nodeOf(t, healthy(t, addr, 3, keys), lost.Name).ID}

	lose(t, lost)
	before := len(lost.Log())
	lost.Start()
	code, log := ends(t, lost, before)
	if code == 0 {
		t.Error("exit status 0 of a node that was refused")
	}
	says(t, log, "a node named n3 is already a member with another data folder", "remove it first or join with --replace")
	if s := statusOf(t, addr); len(s.Nodes) != 3 || nodeOf(t, s, lost.Name).ID != ids[0] {
		t.Errorf("the one that was refused is in: %+v", s.Nodes)
	}

	// One way: the dead one is removed.
	out, code := proc.Ctl(t, addr, "remove", lost.Name, "--yes")
	if code != 0 {
		t.Fatalf("remove: exit %d, %s", code, out)
	}
	says(t, out, ids[0]+" was removed")
	lost.Start()
	lost.WaitReady()
	ids = append(ids, nodeOf(t, healthy(t, addr, 3, keys), lost.Name).ID)

	// The other: it says itself that it replaces the dead one.
	lose(t, lost)
	fill(t, addr, "second", keys)
	lost.Start("--replace")
	lost.WaitReady()
	whole := healthy(t, addr, 3, 2*keys)
	ids = append(ids, nodeOf(t, whole, lost.Name).ID)
	if ids[0] == ids[1] || ids[1] == ids[2] || ids[0] == ids[2] {
		t.Errorf("it came back as who it was: %v", ids)
	}
	want := []status.Removed{{ID: ids[0], Name: lost.Name}, {ID: ids[1], Name: lost.Name, ReplacedBy: ids[2]}}
	if len(whole.Removed) != 2 || whole.Removed[0] != want[0] || whole.Removed[1] != want[1] {
		t.Errorf("removed are %+v, not %+v", whole.Removed, want)
	}
	holds(t, lost.Addr(), "first", keys)
	holds(t, lost.Addr(), "second", keys)

	// It votes as any other does: without the leader it makes up the quorum.
	c.WaitLeader().Kill9()
	c.WaitLeader()
	holds(t, c.Follower().Addr(), "second", keys)
}
