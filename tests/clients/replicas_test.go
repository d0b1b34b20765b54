package clients

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"lockstep/tests/kit/proc"
)

// TestClientsReadFromReplicas lets the clients that can read from replicas do so. They must read
// the written values there, and must have sent READONLY to the nodes.
func TestClientsReadFromReplicas(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Shards: shards, Args: []string{"--routing", "redirect"}})
	spread(t, c)
	t.Run("go-redis", func(t *testing.T) {
		ctx := deadline(t)
		leaders := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs(), MaxRedirects: 60, ReadTimeout: patience})
		defer leaders.Close()
		replicas := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs(), ReadOnly: true, MaxRedirects: 60, ReadTimeout: patience})
		defer replicas.Close()
		for i := range 20 {
			key := fmt.Sprintf("go:%d", i)
			must(t, leaders.Set(ctx, key, i, 0).Err())
			proc.Wait(t, patience, key+" comes to a replica", func() bool {
				got, err := replicas.Get(ctx, key).Int()
				return err == nil && got == i
			})
		}
		// The client picks a replica at random.
		for _, n := range c.Nodes {
			proc.Wait(t, patience, "somebody says READONLY to "+n.Name, func() bool {
				for i := range 20 {
					_ = replicas.Get(ctx, fmt.Sprintf("go:%d", i))
				}
				return proc.Info(n.Addr(), "commandstats")["cmdstat_readonly"] != ""
			})
		}
	})
	for _, n := range c.Nodes {
		// ioredis does not send READONLY to a node that leads a shard, so such a node must not
		// redirect its reads.
		if got, err := proc.Ask(n.Addr(), "CONFIG", "SET", "routing", "forward"); got != "OK" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	t.Run("ioredis", func(t *testing.T) {
		dir := nodeModules(t)
		run := exec.CommandContext(deadline(t), "node", append([]string{"replicas.js"}, c.Addrs()...)...)
		run.Dir = dir
		if out, err := run.CombinedOutput(); err != nil || !strings.Contains(string(out), "all is well") {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
