package scripts

import (
	"testing"

	"lockstep/tests/proc"
)

// TestScriptsWithoutMemory: through a follower, with the memory full, a script
// is refused what may need some, and nothing else.
func TestScriptsWithoutMemory(t *testing.T) {
	cluster := proc.NewCluster(t, 3, proc.Options{})
	c := proc.Dial(t, cluster.Follower().Addr())
	say(t, c, "SET", "k", "v")
	say(t, c, "CONFIG", "SET", "maxmemory", "1")
	proc.Wait(t, patience, "the limit is in force", func() bool { return say(t, c, "SET", "other", "v") != "+OK" })
	const oom = "-OOM command not allowed when used memory > 'maxmemory'."
	for _, s := range []struct{ source, want string }{
		{"return redis.call('get', KEYS[1])", `"v"`},
		{"return redis.pcall('set', KEYS[1], 'x')", oom},
		{"#!lua\nreturn 1", "-OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'"},
		{"#!lua flags=no-writes\nreturn redis.call('get', KEYS[1])", `"v"`},
		{"#!lua flags=allow-oom\nreturn redis.call('set', KEYS[1], 'x')", "+OK"},
		{"if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end", ":1"},
		{"redis.call('del', KEYS[1]) return redis.call('set', KEYS[1], 'again')", "+OK"},
	} {
		if got := say(t, c, "EVAL", s.source, "1", "k", "x"); got != s.want {
			t.Errorf("%s: %s, want %s", s.source, got, s.want)
		}
	}
}

// TestReadingScriptsEndInTime: busy-reply-threshold ends them, and SCRIPT KILL
// through any node does.
func TestReadingScriptsEndInTime(t *testing.T) {
	cluster := proc.NewCluster(t, 3, proc.Options{Args: []string{"--script-max-instructions", "1000000000000"}})
	c := proc.Dial(t, cluster.Follower().Addr())
	const loop = "while true do end"
	running := make(chan string)
	go func() {
		v, err := c.Do("EVAL_RO", loop, "1", "k")
		if err != nil {
			running <- err.Error()
			return
		}
		running <- v.String()
	}()
	killer := proc.Dial(t, cluster.WaitLeader().Addr())
	proc.Wait(t, patience, "SCRIPT KILL finds it", func() bool { return say(t, killer, "SCRIPT", "KILL") == "+OK" })
	const where = " script: 694a5fe1ddb97a4c6a1bf299d9537c7d3d0f84e7, on @user_script:1."
	if got := <-running; got != "-ERR Script killed by user with SCRIPT KILL..."+where {
		t.Error(got)
	}
	for _, n := range cluster.Nodes {
		say(t, proc.Dial(t, n.Addr()), "CONFIG", "SET", "busy-reply-threshold", "20")
	}
	if got := say(t, c, "EVAL_RO", loop, "1", "k"); got != "-ERR the script ran for longer than busy-reply-threshold"+where {
		t.Error(got)
	}
	if got := say(t, c, "SET", "k", "v"); got != "+OK" {
		t.Error(got)
	}
}
