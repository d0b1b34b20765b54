package introspection

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
)

// TestNodesOfAClusterTellOfEachOther: three nodes describe the cluster alike: one shard, one master
// and its replicas, and a connection each way between nodes that have sent requests.
func TestNodesOfAClusterTellOfEachOther(t *testing.T) {
	proc.NeedProcesses(t)
	c := proc.NewCluster(t, 3, proc.Options{Shards: 1, Args: append([]string{"--cluster-enabled", "yes"}, proc.OneLeader...)})
	leader := c.WaitLeader()
	master := ask(t, proc.Dial(t, leader.Addr()), "CLUSTER", "MYID")
	shard := ""
	for _, n := range c.Nodes {
		conn := proc.Dial(t, n.Addr())
		id := ask(t, conn, "CLUSTER", "MYSHARDID")
		if len(id) != 40 || shard != "" && id != shard {
			t.Errorf("%s: shard %s, others %s", n.Name, id, shard)
		}
		shard = id
		// Every node then knows the leader, and has sent it a request.
		_ = ask(t, conn, "SET", "k"+n.Name, "v")
		proc.Wait(t, patience, "two replicas", func() bool {
			v, err := conn.Do("CLUSTER", "REPLICAS", master)
			if err != nil {
				t.Fatal(err)
			}
			return len(v.Elems) == 2 && strings.Contains(v.String(), "slave "+master)
		})
		own := ask(t, conn, "CLUSTER", "MYID")
		if v, err := conn.Do("CLUSTER", "COUNT-FAILURE-REPORTS", own); err != nil || v.String() != ":0" {
			t.Errorf("%s: failure reports %s, %v", n.Name, v.String(), err)
		}
		if n == leader {
			continue
		}
		to := fmt.Sprintf("%q %q %q %q", "direction", "to", "node", master)
		if v, err := conn.Do("CLUSTER", "LINKS"); err != nil || !strings.Contains(unindented(v.String()), to) {
			t.Errorf("%s: links %s, %v", n.Name, v.String(), err)
		}
		if v, err := proc.Dial(t, leader.Addr()).Do("CLUSTER", "LINKS"); err != nil || !strings.Contains(unindented(v.String()), fmt.Sprintf("%q %q %q %q", "direction", "from", "node", own)) {
			t.Errorf("the leader has no link from %s: %s, %v", n.Name, v.String(), err)
		}
	}
}

// unindented returns the text with single blanks between the words.
func unindented(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestALoneNodeIsBackAtOnce: a single node that was killed answers soon after its start, because it
// waits for no election.
func TestALoneNodeIsBackAtOnce(t *testing.T) {
	proc.NeedProcesses(t)
	n := proc.NewCluster(t, 1, proc.Options{Args: []string{"--raft-heartbeat-ms", "30000", "--raft-election-ms", "30000"}}).Nodes[0]
	_ = ask(t, proc.Dial(t, n.Addr()), "SET", "k", "v")
	for range 2 {
		n.Kill9()
		begun := time.Now()
		n.Start()
		n.WaitReady()
		if got := ask(t, proc.Dial(t, n.Addr()), "GET", "k"); got != "v" {
			t.Fatalf("k is %q", got)
		}
		if took := time.Since(begun); took > 25*time.Second {
			t.Errorf("it took %v", took)
		}
	}
}
