package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const redisName = "redis-server"

// server is one process under load.
type server struct {
	name string
	port int
	cmd  *exec.Cmd
	dir  string
	argv []string
}

func (s *server) addr() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

func (s *server) isRedis() bool { return s.name == redisName }

func (s *server) start() error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = exec.Command(s.argv[0], s.argv[1:]...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if s.isRedis() {
		return s.cmd.Start()
	}
	return startWithSlack(s.cmd)
}

// unitSlackNs is the timer slack that the systemd unit gives a node (TimerSlackNSec), in nanoseconds.
const unitSlackNs = 300_000

// startWithSlack starts a node as the systemd unit does. A process inherits the timer slack of the thread
// that starts it.
func startWithSlack(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, unitSlackNs, 0, 0, 0); err != nil {
		return err
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) }() // 0 restores the default
	return cmd.Start()
}

// kill ends the process at once and waits for it.
func (s *server) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// await waits until the server answers PING and ready returns true.
func (s *server) await(patience time.Duration, ready func() bool) error {
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		if ask(s.addr(), "PING") == "+PONG" && (ready == nil || ready()) {
			return nil
		}
		<-time.After(20 * time.Millisecond)
	}
	log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return fmt.Errorf("%s on port %d is not ready after %v:\n%s", s.name, s.port, patience, tail(string(log), 1000))
}

func tail(s string, n int) string {
	if len(s) > n {
		return s[len(s)-n:]
	}
	return s
}

// ask sends one inline command and returns the first line of the answer, or the whole of a bulk
// string, or "" if there is none.
func ask(addr, command string) string {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	fmt.Fprintf(conn, "%s\r\n", command)
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil {
		return ""
	}
	line = strings.TrimRight(line, "\r\n")
	if !strings.HasPrefix(line, "$") && !strings.HasPrefix(line, "=") {
		return line
	}
	n, _ := strconv.Atoi(line[1:])
	buf := make([]byte, max(n, 0))
	for read := 0; read < len(buf); {
		k, err := r.Read(buf[read:])
		if err != nil {
			break
		}
		read += k
	}
	return string(buf)
}

// field returns one field of INFO, or "" if there is none.
func field(addr, name string) string {
	for line := range strings.Lines(ask(addr, "INFO everything")) {
		if value, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), name+":"); ok {
			return value
		}
	}
	return ""
}

// bench holds the data that the scenarios share.
type bench struct {
	dir      string
	lockstep string
	rounds   int
	quick    bool
	nextPort int
	rows     []*row
	notes    []string
}

func (b *bench) ports() int {
	for {
		b.nextPort++
		free := true
		for _, p := range []int{b.nextPort, b.nextPort + 10000} {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p))
			if err != nil {
				free = false
				break
			}
			l.Close()
		}
		if free {
			return b.nextPort
		}
	}
}

func (b *bench) newDir(name string) (string, error) {
	return os.MkdirTemp(b.dir, name+"-")
}

// redis starts a redis-server; extra are directives for it.
func (b *bench) redis(extra ...string) (*server, error) {
	dir, err := b.newDir("redis")
	if err != nil {
		return nil, err
	}
	s := &server{name: redisName, port: b.ports(), dir: dir}
	s.argv = append([]string{"redis-server", "--port", strconv.Itoa(s.port), "--dir", dir, "--save", "", "--bind", "127.0.0.1"}, extra...)
	if err := s.start(); err != nil {
		return nil, err
	}
	return s, s.await(10*time.Second, nil)
}

var durable = []string{"--appendonly", "yes", "--appendfsync", "always"}

// cluster starts n lockstepd processes with a log store, and waits until each knows a leader. The
// first node leads.
func (b *bench) cluster(n int, store string, extra ...string) ([]*server, error) {
	var all []*server
	for i := range n {
		dir, err := b.newDir("lockstep")
		if err != nil {
			return all, err
		}
		s := &server{name: "lockstepd", port: b.ports(), dir: dir}
		s.argv = append([]string{
			b.lockstep, "--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", filepath.Join(dir, "data"),
			"--node-name", "n" + strconv.Itoa(i+1), "--raft-log-store", store,
		}, extra...)
		if i == 0 {
			s.argv = append(s.argv, "--bootstrap")
		} else {
			s.argv = append(s.argv, "--join", fmt.Sprintf("127.0.0.1:%d", all[0].port+10000))
		}
		if err := s.start(); err != nil {
			return all, err
		}
		all = append(all, s)
		if err := s.await(30*time.Second, func() bool { return b.settled(all) }); err != nil {
			return all, err
		}
	}
	return all, nil
}

// settled reports whether one of the nodes leads and the others follow as voters.
func (b *bench) settled(all []*server) bool {
	leaders := 0
	for _, s := range all {
		switch field(s.addr(), "raft_role") {
		case "leader":
			leaders++
		case "follower":
		default:
			return false
		}
	}
	return leaders == 1
}

// leaderFirst returns the nodes with the leader first.
func leaderFirst(all []*server) ([]*server, error) {
	for i, s := range all {
		if field(s.addr(), "raft_role") == "leader" {
			sorted := append([]*server{s}, all[:i]...)
			return append(sorted, all[i+1:]...), nil
		}
	}
	return nil, errors.New("no node leads")
}

func killAll(all []*server) {
	for _, s := range all {
		s.kill()
	}
}
