package software

import (
	"os/exec"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
)

// redisBenchmark runs the default tests of redis-benchmark, and some of them with its options.
func redisBenchmark(t *testing.T, addr string) {
	host, port := split(t, addr)
	for _, run := range []struct {
		args string
		// results is the number of tests that print a result.
		results int
	}{
		{"-n 2000", 20}, {"-n 2000 -t mset,lrange -P 8", 6}, {"-n 2000 -r 100 -t set,get,zadd,spop,sadd,hset", 6},
		{"-n 1000 -c 5 --threads 2 -t get,set", 2}, {"-n 500 -r 50 xadd bench:stream * field __rand_int__", 1},
	} {
		args := append([]string{"-h", host, "-p", port, "-q"}, strings.Fields(run.args)...)
		out, err := exec.CommandContext(deadline(t), proc.Tool(t, "redis-benchmark"), args...).CombinedOutput()
		text := string(out)
		if n := strings.Count(text, "requests per second"); err != nil || n != run.results || strings.Contains(strings.ToLower(text), "err") {
			t.Errorf("redis-benchmark %s: %v, %d results, not %d\n%s", run.args, err, n, run.results, text)
		}
	}
}
