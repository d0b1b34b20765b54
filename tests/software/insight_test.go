package software

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"lockstep/tests/kit/proc"
)

// redisInsight makes the calls that RedisInsight makes according to its source. It recognizes a
// cluster by CLUSTER INFO, connects to the nodes that CLUSTER SLOTS names, and fills its pages. The
// program itself needs a desktop.
func redisInsight(t *testing.T, addr string) {
	ctx := deadline(t)
	c := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, ClientName: "redisinsight-browser", ReadTimeout: patience, WriteTimeout: patience})
	defer c.Close()
	must(t, c.HSet(ctx, "insight:hash", "f", "v").Err())
	must(t, c.Set(ctx, "insight:text", "v", 0).Err())

	// This node gets a write a moment later than the node that acknowledges it.
	proc.Wait(t, patience, "the cluster is well and the node has the keys", func() bool {
		return strings.Contains(c.ClusterInfo(ctx).Val(), "cluster_state:ok\r\n") && strings.Contains(c.Info(ctx).Val(), "\ndb0:keys=2,")
	})
	slots, err := c.Do(ctx, "CLUSTER", "SLOTS").Slice()
	must(t, err)
	for _, n := range slots[0].([]any)[2:] {
		n := n.([]any)
		named := net.JoinHostPort(n[0].(string), fmt.Sprint(n[1]))
		if pong := proc.MustAsk(t, named, "PING"); pong != "PONG" {
			t.Errorf("%s, which CLUSTER SLOTS names, says %s", named, pong)
		}
	}
	insightShards(t, c)

	info := c.Info(ctx).Val()
	for _, field := range []string{
		"redis_version", "server_name", "uptime_in_days", "redis_mode", "connected_clients", "used_memory", "maxmemory_policy", "instantaneous_ops_per_sec",
		"instantaneous_input_kbps", "instantaneous_output_kbps", "keyspace_hits", "keyspace_misses", "role", "db0",
	} {
		if !strings.Contains(info, "\n"+field+":") {
			t.Errorf("INFO has no %s", field)
		}
	}
	for name, parse := range map[string]func(string) error{"databases": wantNumber, "io-threads": wantNumber} {
		if err := parse(c.ConfigGet(ctx, name).Val()[name]); err != nil {
			t.Errorf("CONFIG GET %s: %v", name, err)
		}
	}
	for _, call := range []struct{ call, want string }{
		{"MODULE LIST", "[]"}, {"COMMAND INFO ARGET", "[<nil>]"}, {"ACL WHOAMI", "default"}, {"TYPE insight:hash", "hash"},
		{"TTL insight:text", "-1"}, {"HLEN insight:hash", "1"}, {"DBSIZE", "2"}, {"SCAN 0 COUNT 10000 TYPE hash", "[0 [insight:hash]]"},
		{"SCAN 0 MATCH insight:t* COUNT 10000", "[0 [insight:text]]"}, {"HSCAN insight:hash 0 COUNT 500", "[0 [f v]]"}, {"SLOWLOG RESET", "OK"},
	} {
		var args []any
		for _, word := range strings.Fields(call.call) {
			args = append(args, word)
		}
		if got := fmt.Sprint(c.Do(ctx, args...).Val()); got != call.want {
			t.Errorf("%s: %s, want %s", call.call, got, call.want)
		}
	}
	if bytes, err := c.MemoryUsage(ctx, "insight:hash", 0).Result(); err != nil || bytes <= 0 {
		t.Errorf("MEMORY USAGE: %d, %v", bytes, err)
	}
	if dangerous, err := c.ACLCatArgs(ctx, &redis.ACLCatArgs{Category: "dangerous"}).Result(); err != nil || !slices.Contains(dangerous, "flushall") {
		t.Errorf("ACL CAT dangerous: %v, %v", dangerous, err)
	}
	if list := c.ClientList(ctx).Val(); !strings.Contains(list, " name=redisinsight-browser ") {
		t.Errorf("CLIENT LIST: %s", list)
	}
	if _, err := c.SlowLogGet(ctx, 50).Result(); err != nil {
		t.Errorf("SLOWLOG GET: %v", err)
	}
	insightProfiler(t, addr)
}

func wantNumber(text string) error {
	_, err := strconv.Atoi(text)
	return err
}

// insightShards checks the data of the page on the cluster. A node that stood still for a moment is
// not online until the others hear from it again.
func insightShards(t *testing.T, c *redis.Client) {
	ctx := deadline(t)
	var shards []redis.ClusterShard
	if !proc.Poll(patience, func() bool {
		var err error
		shards, err = c.ClusterShards(ctx).Result()
		must(t, err)
		masters, well := 0, 0
		for _, n := range shards[0].Nodes {
			if n.Role == "master" {
				masters++
			}
			if net.ParseIP(n.IP) != nil && n.Endpoint != "" && n.Port != 0 && n.ReplicationOffset > 0 && n.Health == "online" {
				well++
			}
		}
		return masters == 1 && well == 3 && len(shards[0].Nodes) == 3 && len(shards[0].Slots) > 0
	}) {
		t.Errorf("CLUSTER SHARDS: %+v", shards)
	}
}

// insightProfiler checks the data of the page that shows the commands of clients.
func insightProfiler(t *testing.T, addr string) {
	profiler := proc.Dial(t, addr)
	if ok := proc.Do(t, profiler, "MONITOR"); ok != "+OK" {
		t.Errorf("MONITOR: %s", ok)
	}
	proc.MustAsk(t, addr, "GET", "insight:text")
	if line := proc.Read(t, profiler); !strings.HasSuffix(line, `"GET" "insight:text"`) {
		t.Errorf("MONITOR shows %s", line)
	}
}
