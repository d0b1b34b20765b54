package clusterctl

import (
	"encoding/json"
	"strings"
	"testing"

	"lockstep/cmd/clusterctl/bench"
	"lockstep/tests/kit/proc"
)

// midway repeats a measurement until its action in the middle succeeded, because at that moment
// there may be no leader, or no node that could take over. No client may see an error meanwhile.
func midway(t *testing.T, addr string, args ...string) (r bench.Result) {
	t.Helper()
	out, errs, code := "", "", 0
	if !proc.Poll(patience, func() bool {
		out, errs, code = ctl2(t, addr, append([]string{"bench", "-c", "6", "--keys", "50", "-o", "json"}, args...)...)
		r = bench.Result{}
		if err := json.Unmarshal([]byte(out), &r); err != nil && out != "" {
			t.Fatalf("%v in %q", err, out)
		}
		if len(r.ErrorReplies) > 0 {
			t.Errorf("%q: %+v", args, r)
		}
		return r.Midway != ""
	}) || code != 0 {
		t.Fatalf("%q: exit %d, %s%s", args, code, out, errs)
	}
	return r
}

// The leadership is transferred in the middle of a measurement, and in another one the leader is
// killed. Clients see no error, and the pause is measured.
func TestBenchGoesThroughAChangeOfLeader(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	addr := c.Nodes[0].Addr() + "," + c.Nodes[1].Addr() + "," + c.Nodes[2].Addr()
	healthy(t, addr, 3, 0)
	c.WaitLeader()
	r := midway(t, addr, "--for", "2s", "--transfer")
	if want := proc.Info(c.Nodes[0].Addr(), "persistence")["raft_log_store"]; r.LogStores != want || want == "" {
		t.Errorf("measured with the log store %q; it is %q", r.LogStores, want)
	}
	if !strings.Contains(r.Midway, "is led by") || r.Broken > 0 || r.Writes.P50 > r.Writes.P999 {
		t.Errorf("transfer: %+v", r)
	}
	r = midway(t, addr, "--for", "6s", "--kill-leader", "--yes")
	var killed []string
	for _, n := range c.Nodes {
		if !n.Running() {
			killed = append(killed, n.Name)
		}
	}
	if len(killed) != 1 || !strings.Contains(r.Midway, killed[0]+", the leader of shard 0, was killed") {
		t.Errorf("%v run no more; %s", killed, r.Midway)
	}
	if r.Broken == 0 || r.LongestPauseMs <= 0 {
		t.Errorf("kill: %+v", r)
	}
	t.Logf("%.0f calls/s through a kill, longest pause %.0f ms, %d connections to the killed node broke", r.PerSecond, r.LongestPauseMs, r.Broken)
}
