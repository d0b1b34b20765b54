// Package clients runs common clients, unchanged, against a follower of a three-node cluster:
// redis-cli, redis-benchmark, go-redis, rueidis, and ioredis where Node.js is installed.
package clients

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"lockstep/tests/kit/proc"
)

func TestMain(m *testing.M) { proc.Main(m) }

// TestClients starts one cluster for all clients. Each client connects to a follower, and no client
// knows of key locks (D1).
func TestClients(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	c.WaitLeader()
	follower := c.Follower()
	for _, client := range []struct {
		name string
		run  func(*testing.T, *proc.Cluster, string)
	}{
		{"redis-cli", redisCLI}, {"redis-benchmark", redisBenchmark}, {"go-redis", goRedis}, {"go-redis, a pipeline", goRedisPipeline},
		{"go-redis, UniversalClient of three addresses", goRedisUniversal}, {"go-redis, WATCH", goRedisWatch}, {"rueidis", rueidisClient}, {"ioredis", ioredis},
	} {
		t.Run(client.name, func(t *testing.T) { client.run(t, c, follower.Addr()) })
	}
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func split(t *testing.T, addr string) (host, port string) {
	host, port, err := net.SplitHostPort(addr)
	must(t, err)
	return host, port
}

func redisCLI(t *testing.T, _ *proc.Cluster, addr string) {
	host, port := split(t, addr)
	cli := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(deadline(t), proc.Tool(t, "redis-cli"), append([]string{"-h", host, "-p", port}, args...)...).CombinedOutput()
		must(t, err)
		return strings.TrimSpace(string(out))
	}
	for _, c := range []struct{ args, want string }{
		{"SET cli:a 1", "OK"}, {"INCR cli:a", "2"}, {"GET cli:a", "2"}, {"-3 HELLO 3", ""}, {"-c GET cli:a", "2"}, {"--scan --pattern cli:*", "cli:a"},
	} {
		if got := cli(strings.Fields(c.args)...); got != c.want && c.want != "" {
			t.Errorf("redis-cli %s said %q, not %q", c.args, got, c.want)
		}
	}
	if got := cli("--cluster", "check", addr); !strings.Contains(got, "All 16384 slots covered") {
		t.Errorf("redis-cli --cluster check said\n%s", got)
	}
}

func redisBenchmark(t *testing.T, _ *proc.Cluster, addr string) {
	host, port := split(t, addr)
	// redis-benchmark --cluster needs more than one master, and this cluster has one shard.
	for _, more := range [][]string{{"-P", "1"}, {"-P", "16"}, {"-3"}} {
		args := append([]string{"-h", host, "-p", port, "-t", "set,get,incr", "-n", "1000", "-c", "10", "-q"}, more...)
		out, err := exec.CommandContext(deadline(t), proc.Tool(t, "redis-benchmark"), args...).CombinedOutput()
		must(t, err)
		if n := strings.Count(string(out), "requests per second"); n < 3 || strings.Contains(string(out), "Error") {
			t.Errorf("redis-benchmark %v said\n%s", more, out)
		}
	}
}

// patientRedis returns a go-redis client with long timeouts, which does not take a busy machine for
// a broken server.
func patientRedis(t *testing.T, addr string, protocol int) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr, Protocol: protocol, ReadTimeout: patience, WriteTimeout: patience})
	t.Cleanup(func() { c.Close() })
	return c
}

func goRedis(t *testing.T, _ *proc.Cluster, addr string) {
	for _, protocol := range []int{2, 3} {
		c := patientRedis(t, addr, protocol)
		ctx := deadline(t)
		must(t, c.Set(ctx, "go", "value", time.Minute).Err())
		if v, err := c.Get(ctx, "go").Result(); v != "value" || err != nil {
			t.Errorf("%q, %v", v, err)
		}
		if _, err := c.Get(ctx, "go:none").Result(); err != redis.Nil {
			t.Errorf("a key that is not there: %v", err)
		}
		if ttl, err := c.TTL(ctx, "go").Result(); ttl <= 0 || err != nil {
			t.Errorf("%v, %v", ttl, err)
		}
		must(t, c.Del(ctx, "go").Err())
	}
}

func goRedisPipeline(t *testing.T, _ *proc.Cluster, addr string) {
	c := patientRedis(t, addr, 3)
	ctx := deadline(t)
	const n = 5000
	p := c.Pipeline()
	for i := range n {
		p.Set(ctx, fmt.Sprintf("pipe:%d", i%100), i, 0)
		p.Get(ctx, fmt.Sprintf("pipe:%d", i%100))
	}
	replies, err := p.Exec(ctx)
	must(t, err)
	for i := range n {
		if got := replies[2*i+1].(*redis.StringCmd).Val(); got != fmt.Sprint(i) {
			t.Fatalf("the read behind write %d saw %s", i, got)
		}
	}
}

func goRedisUniversal(t *testing.T, cl *proc.Cluster, _ string) {
	c := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: cl.Addrs(), ReadTimeout: patience, WriteTimeout: patience})
	defer c.Close()
	ctx := deadline(t)
	for i := range 200 {
		key := fmt.Sprintf("universal:%d", i)
		must(t, c.Set(ctx, key, i, 0).Err())
		if v, err := c.Get(ctx, key).Int(); v != i || err != nil {
			t.Fatalf("%d, %v", v, err)
		}
	}
}

// goRedisWatch runs optimistic transactions on two connections. The transaction whose key was
// changed meanwhile fails, and succeeds when it is tried again.
func goRedisWatch(t *testing.T, _ *proc.Cluster, addr string) {
	c := patientRedis(t, addr, 3)
	ctx := deadline(t)
	must(t, c.Set(ctx, "watched", 1, 0).Err())
	tries := 0
	add := func(tx *redis.Tx) error {
		n, err := tx.Get(ctx, "watched").Int()
		if err != nil {
			return err
		}
		if tries++; tries == 1 {
			must(t, c.Set(ctx, "watched", 10, 0).Err())
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, "watched", n+1, 0).Err() })
		return err
	}
	if err := c.Watch(ctx, add, "watched"); err != redis.TxFailedErr {
		t.Fatalf("an overtaken transaction: %v", err)
	}
	must(t, c.Watch(ctx, add, "watched"))
	if v, _ := c.Get(ctx, "watched").Int(); v != 11 {
		t.Errorf("it is %d, not 11", v)
	}
}

func rueidisClient(t *testing.T, cl *proc.Cluster, addr string) {
	for _, addrs := range [][]string{{addr}, cl.Addrs()} {
		c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: addrs, ConnWriteTimeout: patience})
		must(t, err)
		defer c.Close()
		ctx := deadline(t)
		must(t, c.Do(ctx, c.B().Set().Key("rueidis").Value("v").Build()).Error())
		if v, err := c.Do(ctx, c.B().Get().Key("rueidis").Build()).ToString(); v != "v" || err != nil {
			t.Errorf("%q, %v", v, err)
		}
		for _, r := range c.DoMulti(ctx, c.B().Incr().Key("rueidis:n").Build(), c.B().Incr().Key("rueidis:n").Build()) {
			must(t, r.Error())
		}
	}
}

func ioredis(t *testing.T, _ *proc.Cluster, addr string) {
	dir := nodeModules(t)
	host, port := split(t, addr)
	run := exec.CommandContext(deadline(t), "node", "try.js", host, port)
	run.Dir = dir
	if out, err := run.CombinedOutput(); err != nil || !strings.Contains(string(out), "all is well") {
		t.Errorf("ioredis: %v\n%s", err, out)
	}
}
