package clusterctl

import (
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
)

// clusterOf is the id of the cluster to which a node says it belongs.
func clusterOf(n *proc.Node) string { return proc.Info(n.Addr(), "server")["cluster_id"] }

// A node with data of one cluster that is given peers of another cluster stays with its own,
// whether it needs its peers or not. Both nodes log that. The clusters have the same secret: with
// different secrets, neither node would learn of the other's cluster.
func TestTwoClustersAreNotMixed(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	o := proc.Options{Args: []string{"--cluster-secret", "what-both-clusters-know"}}
	a, b := proc.NewCluster(t, 3, o), proc.NewCluster(t, 1, o)
	other := b.Nodes[0]
	const keys = 5
	fill(t, a.Nodes[0].Addr(), "a", keys)
	fill(t, other.Addr(), "b", keys)
	idA, idB := clusterOf(a.Nodes[0]), clusterOf(other)
	if idA == "" || idA == idB {
		t.Fatalf("cluster ids %q and %q", idA, idB)
	}

	// Without its own peers it waits for them, although the other cluster works.
	healthy(t, a.Nodes[0].Addr(), 3, keys)
	for _, n := range a.Nodes {
		n.Kill9()
	}
	astray := a.Nodes[1]
	before, otherBefore := len(astray.Log()), len(other.Log())
	astray.Start("--join", other.PeerAddr())
	belongsElsewhere := "this node belongs to cluster " + idB
	proc.Wait(t, patience, "both say that they do not belong together", func() bool {
		return strings.Contains(astray.Log()[before:], belongsElsewhere) && strings.Contains(other.Log()[otherBefore:], belongsElsewhere)
	})
	says(t, astray.Log()[before:], "stays with its own cluster", idA, "the data folder has a node of a cluster already")
	proc.Wait(t, patience, "it answers", func() bool { return clusterOf(astray) != "" })
	if id, role := clusterOf(astray), astray.Role(); id != idA || role == "leader" {
		t.Errorf("it is %s of cluster %s", role, id)
	}
	healthy(t, other.Addr(), 1, keys)

	// With its peers it works as before.
	a.Nodes[0].Start()
	a.Nodes[2].Start()
	a.WaitLeader()
	if s := healthy(t, astray.Addr(), 3, keys); s.ClusterID != idA {
		t.Errorf("cluster %s", s.ClusterID)
	}
	holds(t, astray.Addr(), "a", keys)

	// A node that needs no peers continues by itself.
	before = len(other.Log())
	if code := other.Stop(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	other.Start("--join", astray.PeerAddr(), "--bootstrap", "no")
	other.WaitReady()
	proc.Wait(t, patience, "it says where it does not belong", func() bool {
		return strings.Contains(other.Log()[before:], "this node belongs to cluster "+idA)
	})
	healthy(t, other.Addr(), 1, keys)
	holds(t, other.Addr(), "b", keys)
	for _, n := range []*proc.Node{astray, other} {
		foreign := map[*proc.Node]string{astray: "b:0", other: "a:0"}[n]
		if v, err := proc.Ask(n.Addr(), "EXISTS", foreign); v != "0" || err != nil {
			t.Errorf("EXISTS %s: %q, %v", foreign, v, err)
		}
	}
	if id := clusterOf(other); id != idB {
		t.Errorf("cluster %s", id)
	}
}
