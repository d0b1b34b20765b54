package scripts

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"lockstep/tests/kit/proc"
)

// quota is an example of the manual: a counter with a limit (D27).
const quota = `local n = tonumber(redis.call('GET', KEYS[1]) or '0')
if n >= tonumber(ARGV[1]) then return 0 end
redis.call('INCR', KEYS[1])
return 1`

// both is the other example: two counters that change together (D26).
const both = `redis.call('INCR', KEYS[1]) redis.call('INCRBY', KEYS[2], ARGV[1]) return 'OK'`

// TestExamplesUnderLoad: many clients run the examples on all nodes, with and without the flag, by
// EVAL and by EVALSHA. The counts are exact.
func TestExamplesUnderLoad(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	const clients, calls, limit = 12, 60, 100
	cluster := proc.NewCluster(t, 3, proc.Options{})
	for _, flag := range []string{"", "#!lua flags=allow-key-locking\n"} {
		setup := proc.Dial(t, cluster.Follower().Addr())
		say(t, setup, "FLUSHALL")
		sha := strings.Trim(say(t, setup, "SCRIPT", "LOAD", flag+quota), `"`)
		var mu sync.Mutex
		granted := map[string]int{}
		var wg sync.WaitGroup
		for i := range clients {
			c := proc.Dial(t, cluster.Nodes[i%3].Addr())
			c.Patience = patience
			wg.Go(func() {
				for j := range calls {
					user := fmt.Sprintf("user:%d:quota", (i+j)%3)
					v, err := c.Do("EVALSHA", sha, "1", user, strconv.Itoa(limit))
					w, err2 := c.Do("EVAL", flag+both, "2", "{c}a", "{c}b", "7")
					if err != nil || err2 != nil || w.String() != `"OK"` {
						t.Errorf("%v, %v: %s", err, err2, w)
						return
					}
					mu.Lock()
					granted[user+v.String()]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		for i := range 3 {
			user := fmt.Sprintf("user:%d:quota", i)
			if got := say(t, setup, "GET", user); got != `"100"` || granted[user+":1"] != limit || granted[user+":0"] != clients*calls/3-limit {
				t.Errorf("%q: %s has %s, and %v", flag, user, got, granted)
			}
		}
		if got := say(t, setup, "MGET", "{c}a", "{c}b"); got != fmt.Sprintf("*2\n  \"%d\"\n  \"%d\"", clients*calls, 7*clients*calls) {
			t.Errorf("%q: %s", flag, got)
		}
	}
}

// TestScriptsStayKnown: a script that is loaded through one node is known on all nodes, also after
// the leader has died and after a restart of all nodes.
func TestScriptsStayKnown(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	cluster := proc.NewCluster(t, 3, proc.Options{})
	c := proc.Dial(t, cluster.Follower().Addr())
	loaded := strings.Trim(say(t, c, "SCRIPT", "LOAD", "return redis.call('incr', KEYS[1])"), `"`)
	evaluated := strings.Trim(say(t, c, "EVAL", "return redis.sha1hex('return 7')", "0"), `"`)
	say(t, c, "EVAL_RO", "return 7", "0")
	n := 0
	known := func(when string) {
		t.Helper()
		for _, node := range cluster.Nodes {
			if !node.Running() {
				continue
			}
			c := proc.Dial(t, node.Addr())
			n++
			if got := say(t, c, "EVALSHA", loaded, "1", "n"); got != ":"+strconv.Itoa(n) {
				t.Errorf("%s, through %s: %s", when, node.Name, got)
			}
			if got := say(t, c, "EVALSHA_RO", evaluated, "0"); got != ":7" {
				t.Errorf("%s, through %s: %s", when, node.Name, got)
			}
			if got := say(t, c, "SCRIPT", "EXISTS", loaded, evaluated, strings.Repeat("0", 40)); got != "*3\n  :1\n  :1\n  :0" {
				t.Errorf("%s, through %s: %s", when, node.Name, got)
			}
		}
	}
	known("at first")
	leader := cluster.WaitLeader()
	leader.Kill9()
	cluster.WaitLeader()
	known("without the first leader")
	leader.Start()
	leader.WaitReady()
	if got := say(t, proc.Dial(t, cluster.WaitLeader().Addr()), "DEBUG", "RELOAD"); got != "+OK" {
		t.Error(got)
	}
	cluster.Restart()
	cluster.WaitLeader()
	known("after a restart of all")
	say(t, proc.Dial(t, cluster.Nodes[1].Addr()), "SCRIPT", "FLUSH")
	if got := say(t, proc.Dial(t, cluster.Nodes[2].Addr()), "EVALSHA", loaded, "1", "n"); !strings.HasPrefix(got, "-NOSCRIPT") {
		t.Error(got)
	}
}
