package introspection

import (
	"regexp"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// times matches the parts of a line of INFO commandstats that depend on a clock.
var times = regexp.MustCompile(`usec=[0-9]+,usec_per_call=[0-9.]+,`)

// counters runs commands on a connection, and returns INFO's counts of their calls, refusals and
// errors.
func counters(t *testing.T, c *respconn.Conn, commands [][]string) map[string]string {
	t.Helper()
	_ = ask(t, c, "CONFIG", "RESETSTAT")
	for _, command := range commands {
		if _, err := c.Do(command...); err != nil {
			t.Fatalf("%q: %v", command, err)
		}
	}
	counted := map[string]string{}
	for name, value := range fields(ask(t, c, "INFO", "everything")) {
		if strings.HasPrefix(name, "cmdstat_") || strings.HasPrefix(name, "errorstat_") {
			counted[name] = times.ReplaceAllString(value, "")
		}
	}
	// One server counts this INFO before it makes the answer, and the other one after that.
	delete(counted, "cmdstat_info")
	return counted
}

// TestCommandsAndErrorsAreCountedAsInRedis compares commandstats and errorstats with redis-server's.
func TestCommandsAndErrorsAreCountedAsInRedis(t *testing.T) {
	proc.NeedProcesses(t)
	redis, ours := proc.Dial(t, proc.RedisServer(t).Addr()), proc.Dial(t, proc.NewLone(t).Addr())
	for name, lines := range map[string]string{
		"errors within EXEC":          "SET s x;MULTI;INCR s;LPUSH s a;GET s;EXEC",
		"a node's error within EXEC":  "MULTI;CONFIG GET;CLIENT KILL nobody;PING;EXEC",
		"an EXEC that is not run":     "SET s x;MULTI;NOSUCH;SET;EXEC",
		"an EXEC whose WATCH failed":  "WATCH s;SET s y;MULTI;INCR s;EXEC",
		"plain errors and refusals":   "SET s x;INCR;NOSUCH;INCR s;OBJECT NOSUCH;OBJECT ENCODING",
		"no memory, plain":            "SET s x;CONFIG SET maxmemory 1;SET a b;GET a;LPUSH l x;CONFIG SET maxmemory 0",
		"no memory, in a transaction": "SET s x;CONFIG SET maxmemory 1;MULTI;SET a b;EXEC;CONFIG SET maxmemory 0",
		"errors in scripts":           "SET s x;EVAL return+redis.pcall('incr','s') 0;EVAL return+redis.call('incr','s') 0;EVAL redis.pcall('incr','s')+return+1 0",
		"refusals in scripts":         "EVAL redis.pcall('nosuch')+redis.pcall('get')+redis.pcall()+redis.pcall('subscribe','x') 0;EVAL_RO return+redis.pcall('set','s','y') 0",
		"a script's own errors":       "EVAL return+redis.error_reply('MY+err') 0;EVAL error('x') 0;EVAL error({err='OWN+e'}) 0;EVAL return+{err='OWN+e',ignore_error_stats_update=true} 0",
		"errors passed on by scripts": "SET s x;EVAL error(redis.pcall('incr','s')) 0;EVAL return+redis.error_reply(redis.pcall('incr','s').err) 0",
		"scripts that do not run":     "EVAL syntax+error( 0;EVALSHA 0000000000000000000000000000000000000000 0;EVAL return+1 x;FCALL nosuch 0",
		"scripts within EXEC":         "SET s x;MULTI;EVAL return+redis.call('incr','s') 0;EVAL return+{err='OWN+e'} 0;EVALSHA 0000000000000000000000000000000000000000 0;INCR s;EXEC",
	} {
		t.Run(name, func(t *testing.T) {
			var commands [][]string
			for line := range strings.SplitSeq(lines, ";") {
				// A plus stands for a space within an argument.
				words := strings.Fields(line)
				for i := range words {
					words[i] = strings.ReplaceAll(words[i], "+", " ")
				}
				commands = append(commands, words)
			}
			want, got := counters(t, redis, commands), counters(t, ours, commands)
			for name, value := range want {
				if got[name] != value {
					t.Errorf("%s is %q, with redis-server %q", name, got[name], value)
				}
			}
			for name, value := range got {
				if _, ok := want[name]; !ok {
					t.Errorf("%s is %q, and redis-server has none", name, value)
				}
			}
		})
	}
}
