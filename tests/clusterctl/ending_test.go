package clusterctl

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
)

// A closed terminal, or an operator who means "read your files again", ends no node: SIGHUP is
// ignored, as by redis-server.
func TestANodeOutlivesItsTerminal(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, proc.Options{})
	fill(t, n.Addr(), "kept", 3)
	if err := syscall.Kill(n.Pid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if code := n.Stop(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	says(t, n.Log(), "stopping")
}

// The reader of a node's output may go away: the node continues.
func TestANodeOutlivesWhoReadsItsLog(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	port := proc.FreePort(t)
	cmd := exec.Command(proc.Lockstepd(t), "--port", strconv.Itoa(port), "--dir", t.TempDir())
	cmd.Stderr = write
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	proc.Wait(t, patience, "it serves", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		default:
		}
		return proc.Ping(addr)
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("it does not end")
		_ = cmd.Process.Kill()
	}
}

// A second interrupt ends a node at once.
func TestASecondInterruptEndsANodeAtOnce(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, proc.Options{Args: []string{"--shutdown-delay-ms", "600000"}})
	interrupt := func() {
		if err := syscall.Kill(n.Pid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	interrupt()
	proc.Wait(t, patience, "it has heard", func() bool { return strings.Contains(n.Log(), "stopping soon") })
	interrupt()
	if code, _ := ends(t, n, 0); code != -1 {
		t.Errorf("exit status %d", code)
	}
}

// If the log is a file, the reason why the node ended is in the file, too.
func TestTheLogFileSaysWhyANodeEnded(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	file, dir := filepath.Join(t.TempDir(), "log"), t.TempDir()
	out, err := exec.Command(proc.Lockstepd(t), "--port", strconv.Itoa(port), "--peer-port", strconv.Itoa(proc.FreePort(t)), "--bind", "127.0.0.1",
		"--dir", dir, "--logfile", file).CombinedOutput()
	if err == nil {
		t.Fatal("it ended well")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	why := fmt.Sprintf("port %d is taken by another program", port)
	says(t, string(out), why)
	says(t, string(text), why)
	// The node has not founded a cluster, nor joined one, in which it would now be a dead member.
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it has left %v, %v", left, err)
	}
}

// hanging is a server that does not answer LOCKSTEP, and a channel that gets a token when the
// server has received that command.
func hanging(t *testing.T) (addr string, asked <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	told := make(chan struct{}, 16)
	serve := func(c net.Conn) {
		defer c.Close()
		buf := make([]byte, 4096)
		for {
			n, err := c.Read(buf)
			switch said := strings.ToUpper(string(buf[:n])); {
			case err != nil:
				return
			case strings.Contains(said, "LOCKSTEP"):
				told <- struct{}{}
			case strings.Contains(said, "PING"):
				_, _ = c.Write([]byte("+PONG\r\n"))
			default: // the commands that the client library sends first
				_, _ = c.Write([]byte("-ERR unknown command\r\n"))
			}
		}
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return l.Addr().String(), told
}

// Ctrl-C does not wait for a node that hangs: a query is given up, and the outcome of an order is
// reported as uncertain.
func TestCtrlCDoesNotWaitForANodeThatHangs(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	for verb, want := range map[string]int{"status": 3, "snapshot": 5} {
		addr, asked := hanging(t)
		cmd := exec.Command(proc.Clusterctl(t), "-a", addr, "--timeout", "10m", verb)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		<-asked
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
		late.Stop()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Errorf("%s: exit %d, not %d: %s", verb, code, want, out.String())
		}
	}
}
