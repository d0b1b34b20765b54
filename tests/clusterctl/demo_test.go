package clusterctl

import (
	"bufio"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lockstep/tests/kit/ports"
	"lockstep/tests/kit/proc"
)

// spoken is a program that runs until it is interrupted, with its output.
type spoken struct {
	t   *testing.T
	cmd *exec.Cmd

	mu   sync.Mutex
	said strings.Builder
	done chan struct{}
}

// speak starts clusterctl, without a terminal.
func speak(t *testing.T, args ...string) *spoken {
	t.Helper()
	s := &spoken{t: t, cmd: exec.Command(proc.Clusterctl(t), args...), done: make(chan struct{})}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = s.cmd.Stdout
	if err := proc.StartMortal(s.cmd); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.mu.Lock()
			s.said.WriteString(lines.Text() + "\n")
			s.mu.Unlock()
		}
	}()
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	return s
}

func (s *spoken) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.String()
}

// says waits until the output matches what.
func (s *spoken) says(what *regexp.Regexp) {
	s.t.Helper()
	proc.Wait(s.t, patience, "it says "+what.String(), func() bool {
		select {
		case <-s.done:
			if !what.MatchString(s.text()) {
				s.t.Fatalf("it ended:\n%s", s.text())
			}
		default:
		}
		return what.MatchString(s.text())
	})
}

// interrupt ends the program as Ctrl-C does, and returns its exit code.
func (s *spoken) interrupt() int {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		s.t.Fatal(err)
	}
	late := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	<-s.done
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

// Without a terminal the demo prints lines with the numbers of writes and of keys read back. The
// last line is about all of them.
func TestTheDemoPrintsLinesWithoutATerminal(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	s := speak(t, "demo", "--port", strconv.Itoa(ports.Row(t, 3)), "--binary", proc.Lockstepd(t))
	s.says(regexp.MustCompile(`no terminal: printing lines, as with --plain`))
	s.says(regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d healthy; n1 \w+ term \d+ .*; n3 \w+ term .*\| acknowledged writes lost: 0 of [1-9]\d* \| errors: 0 \|`))
	code := s.interrupt()
	if last := regexp.MustCompile(`acknowledged writes lost: 0 of [1-9]\d* \(all \d+ keys read back\)\n$`); code != 0 || !last.MatchString(s.text()) {
		t.Errorf("exit %d:\n%s", code, s.text())
	}
}

// With --watch the table is printed repeatedly, with the current state of the cluster. An interrupt
// ends it with exit code 0.
func TestStatusIsShownAgainAndAgain(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	healthy(t, c.Nodes[0].Addr(), 3, 0)
	s := speak(t, "-a", c.Nodes[0].Addr(), "status", "--watch")
	s.says(regexp.MustCompile(`(?s)cluster \w+: healthy, 3 nodes.*NODE .*cluster \w+: healthy, 3 nodes.*NODE `))
	c.Nodes[2].Kill9()
	s.says(regexp.MustCompile(`cluster \w+: degraded, 3 nodes`))
	if code := s.interrupt(); code != 0 {
		t.Errorf("exit %d", code)
	}
}
