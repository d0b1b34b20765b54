package clusterctl

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockstep/cluster/meta"
	"lockstep/tests/proc"
)

// newest is the cluster version that the present program knows.
var newest = strconv.Itoa(meta.KnownVersion())

// past is a program that does not know what came with the second cluster
// version.
func past(t *testing.T) string { return proc.OtherLockstepd(t, "lockstep/cluster/meta.known=1") }

// upgrade runs that verb until every node has said what it knows: one that does not
// answer for a moment is asked again.
func upgrade(t *testing.T, addr string, args ...string) (said string, code int) {
	t.Helper()
	proc.Poll(patience, func() bool {
		said, code = proc.Ctl(t, addr, append([]string{"upgrade"}, args...)...)
		return !strings.Contains(said, "does not answer, so it is not known")
	})
	return said, code
}

// Nodes are exchanged one by one under a write load of the others' clients; until the
// version is raised the older program can come back, and then not any more.
func TestAClusterIsUpgradedNodeByNode(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	old, now := past(t), proc.Lockstepd(t)
	c := proc.NewCluster(t, 3, proc.Options{Before: func(n *proc.Node) { n.Become(old) }})
	addr := c.Nodes[0].Addr()
	const keys = 10
	fill(t, addr, "k", keys)
	if v := healthy(t, addr, 3, keys).Version; v != 1 {
		t.Fatalf("version %d", v)
	}
	if _, err := proc.Ask(addr, "CONFIG", "SET", "cluster-version-raise", "manual"); err != nil {
		t.Fatal(err)
	}
	out, code := proc.Ctl(t, addr, "drain", "n2")
	if code != 4 {
		t.Errorf("drain: exit %d", code)
	}
	says(t, out, "the cluster is at version 1 and this needs version 2; upgrade every node")

	u := &underLoad{t: t, addr: addr, keys: keys + 1}
	for _, n := range c.Nodes {
		u.begin(n, 2)
	}
	become := func(n *proc.Node, program string) {
		t.Helper()
		had := u.leave(n)
		u.verb("exchange of the program of "+n.Name, func() {
			if code := n.Stop(); code != 0 {
				t.Errorf("%s: exit status %d", n.Name, code)
			}
			n.Become(program)
			n.Start()
			n.WaitReady()
			healthy(t, n.Addr(), 3, u.keys)
		})
		holds(t, n.Addr(), "k", keys)
		u.begin(n, had)
	}
	become(c.Nodes[0], now)
	become(c.Nodes[1], now)
	out, code = upgrade(t, addr, "--to", "4")
	if code != 4 {
		t.Errorf("upgrade before the last node: exit %d", code)
	}
	says(t, out, "node n3 runs lockstep", "knows cluster versions up to 1, not 4; upgrade it first")
	become(c.Nodes[1], old) // back again
	become(c.Nodes[1], now)
	become(c.Nodes[2], now)
	if v := statusOf(t, addr).Version; v != 1 {
		t.Errorf("version %d before it was raised", v)
	}
	u.verb("upgrade", func() {
		if out, code = upgrade(t, addr); code != 0 {
			t.Fatalf("upgrade: exit %d, %s", code, out)
		}
	})
	says(t, out, "the cluster is at version "+newest+" now, it was at 1")
	out, _ = proc.Ctl(t, addr, "upgrade")
	says(t, out, "at version "+newest+", the newest that all its nodes know")
	out, code = proc.Ctl(t, addr, "upgrade", "--to", "1")
	if code != 4 {
		t.Errorf("exit %d: %s", code, out)
	}

	t.Logf("%d increments, none lost, none doubled", 2*endAll(t, append(u.clients, u.gone...), addr))
	forgets(t, c, old, now, u.keys)
}

// forgets lets a node of a cluster at the second version run a program that
// does not know it: it opens neither the folder nor comes in anew.
func forgets(t *testing.T, c *proc.Cluster, old, now string, keys int64) {
	t.Helper()
	last := c.Nodes[2]
	proc.Wait(t, patience, "the folder says so", func() bool { return strings.Contains(identityOf(t, last), `"cluster_version": `+newest) })
	last.Kill9()
	last.Become(old)
	before := len(last.Log())
	last.Start()
	code, log := ends(t, last, before)
	if code == 0 {
		t.Error("exit status 0 of a program that does not know the version")
	}
	says(t, log, "cannot be opened by this version of lockstep", "the cluster is at version "+newest+", this lockstepd knows versions up to 1")
	before = len(last.Log())
	last.Start("--dir", filepath.Join(last.Dir, "other"), "--node-name", "n9")
	code, log = ends(t, last, before)
	if code == 0 {
		t.Error("exit status 0 of a program that does not know the version and would join")
	}
	says(t, log, "the cluster is at version "+newest, "knows versions up to 1; start a newer one")
	last.Become(now)
	last.Start()
	last.WaitReady()
	healthy(t, c.Nodes[0].Addr(), 3, keys)
}

// By itself the version follows the programs.
func TestTheVersionRisesByItself(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	old, now := past(t), proc.Lockstepd(t)
	n := proc.NewNode(t, proc.Options{Before: func(n *proc.Node) { n.Become(old) }})
	if v := statusOf(t, n.Addr()).Version; v != 1 {
		t.Fatalf("version %d", v)
	}
	n.Stop()
	n.Become(now)
	n.Start()
	n.WaitReady()
	proc.Wait(t, patience, "version "+newest, func() bool { return statusOf(t, n.Addr()).Version == meta.KnownVersion() })
	n.Stop()
	n.Become(old)
	before := len(n.Log())
	n.Start()
	code, log := ends(t, n, before)
	says(t, log, "the cluster is at version "+newest)
	if code == 0 {
		t.Error("exit status 0")
	}
}

// The last node with an older program is taken out: while it leaves it votes and gives its
// data away, so the version rises behind that, and does not end it in the middle.
func TestTheVersionWaitsForANodeThatIsLeaving(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	old := proc.OtherLockstepd(t, "lockstep/cluster/meta.known=3")
	c := proc.NewCluster(t, 3, proc.Options{Before: func(n *proc.Node) {
		if n.Index == 0 {
			n.Become(old)
		}
	}})
	leaving, addr := c.Nodes[0], c.Nodes[1].Addr()
	// It stays until its successor votes, which a learner does not yet.
	c.Join(proc.Options{Args: []string{"--learner", "yes"}}).WaitReady()
	proc.MustAsk(t, addr, "LOCKSTEP", "TRANSFER", "meta", c.Nodes[1].Name)
	before := len(leaving.Log())
	_, _ = proc.Ask(addr, "LOCKSTEP", "REPLACE", leaving.Name, "n4") // it does not come to its end yet
	proc.Wait(t, patience, "the version waits", func() bool {
		return !leaving.Running() || slices.ContainsFunc(c.Nodes[1:], func(n *proc.Node) bool { // whichever leads
			return strings.Contains(n.Log(), "node n1, which is leaving, runs lockstep")
		})
	})
	if !leaving.Running() {
		t.Fatalf("the node that is leaving has ended: %s", leaving.Log()[before:])
	}
	if v := statusOf(t, addr).Version; v != 3 {
		t.Errorf("version %d", v)
	}
	proc.MustAsk(t, addr, "LOCKSTEP", "PROMOTE", "n4")
	code, log := ends(t, leaving, before)
	if code != 0 {
		t.Errorf("exit status %d", code)
	}
	says(t, log, "it was replaced by node n4")
	proc.Wait(t, patience, "version "+newest, func() bool { return statusOf(t, addr).Version == meta.KnownVersion() })
}
