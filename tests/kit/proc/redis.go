package proc

import (
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// startPatience is how long a server may take until it answers. It is long because all cores of the
// machine may be busy.
const startPatience = 2 * time.Minute

// RedisServer starts a redis-server that keeps nothing on disk; directives are
// added to its command line. Without redis-server the test is skipped.
func RedisServer(t testing.TB, directives ...string) *Process {
	t.Helper()
	NeedProcesses(t)
	path, err := exec.LookPath("redis-server")
	if err != nil {
		Skip(t, "redis-server is not installed")
	}
	p := newProcess(t, "redis", FreePort(t))
	p.argv = append([]string{
		path, "--port", strconv.Itoa(p.Port), "--bind", "127.0.0.1", "--dir", p.Dir,
		"--save", "", "--appendonly", "no", "--enable-debug-command", "yes",
	}, directives...)
	p.Start()
	Wait(t, startPatience, "redis-server answers PING", func() bool { return Ping(p.Addr()) })
	return p
}

// Tool is the path of a program of the system. Without the program the test is skipped.
func Tool(t testing.TB, name string) string {
	t.Helper()
	NeedProcesses(t)
	path, err := exec.LookPath(name)
	if err != nil {
		Skip(t, name+" is not installed")
	}
	return path
}
