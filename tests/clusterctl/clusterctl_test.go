// Package clusterctl runs the operator's program against real clusters.
package clusterctl

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/node/status"
	"lockstep/tests/proc"
)

func TestMain(m *testing.M) { proc.Main(m) }

// program builds clusterctl once per test that asks.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clusterctl")
	if out, err := exec.Command("go", "build", "-o", path, "lockstep/cmd/clusterctl").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// ctl runs the program and returns what it said and its exit code.
func ctl(t *testing.T, program, addr string, args ...string) (string, int) {
	t.Helper()
	out, err := exec.Command(program, append([]string{"-a", addr}, args...)...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	code := 0
	if exit != nil {
		code = exit.ExitCode()
	}
	return string(out), code
}

func statusOf(t *testing.T, program, addr string) status.Cluster {
	t.Helper()
	out, _ := ctl(t, program, addr, "status", "-o", "json")
	var c status.Cluster
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return c
}

const patience = 30 * time.Second

// The exit code of status is for scripts: 0 healthy, 1 degraded, 2 no quorum.
func TestStatusTellsHealthByItsExitCode(t *testing.T) {
	proc.NeedProcesses(t)
	program := program(t)
	c := proc.NewCluster(t, 3, proc.Options{})
	addr := c.Nodes[0].Addr()
	proc.Wait(t, patience, "healthy", func() bool { _, code := ctl(t, program, addr, "status"); return code == 0 })
	out, _ := ctl(t, program, addr, "status")
	for _, word := range []string{"healthy", "n1", "n2", "n3", "leader", "follower", "meta"} {
		if !strings.Contains(out, word) {
			t.Errorf("the table does not say %q:\n%s", word, out)
		}
	}
	c.Nodes[2].Kill9()
	proc.Wait(t, patience, "degraded", func() bool { _, code := ctl(t, program, addr, "status"); return code == 1 })
	if s := statusOf(t, program, addr); s.Health != status.Degraded || len(s.Reasons) == 0 {
		t.Errorf("%+v", s)
	}
	c.Nodes[1].Kill9()
	proc.Wait(t, patience, "no quorum", func() bool { _, code := ctl(t, program, addr, "status"); return code == 2 })
	c.Nodes[0].Kill9()
	if out, code := ctl(t, program, addr, "status"); code != 2 {
		t.Errorf("with nobody there: exit %d, %s", code, out)
	}
}

func TestANodeJoinsLeadsAndIsRemoved(t *testing.T) {
	proc.NeedProcesses(t)
	program := program(t)
	c := proc.NewCluster(t, 3, proc.Options{})
	addr := c.Nodes[0].Addr()
	joiner := join(t, program, addr, "n4")
	proc.Wait(t, patience, "n4 votes in every group", func() bool {
		s := statusOf(t, program, addr)
		return s.Health == status.Healthy && len(s.Nodes) == 4
	})
	proc.Wait(t, patience, "n4 leads", func() bool {
		out, code := ctl(t, program, addr, "transfer", "--to", "n4")
		return code == 0 && strings.Contains(out, "n4")
	})
	if _, err := proc.Ask(addr, "SET", "through", "n4"); err != nil {
		t.Error(err)
	}
	if out, code := ctl(t, program, addr, "snapshot"); code != 0 {
		t.Errorf("snapshot: exit %d, %s", code, out)
	}
	if out, code := ctl(t, program, addr, "remove", "n4"); code == 0 {
		t.Errorf("removed without being asked: %s", out)
	}
	if out, code := ctl(t, program, addr, "remove", "n4", "--yes"); code != 0 {
		t.Fatalf("remove: exit %d, %s", code, out)
	}
	proc.Wait(t, patience, "the removed node ends", func() bool { return joiner.exited() })
	if v, err := proc.Ask(addr, "GET", "through"); v != "n4" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
	if out, code := ctl(t, program, addr, "remove", "nobody", "--yes"); code == 0 || !strings.Contains(out, "nobody") {
		t.Errorf("exit %d, %s", code, out)
	}
}

// A removal that would leave no quorum is refused in words.
func TestARemovalThatBreaksTheQuorumIsRefused(t *testing.T) {
	proc.NeedProcesses(t)
	program := program(t)
	c := proc.NewCluster(t, 3, proc.Options{})
	leader := c.WaitLeader()
	followers := c.Followers()
	followers[0].Kill9()
	killed := time.Now()
	// A voter counts as alive for three seconds after its last word.
	proc.Wait(t, patience, "the dead follower counts as dead", func() bool { return time.Since(killed) > 4*time.Second })
	out, code := ctl(t, program, leader.Addr(), "remove", followers[1].Name, "--yes")
	if code == 0 || !strings.Contains(out, "quorum") && !strings.Contains(out, "voter") {
		t.Errorf("exit %d: %s", code, out)
	}
	if s := statusOf(t, program, leader.Addr()); s.Health != status.Degraded {
		t.Errorf("%+v", s)
	}
}

// process is a node started by clusterctl join.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

func (p *process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func join(t *testing.T, program, addr, name string) *process {
	t.Helper()
	port := proc.FreePort(t)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-a", addr, "join", "--binary", proc.Lockstepd(t), "--",
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", filepath.Join(t.TempDir(), "data"), "--node-name", name)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd, make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-p.done
		log.Close()
	})
	return p
}
