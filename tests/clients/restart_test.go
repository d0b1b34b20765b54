package clients

import (
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
)

// TestARestartChangesNoAddress: a node that is started again announces the same addresses as
// before, already before it has heard from the cluster. Otherwise the other nodes would report for
// a while that it has no host name.
func TestARestartChangesNoAddress(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{
		Args:   append([]string{"--cluster-announce-hostname", "some.example"}, proc.OneLeader...),
		Before: func(n *proc.Node) { n.Flags("--peer-address", n.PeerAddr()) },
	})
	asked := proc.Dial(t, c.WaitLeader().Addr())
	proc.Wait(t, patience, "all nodes are announced", func() bool {
		return strings.Count(proc.Do(t, asked, "CLUSTER", "NODES"), ",some.example ") == 3
	})
	epoch := func() string {
		_, rest, _ := strings.Cut(proc.Do(t, asked, "CLUSTER", "INFO"), "cluster_current_epoch:")
		number, _, _ := strings.Cut(rest, `\r`)
		return number
	}
	before := epoch()
	follower := c.Follower()
	follower.Stop()
	follower.Start()
	follower.WaitReady()
	// A higher epoch would show that the host name was changed and changed back.
	if after := epoch(); after != before {
		t.Errorf("the epoch was %s and is %s", before, after)
	}
	if got := proc.Do(t, asked, "CLUSTER", "NODES"); strings.Count(got, ",some.example ") != 3 {
		t.Error(got)
	}
}
