// Package software runs programs that people use with Redis, unchanged, against a follower of a
// three-node cluster: sessions, rate limiters, job queues and their workers, monitoring programs,
// and the tools of Redis itself.
//
// Each program has a file of its own. A program that is not written in Go is a script in testdata:
// it works with the server, checks the results, prints "all is well" and ends.
// testdata/node/package-lock.json pins the npm packages. The packages for Python and Ruby are
// Debian's, which .ci/run installs. tests/versions.txt lists the tested versions, and make test
// reports which ones differ here. A program that is not installed is skipped with a message.
// Software that needs server-side scripts is in scripts_test.go.
package software

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
)

func TestMain(m *testing.M) { proc.Main(m) }

// patience is how long a program may take on the slowest machine.
const patience = 2 * time.Minute

// program is one of the programs. run works with the server at addr, and returns when it has
// finished.
type program struct {
	name string
	run  func(t *testing.T, addr string)
}

// TestSoftware starts one cluster for all programs. Each program gets the same follower, with an
// empty database.
func TestSoftware(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	follower := proc.NewCluster(t, 3, proc.Options{}).Follower()
	for _, p := range []program{
		{"redis-cli", redisCLI}, {"redis-benchmark", redisBenchmark}, {"prometheus-redis-exporter", exporter}, {"RedisInsight", redisInsight},
		{"scs sessions", scsSessions}, {"go-redis workers", goRedisWorkers},
		{"redis-py", redisPy}, {"rq", rq},
		{"rate-limiter-flexible", rateLimiter}, {"connect-redis", connectRedis},
	} {
		t.Run(p.name, func(t *testing.T) {
			proc.MustAsk(t, follower.Addr(), "FLUSHALL")
			p.run(t, follower.Addr())
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func split(t *testing.T, addr string) (host, port string) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	must(t, err)
	return host, port
}

// lacks reports whether the server does not know the command.
func lacks(addr string, args ...string) bool {
	_, err := proc.Ask(addr, args...)
	return err != nil && strings.Contains(err.Error(), "unknown command")
}

// wantWell runs a script of testdata, which must print that all is well.
func wantWell(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "all is well") {
		t.Errorf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// background starts a program that runs beside the test. At the end of the test it sends SIGTERM,
// as a service manager does, and the program must end.
func background(t *testing.T, cmd *exec.Cmd) (log func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	out, err := os.Create(path)
	must(t, err)
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	must(t, proc.StartMortal(cmd))
	log = func() string {
		text, _ := os.ReadFile(path)
		return string(bytes.TrimSpace(text))
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(proc.StopPatience):
			t.Errorf("%v does not end", cmd.Args)
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if t.Failed() {
			t.Logf("%v said\n%s", cmd.Args, log())
		}
	})
	return log
}
