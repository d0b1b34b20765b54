package proc

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lockstep/tests/kit/ports"
)

// StopPatience is how long a process may take to stop after SIGTERM.
const StopPatience = time.Minute

// Process is one server process. It may be started, ended and started again; its folder stays. Its
// methods may be called by several goroutines.
type Process struct {
	Name string
	Port int
	// Dir is the process's own folder: log and data.
	Dir string

	t    testing.TB
	argv []string

	mu     sync.Mutex
	cmd    *exec.Cmd     // nil while it does not run
	exited chan struct{} // closed when cmd has ended
	state  *os.ProcessState
	// told is set once a signal has told the process to end.
	told bool
}

// FreePort is ports.Free.
func FreePort(t testing.TB) int {
	t.Helper()
	return ports.Free(t)
}

// newProcess makes a folder for the process, and arranges that the test removes the process and the
// folder when it ends.
func newProcess(t testing.TB, name string, port int) *Process {
	t.Helper()
	dir, err := os.MkdirTemp("", "lockstep-test-"+name+"-")
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{Name: name, Port: port, Dir: dir, t: t}
	t.Cleanup(p.cleanUp)
	return p
}

func (p *Process) cleanUp() {
	p.Kill9()
	if !p.t.Failed() {
		_ = os.RemoveAll(p.Dir)
		return
	}
	p.t.Logf("%s (port %d) is kept in %s; its log ends:\n%s", p.Name, p.Port, p.Dir, p.LogTail(2000))
}

// Become makes the next start run another program.
func (p *Process) Become(binary string) { p.argv[0] = binary }

// Flags adds flags to the command line of all later starts.
func (p *Process) Flags(flags ...string) { p.argv = append(p.argv, flags...) }

// Limit makes the next starts run under a limit, in the syntax of prlimit(1).
func (p *Process) Limit(words ...string) {
	p.argv = slices.Concat([]string{Tool(p.t, "prlimit")}, words, []string{"--"}, p.argv)
}

// Addr is the address for clients.
func (p *Process) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Port)) }

func (p *Process) logPath() string { return filepath.Join(p.Dir, "log") }

// LogTail is the end of the process's output, from the beginning of a line.
func (p *Process) LogTail(bytes int64) string {
	f, err := os.Open(p.logPath())
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err == nil && size > bytes {
		_, _ = f.Seek(-bytes, io.SeekEnd)
	} else {
		_, _ = f.Seek(0, io.SeekStart)
	}
	text, _ := io.ReadAll(f)
	return string(text)
}

// Log is the process's output.
func (p *Process) Log() string {
	text, _ := os.ReadFile(p.logPath())
	return string(text)
}

// Start starts the process. Extra flags are for this run only; if a flag occurs twice, the last one
// counts. The process must not be running.
func (p *Process) Start(flags ...string) {
	p.t.Helper()
	if err := p.start(flags); err != nil {
		p.t.Fatalf("start %s: %v", p.Name, err)
	}
}

func (p *Process) start(flags []string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		return fmt.Errorf("it runs")
	}
	out, err := os.OpenFile(p.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command(p.argv[0], slices.Concat(p.argv[1:], flags)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.Dir, out, out
	cmd.Env = environment()
	if err := StartMortal(cmd); err != nil {
		return err
	}
	exited := make(chan struct{})
	p.cmd, p.exited, p.state, p.told = cmd, exited, nil, false
	go func() {
		_ = cmd.Wait()
		p.mu.Lock()
		p.cmd, p.state = nil, cmd.ProcessState
		if !p.told {
			p.t.Logf("%s ended by itself (%v); its log ends:\n%s", p.Name, cmd.ProcessState, p.LogTail(500))
		}
		p.mu.Unlock()
		close(exited)
	}()
	return nil
}

// StartMortal starts a program that ends with the test binary, however that ends. A program that
// stayed would occupy ports and processor time.
func StartMortal(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return cmd.Start()
}

// environment is this process's environment without the variables that would configure a lockstepd.
func environment() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "LOCKSTEP_") {
			env = append(env, v)
		}
	}
	return env
}

// Running reports whether the process exists, even if it is stopped by SIGSTOP.
func (p *Process) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd != nil
}

// Pid is the process id, 0 while the process does not run.
func (p *Process) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// signal sends a signal if the process runs, and returns a channel that is closed when the process
// has ended.
func (p *Process) signal(s syscall.Signal) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		done := make(chan struct{})
		close(done)
		return done
	}
	p.told = p.told || s == syscall.SIGKILL || s == syscall.SIGTERM
	_ = p.cmd.Process.Signal(s)
	return p.exited
}

// Kill9 ends the process without a chance to clean up, and waits for its end.
func (p *Process) Kill9() { <-p.signal(syscall.SIGKILL) }

// Pause stops the process at once (SIGSTOP).
func (p *Process) Pause() { p.signal(syscall.SIGSTOP) }

// Continue resumes a paused process (SIGCONT).
func (p *Process) Continue() { p.signal(syscall.SIGCONT) }

// Stop asks the process to end (SIGTERM) and returns its exit status. The test fails if the process
// does not end.
func (p *Process) Stop() int {
	p.t.Helper()
	select {
	case <-p.signal(syscall.SIGTERM):
	case <-time.After(StopPatience):
		p.Kill9()
		p.t.Errorf("%s did not stop within %v of SIGTERM", p.Name, StopPatience)
	}
	code, _ := p.Ended()
	return code
}

// Ended reports whether the process was started and has ended, with its exit status, which is -1
// after a signal.
func (p *Process) Ended() (code int, ended bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == nil {
		return -1, false
	}
	return p.state.ExitCode(), true
}

// CPU is the processor time that the process has used, 0 while it does not run.
func (p *Process) CPU() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid()))
	if err != nil {
		return 0
	}
	// The name in parentheses may contain spaces. User and system time are the 12th and 13th fields
	// after it.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const userAt, systemAt, tick = 11, 12, time.Second / 100
	if len(fields) <= systemAt {
		return 0
	}
	user, _ := strconv.ParseInt(fields[userAt], 10, 64)
	system, _ := strconv.ParseInt(fields[systemAt], 10, 64)
	return time.Duration(user+system) * tick
}

// RSS is the resident memory of the process in bytes, 0 while it does not run.
func (p *Process) RSS() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.Pid()))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
