package clusterctl

import (
	"strings"
	"testing"

	"lockstep/cmd/clusterctl/bench"
	"lockstep/tests/proc"
)

// The leadership is handed over in the middle of a measurement, and then the
// leader is killed: clients are told no error, and the pause is measured.
func TestBenchGoesThroughAChangeOfLeader(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	addr := c.Nodes[0].Addr() + "," + c.Nodes[1].Addr() + "," + c.Nodes[2].Addr()
	healthy(t, addr, 3, 0)
	c.WaitLeader()
	var r bench.Result
	if code := jsonOf(t, &r, addr, "bench", "--for", "2s", "-c", "6", "--keys", "50", "--transfer"); code != 0 {
		t.Errorf("exit %d", code)
	}
	if !strings.Contains(r.Midway, "is led by") || len(r.ErrorReplies) > 0 || r.Broken > 0 || r.Writes.P50 > r.Writes.P999 {
		t.Errorf("transfer: %+v", r)
	}
	r = bench.Result{}
	if code := jsonOf(t, &r, addr, "bench", "--for", "6s", "-c", "6", "--keys", "50", "--kill-leader", "--yes"); code != 0 {
		t.Errorf("exit %d", code)
	}
	var killed []string
	for _, n := range c.Nodes {
		if !n.Running() {
			killed = append(killed, n.Name)
		}
	}
	if len(killed) != 1 || !strings.Contains(r.Midway, killed[0]+", the leader of shard 0, was killed") {
		t.Errorf("%v run no more; %s", killed, r.Midway)
	}
	if len(r.ErrorReplies) > 0 || r.Broken == 0 || r.LongestPauseMs <= 0 {
		t.Errorf("kill: %+v", r)
	}
	t.Logf("%.0f calls/s through a kill, longest pause %.0f ms, %d connections to the killed node broke", r.PerSecond, r.LongestPauseMs, r.Broken)
}
