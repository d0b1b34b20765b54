package prototest

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"lockstep/tests/kit/ports"
	"lockstep/tests/kit/respconn"
)

// StartRedis starts a redis-server that ends with the test, and returns its
// address.
func StartRedis(t testing.TB, options ...string) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("SKIPPED: redis-server is not installed (apt-get install redis-server)")
	}
	addr := ports.FreeAddr(t)
	_, port := Split(addr)
	args := append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir(),
		"--slowlog-log-slower-than", "10000000", "--logfile", filepath.Join(t.TempDir(), "log")}, options...)
	cmd := exec.Command(path, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	Until(t, "redis-server answers", func() bool {
		c, err := respconn.DialTimeout(addr, time.Second)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return addr
}
