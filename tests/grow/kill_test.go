package grow

import (
	"slices"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
)

// TestReplicasMoveWhileNodesAreKilled: replicas move to two new nodes while the test kills and
// starts one node after the other: nodes that receive a copy, nodes that send one, and nodes that
// delete one. Every unfinished step is repeated or undone.
func TestReplicasMoveWhileNodesAreKilled(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	o := proc.Options{Shards: shards, Args: []string{"--raft-snapshot-entries", "256", "--raft-trailing-entries", "64"}}
	c := proc.NewCluster(t, 3, o)
	l := &load{t: t}
	balanced(t, l, c.Nodes[0], "n1", "n2", "n3")
	for _, n := range c.Nodes[:2] {
		l.begin(n, 4)
	}
	l.advance(10)
	began := time.Now()
	n4, n5 := c.Join(o), c.Join(o)
	kills := 0
	rounds := 1
	if proc.Long() {
		rounds = 4
	}
	for _, victim := range slices.Repeat([]*proc.Node{n4, c.Nodes[2], n5}, rounds) {
		// The node is in the middle of a step now: it has just been admitted, or has just come
		// back.
		proc.Wait(t, patience, victim.Name+" answers", func() bool { return proc.Ping(victim.Addr()) })
		l.advance(3)
		victim.Kill9()
		kills++
		l.advance(1)
		victim.Start()
	}
	balanced(t, l, c.Nodes[0], "n1", "n2", "n3", "n4", "n5")
	l.advance(5)
	t.Logf("%d kills; settled after %v, longest wait of a client %v", kills, time.Since(began).Round(time.Millisecond), l.pause().Round(time.Millisecond))
	l.end(nil)
	for _, n := range c.Nodes {
		proc.Wait(t, patience, n.Name+" has deleted what it gave up", func() bool { return folders(n) == shards*replicas/5 })
		l.verify(n)
	}
	verifyReplicas(t, l, c.Nodes)
}
