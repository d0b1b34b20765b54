package clusterctl

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/cluster/placement"
	"lockstep/tests/kit/proc"
)

// A cluster with rebalance turned off leaves a new node empty. The plan can be shown first, and is
// executed under load when ordered.
func TestAClusterIsRebalancedWhenAsked(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Shards: 4})
	addr := c.Nodes[0].Addr()
	proc.Wait(t, patience, "balanced", func() bool { return planOf(t, addr).Balanced })
	if _, err := proc.Ask(addr, "CONFIG", "SET", "rebalance", "no"); err != nil {
		t.Fatal(err)
	}
	join(t, addr, "n4")
	proc.Wait(t, patience, "n4 is in", func() bool { s := statusOf(t, addr); return len(s.Nodes) == 4 && s.Health == "healthy" })
	if n := replicasOf(planOf(t, addr), "n4"); n != 0 {
		t.Errorf("%d replicas went to n4 unasked", n)
	}
	out := planned(t, addr, "add: shard ")
	says(t, out, "add: shard ", ": n4 (", "drop: shard ", "the setting rebalance is no")
	if strings.Contains(out, "nothing is to be done") || planOf(t, addr).Balanced {
		t.Errorf("it says that nothing is to be done:\n%s", out)
	}
	var clients []*counting
	for i := range 4 {
		clients = append(clients, count(t, c.Nodes[i%3].Addr(), fmt.Sprintf("count:%d", i)))
	}
	advance(t, clients, 10)
	longestOf(clients)
	began := time.Now()
	out, errs, code := ctl2(t, addr, "rebalance", "--wait", "120s")
	took := time.Since(began)
	if code != 0 || !strings.Contains(out, "spread evenly") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	says(t, errs, "steps left", "shard ", "n4")
	advance(t, clients, 10)
	longest := longestOf(clients)
	total := endAll(t, clients, addr)
	if n := replicasOf(planOf(t, addr), "n4"); n != 3 {
		t.Errorf("n4 has %d of 12 replicas", n)
	}
	if v := proc.Do(t, proc.Dial(t, addr), "CONFIG", "GET", "rebalance"); v != `*2 "rebalance" "no"` {
		t.Errorf("the setting is %s", v)
	}
	says(t, planned(t, addr, "nothing is to be done"), "nothing is to be done", "n4")
	t.Logf("rebalance took %.2f s, longest pause %d ms, 0 errors of %d increments", took.Seconds(), longest.Milliseconds(), 2*total)
}

// planned is the output of a dry run, repeated until it has the words: a node that is silent for a
// moment, or an election, changes the plan.
func planned(t *testing.T, addr, words string) (said string) {
	t.Helper()
	proc.Poll(patience, func() bool {
		said, _ = proc.Ctl(t, addr, "rebalance", "--dry-run")
		return strings.Contains(said, words)
	})
	return said
}

func planOf(t *testing.T, addr string) *placement.Report {
	t.Helper()
	var r placement.Report
	jsonOf(t, &r, addr, "rebalance", "--dry-run")
	return &r
}

func replicasOf(r *placement.Report, node string) int {
	for _, n := range r.Nodes {
		if n.Name == node {
			return n.Replicas
		}
	}
	return -1
}
