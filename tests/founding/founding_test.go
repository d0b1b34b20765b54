// Package founding starts real nodes that were all told the same, in any order,
// and looks at which cluster comes of it.
package founding

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/node/status"
	"lockstep/tests/proc"
)

const patience = 60 * time.Second

// cluster is the cluster as a node sees it; nil: it has none, or does not answer.
func cluster(n *proc.Node) *status.Cluster {
	var c status.Cluster
	reply, err := proc.Ask(n.Addr(), "LOCKSTEP", "STATUS")
	if err != nil || json.Unmarshal([]byte(reply), &c) != nil {
		return nil
	}
	return &c
}

// together waits until all nodes are members of one cluster, and returns it.
func together(t *testing.T, nodes []*proc.Node) *status.Cluster {
	t.Helper()
	var first *status.Cluster
	proc.Wait(t, patience, "all nodes belong to one healthy cluster", func() bool {
		if first = cluster(nodes[0]); first == nil {
			return false
		}
		for _, n := range nodes {
			c := cluster(n)
			if c == nil || c.ClusterID != first.ClusterID || len(c.Nodes) != len(nodes) || c.Health != status.Healthy {
				return false
			}
		}
		return true
	})
	return first
}

// logged waits for words in a node's log.
func logged(t *testing.T, n *proc.Node, words string) {
	t.Helper()
	proc.Wait(t, patience, n.Name+" says: "+words, func() bool { return strings.Contains(n.Log(), words) })
}

func TestThreeNodesThatWereToldTheSameAreOneCluster(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewFounders(t, 3, proc.Options{Args: []string{"--replace", "yes"}})
	a, b, last := c.Nodes[0], c.Nodes[1], c.Nodes[2]

	// One of three waits, and says why; so do two, also where the one with the
	// lowest name is missing.
	last.Start()
	logged(t, last, "1 of 3 expected nodes are there (n3)")
	b.Start()
	logged(t, last, "2 of 3 expected nodes are there (n2,n3)")
	if proc.Ping(b.Addr()) || proc.Ping(last.Addr()) {
		t.Fatal("two of three serve clients")
	}
	a.Start()
	born := together(t, c.Nodes)
	if !strings.Contains(a.Log(), "this node has the lowest name and founds it") || strings.Contains(b.Log()+last.Log(), "and founds it") {
		t.Fatal("another node than n1 founded the cluster")
	}
	proc.MustAsk(t, b.Addr(), "SET", "greeting", "hello")

	// The founder loses its disk, and one of the others is down: it waits for a
	// quorum of the cluster that there is, and founds none.
	a.Kill9()
	last.Kill9()
	if err := os.RemoveAll(a.DataDir()); err != nil {
		t.Fatal(err)
	}
	a.Start()
	logged(t, a, "not taken in yet")
	last.Start()
	whole := together(t, c.Nodes)
	if whole.ClusterID != born.ClusterID {
		t.Fatalf("cluster %s became %s", born.ClusterID, whole.ClusterID)
	}
	if got := proc.MustAsk(t, a.Addr(), "GET", "greeting"); got != "hello" {
		t.Fatalf("read %q", got)
	}

	// All are stopped and started with the same words: the same cluster.
	for _, n := range c.Nodes {
		n.Kill9()
	}
	for _, n := range c.Nodes {
		n.Start()
	}
	if again := together(t, c.Nodes); again.ClusterID != born.ClusterID {
		t.Fatalf("cluster %s became %s", born.ClusterID, again.ClusterID)
	}
}

func TestOtherNumbersAreSaidLoudlyAndFoundNothing(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewFounders(t, 2, proc.Options{})
	c.Nodes[0].Start()
	c.Nodes[1].Start("--bootstrap-expect", "3")
	logged(t, c.Nodes[0], "n2 has bootstrap-expect 3, and this node 2")
	logged(t, c.Nodes[1], "n1 has bootstrap-expect 2, and this node 3")
	c.Nodes[1].Kill9()
	c.Nodes[1].Start()
	logged(t, c.Nodes[1], "bootstrap-expect is not what this node was started with before")
	together(t, c.Nodes)
}

// A removed node stays up without serving; started again, it joins as a new one
// and keeps its old data aside.
func TestARemovedNodeJoinsAnewWhenItIsStartedAgain(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewFounders(t, 3, proc.Options{Args: []string{"--rejoin", "yes", "--replace", "yes"}})
	for i, n := range c.Nodes {
		n.Start("--admin-port", strconv.Itoa(proc.FreePort(t)))
		if i == 0 {
			logged(t, n, "1 of 3")
		}
	}
	born := together(t, c.Nodes)
	gone := c.Nodes[2]
	proc.MustAsk(t, c.Nodes[0].Addr(), "SET", "greeting", "hello")
	proc.MustAsk(t, c.Nodes[0].Addr(), "LOCKSTEP", "REMOVE", gone.Name)
	logged(t, gone, "stays up without serving")
	together(t, c.Nodes[:2])
	if !gone.Running() || proc.Ping(gone.Addr()) {
		t.Fatal("the removed node ended, or serves clients")
	}
	gone.Stop()
	gone.Start()
	whole := together(t, c.Nodes)
	if whole.ClusterID != born.ClusterID {
		t.Fatalf("cluster %s became %s", born.ClusterID, whole.ClusterID)
	}
	if got := proc.MustAsk(t, gone.Addr(), "GET", "greeting"); got != "hello" {
		t.Fatalf("read %q", got)
	}
	if !strings.Contains(gone.Log(), "its data is set aside, and a new node begins here") {
		t.Fatal("it does not say what became of its data")
	}
}
