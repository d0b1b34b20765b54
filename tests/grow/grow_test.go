package grow

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/cluster/placement"
	"lockstep/tests/kit/proc"
)

const (
	patience = 90 * time.Second
	shards   = 5
	replicas = 3
)

// balanced waits until the cluster has just these nodes, every shard has all its replicas as
// voters, and replicas and leaders are spread evenly.
func balanced(t *testing.T, l *load, asked *proc.Node, names ...string) *placement.Report {
	t.Helper()
	var r *placement.Report
	why := ""
	ok := proc.Poll(patience, func() bool {
		for _, c := range l.all {
			l.check(c)
		}
		r = proc.Placement(asked)
		why = uneven(r, names)
		return why == ""
	})
	if !ok {
		text, _ := json.Marshal(r)
		t.Fatalf("not balanced over %v: %s\n%s", names, why, text)
	}
	return r
}

func uneven(r *placement.Report, names []string) string {
	if r == nil {
		return "no report"
	}
	if !r.Balanced {
		return "says so itself"
	}
	found := 0
	least := map[string]int{}
	most := map[string]int{}
	for i, n := range r.Nodes {
		if slices.Contains(names, n.Name) {
			found++
		} else if n.Replicas > 0 {
			return n.Name + " has replicas"
		} else {
			continue
		}
		for what, count := range map[string]int{"replicas": n.Replicas, "leaders": n.Leaders} {
			if old, ok := least[what]; !ok || count < old || i == 0 {
				least[what] = count
			}
			most[what] = max(most[what], count)
			if most[what]-least[what] > 1 {
				return fmt.Sprintf("%s are spread from %d to %d", what, least[what], most[what])
			}
		}
	}
	if found != len(names) {
		return fmt.Sprintf("%d of %d nodes are there", found, len(names))
	}
	for _, s := range r.Shards {
		voters, others := 0, 0
		for _, replica := range s.Replicas {
			switch {
			case replica.State == placement.StateVoter:
				voters++
			case replica.State != placement.StateGoing || slices.Contains(names, replica.Node):
				others++ // a dead node deletes nothing
			}
		}
		if voters != min(replicas, len(names)) || others > 0 {
			return fmt.Sprintf("shard %d: %+v", s.Shard, s.Replicas)
		}
	}
	return ""
}

// folders returns the number of shards that a node has on its disk.
func folders(n *proc.Node) int {
	all, _ := filepath.Glob(filepath.Join(n.DataDir(), "raft", "shard-*"))
	return len(all)
}

// TestReplicasMoveUnderLoadAndNobodyNotices: three nodes become five, four, and three, and a dead
// node comes back, while clients write through the nodes that stay. The logs are short, so that
// late replicas are copied from snapshots.
func TestReplicasMoveUnderLoadAndNobodyNotices(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	for _, shared := range []string{"no", "yes"} {
		t.Run("shared log "+shared, func(t *testing.T) {
			t.Parallel()
			growAndShrink(t, shared)
		})
	}
}

func growAndShrink(t *testing.T, shared string) {
	o := proc.Options{Shards: shards, Args: []string{
		"--replica-repair-after-ms", "4000", "--raft-snapshot-entries", "256", "--raft-trailing-entries", "64", "--raft-log-shared", shared,
	}}
	c := proc.NewCluster(t, 3, o)
	n1 := c.Nodes[0]
	l := &load{t: t}
	balanced(t, l, n1, "n1", "n2", "n3")
	for _, n := range c.Nodes {
		l.begin(n, 3)
	}
	l.advance(10)
	steps := func(what string, began time.Time) {
		t.Logf("%s: settled after %v, longest wait of a client %v", what, time.Since(began).Round(time.Millisecond), l.pause().Round(time.Millisecond))
	}
	t.Logf("before: longest wait of a client %v", l.pause().Round(time.Millisecond))

	began := time.Now()
	n4, n5 := c.Join(o), c.Join(o)
	balanced(t, l, n1, "n1", "n2", "n3", "n4", "n5")
	for _, n := range c.Nodes {
		proc.Wait(t, patience, n.Name+" has deleted what it gave up", func() bool { return folders(n) == shards*replicas/5 })
	}
	l.begin(n4, 1)
	l.begin(n5, 1)
	l.advance(5)
	steps("two nodes joined", began)

	l.end(n5)
	began = time.Now()
	if said, err := proc.Ask(n1.Addr(), "LOCKSTEP", "REMOVE", "n5"); err != nil {
		t.Fatalf("REMOVE: %s, %v", said, err)
	}
	balanced(t, l, n1, "n1", "n2", "n3", "n4")
	proc.Wait(t, patience, "the removed node has ended", func() bool { return !n5.Running() })
	l.advance(5)
	steps("one left", began)

	l.end(n4)
	began = time.Now()
	n4.Kill9()
	balanced(t, l, n1, "n1", "n2", "n3")
	l.advance(5)
	steps("one died and was replaced", began)

	began = time.Now()
	n4.Start()
	balanced(t, l, n1, "n1", "n2", "n3", "n4")
	l.begin(n4, 1)
	l.advance(5)
	steps("it came back", began)

	l.end(nil)
	for _, n := range c.Nodes[:4] {
		total := l.verify(n)
		t.Logf("%d increments, all there through %s", total, n.Name)
	}
	verifyReplicas(t, l, c.Nodes[:4])
	restart(t, l, c.Nodes[:4])
}

// restart kills all nodes at once. Each node must keep the replicas that it had, although its log
// first shows it old views that placed them elsewhere.
func restart(t *testing.T, l *load, nodes []*proc.Node) {
	t.Helper()
	// A node that starts late must not count as dead.
	proc.MustAsk(t, nodes[0].Addr(), "CONFIG", "SET", "replica-repair-after-ms", "600000")
	had := map[*proc.Node]int{}
	for _, n := range nodes {
		had[n] = folders(n)
		n.Kill9()
	}
	for _, n := range nodes {
		n.Start()
	}
	balanced(t, l, nodes[0], "n1", "n2", "n3", "n4")
	for _, n := range nodes {
		l.verify(n)
		if now := folders(n); now != had[n] {
			t.Errorf("%s had %d replicas and has %d after a restart", n.Name, had[n], now)
		}
	}
	verifyReplicas(t, l, nodes)
}

// verifyReplicas reads every counter from the replicas themselves. Snapshots and logs must have
// brought the same values to all.
func verifyReplicas(t *testing.T, l *load, nodes []*proc.Node) {
	t.Helper()
	for _, n := range nodes {
		proc.Wait(t, patience, n.Name+" has executed everything", func() bool {
			replicas := 0
			for field, line := range proc.Info(n.Addr(), "raft") {
				if !strings.HasPrefix(field, "raft_shard") {
					continue
				}
				if replicas++; !strings.Contains(line, ",lag=0,") {
					return false
				}
			}
			return replicas > 0
		})
		l.verify(n, "READONLY")
	}
}

// TestACopyOnEveryNodeUntilToldOtherwise: with --replicas 0 at its founding a cluster has every
// shard on every node, until LOCKSTEP REPLICAS changes that.
func TestACopyOnEveryNodeUntilToldOtherwise(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 4, proc.Options{Shards: 2, Args: []string{"--replicas", "0"}})
	n1 := c.Nodes[0]
	for _, n := range c.Nodes {
		proc.Wait(t, patience, n.Name+" has both shards", func() bool { return folders(n) == 2 })
	}
	proc.Do(t, proc.Dial(t, n1.Addr()), "SET", "k", "v")
	if _, err := proc.Ask(n1.Addr(), "LOCKSTEP", "REPLICAS", "3"); err != nil {
		t.Fatal(err)
	}
	balanced(t, &load{t: t}, n1, "n1", "n2", "n3", "n4")
	total := 0
	proc.Wait(t, patience, "what is not wanted is deleted", func() bool {
		total = 0
		for _, n := range c.Nodes {
			total += folders(n)
		}
		return total == 6
	})
	for _, n := range c.Nodes {
		if v, err := proc.Ask(n.Addr(), "GET", "k"); v != "v" || err != nil {
			t.Errorf("through %s: %q, %v", n.Name, v, err)
		}
		if _, err := os.Stat(filepath.Join(n.DataDir(), "identity.json")); err != nil {
			t.Error(err)
		}
	}
}
