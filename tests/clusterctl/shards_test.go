package clusterctl

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"lockstep/node/status"
	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

const shards = 4

// keysByShard makes n keys for each shard, according to the hash slots that CLUSTER SLOTS shows.
func keysByShard(t *testing.T, conn *respconn.Conn, n int) [][]string {
	t.Helper()
	ranges, err := conn.Do("CLUSTER", "SLOTS")
	if err != nil || len(ranges.Elems) != shards {
		t.Fatalf("CLUSTER SLOTS: %s, %v", ranges, err)
	}
	keys := make([][]string, shards)
	for i, missing := 0, n*shards; missing > 0; i++ {
		key := fmt.Sprintf("key:%d", i)
		slot := number(t, conn, "CLUSTER", "KEYSLOT", key)
		owner := -1
		for s, r := range ranges.Elems {
			first, last := atoi(t, r.Elems[0]), atoi(t, r.Elems[1])
			if first <= slot && slot <= last {
				owner = s
			}
		}
		if owner < 0 {
			t.Fatalf("nobody has hash slot %d: %s", slot, ranges)
		}
		if len(keys[owner]) < n {
			keys[owner] = append(keys[owner], key)
			missing--
		}
	}
	return keys
}

func atoi(t *testing.T, v respconn.Value) int {
	t.Helper()
	n, err := strconv.Atoi(string(v.Bytes))
	if err != nil {
		t.Fatalf("no number: %s", v)
	}
	return n
}

func number(t *testing.T, conn *respconn.Conn, args ...string) int {
	t.Helper()
	v, err := conn.Do(args...)
	if err != nil {
		t.Fatal(err)
	}
	return atoi(t, v)
}

// dial connects to every node of a cluster.
func dial(t *testing.T, c *proc.Cluster) []*respconn.Conn {
	t.Helper()
	var conns []*respconn.Conn
	for _, n := range c.Nodes {
		conn, err := respconn.Dial(n.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		conns = append(conns, conn)
	}
	return conns
}

// wants sends a command and compares the reply's printed form.
func wants(t *testing.T, conn *respconn.Conn, want string, args ...string) {
	t.Helper()
	v, err := conn.Do(args...)
	if err != nil || v.String() != want {
		t.Errorf("%q: %s, %v; want %s", args, v, err, want)
	}
}

// spread gives the leadership of each shard to another node, as far as there are nodes, and waits
// until all nodes know it. It turns rebalancing off, because that also moves leaders.
func spread(t *testing.T, c *proc.Cluster) {
	t.Helper()
	addr := c.Nodes[0].Addr()
	proc.MustAsk(t, addr, "CONFIG", "SET", "rebalance", "no")
	proc.Wait(t, patience, "the shards are led as they should be, and the nodes know it", func() bool {
		right := true
		for s := range shards {
			leader := c.Nodes[s%len(c.Nodes)].Name
			for _, n := range c.Nodes {
				if !strings.Contains(proc.Info(n.Addr(), "raft")["raft_shard"+strconv.Itoa(s)], "leader="+leader+",") {
					_, _ = proc.Ask(addr, "LOCKSTEP", "TRANSFER", strconv.Itoa(s), leader)
					right = false
				}
			}
		}
		return right
	})
}

// Every node serves the keys of all shards, whichever nodes lead them.
func TestShardsAreOneStoreThroughEveryNode(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Shards: shards})
	spread(t, c)
	conns := dial(t, c)
	const each = 6
	keys := keysByShard(t, conns[0], each)
	for i, conn := range conns {
		for s := range keys {
			for k, key := range keys[s] {
				value := fmt.Sprintf("%d.%d.%d", i, s, k)
				wants(t, conn, "+OK", "SET", key, value)
				for _, reader := range conns {
					wants(t, reader, respconn.Quote([]byte(value)), "GET", key)
				}
			}
		}
	}
	for i, conn := range conns {
		for s := range keys {
			wants(t, conn, ":"+strconv.Itoa(i+1), "INCR", "{"+keys[s][0]+"}:counter")
		}
		wants(t, conn, ":"+strconv.Itoa(shards*(each+1)), "DBSIZE")
	}

	wrong := ""
	if !proc.Poll(patience, func() bool {
		s := healthy(t, c.Nodes[0].Addr(), 3, shards*(each+1))
		if s.Shards != shards {
			t.Fatalf("%d shards", s.Shards)
		}
		wrong = ""
		for i, n := range c.Nodes {
			wrong += checkShardLines(proc.Info(n.Addr(), "raft"), nodeOf(t, s, n.Name), i)
		}
		if wrong != "" {
			spread(t, c) // an election has changed the leaders
		}
		return wrong == ""
	}) {
		t.Error(wrong)
	}

	// The others take over two shards at once that a node led.
	c.Nodes[0].Kill9()
	for s := range keys {
		for _, conn := range conns[1:] {
			wants(t, conn, "+OK", "SET", keys[s][0], "after")
			wants(t, conn, `"after"`, "GET", keys[s][0])
		}
	}
}

// checkShardLines checks INFO raft of the node with that index. The node leads each shard whose
// number modulo 3 is the index. The result describes the differences.
func checkShardLines(info map[string]string, n status.Node, index int) (wrong string) {
	for s := range shards {
		role := "follower"
		if s%3 == index {
			role = "leader"
		}
		line := info["raft_shard"+strconv.Itoa(s)]
		if !strings.HasPrefix(line, "role="+role+",") || !strings.Contains(line, ",executed=") {
			wrong += fmt.Sprintf("%s, shard %d: %q, want role %s\n", n.Name, s, line, role)
		}
		if g := n.Group(strconv.Itoa(s)); g == nil || g.Role != role {
			wrong += fmt.Sprintf("%s, shard %d: status says %+v, not %s\n", n.Name, s, g, role)
		}
	}
	if line, there := info["raft_shard"+strconv.Itoa(shards)]; there {
		wrong += fmt.Sprintf("%s has a shard too many: %q\n", n.Name, line)
	}
	return wrong
}

// A command or transaction with keys of several shards is refused; with keys of one shard it is
// not. A hash tag puts keys into the same slot.
func TestKeysOfSeveralShardsAreRefused(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Shards: shards})
	spread(t, c)
	const crossed = "-CROSSSLOT Keys in request don't hash to the same slot"
	for i, conn := range dial(t, c) {
		keys := keysByShard(t, conn, 2)
		for s := range keys {
			a, b := keys[s][0], keys[(s+1)%shards][0]
			together(t, conn, a, keys[s][1])
			wants(t, conn, crossed, "MSET", a, "x", b, "x")
			wants(t, conn, crossed, "MGET", a, b)
			wants(t, conn, crossed, "DEL", a, b)
			wants(t, conn, crossed, "RENAME", a, b)
			wants(t, conn, ":0", "EXISTS", a)

			wants(t, conn, "+OK", "MULTI")
			wants(t, conn, "+QUEUED", "SET", a, "x")
			if v, err := conn.Do("SET", b, "x"); err != nil || v.String() != "+QUEUED" && v.String() != crossed {
				t.Errorf("SET of another shard in a transaction: %s, %v", v, err)
			}
			if v, err := conn.Do("EXEC"); err != nil || !v.IsError() {
				t.Errorf("EXEC over two shards: %s, %v", v, err)
			}
			wants(t, conn, ":0", "EXISTS", a)

			x, y := fmt.Sprintf("{%s}:x:%d", a, i), fmt.Sprintf("{%s}:y:%d", a, i)
			wants(t, conn, "+OK", "MSET", x, "1", y, "2")
			wants(t, conn, "*2\n  \"1\"\n  \"2\"", "MGET", x, y)
			wants(t, conn, "+OK", "MULTI")
			wants(t, conn, "+QUEUED", "INCR", x)
			wants(t, conn, "+QUEUED", "INCR", y)
			wants(t, conn, "*2\n  :2\n  :3", "EXEC")
			wants(t, conn, ":2", "DEL", x, y)
		}
	}
}

// together uses two keys of one shard in one command, transaction and script, though their hash
// slots differ.
func together(t *testing.T, conn *respconn.Conn, a, b string) {
	t.Helper()
	if slot := number(t, conn, "CLUSTER", "KEYSLOT", a); slot == number(t, conn, "CLUSTER", "KEYSLOT", b) {
		t.Fatalf("%s and %s are both of hash slot %d", a, b, slot)
	}
	wants(t, conn, "+OK", "MSET", a, "1", b, "2")
	wants(t, conn, "*2\n  \"1\"\n  \"2\"", "MGET", a, b)
	wants(t, conn, "+OK", "WATCH", a, b)
	wants(t, conn, "+OK", "MULTI")
	wants(t, conn, "+QUEUED", "INCR", a)
	wants(t, conn, "+QUEUED", "INCR", b)
	wants(t, conn, "*2\n  :2\n  :3", "EXEC")
	wants(t, conn, ":5", "EVAL", "return redis.call('get', KEYS[1]) + redis.call('get', KEYS[2])", "2", a, b)
	wants(t, conn, "+OK", "RENAME", a, b)
	wants(t, conn, `"2"`, "GET", b)
	wants(t, conn, ":1", "DEL", a, b)
}
