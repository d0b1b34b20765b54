package scripts

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// telling is a script whose effects show in the logs and statistics.
const telling = `redis.log(redis.LOG_WARNING, 'said', 'once') redis.call('select', 3) redis.call('set', KEYS[1], 'v')
redis.pcall('lpush', KEYS[1], 'x') redis.pcall('nosuch') redis.pcall('auth', 'x') redis.pcall('get', 'other') return 1`

// told runs the script through one node, as a user that may not run all of its commands. It returns
// the traces of the script on the node that runs it and on the client's node.
func told(t *testing.T, addr, runs string) string {
	t.Helper()
	admin, there, ann := proc.Dial(t, addr), proc.Dial(t, runs), proc.Dial(t, addr)
	ears := []*respconn.Conn{proc.Dial(t, runs), proc.Dial(t, addr)}
	say(t, admin, "ACL", "SETUSER", "ann", "on", ">pw", "~k", "+@all")
	proc.Wait(t, patience, "ann can log in", func() bool { return say(t, ann, "AUTH", "ann", "pw") == "+OK" })
	say(t, there, "CONFIG", "SET", "slowlog-log-slower-than", "0")
	for _, reset := range [][]string{{"CONFIG", "RESETSTAT"}, {"SLOWLOG", "RESET"}, {"ACL", "LOG", "RESET"}} {
		say(t, there, reset...)
	}
	for _, ear := range ears {
		say(t, ear, "MONITOR")
	}
	if got := say(t, ann, "EVAL", telling, "1", "k"); got != ":1" {
		t.Errorf("%s: %s", addr, got)
	}
	lines := append(luaLines(t, ears[0]), luaLines(t, ears[1])...)
	stats := say(t, there, "INFO", "commandstats")
	for _, name := range []string{"set", "lpush", "select", "auth", "get"} {
		_, line, _ := strings.Cut(stats, "cmdstat_"+name+":")
		calls, line, _ := strings.Cut(line, ",")
		_, line, _ = strings.Cut(line, "rejected_calls=")
		lines = append(lines, fmt.Sprintf("%s %s rejected %.16s", name, calls, line))
	}
	slow := say(t, there, "SLOWLOG", "GET", "-1")
	var log string
	proc.Wait(t, patience, "ACL LOG has what was refused", func() bool {
		log = strings.Join(strings.Fields(say(t, admin, "ACL", "LOG")), " ")
		return strings.Contains(log, `"reason" "key" "context" "lua" "object" "other" "username" "ann"`)
	})
	return fmt.Sprintf("%s\n%d slow\nby ann's connection: %t, with %t", strings.Join(lines, "\n"), strings.Count(slow, `"?:0"`),
		strings.Contains(log, " addr="+ann.Net().LocalAddr().String()+" "), strings.Contains(log, " cmd=eval user=ann "))
}

// luaLines returns the lines that MONITOR shows for the script.
func luaLines(t *testing.T, ear *respconn.Conn) (lines []string) {
	t.Helper()
	for len(lines) < 3 {
		v, err := ear.Read()
		if err != nil {
			t.Fatal(err)
		}
		if _, command, ok := strings.Cut(v.String(), " lua] "); ok {
			lines = append(lines, command)
		}
	}
	return lines
}

// TestWhatScriptsDoShowsWhereTheyRun: a client runs the script through a follower. The leader's
// MONITOR, commandstats, SLOWLOG and log and the follower's MONITOR and ACL LOG show the same as
// those of redis-server, once. The follower's commandstats show nothing. A restart runs all scripts
// again, and shows none of that again.
func TestWhatScriptsDoShowsWhereTheyRun(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	// The first leader must stay, because it keeps the traces. With these timeouts a pause of the
	// machine causes no election.
	cluster := proc.NewCluster(t, 3, proc.Options{Args: []string{"--raft-heartbeat-ms", "2000", "--raft-election-ms", "2000"}})
	redis := proc.RedisServer(t)
	leader, follower := cluster.WaitLeader(), cluster.Follower()
	quiet := proc.Dial(t, follower.Addr())
	say(t, quiet, "CONFIG", "RESETSTAT")
	want, got := told(t, redis.Addr(), redis.Addr()), told(t, follower.Addr(), leader.Addr())
	if got != want {
		t.Errorf("the leader tells\n%s\nand redis-server\n%s", got, want)
	}
	if stats := say(t, quiet, "INFO", "commandstats"); strings.Contains(stats, "cmdstat_lpush") {
		t.Errorf("a follower counts what scripts do: %s", stats)
	}
	_, executed := same(t, cluster, 0)
	cluster.Restart()
	same(t, cluster, executed)
	for _, n := range cluster.Nodes {
		want := 0
		if n == leader {
			want = 1
		}
		if got := strings.Count(n.Log(), `text="said once"`); got != want {
			t.Errorf("%s said it %d times, not %d", n.Name, got, want)
		}
	}
}
