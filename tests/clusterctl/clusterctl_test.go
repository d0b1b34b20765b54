// Package clusterctl runs the operator's program against real clusters.
package clusterctl

import (
	"strings"
	"testing"

	"lockstep/node/status"
	"lockstep/tests/kit/proc"
)

func TestMain(m *testing.M) { proc.Main(m) }

// The exit code of status is for scripts: 0 healthy, 1 degraded, 2 no quorum.
func TestStatusTellsHealthByItsExitCode(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	addr := c.Nodes[0].Addr()
	var out string
	proc.Wait(t, patience, "healthy", func() (healthy bool) {
		var code int
		out, code = proc.Ctl(t, addr, "status")
		return code == 0
	})
	for _, word := range []string{"healthy", "n1", "n2", "n3", "leader", "follower", "meta"} {
		if !strings.Contains(out, word) {
			t.Errorf("the table does not say %q:\n%s", word, out)
		}
	}
	c.Nodes[2].Kill9()
	proc.Wait(t, patience, "degraded", func() bool { _, code := proc.Ctl(t, addr, "status"); return code == 1 })
	proc.Wait(t, patience, "degraded, and why", func() bool {
		s := statusOf(t, addr)
		return s.Health == status.Degraded && len(s.Reasons) > 0
	})
	c.Nodes[1].Kill9()
	proc.Wait(t, patience, "no quorum", func() bool { _, code := proc.Ctl(t, addr, "status"); return code == 2 })
	c.Nodes[0].Kill9()
	if out, code := proc.Ctl(t, addr, "status"); code != 2 {
		t.Errorf("with nobody there: exit %d, %s", code, out)
	}
}

func TestANodeJoinsLeadsAndIsRemoved(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Args: []string{"--replicas", "4"}})
	addr := c.Nodes[0].Addr()
	joiner := join(t, addr, "n4")
	proc.Wait(t, patience, "n4 votes in every group", func() bool {
		s := statusOf(t, addr)
		return s.Health == status.Healthy && len(s.Nodes) == 4
	})
	proc.Wait(t, patience, "n4 leads", func() bool {
		out, code := proc.Ctl(t, addr, "transfer", "--to", "n4")
		return code == 0 && strings.Contains(out, "n4")
	})
	if _, err := proc.Ask(addr, "SET", "through", "n4"); err != nil {
		t.Error(err)
	}
	if out, code := proc.Ctl(t, addr, "snapshot"); code != 0 {
		t.Errorf("snapshot: exit %d, %s", code, out)
	}
	if out, code := proc.Ctl(t, addr, "remove", "n4"); code == 0 {
		t.Errorf("removed without being asked: %s", out)
	}
	if out, code := proc.Ctl(t, addr, "remove", "n4", "--yes"); code != 0 {
		t.Fatalf("remove: exit %d, %s", code, out)
	}
	proc.Wait(t, patience, "the removed node ends", func() bool { return joiner.exited() })
	if out, code := proc.Ctl(t, addr, "remove", "n4", "--yes"); code != 0 || !strings.Contains(out, "was removed") {
		t.Errorf("a second time: exit %d, %s", code, out)
	}
	if v, err := proc.Ask(addr, "GET", "through"); v != "n4" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
	if out, code := proc.Ctl(t, addr, "remove", "nobody", "--yes"); code == 0 || !strings.Contains(out, "nobody") {
		t.Errorf("exit %d, %s", code, out)
	}
}
