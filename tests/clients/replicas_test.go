package clients

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"lockstep/tests/kit/proc"
)

// TestClientsReadFromReplicas lets clients that can do so read from replicas, and
// expects what was written to come there, and the nodes to have been asked so.
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
		// Which replica it asks is chance.
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
		// ioredis says READONLY to no node that leads anything, and must not be sent
		// away from there.
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
