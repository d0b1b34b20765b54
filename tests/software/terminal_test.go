package software

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lockstep/tests/kit/proc"
)

// screenPatience is how long a program may take to show a text.
const screenPatience = 2 * time.Minute

// terminal is a program that runs in a terminal.
type terminal struct {
	t      *testing.T
	master *os.File

	mu    sync.Mutex
	shown bytes.Buffer
	// read is how much of shown earlier calls of typeIn have checked.
	read int
}

// inTerminal starts the program. It is killed when the test ends.
func inTerminal(t *testing.T, cmd *exec.Cmd) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		proc.Skip(t, fmt.Sprintf("no terminals: %v", err))
	}
	fd := int(master.Fd())
	must(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	must(t, err)
	must(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 200}))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	defer slave.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.Env = append(os.Environ(), "TERM=xterm", "HOME="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
	must(t, cmd.Start())
	y := &terminal{t: t, master: master}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			y.mu.Lock()
			y.shown.Write(buf[:n])
			y.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		<-ended
		_ = master.Close()
	})
	return y
}

func (y *terminal) text() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.shown.String()
}

// typeIn types keys and waits until the screen shows the text, after the texts of earlier calls.
func (y *terminal) typeIn(keys, want string) {
	y.t.Helper()
	before := y.read
	_, err := y.master.WriteString(keys)
	must(y.t, err)
	// The line editor loses keys that come before the next prompt.
	prompt := ""
	if strings.HasSuffix(keys, "\r") {
		prompt = "> "
	}
	shown := func() bool {
		_, after, ok := strings.Cut(y.text()[before:], want)
		return ok && (strings.Contains(after, prompt) || strings.HasSuffix(want, prompt))
	}
	if !proc.Poll(screenPatience, shown) {
		y.t.Fatalf("typed %q, and %q is not in %q", keys, want, y.text()[before:])
	}
	y.read = len(y.text())
}
