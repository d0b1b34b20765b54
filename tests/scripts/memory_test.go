package scripts

import (
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
)

// TestScriptsWithoutMemory: with the memory full, a script that runs through a follower gets an
// error for every command that may need memory, and for no other.
func TestScriptsWithoutMemory(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	cluster := proc.NewCluster(t, 3, proc.Options{})
	c := proc.Dial(t, cluster.Follower().Addr())
	say(t, c, "SET", "k", "v")
	say(t, c, "CONFIG", "SET", "maxmemory", "1")
	proc.Wait(t, patience, "the limit is in force", func() bool { return say(t, c, "SET", "other", "v") != "+OK" })
	const oom = "-OOM command not allowed when used memory > 'maxmemory'."
	for _, s := range []struct{ source, want string }{
		{"return redis.call('get', KEYS[1])", `"v"`},
		{"return redis.pcall('set', KEYS[1], 'x')", oom},
		{"#!lua\nreturn 1", oom},
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

// TestReadingScriptsEndInTime: scripts that only read end by busy-reply-threshold, and by SCRIPT
// KILL through any node.
func TestReadingScriptsEndInTime(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	cluster := proc.NewCluster(t, 3, proc.Options{Args: append([]string{"--script-max-work-ms", "1000000", "--busy-reply-threshold", "600000"}, proc.OneLeader...)})
	c := proc.Dial(t, cluster.Follower().Addr())
	const loop = "while true do end"
	const where = " script: 694a5fe1ddb97a4c6a1bf299d9537c7d3d0f84e7, on @user_script:1."
	for _, n := range cluster.Nodes {
		running := make(chan string)
		go func() {
			v, err := c.Do("EVAL_RO", loop, "1", "k")
			if err != nil {
				running <- err.Error()
				return
			}
			running <- v.String()
		}()
		killer := proc.Dial(t, n.Addr())
		proc.Wait(t, patience, "SCRIPT KILL finds it", func() bool { return say(t, killer, "SCRIPT", "KILL") == "+OK" })
		if got := <-running; got != "-ERR Script killed by user with SCRIPT KILL..."+where {
			t.Errorf("killed through %s: %s", n.Name, got)
		}
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

// TestReadingScriptsEnterNoLog: scripts that only read add nothing to the log, alone and in a
// transaction. Only the text of an unknown script is an entry.
func TestReadingScriptsEnterNoLog(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	cluster := proc.NewCluster(t, 3, proc.Options{Args: proc.OneLeader})
	c := proc.Dial(t, cluster.Follower().Addr())
	const text, flagged = "return redis.call('get', KEYS[1])", "#!lua flags=no-writes,allow-key-locking\nreturn redis.call('get', KEYS[1])"
	const library = "#!lua name=l\nredis.register_function{function_name='look', callback=function(keys) return redis.call('get', keys[1]) end, flags={'no-writes'}}"
	say(t, c, "SET", "k", "v")
	say(t, c, "FUNCTION", "LOAD", library)
	sha := strings.Trim(say(t, c, "SCRIPT", "LOAD", text), `"`)
	say(t, c, "SCRIPT", "LOAD", flagged)
	calls := [][]string{{"EVAL_RO", text}, {"EVALSHA_RO", sha}, {"EVAL", flagged}, {"FCALL", "look"}, {"FCALL_RO", "look"}}
	run := func(times int) {
		for range times {
			for _, call := range calls {
				if got := say(t, c, append(call, "1", "k")...); got != `"v"` {
					t.Errorf("%q: %s", call, got)
				}
			}
			say(t, c, "MULTI")
			for _, call := range calls {
				say(t, c, append(call, "1", "k")...)
			}
			if got := say(t, c, "EXEC"); strings.Join(strings.Fields(got), " ") != `*5 "v" "v" "v" "v" "v"` {
				t.Errorf("in a transaction: %s", got)
			}
		}
	}
	run(1)
	_, before := same(t, cluster, 0)
	run(40)
	if _, after := same(t, cluster, before); after != before {
		t.Errorf("the log had %d entries, and has %d", before, after)
	}
	say(t, c, "EVAL", text, "1", "k")
	if _, after := same(t, cluster, before+1); after == before {
		t.Error("one that may write is not in the log")
	}
}
