package clusterctl

import (
	"fmt"
	"net"
	"strconv"
	"testing"

	"lockstep/tests/kit/proc"
)

// All peer addresses have changed while no node was running. No node knows the address of another,
// except for one that all were told to join.
func TestAClusterComesUpAtOtherAddresses(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Shards: 2})
	const keys = 10
	fill(t, c.Nodes[0].Addr(), "k", keys)
	was := healthy(t, c.Nodes[0].Addr(), 3, keys)
	for _, n := range c.Nodes {
		if code := n.Stop(); code != 0 {
			t.Errorf("%s: exit status %d", n.Name, code)
		}
	}

	ports := []string{strconv.Itoa(proc.FreePort(t)), strconv.Itoa(proc.FreePort(t)), strconv.Itoa(proc.FreePort(t))}
	meeting := "127.0.0.1:" + ports[2]
	for i, n := range c.Nodes {
		n.Start("--peer-port", ports[i], "--join", meeting, "--bootstrap", "no")
	}
	check := func() {
		t.Helper()
		for _, n := range c.Nodes {
			n.WaitReady()
		}
		proc.Wait(t, patience, "every node has told the others where it is", func() bool {
			now := statusOf(t, c.Nodes[0].Addr())
			moved := 0
			for i := range now.Nodes {
				if now.Nodes[i].PeerAddr == "127.0.0.1:"+ports[i] {
					moved++
				}
			}
			return moved == len(c.Nodes)
		})
		now := healthy(t, c.Nodes[0].Addr(), 3, keys)
		if now.ClusterID != was.ClusterID {
			t.Errorf("cluster %s was %s", now.ClusterID, was.ClusterID)
		}
		for _, n := range c.Nodes {
			if got, before := nodeOf(t, now, n.Name).ID, nodeOf(t, was, n.Name).ID; got != before {
				t.Errorf("%s is node %s, it was %s", n.Name, got, before)
			}
			holds(t, n.Addr(), "k", keys)
		}
		fill(t, c.Follower().Addr(), "k", keys)
	}
	check()

	// The cluster has recorded the new addresses, so it needs no hint any more.
	for _, n := range c.Nodes {
		n.Kill9()
	}
	for i, n := range c.Nodes {
		n.Start("--peer-port", ports[i])
	}
	check()
}

// Two nodes come back at each other's address, and then all three at the next one's, as when
// addresses are assigned again: each finds another node at its former address, and one of the two
// gives way.
func TestNodesChangePlaces(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	const keys = 10
	fill(t, c.Nodes[0].Addr(), "k", keys)
	healthy(t, c.Nodes[0].Addr(), 3, keys)
	at := map[*proc.Node]string{}
	for _, n := range c.Nodes {
		at[n] = n.PeerAddr()
	}
	for _, moved := range [][]*proc.Node{c.Nodes[1:], c.Nodes} {
		first := at[moved[0]]
		for i, n := range moved {
			n.Stop()
			if at[n] = first; i+1 < len(moved) {
				at[n] = at[moved[i+1]]
			}
		}
		for _, n := range moved {
			_, port, err := net.SplitHostPort(at[n])
			if err != nil {
				t.Fatal(err)
			}
			n.Start("--peer-port", port)
		}
		for _, n := range moved {
			n.WaitReady()
		}
		proc.Wait(t, patience, "every node has told the others where it is", func() bool {
			now := statusOf(t, c.Nodes[0].Addr())
			for n, addr := range at { // order does not matter
				if nodeOf(t, now, n.Name).PeerAddr != addr {
					return false
				}
			}
			return true
		})
		healthy(t, c.Nodes[0].Addr(), 3, keys)
		for _, n := range c.Nodes {
			holds(t, n.Addr(), "k", keys)
		}
	}
}

// If one node moves, it tells the others its new address.
func TestANodeMovesToAnotherAddress(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	const keys = 10
	fill(t, c.Nodes[0].Addr(), "k", keys)
	healthy(t, c.Nodes[0].Addr(), 3, keys)
	moved := c.Follower()
	moved.Kill9()
	port := proc.FreePort(t)
	moved.Start("--peer-port", strconv.Itoa(port))
	proc.Wait(t, patience, "the others know where it is", func() bool {
		return nodeOf(t, statusOf(t, c.WaitLeader().Addr()), moved.Name).PeerAddr == fmt.Sprintf("127.0.0.1:%d", port)
	})
	healthy(t, c.WaitLeader().Addr(), 3, keys)
	proc.Wait(t, patience, "the node that moved serves clients", func() bool { return proc.Ping(moved.Addr()) })
	holds(t, moved.Addr(), "k", keys)
}
