package functions

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

func TestMain(m *testing.M) { proc.Main(m) }

const patience = 60 * time.Second

const library = `#!lua name=shop
local function left(key) return tonumber(redis.call('get', key) or '0') end
redis.register_function{function_name='take', flags={'allow-key-locking'}, callback=function(keys, args)
  if left(keys[1]) < tonumber(args[1]) then return redis.error_reply('SOLD out') end
  return redis.call('decrby', keys[1], args[1])
end}
redis.register_function{function_name='look', flags={'no-writes', 'allow-key-locking'}, callback=function(keys) return left(keys[1]) end}
redis.register_function('count', function() return redis.call('dbsize') end)`

// do sends a command to a node until the answer is not an error for want of a leader.
func do(t *testing.T, n *proc.Node, args ...string) string {
	t.Helper()
	var got string
	proc.Wait(t, patience, fmt.Sprintf("an answer to %.60q", args), func() bool {
		conn, err := respconn.Dial(n.Addr())
		if err != nil {
			return false
		}
		defer conn.Close()
		v, err := conn.Do(args...)
		got = strings.Join(strings.Fields(v.String()), " ")
		return err == nil && !strings.HasPrefix(got, "-CLUSTERDOWN") && !strings.HasPrefix(got, "-LOADING")
	})
	return got
}

// everywhere compares the answers of all running nodes.
func everywhere(t *testing.T, c *proc.Cluster, want string, args ...string) {
	t.Helper()
	for _, n := range c.Nodes {
		if !n.Running() {
			continue
		}
		if got := do(t, n, args...); got != want {
			t.Errorf("node %d: %.80q says %.300s, want %.300s", n.Index, args, got, want)
		}
	}
}

const listed = `*1 *6 "library_name" "shop" "engine" "LUA" "functions" *3 *6 "name" "count" "description" (nil) "flags" *0 ` +
	`*6 "name" "look" "description" (nil) "flags" *2 +no-writes +allow-key-locking *6 "name" "take" "description" (nil) "flags" *1 +allow-key-locking`

// counted expects INFO to count one library, with its memory in two shards.
func counted(t *testing.T, c *proc.Cluster) {
	t.Helper()
	for _, n := range c.Nodes {
		proc.Wait(t, patience, fmt.Sprintf("INFO of node %d counts the library", n.Index), func() bool {
			info := proc.Info(n.Addr(), "memory")
			memory, err := strconv.Atoi(info["used_memory_functions"])
			return err == nil && memory > 2*len(library) && memory < 200<<10 && info["number_of_functions"] == "3" && info["number_of_libraries"] == "1"
		})
	}
}

// TestLibrariesAreKnownOnAllNodesAndStay: libraries survive the death of the leader, restarts and
// snapshots, in two shards.
func TestLibrariesAreKnownOnAllNodesAndStay(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Shards: 2})
	follower := c.Follower()
	if got := do(t, follower, "FUNCTION", "LOAD", library); got != `"shop"` {
		t.Fatal(got)
	}
	everywhere(t, c, listed, "FUNCTION", "LIST")
	counted(t, c)
	keys := []string{"a", "b", "c", "d", "e", "f"}
	for _, key := range keys {
		do(t, follower, "SET", key, "100")
	}
	left := 100
	sell := func() {
		t.Helper()
		for _, n := range c.Nodes {
			if !n.Running() {
				continue
			}
			left--
			for _, key := range keys {
				if got := do(t, n, "FCALL", "take", "1", key, "1"); got != fmt.Sprint(":", left) {
					t.Fatalf("take %s: %s, want %d", key, got, left)
				}
			}
		}
		for _, key := range keys {
			everywhere(t, c, fmt.Sprint(":", left), "FCALL_RO", "look", "1", key)
			everywhere(t, c, fmt.Sprint(":", left), "FCALL", "look", "1", key)
		}
	}
	sell()
	leader := c.WaitLeader() // the leaders are spread, so it may be another one than before
	leader.Kill9()
	if follower == leader {
		follower = c.Follower()
	}
	sell()
	everywhere(t, c, listed, "FUNCTION", "LIST")
	leader.Start()
	leader.WaitReady()
	everywhere(t, c, listed, "FUNCTION", "LIST")
	sell()
	for round, snapshot := range []bool{false, true} {
		if snapshot {
			for _, n := range c.Nodes {
				if got := do(t, n, "SAVE"); got != "+OK" {
					t.Errorf("SAVE: %s", got)
				}
			}
		}
		c.Restart()
		everywhere(t, c, listed, "FUNCTION", "LIST")
		sell()
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	if got := do(t, follower, "FUNCTION", "DELETE", "shop"); got != "+OK" {
		t.Error(got)
	}
	everywhere(t, c, "-ERR Function not found", "FCALL", "look", "1", "a")
	everywhere(t, c, "*0", "FUNCTION", "LIST")
}

// incrIfBelow is an example of the manual (D30, D31).
const incrIfBelow = `#!lua name=locks
local function incr_if_below(keys, args)
  local n = tonumber(redis.call('GET', keys[1]) or '0')
  if n >= tonumber(args[1]) then return 0 end
  redis.call('INCR', keys[1])
  return 1
end
redis.register_function{function_name='incr_if_below', callback=incr_if_below, flags={'allow-key-locking'}}`

// TestAQuotaKeptByAFunction: a user gets exactly the quota, through whichever nodes the clients ask
// for it.
func TestAQuotaKeptByAFunction(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	const users, clients, calls, limit = 3, 6, 90, 100
	c := proc.NewCluster(t, 3, proc.Options{})
	if got := do(t, c.Follower(), "FUNCTION", "LOAD", incrIfBelow); got != `"locks"` {
		t.Fatal(got)
	}
	key := func(user int) string { return fmt.Sprintf("user:%d:quota", user) }
	var given, refused [users]atomic.Int64
	var all sync.WaitGroup
	for i := range clients {
		conn := proc.Dial(t, c.Nodes[i%3].Addr())
		all.Go(func() {
			for j := range calls {
				user := (i + j) % users
				v, err := conn.Do("FCALL", "incr_if_below", "1", key(user), fmt.Sprint(limit))
				switch {
				case err != nil || v.String() != ":0" && v.String() != ":1":
					t.Errorf("%s, %v", v, err)
					return
				case v.String() == ":1":
					given[user].Add(1)
				default:
					refused[user].Add(1)
				}
			}
		})
	}
	all.Wait()
	for user := range users {
		left := do(t, c.Nodes[0], "GET", key(user))
		if left != fmt.Sprintf("%q", fmt.Sprint(limit)) || given[user].Load() != limit || refused[user].Load() != clients*calls/users-limit {
			t.Errorf("%s is %s; %d were given and %d refused", key(user), left, given[user].Load(), refused[user].Load())
		}
	}
}

// TestLibrariesGoToRedisServerAndBack moves a library by FUNCTION DUMP and RESTORE.
func TestLibrariesGoToRedisServerAndBack(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	redis := proc.Dial(t, proc.RedisServer(t).Addr())
	node := proc.Dial(t, proc.NewNode(t, proc.Options{}).Addr())
	text := "#!lua name=l\nredis.register_function('f', function(keys, args) return redis.sha1hex(args[1]) end)" + strings.Repeat("\n-- a long comment", 200)
	for from, to := range map[*respconn.Conn]*respconn.Conn{redis: node, node: redis} {
		for _, c := range []*respconn.Conn{redis, node} {
			proc.Do(t, c, "FUNCTION", "FLUSH")
		}
		proc.Do(t, from, "FUNCTION", "LOAD", text)
		dump, err := from.Do("FUNCTION", "DUMP")
		if err != nil || dump.IsError() {
			t.Fatal(dump, err)
		}
		if got := proc.Do(t, to, "FUNCTION", "RESTORE", string(dump.Bytes)); got != "+OK" {
			t.Fatal(got)
		}
		if got, want := proc.Do(t, to, "FCALL", "f", "0", "x"), proc.Do(t, from, "FCALL", "f", "0", "x"); got != want || got[0] != '"' {
			t.Errorf("%s there, %s here", want, got)
		}
	}
}

// TestWhatRunsIsSeenAndEndedFromAnyNode: any node shows and ends a running function, in whichever
// shard it runs.
func TestWhatRunsIsSeenAndEndedFromAnyNode(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Shards: 2, Args: append([]string{"--script-max-work-ms", "1000000"}, proc.OneLeader...)})
	node := c.Follower()
	text := "#!lua name=l\nredis.register_function{function_name='spin', flags={'no-writes', 'allow-key-locking'}, callback=function() while true do end end}"
	do(t, node, "FUNCTION", "LOAD", text)
	for _, key := range []string{"a", "b"} { // one in each shard
		spinning := proc.Dial(t, node.Addr())
		// With FCALL the call would be logged if the node has not heard yet that the function only
		// reads.
		if err := spinning.Send("FCALL_RO", "spin", "1", key); err != nil {
			t.Fatal(err)
		}
		running := fmt.Sprintf(`"running_script" *6 "name" "spin" "command" *4 "fcall_ro" "spin" "1" "%s"`, key)
		proc.Wait(t, patience, "FUNCTION STATS shows what runs", func() bool {
			return strings.Contains(strings.ToLower(do(t, c.Nodes[0], "FUNCTION", "STATS")), running)
		})
		other := proc.Dial(t, node.Addr())
		if got := proc.Do(t, other, "SET", "elsewhere", "1"); got != "+OK" {
			t.Errorf("another key while it runs: %s", got)
		}
		if got := do(t, c.Nodes[1], "FUNCTION", "KILL"); got != "+OK" {
			t.Errorf("FUNCTION KILL: %s", got)
		}
		if got := proc.Read(t, spinning); !strings.Contains(got, "killed by user") {
			t.Errorf("what was killed says %s", got)
		}
		if got := do(t, node, "FUNCTION", "KILL"); !strings.HasPrefix(got, "-NOTBUSY") {
			t.Errorf("FUNCTION KILL with nothing to end: %s", got)
		}
	}
}

// TestHostileLibrariesTakeNoNodeDown: each hostile library ends with an error that says why. The
// cluster continues, and comes back after its nodes have run the libraries again.
func TestHostileLibrariesTakeNoNodeDown(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	node := c.Follower()
	for name, h := range map[string]struct{ body, want string }{
		"endless":     {`while true do end`, "FUNCTION LOAD timeout"},
		"recursion":   {`local function f() return 1 + f() end f()`, "stack overflow"},
		"strings":     {`local s = 'x' while true do s = s .. s end`, "a library may allocate"},
		"tables":      {`local t = {} while true do t = {t} end`, "FUNCTION LOAD timeout"},
		"functions":   {`for i = 1, 1e9 do redis.register_function('f' .. i, function() end) end`, "at most 1024 functions"},
		"brackets":    {"local x = " + strings.Repeat("(", 150_000) + "1" + strings.Repeat(")", 150_000), "too many"},
		"description": {`redis.register_function{function_name='f', callback=function() end, description=('x'):rep(1e9)}`, "a library may allocate"},
	} {
		if got := do(t, node, "FUNCTION", "LOAD", "#!lua name=h\n"+h.body); !strings.HasPrefix(got, "-ERR") || !strings.Contains(got, h.want) {
			t.Errorf("%s: %.300s, want %s", name, got, h.want)
		}
	}
	inside := "#!lua name=h\nlocal r = redis.register_function redis.register_function('f', function() return r('g', function() end) end)"
	if got := do(t, node, "FUNCTION", "LOAD", inside); got != `"h"` {
		t.Error(got)
	}
	if got := do(t, node, "FCALL", "f", "0"); !strings.HasPrefix(got, "-ERR redis.register_function can only be called on FUNCTION LOAD command") {
		t.Error(got)
	}
	for _, n := range c.Nodes {
		if code, ended := n.Ended(); ended {
			t.Fatalf("node %d has ended with %d", n.Index, code)
		}
	}
	c.Restart()
	everywhere(t, c, `*1 *6 "library_name" "h" "engine" "LUA" "functions" *1 *6 "name" "f" "description" (nil) "flags" *0`, "FUNCTION", "LIST")
}
