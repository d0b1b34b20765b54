package clusterctl

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
)

// A lockstepd that is given only a port and a folder is a cluster at once, and stays the same
// cluster whatever flags it gets later.
func TestALoneNodeIsAClusterByItself(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewLone(t)
	const keys = 20
	fill(t, n.Addr(), "kept", keys)
	first := healthy(t, n.Addr(), 1, keys)
	if first.ClusterID == "" {
		t.Error("no cluster id")
	}

	again := func(flags ...string) {
		t.Helper()
		before := len(n.Log())
		n.Start(flags...)
		n.WaitReady()
		now := healthy(t, n.Addr(), 1, keys)
		if now.ClusterID != first.ClusterID || now.Nodes[0].ID != first.Nodes[0].ID {
			t.Errorf("%v: node %s of cluster %s was node %s of cluster %s", flags, now.Nodes[0].ID, now.ClusterID, first.Nodes[0].ID, first.ClusterID)
		}
		holds(t, n.Addr(), "kept", keys)
		if len(flags) > 0 {
			says(t, n.Log()[before:], "the data folder has a node of a cluster already", first.ClusterID)
		}
		fill(t, n.Addr(), "kept", keys) // the node also takes writes
	}
	nobody := fmt.Sprintf("127.0.0.1:%d", proc.FreePort(t))
	for _, flags := range [][]string{nil, {"--bootstrap"}, {"--join", nobody}, {"--join", nobody, "--replace"}} {
		if code := n.Stop(); code != 0 {
			t.Errorf("exit status %d", code)
		}
		again(flags...)
	}
	n.Kill9()
	before := len(n.Log())
	n.Start("--raft-heartbeat-ms", "300", "--raft-election-ms", "300", "--lock-slots", "1024")
	n.WaitReady()
	says(t, n.Log()[before:], "setting=raft-heartbeat-ms given=300 holds=800", "setting=raft-election-ms given=300 holds=800")
	if strings.Contains(n.Log()[before:], "setting=lock-slots") {
		t.Error("what is as the cluster was made is complained of")
	}
}
