package admin_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"lockstep/engine/commands"
	"lockstep/proto/client"
	"lockstep/tests/kit/prototest"
	"lockstep/tests/kit/respconn"
)

// latencyScripts are conversations with a server that has no events yet.
var latencyScripts = map[string]string{
	"latency": `
		LATENCY
		LATENCY NOTHING
		LATENCY LATEST
		LATENCY LATEST x
		LATENCY HISTORY
		LATENCY HISTORY command
		LATENCY HISTORY a b
		LATENCY RESET
		LATENCY RESET command nothing
		LATENCY GRAPH
		LATENCY GRAPH command
		LATENCY GRAPH a b
		LATENCY DOCTOR x
		LATENCY HISTOGRAM nothing
		LATENCY HISTOGRAM nothing get
		MULTI
		LATENCY LATEST
		EXEC`,
}

func TestLatencyAnswersAsRedisDoes(t *testing.T) {
	redis := prototest.StartRedis(t)
	n := prototest.StartNode(t, 1)
	for name, script := range latencyScripts {
		prototest.InBoth(t, n.Addr, redis, name, script)
	}
}

// TestLatencyHasRedissForm compares the forms of replies of servers that were told to sleep. They
// record no other event: on a busy machine anything else that takes long would be an event as well.
func TestLatencyHasRedissForm(t *testing.T) {
	redis := prototest.StartRedis(t, "--enable-debug-command", "yes")
	n := prototest.StartNode(t, 1)
	n.Set(func(s *client.Settings) { s.DebugFor = "yes" })
	note := func(c *respconn.Conn, ms int64) {
		if c.Net().RemoteAddr().String() == n.Addr {
			n.Stats.Latency.SetThreshold(ms)
		} else {
			prototest.Do(t, c, "CONFIG", "SET", "latency-monitor-threshold", strconv.FormatInt(ms, 10))
		}
	}
	for _, proto := range []string{"2", "3"} {
		var said [2]string
		for i, addr := range []string{redis, n.Addr} {
			c := prototest.Dial(t, addr)
			prototest.Do(t, c, "HELLO", proto)
			prototest.Do(t, c, "LATENCY", "RESET")
			prototest.Do(t, c, "CONFIG", "RESETSTAT")
			note(c, 500)
			prototest.Do(t, c, "DEBUG", "SLEEP", "0.6")
			note(c, 0)
			for _, args := range [][]string{{"LATENCY", "LATEST"}, {"LATENCY", "HISTORY", "command"}, {"LATENCY", "HISTOGRAM", "DEBUG", "nothing"}, {"LATENCY", "RESET", "command"}, {"LATENCY", "RESET"}} {
				said[i] += numbers.ReplaceAllString(prototest.Do(t, c, args...), ":<number>") + "\n"
			}
		}
		if said[0] != said[1] {
			t.Errorf("RESP%s:\n%s", proto, prototest.Difference(said[0], said[1]))
		}
	}
}

// numbers match times, which differ. Counts are small.
var numbers = regexp.MustCompile(`:\d{2,}`)

func TestConfigRewriteAnswersAsRedisDoes(t *testing.T) {
	prototest.InBoth(t, prototest.StartNode(t, 1).Addr, prototest.StartRedis(t), "config rewrite", "CONFIG REWRITE\nCONFIG REWRITE x")
}

func TestMemoryAnswersAsRedisDoes(t *testing.T) {
	redis := prototest.StartRedis(t)
	n := prototest.StartNode(t, 1)
	prototest.InBoth(t, n.Addr, redis, "memory", `
		MEMORY
		MEMORY NOTHING
		MEMORY USAGE
		MEMORY USAGE nokey
		MEMORY USAGE nokey SAMPLES
		MEMORY USAGE nokey SAMPLES 0
		MEMORY USAGE nokey SAMPLES x
		MEMORY USAGE nokey SAMPLES -1
		MEMORY USAGE nokey SAMPLES 5 x
		MEMORY USAGE nokey SAMPLES 5 samples 6
		MEMORY USAGE a b c
		MEMORY STATS x
		MEMORY DOCTOR x
		MEMORY PURGE
		MEMORY PURGE x
		MEMORY MALLOC-STATS x
		MULTI
		MEMORY USAGE nokey
		MEMORY PURGE
		EXEC`)
}

// MEMORY STATS has Redis's fields, in Redis's order and with Redis's types.
func TestMemoryStatsHaveRedissForm(t *testing.T) {
	redis := prototest.Dial(t, prototest.StartRedis(t))
	ours := prototest.Dial(t, prototest.StartNode(t, 1).Addr)
	prototest.Do(t, redis, "SET", "a", "1")
	// Redis examines its allocator some ten times a second. Before the first time it has no ratio,
	// and answers nan.
	prototest.Until(t, "redis-server looked at its allocator", func() bool {
		return !strings.Contains(prototest.Do(t, redis, "MEMORY", "STATS"), "nan")
	})
	for _, proto := range []string{"2", "3"} {
		var said [2]string
		for i, c := range []*respconn.Conn{redis, ours} {
			prototest.Do(t, c, "HELLO", proto)
			said[i] = memoryValues.ReplaceAllString(prototest.Do(t, c, "MEMORY", "STATS"), "$1<value>")
		}
		if said[0] != said[1] {
			t.Errorf("RESP%s:\n%s", proto, prototest.Difference(said[0], said[1]))
		}
	}
}

// memoryValues match numbers: whole ones, RESP3's doubles, and RESP2's.
var memoryValues = regexp.MustCompile(`(:|,|")-?[\d.]+(e[+-]?\d+)?"?`)

// MEMORY USAGE grows with the value of a key, and does not update the key's last use.
func TestMemoryUsageIsThatOfTheKey(t *testing.T) {
	c := prototest.Dial(t, prototest.StartNode(t, 1).Addr)
	usage := func(key string) int {
		v, err := c.Do("MEMORY", "USAGE", key)
		if err != nil || v.Kind != ':' {
			t.Fatal(v, err)
		}
		n, err := strconv.Atoi(string(v.Bytes))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	prototest.Do(t, c, "SET", "small", "x")
	prototest.Do(t, c, "SET", "large", strings.Repeat("x", 100_000))
	for i := range 1000 {
		prototest.Do(t, c, "HSET", "hash", strconv.Itoa(i), strings.Repeat("y", 100))
	}
	if small := usage("small"); small < 40 || small > 200 {
		t.Errorf("a small key takes %d bytes", small)
	}
	if large := usage("large"); large < 100_000 || large > 200_000 {
		t.Errorf("a key of 100,000 bytes takes %d", large)
	}
	if hash := usage("hash"); hash < 100_000 || hash > 400_000 {
		t.Errorf("a hash of 100,000 bytes takes %d", hash)
	}
	prototest.Do(t, c, "MULTI")
	prototest.Do(t, c, "MEMORY", "USAGE", "large")
	prototest.Do(t, c, "DEL", "small")
	if got := prototest.Do(t, c, "EXEC"); !strings.HasPrefix(got, "*2\n  :100") {
		t.Errorf("in a transaction that writes it says %s", got)
	}
}

func TestMemorySpeaksInWords(t *testing.T) {
	c := prototest.Dial(t, prototest.StartNode(t, 1).Addr)
	if got := prototest.Do(t, c, "MEMORY", "DOCTOR"); !strings.Contains(got, "Nothing stands out") {
		t.Error(got)
	}
	if got := prototest.Do(t, c, "MEMORY", "MALLOC-STATS"); got != `"bytes\n"` {
		t.Error(got)
	}
}

// The list of Redis's commands has every command of redis-server, and LOCKSTEP COMMANDS reports
// each of them and our own.
func TestEveryCommandIsToldOf(t *testing.T) {
	redis, ours := prototest.Dial(t, prototest.StartRedis(t)), prototest.Dial(t, prototest.StartNode(t, 1).Addr)
	listed := map[string]bool{}
	for _, c := range commands.RedisCommands() {
		listed[c.Name] = true
	}
	v, err := redis.Do("COMMAND", "LIST")
	if err != nil || len(v.Elems) < 200 {
		t.Fatalf("redis-server lists %d commands: %v", len(v.Elems), err)
	}
	for _, e := range v.Elems {
		if name := string(e.Bytes); !listed[name] {
			t.Errorf("%s is not in the list", name)
		}
	}
	told := map[string]string{}
	v, err = ours.Do("LOCKSTEP", "COMMANDS")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range v.Elems {
		name, rest, _ := strings.Cut(string(e.Bytes), ": ")
		how, text, _ := strings.Cut(rest, ": ")
		if told[name] != "" || len(text) < 5 {
			t.Errorf("%q: told of twice, or nothing", e.Bytes)
		}
		told[name] = how
	}
	for name := range listed {
		if told[name] == "" {
			t.Errorf("LOCKSTEP COMMANDS does not tell of %s", name)
		}
	}
	for name, want := range map[string]string{"get": "full", "wait": "partial", "sync": "partial", "failover": "no", "client|list": "full", "lockstep|commands": "full"} {
		if told[name] != want {
			t.Errorf("%s is %q, not %q", name, told[name], want)
		}
	}
}
