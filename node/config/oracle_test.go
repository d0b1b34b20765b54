package config

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	redis "lockstep/tests/kit/oracle"
	"lockstep/tests/kit/respconn"
)

// oracle is a redis-server with its own defaults.
type oracle struct {
	t      *testing.T
	server *redis.Server
}

func startOracle(t *testing.T) *oracle {
	t.Helper()
	return &oracle{t, redis.StartWith(t)}
}

// do sends a command and returns the strings of the reply, or the error reply.
func (o *oracle) do(args ...string) ([]string, error) {
	o.t.Helper()
	var words [][]byte
	for _, a := range args {
		words = append(words, []byte(a))
	}
	v, err := respconn.Parse(bufio.NewReader(bytes.NewReader(o.server.Exec(words...))))
	if err != nil {
		o.t.Fatal(err)
	}
	if v.IsError() {
		return nil, errors.New(string(v.Bytes))
	}
	if len(v.Elems) == 0 {
		return []string{string(v.Bytes)}, nil
	}
	var all []string
	for _, e := range v.Elems {
		all = append(all, string(e.Bytes))
	}
	return all, nil
}

// TestEveryDirectiveOfRedisIsKnownWithItsDefault: a default that differs has a reason.
func TestEveryDirectiveOfRedisIsKnownWithItsDefault(t *testing.T) {
	reply, err := startOracle(t).do("CONFIG", "GET", "*")
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]bool{"port": true, "unixsocket": true, "dir": true}
	current := Default().Current()
	for i := 0; i < len(reply); i += 2 {
		name, value := reply[i], reply[i+1]
		d, ok := Lookup(name)
		if !ok {
			t.Errorf("%s of Redis has no row", name)
			continue
		}
		ours, _ := current.Value(d)
		if differs := ours != value; !own[name] && differs != (d.Differs != "") {
			t.Errorf("%s: %q here, %q in Redis; the row's reason for differing: %q", name, ours, value, d.Differs)
		}
	}
}

// TestConfigSetAnswersInRedisWords sends the same CONFIG SETs to both.
func TestConfigSetAnswersInRedisWords(t *testing.T) {
	redis, c := startOracle(t), Default()
	for _, args := range [][]string{
		{"nosuch", "1"}, {"nosuch", "1", "databases", "3"}, {"databases", "3", "nosuch", "1"},
		{"timeout", "1", "timeout", "2"}, {"timeout", "1", "TIMEOUT", "2"}, {"TimeOut", "x"},
		{"maxclients", "abc", "enable-debug-command", "yes"}, {"timeout", "abc", "maxclients", "abc"},
		{"timeout", "abc"}, {"timeout", "-1"}, {"timeout", "+1"}, {"timeout", "01"}, {"timeout", " 1"}, {"timeout", "1k"}, {"timeout", ""},
		{"timeout", "99999999999999999999"}, {"timeout", "7"}, {"maxclients", "0"}, {"maxclients", "-1"},
		{"slowlog-max-len", "-1"}, {"slowlog-log-slower-than", "-2"}, {"slowlog-log-slower-than", "-1"},
		{"maxmemory", "100xb"}, {"maxmemory", "-1"}, {"maxmemory", "1%"}, {"maxmemory", "1.5gb"}, {"maxmemory", " 1gb"},
		{"maxmemory", "1GB"}, {"maxmemory", "1k"}, {"maxmemory", "5b"},
		{"maxmemory-policy", "foo"}, {"maxmemory-policy", "ALLKEYS-LRU"}, {"protected-mode", "maybe"}, {"protected-mode", "NO"},
		{"loglevel", "loud"}, {"loglevel", "warning"}, {"cluster-preferred-endpoint-type", "foo"},
		{"notify-keyspace-events", "Q"}, {"notify-keyspace-events", "gKE$"},
		{"client-output-buffer-limit", "normal 1 2"}, {"client-output-buffer-limit", "foo 1 2 3"},
		{"client-output-buffer-limit", "normal a 2 3"}, {"client-output-buffer-limit", "normal 1 2 -3"},
		{"client-output-buffer-limit", "normal 1mb 2k 3 replica 1 2 3 pubsub 4 5 6"},
		{"save", "3600 1 300"}, {"save", "x y"}, {"save", "0 1"}, {"save", "3600 1 300 0"}, {"save", ""},
		{"client-query-buffer-limit", "1"},
		{"latency-tracking-info-percentiles", "50 101"}, {"latency-tracking-info-percentiles", "a"}, {"latency-tracking-info-percentiles", "50 99"},
		{"maxmemory-clients", "101%"}, {"maxmemory-clients", "5%"}, {"maxmemory-clients", "0%"}, {"maxmemory-clients", "05%"}, {"maxmemory-clients", "-1"}, {"maxmemory-clients", "%"}, {"maxmemory-clients", "2mb"}, {"active-expire-effort", "11"}, {"maxmemory-samples", "0"},
		{"repl-backlog-size", "0"}, {"list-max-ziplist-size", "abc"}, {"hash-max-ziplist-entries", "7"}, {"zset-max-listpack-value", "-1"},
		{"min-slaves-to-write", "-1"}, {"tcp-keepalive", "-1"}, {"shutdown-timeout", "-1"},
	} {
		pairs := make([]Pair, 0, len(args)/2)
		for i := 0; i < len(args); i += 2 {
			pairs = append(pairs, Pair{args[i], args[i+1]})
		}
		_, want := redis.do(append([]string{"CONFIG", "SET"}, args...)...)
		got := c.Set(pairs)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("CONFIG SET %q\n  here  %v\n  Redis %v", args, got, want)
			continue
		}
		if want != nil {
			continue
		}
		for _, p := range pairs {
			value, err := redis.do("CONFIG", "GET", p.Name)
			if err != nil {
				t.Fatal(err)
			}
			if ours := c.Get(p.Name); len(value) != 2 || ours[0] != (Pair{value[0], value[1]}) {
				t.Errorf("after CONFIG SET %q: %v here, %q in Redis", args, ours, value)
			}
		}
	}
}

// TestEventLettersPrintInRedisOrder tries every set of letters.
func TestEventLettersPrintInRedisOrder(t *testing.T) {
	redis, c := startOracle(t), Default()
	for set := range EventClasses(1 << len(eventLetters)) {
		if set%37 != 0 && set|EventNew < EventAll {
			continue
		}
		value := formatEvents(set)
		if _, err := redis.do("CONFIG", "SET", "notify-keyspace-events", value); err != nil {
			t.Fatal(err)
		}
		reply, err := redis.do("CONFIG", "GET", "notify-keyspace-events")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Set([]Pair{{"notify-keyspace-events", value}}); err != nil {
			t.Fatal(err)
		}
		if ours := c.Get("notify-keyspace-events"); ours[0].Value != reply[1] || ours[0].Value != value {
			t.Fatalf("%q: %v here, %q in Redis", value, ours, reply)
		}
	}
}

// TestWhatRedisTakesAtTheStartAloneIsRefusedInItsWords: for each directive that Redis does not let
// CONFIG SET change, the error is the same as in Redis.
func TestWhatRedisTakesAtTheStartAloneIsRefusedInItsWords(t *testing.T) {
	redis, c := startOracle(t), Default()
	reply, err := redis.do("CONFIG", "GET", "*")
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i := 0; i < len(reply); i += 2 {
		name, value := reply[i], reply[i+1]
		if _, want := redis.do("CONFIG", "SET", name, value); want != nil && strings.HasSuffix(want.Error(), "config") {
			refused++
			if got := c.Set([]Pair{{name, value}}); fmt.Sprint(got) != want.Error() {
				t.Errorf("CONFIG SET %s\n  here  %v\n  Redis %v", name, got, want)
			}
		}
	}
	if refused < 20 {
		t.Errorf("Redis refused %d directives only", refused)
	}
}

// TestConfigGetAnswersAsRedis checks which names the patterns match, with which upper and lower
// case, and how often.
func TestConfigGetAnswersAsRedis(t *testing.T) {
	redis, c := startOracle(t), Default()
	names := func(pairs []Pair) []string {
		var all []string
		for _, p := range pairs {
			all = append(all, p.Name)
		}
		slices.Sort(all)
		return all
	}
	known := map[string]bool{}
	all, err := redis.do("CONFIG", "GET", "*")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(all); i += 2 {
		known[all[i]] = true
	}
	for _, patterns := range [][]string{
		{"maxmemory"}, {"MaxMemory"}, {"maxmemory", "MAXMEMORY"}, {"maxmemory", "maxmemory*"}, {"maxmemory*", "maxmemory"}, {"nosuch"}, {"nosuch", "timeout"},
		{"*max-*-entries"}, {"hash-max-ziplist-entries"}, {"hash-max-*"}, {"slave*", "replica*"}, {"[st]ave"}, {"s?ve"}, {"SAVE*"}, {""}, {"*", "*"},
		{"watchdog-period"}, {"watchdog*"}, {"key-load-delay"}, {"rdb-key-save-delay"}, {"use-exit-on-panic"}, {"loading-process-events-interval-bytes"},
		{"list-max-ziplist-size"}, {"list-max-ziplist-entries"}, {"lua-time-limit"}, {"lua*"}, {"rename-command"}, {"include"}, {"user"}, {"loadmodule"}, {"slaveof"}, {"replicaof"},
	} {
		reply, err := redis.do(append([]string{"CONFIG", "GET"}, patterns...)...)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for i := 0; i+1 < len(reply); i += 2 {
			want = append(want, reply[i])
		}
		slices.Sort(want)
		// A directive that Redis does not have is no difference.
		got := slices.DeleteFunc(names(c.Get(patterns...)), func(name string) bool {
			return strings.ContainsAny(strings.Join(patterns, ""), "*?[") && !known[name]
		})
		if !slices.Equal(got, want) {
			t.Errorf("CONFIG GET %q\n  here  %q\n  Redis %q", patterns, got, want)
		}
	}
}
