package scripts

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// deep is a script that calls itself until an error, writes, and returns the depth with the error.
const deep = `local n = 0
local function f() n = n + 1 return 1 + f() end
local ok, text = pcall(f) redis.call('set', KEYS[1], n) return n .. ' ' .. tostring(text)`

// reached is the reply of deep when the limit is this number of nested calls. Four of them are not
// calls of f: the script, pcall, and one more before each function that is called in this way.
func reached(calls int) string {
	return fmt.Sprintf(`"%d user_script:2: stack overflow (script-max-call-depth %d)"`, calls-4, calls)
}

// deeply runs deep through all nodes, once as a script that writes and once as one that only reads.
func deeply(t *testing.T, c *proc.Cluster, when, want string) {
	t.Helper()
	for _, n := range c.Nodes {
		conn := proc.Dial(t, n.Addr())
		if got := say(t, conn, "EVAL", deep, "1", "k"); got != want {
			t.Errorf("%s, through %s: %s, want %s", when, n.Name, got, want)
		}
		reading := strings.ReplaceAll(deep, "redis.call('set', KEYS[1], n)", "")
		if got := say(t, conn, "EVAL_RO", reading, "1", "k"); got != want {
			t.Errorf("%s, reading through %s: %s, want %s", when, n.Name, got, want)
		}
	}
}

// TestTheDepthOfCallsIsASetting: all nodes use the setting, the error names it, and it is still in
// force after a snapshot and restarts.
func TestTheDepthOfCallsIsASetting(t *testing.T) {
	proc.NeedProcesses(t)
	cluster := proc.NewCluster(t, 3, proc.Options{})
	c := proc.Dial(t, cluster.Follower().Addr())
	deeply(t, cluster, "at first", reached(4000))
	for _, value := range []string{"99", "20001", "many"} {
		if got := say(t, c, "CONFIG", "SET", "script-max-call-depth", value); !strings.HasPrefix(got, "-ERR CONFIG SET failed") {
			t.Errorf("%s: %s", value, got)
		}
	}
	set(t, c, "20000")
	deeply(t, cluster, "at most", reached(20000))
	set(t, c, "200")
	deeply(t, cluster, "at 200", reached(200))
	say(t, c, "SET", "last", "1")
	before, executed := same(t, cluster, 0)
	if got := say(t, proc.Dial(t, cluster.WaitLeader().Addr()), "DEBUG", "RELOAD"); got != "+OK" {
		t.Error(got)
	}
	cluster.Restart()
	cluster.WaitLeader()
	if after, _ := same(t, cluster, executed); after != before {
		t.Errorf("the state was %s, and is %s after a restart", before, after)
	}
	deeply(t, cluster, "after a restart", reached(200))
	for _, n := range cluster.Nodes {
		if got := say(t, proc.Dial(t, n.Addr()), "CONFIG", "GET", "script-max-call-depth"); !strings.Contains(got, `"200"`) {
			t.Errorf("%s: %s", n.Name, got)
		}
	}
}

func set(t *testing.T, c *respconn.Conn, depth string) {
	t.Helper()
	if got := say(t, c, "CONFIG", "SET", "script-max-call-depth", depth); got != "+OK" {
		t.Fatal(got)
	}
}
