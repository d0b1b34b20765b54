package clusterctl

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockstep/cluster/meta"
	"lockstep/node/status"
	"lockstep/tests/kit/proc"
)

// known is the newest cluster version that the present program knows.
var known = meta.KnownVersion()

// linkedTo is a program that was linked to know cluster versions up to newest.
func linkedTo(t *testing.T, newest int, more ...string) string {
	return proc.OtherLockstepd(t, append([]string{fmt.Sprintf("lockstep/engine/version.newest=%d", newest)}, more...)...)
}

// behind is a program of the previous version.
func behind(t *testing.T) string { return linkedTo(t, known-1) }

// ahead is a program of the next version, which adds draining and the setting for the maximum call
// depth of scripts.
func ahead(t *testing.T) string {
	return linkedTo(t, known+1, fmt.Sprintf("lockstep/engine/version.brought=mark-drained=%d,script-max-call-depth=%[1]d", known+1))
}

// order runs a verb, and repeats it if a node did not answer and so the version that it knows is
// unknown.
func order(t *testing.T, addr string, args ...string) (said string, code int) {
	t.Helper()
	proc.Poll(patience, func() bool {
		said, code = proc.Ctl(t, addr, args...)
		return !strings.Contains(said, "does not answer, so it is not known")
	})
	return said, code
}

// The programs of the nodes are replaced one by one, under a write load through the other nodes.
// The older program can be restored until the version is raised, and not afterwards. The test goes
// from a program of the previous version to the present one, and from that to the next.
func TestAClusterIsUpgradedNodeByNode(t *testing.T) {
	proc.NeedProcesses(t)
	t.Run("from the version before", func(t *testing.T) {
		t.Parallel()
		(&rolling{T: t, old: behind(t), now: proc.Lockstepd(t), from: known - 1}).run()
	})
	t.Run("to the next version", func(t *testing.T) {
		t.Parallel()
		(&rolling{T: t, old: proc.Lockstepd(t), now: ahead(t), from: known, brings: true}).run()
	})
}

// rolling is an upgrade of three nodes from a program that knows a cluster version to one that
// knows the next.
type rolling struct {
	*testing.T
	old, now string
	from     int
	// brings means that the newer program has features that need its version.
	brings bool

	cluster *proc.Cluster
	load    *underLoad
}

const (
	rollingKeys = 10
	refused     = 4 // clusterctl's exit code
)

func (r *rolling) run() {
	r.cluster = proc.NewCluster(r.T, 3, proc.Options{Before: func(n *proc.Node) { n.Become(r.old) }})
	nodes, addr := r.cluster.Nodes, r.cluster.Nodes[0].Addr()
	fill(r.T, addr, "k", rollingKeys)
	r.isAt(r.from, healthy(r.T, addr, 3, rollingKeys))
	if _, err := proc.Ask(addr, "CONFIG", "SET", "cluster-version-raise", "manual"); err != nil {
		r.Fatal(err)
	}
	r.load = &underLoad{t: r.T, addr: addr, keys: rollingKeys + 1}
	for _, n := range nodes {
		r.load.begin(n, 2)
	}
	r.become(nodes[0], r.now)
	r.become(nodes[1], r.now)
	r.refuses(fmt.Sprintf("node n3 runs lockstep %s, which knows cluster versions up to %d, not %d; upgrade it first", statusOf(r.T, addr).Nodes[0].Version, r.from, r.from+1),
		"upgrade", "--to", strconv.Itoa(r.from+1))
	r.holdsBack()
	r.become(nodes[1], r.old) // back to the older program
	r.become(nodes[1], r.now)
	r.become(nodes[2], r.now)
	r.isAt(r.from, healthy(r.T, addr, 3, r.load.keys))
	r.load.verb("upgrade", func() {
		if out, code := order(r.T, addr, "upgrade"); code != 0 || !strings.Contains(out, fmt.Sprintf("the cluster is at version %d now, it was at %d", r.from+1, r.from)) {
			r.Fatalf("upgrade: exit %d, %s", code, out)
		}
	})
	r.brought()
	out, _ := proc.Ctl(r.T, addr, "upgrade")
	says(r.T, out, fmt.Sprintf("at version %d, the newest that all its nodes know", r.from+1))
	r.refuses("a version is never taken back", "upgrade", "--to", strconv.Itoa(r.from))
	r.Logf("%d increments, none lost, none doubled", 2*endAll(r.T, append(r.load.clients, r.load.gone...), addr))
	r.forgets()
}

// become replaces a node's program under load.
func (r *rolling) become(n *proc.Node, program string) {
	r.Helper()
	had := r.load.leave(n)
	r.load.verb("exchange of the program of "+n.Name, func() {
		if code := n.Stop(); code != 0 {
			r.Errorf("%s: exit status %d", n.Name, code)
		}
		n.Become(program)
		n.Start()
		n.WaitReady()
		healthy(r.T, n.Addr(), 3, r.load.keys)
	})
	holds(r.T, n.Addr(), "k", rollingKeys)
	r.load.begin(n, had)
}

// refuses checks that a verb is refused with these words.
func (r *rolling) refuses(words string, args ...string) {
	r.Helper()
	out, code := order(r.T, r.cluster.Nodes[0].Addr(), args...)
	if code != refused {
		r.Errorf("%v: exit %d", args, code)
	}
	says(r.T, out, words)
}

// isAt checks that the cluster, and the logs of its shards on all nodes, are at a version.
func (r *rolling) isAt(version int, s status.Cluster) {
	r.Helper()
	if s.Version != version {
		r.Errorf("the cluster is at version %d, not %d", s.Version, version)
	}
	for i := range s.Nodes {
		if g := s.Nodes[i].Group("0"); g == nil || g.Version != int64(version) {
			r.Errorf("the shard's log on %s, %+v, is not at version %d", s.Nodes[i].Name, g, version)
		}
	}
}

// holdsBack checks that the new features wait, even if the newer program leads.
func (r *rolling) holdsBack() {
	r.Helper()
	if !r.brings {
		return
	}
	r.load.lead("n1")
	words := fmt.Sprintf("the cluster is at version %d and this needs version %d; upgrade every node", r.from, r.from+1)
	r.refuses(words, "drain", "n2")
	if got, err := proc.Ask(r.cluster.Nodes[0].Addr(), "CONFIG", "SET", "script-max-call-depth", "200"); err == nil || !strings.Contains(err.Error(), words) {
		r.Errorf("CONFIG SET: %q, %v", got, err)
	}
	// The older program, which comes back on this node, must be able to read this snapshot.
	proc.MustAsk(r.T, r.cluster.Nodes[1].Addr(), "LOCKSTEP", "SNAPSHOT")
}

// brought checks that the new features work, and that the shards' logs have the new version.
func (r *rolling) brought() {
	r.Helper()
	addr := r.cluster.Nodes[0].Addr()
	proc.Wait(r.T, patience, "the shard's log says so on every node", func() bool {
		s := healthy(r.T, addr, 3, r.load.keys)
		return !slices.ContainsFunc(s.Nodes, func(n status.Node) bool { return n.Group("0").Version != int64(r.from+1) })
	})
	r.isAt(r.from+1, healthy(r.T, addr, 3, r.load.keys))
	if r.brings {
		r.load.run("drain", "n2")
		r.load.run("drain", "n2", "--off")
		proc.MustAsk(r.T, addr, "CONFIG", "SET", "script-max-call-depth", "200")
	}
}

// forgets makes a node of the upgraded cluster run the older program, which does not know the
// version: it neither opens its folder nor joins as a new node.
func (r *rolling) forgets() {
	r.Helper()
	last, to := r.cluster.Nodes[2], r.from+1
	proc.Wait(r.T, patience, "the folder says so", func() bool {
		return strings.Contains(identityOf(r.T, last), fmt.Sprintf(`"cluster_version": %d`, to))
	})
	last.Kill9()
	last.Become(r.old)
	before := len(last.Log())
	last.Start()
	code, log := ends(r.T, last, before)
	if code == 0 {
		r.Error("exit status 0 of a program that does not know the version")
	}
	says(r.T, log, "cannot be opened by this version of lockstep", fmt.Sprintf("the cluster is at version %d, this lockstepd knows versions up to %d", to, r.from))
	before = len(last.Log())
	last.Start("--dir", filepath.Join(last.Dir, "other"), "--node-name", "n9")
	code, log = ends(r.T, last, before)
	if code == 0 {
		r.Error("exit status 0 of a program that does not know the version and would join")
	}
	says(r.T, log, fmt.Sprintf("the cluster is at version %d", to), fmt.Sprintf("knows versions up to %d; start a newer one", r.from))
	last.Become(r.now)
	last.Start()
	last.WaitReady()
	healthy(r.T, r.cluster.Nodes[0].Addr(), 3, r.load.keys)
}

// The version rises automatically when the programs are newer.
func TestTheVersionRisesByItself(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	old, now := behind(t), proc.Lockstepd(t)
	n := proc.NewNode(t, proc.Options{Before: func(n *proc.Node) { n.Become(old) }})
	if v := statusOf(t, n.Addr()).Version; v != known-1 {
		t.Fatalf("version %d", v)
	}
	n.Stop()
	n.Become(now)
	n.Start()
	n.WaitReady()
	proc.Wait(t, patience, "the present version", func() bool { return statusOf(t, n.Addr()).Version == known })
	n.Stop()
	n.Become(old)
	before := len(n.Log())
	n.Start()
	code, log := ends(t, n, before)
	says(t, log, fmt.Sprintf("the cluster is at version %d", known))
	if code == 0 {
		t.Error("exit status 0")
	}
}

// The last node with an older program is removed. While it leaves it votes and hands its data over,
// so the version rises only afterwards, and does not end that node in the middle.
func TestTheVersionWaitsForANodeThatIsLeaving(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	old := behind(t)
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
	if v := statusOf(t, addr).Version; v != known-1 {
		t.Errorf("version %d", v)
	}
	proc.MustAsk(t, addr, "LOCKSTEP", "PROMOTE", "n4")
	code, log := ends(t, leaving, before)
	if code != 0 {
		t.Errorf("exit status %d", code)
	}
	says(t, log, "it was replaced by node n4")
	proc.Wait(t, patience, "the present version", func() bool { return statusOf(t, addr).Version == known })
}
