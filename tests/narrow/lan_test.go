package narrow

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep/tests/kit/lan"
	"lockstep/tests/kit/proc"
)

const (
	lanMbits = 100
	lanNodes = 5
	// lanPort and lanPeerPort are the same for all nodes, because each node has an address of its
	// own.
	lanPort, lanPeerPort = 7000, 17000
	lanPassword          = "of the lan"
)

// newLan starts five nodes on a LAN, each behind a link of lanMbits.
func newLan(t *testing.T) []member {
	t.Helper()
	l := lan.New(t)
	var all []member
	var first string
	for i := range lanNodes {
		leg := l.Join()
		leg.Narrow(lanMbits)
		peer := fmt.Sprintf("%s:%d", leg.Addr, lanPeerPort)
		m := member{name: fmt.Sprint("n", i+1), addr: fmt.Sprintf("%s:%d", leg.Addr, lanPort), password: lanPassword}
		args := []string{
			"--dir", filepath.Join(t.TempDir(), "data"), "--bind", leg.Addr, "--port", fmt.Sprint(lanPort), "--peer-port", fmt.Sprint(lanPeerPort),
			"--peer-address", peer, "--node-name", m.name, "--requirepass", lanPassword, "--replicas", fmt.Sprint(lanNodes),
		}
		if i == 0 {
			first = peer
			args = append(args, "--bootstrap")
		} else {
			args = append(args, "--join", first)
		}
		run(t, leg, m.name, append(args, timing...))
		all = append(all, m)
		if i == 0 {
			proc.Wait(t, patience, "the first node answers", func() bool { said, err := m.ask("PING"); return err == nil && said == "PONG" })
		}
	}
	proc.Wait(t, patience, "all nodes vote everywhere", func() bool {
		text, err := all[0].ask("LOCKSTEP", "STATUS")
		return err == nil && strings.Count(text, `"role":"leader"`)+strings.Count(text, `"role":"follower"`) >= 2*lanNodes
	})
	return all
}

// run runs a lockstepd on a leg until the test ends.
func run(t *testing.T, leg *lan.Leg, name string, args []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(proc.Lockstepd(t), args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := leg.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if text, err := os.ReadFile(path); t.Failed() && err == nil {
			t.Logf("the log of %s ends:\n%s", name, text[max(0, len(text)-3000):])
		}
	})
}

// TestALongCommandOnFiveNodesOf100Mbit: the leader sends the longest command to four other nodes
// over one link of 100 Mbit/s. That takes twice the time that a request may stand still. All
// messages share the queue of the link, and still no follower loses its leader. A transfer of the
// leadership that is requested meanwhile succeeds when the new leader has the entry.
func TestALongCommandOnFiveNodesOf100Mbit(t *testing.T) {
	all := newLan(t)
	all[0].lead(t)
	before := all[0].terms()
	began := time.Now()
	others := write(all)
	reply := all[0].setLong(t, "long")
	transferred := make(chan error, 1)
	go func() {
		_, err := all[0].ask("LOCKSTEP", "TRANSFER", "0", "n2")
		transferred <- err
	}()
	awaitLong(t, all, "long")
	took := time.Since(began)
	others.end(t)
	t.Logf("%d MB were at a majority after %v; their client was told %q", longBytes>>20, took.Round(time.Millisecond), <-reply)
	if err := <-transferred; err != nil {
		t.Errorf("the transfer: %v", err)
	}
	for name := range before {
		if strings.HasSuffix(name, " 0") {
			before[name]++
		}
	}
	all[0].sameTerms(t, before)
}
