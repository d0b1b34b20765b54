package linear

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"lockstep/tests/proc"
	"lockstep/tests/respconn"
)

// searchPatience bounds the search for one register's order.
const searchPatience = 20 * time.Second

// verify reads the counters at the end, runs both checkers over the history,
// and compares the replicas. What is wrong is kept.
func verify(t *testing.T, w *workload) {
	t.Helper()
	ops := w.history.Ops()
	for _, e := range w.errors {
		t.Errorf("an error that no client should see: %s", e)
	}
	v := checkRegisters(ops, searchPatience)
	t.Log(v)
	if len(v.unchecked) > 0 {
		t.Logf("the search for an order took too long for %v", v.unchecked)
	}
	if v.keys > 0 && len(v.unchecked) > v.keys/2 {
		t.Error("most registers are unchecked: the history proves nothing")
	}
	if v.wrong != "" {
		t.Errorf("%s is not linearizable", v.wrong)
	}
	for i := range counters {
		key := fmt.Sprint(counterPrefix, i)
		text, err := proc.Ask(w.cluster.WaitLeader().Addr(), "GET", key)
		if err != nil {
			t.Error(err)
			continue
		}
		final, _ := strconv.ParseInt(text, 10, 64)
		cv, err := checkCounter(key, ops, final)
		if err != nil {
			t.Error(err)
		}
		t.Log(cv)
	}
	compareReplicas(t, w.cluster)
	if t.Failed() {
		keep(t, w.history, v)
	}
}

// keep saves a history, and porcupine's picture of what is wrong in it.
func keep(t *testing.T, h *History, v *verdict) {
	t.Helper()
	dir, err := os.MkdirTemp("", "lockstep-history-")
	if err == nil {
		err = h.Save(dir)
	}
	if err == nil && v.wrong != "" {
		err = porcupine.VisualizePath(registerModel, v.info, filepath.Join(dir, "wrong.html"))
	}
	t.Logf("the history is kept in %s (%v)", dir, err)
}

// compareReplicas reads every node's own replica, once all have executed the
// same: the data must be the same.
func compareReplicas(t *testing.T, c *proc.Cluster) {
	t.Helper()
	proc.Wait(t, proc.ElectionPatience, "all replicas have executed the same", func() bool {
		seen := map[string]bool{}
		for _, n := range c.Nodes {
			seen[proc.Info(n.Addr(), "raft")["raft_executed"]] = true
		}
		return len(seen) == 1 && !seen[""]
	})
	digests := map[string][]string{}
	for _, n := range c.Nodes {
		digest, err := replicaDigest(n.Addr())
		if err != nil {
			t.Errorf("digest of %s: %v", n.Name, err)
		}
		digests[digest] = append(digests[digest], n.Name)
	}
	if len(digests) != 1 {
		t.Errorf("replicas differ: %v", digests)
	}
}

// replicaDigest is DEBUG DIGEST of the node's own replica.
func replicaDigest(addr string) (string, error) {
	c, err := respconn.Dial(addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if v, err := c.Do("READONLY"); err != nil || v.IsError() {
		return "", fmt.Errorf("READONLY: %v, %w", v, err)
	}
	v, err := c.Do("DEBUG", "DIGEST")
	if err != nil {
		return "", err
	}
	return v.Text()
}
