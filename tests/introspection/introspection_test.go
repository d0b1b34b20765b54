// Package introspection lets a real node describe itself. It compares the answer with
// redis-server's where redis-server has the same answer.
package introspection

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

func TestMain(m *testing.M) { proc.Main(m) }

const patience = 90 * time.Second

// ask runs a command whose reply is text.
func ask(t *testing.T, c *respconn.Conn, args ...string) string {
	t.Helper()
	v, err := c.Do(args...)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	text, err := v.Text()
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return text
}

// fields returns the lines of INFO by their names, without the section titles.
func fields(info string) map[string]string {
	list := map[string]string{}
	for line := range strings.SplitSeq(info, "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
			list[name] = value
		}
	}
	return list
}

func titles(info string) []string {
	var list []string
	for line := range strings.SplitSeq(info, "\r\n") {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			list = append(list, title)
		}
	}
	return list
}

// absent are fields of redis-server's INFO that only a C program with one main thread has.
var absent = []string{"atomicvar_api", "gcc_version", "used_cpu_sys_main_thread", "used_cpu_user_main_thread"}

func TestInfoHasTheFieldsOfRedis(t *testing.T) {
	proc.NeedProcesses(t)
	redis, ours := proc.Dial(t, proc.RedisServer(t).Addr()), proc.Dial(t, proc.NewLone(t).Addr())
	for _, c := range []*respconn.Conn{redis, ours} {
		for _, command := range [][]string{{"SET", "a", "1"}, {"EXPIRE", "a", "1000"}, {"CONFIG", "GET", "port"}} {
			if _, err := c.Do(command...); err != nil {
				t.Fatal(err)
			}
		}
		if v, err := c.Do("NOTHING"); err != nil || !v.IsError() {
			t.Fatal(v, err)
		}
	}
	want, got := ask(t, redis, "INFO", "everything"), ask(t, ours, "INFO", "everything")
	have := fields(got)
	for name := range fields(want) {
		if _, ok := have[name]; !ok && !slices.Contains(absent, name) && !strings.HasPrefix(name, "cmdstat_info") {
			t.Errorf("INFO has no %s", name)
		}
	}
	for _, title := range titles(want) {
		if !slices.Contains(titles(got), title) {
			t.Errorf("INFO has no section %s", title)
		}
	}
	for _, sections := range [][]string{{}, {"default"}, {"all"}, {"server", "KEYSPACE"}, {"clients", "default"}, {"nothing"}, {"nothing", "memory"}, {"commandstats"}, {"latencystats", "errorstats"}} {
		args := append([]string{"INFO"}, sections...)
		want, got := titles(ask(t, redis, args...)), titles(ask(t, ours, args...))
		for _, title := range got {
			if !slices.Contains(want, title) && !slices.Contains([]string{"Raft", "Locks", "TLS"}, title) {
				t.Errorf("%q: has a section %s", args, title)
			}
		}
		for _, title := range want {
			if !slices.Contains(got, title) {
				t.Errorf("%q: has no section %s", args, title)
			}
		}
	}
}

func TestInfoTellsOfCommandsErrorsAndKeys(t *testing.T) {
	proc.NeedProcesses(t)
	c := proc.Dial(t, proc.NewLone(t).Addr())
	// Connections that checked whether the node had started may still be open.
	proc.Wait(t, patience, "who waited for the node has gone", func() bool {
		return fields(ask(t, c, "INFO", "clients"))["connected_clients"] == "1"
	})
	_ = ask(t, c, "CONFIG", "RESETSTAT")
	for _, command := range []string{"SET a 1 PX 1000000", "SET b 1", "HSET h f v g w", "HEXPIRE h 1000 FIELDS 1 f", "GET a", "GET nokey", "LPUSH a x", "GET", "SELECT 3", "SET c 1"} {
		if _, err := c.Do(strings.Fields(command)...); err != nil {
			t.Fatal(command, err)
		}
	}
	info := fields(ask(t, c, "INFO", "everything"))
	for name, want := range map[string]string{
		"errorstat_WRONGTYPE": "count=1", "errorstat_ERR": "count=1", "total_error_replies": "2",
		"keyspace_hits": "1", "keyspace_misses": "1",
	} {
		if info[name] != want {
			t.Errorf("%s is %q, not %q", name, info[name], want)
		}
	}
	for name, parts := range map[string][]string{
		"db0":                              {"keys=3,expires=1,avg_ttl=", ",subexpiry=1"},
		"db3":                              {"keys=1,expires=0,avg_ttl=0,subexpiry=0"},
		"cmdstat_get":                      {"calls=2,usec=", ",usec_per_call=", ",rejected_calls=1,failed_calls=0"},
		"cmdstat_lpush":                    {"calls=1,", "failed_calls=1"},
		"latency_percentiles_usec_hexpire": {"p50=", ",p99=", ",p99.9="},
	} {
		for _, part := range parts {
			if !strings.Contains(info[name], part) {
				t.Errorf("%s is %q, without %q", name, info[name], part)
			}
		}
	}
	if got := ask(t, c, "CONFIG", "SET", "latency-tracking-info-percentiles", "25 100"); got != "OK" {
		t.Fatal(got)
	}
	if got := fields(ask(t, c, "INFO", "latencystats"))["latency_percentiles_usec_get"]; !strings.HasPrefix(got, "p25=") || !strings.Contains(got, ",p100=") {
		t.Errorf("percentiles 25 and 100 are %q", got)
	}
	if got := ask(t, c, "CONFIG", "SET", "latency-tracking", "no"); got != "OK" {
		t.Fatal(got)
	}
	_ = ask(t, c, "CONFIG", "RESETSTAT")
	_ = ask(t, c, "GET", "c")
	if got := fields(ask(t, c, "INFO", "latencystats")); len(got) != 0 {
		t.Errorf("without latency-tracking there is %v", got)
	}
	if got := fields(ask(t, c, "INFO", "stats")); got["total_error_replies"] != "0" || got["keyspace_hits"] != "1" {
		t.Errorf("after RESETSTAT: %v errors, %v hits", got["total_error_replies"], got["keyspace_hits"])
	}
}

// TestMemoryOfScriptsIsTold: the memory of scripts and libraries is part of used_memory, and INFO
// and MEMORY STATS show it.
func TestMemoryOfScriptsIsTold(t *testing.T) {
	proc.NeedProcesses(t)
	c := proc.Dial(t, proc.NewLone(t).Addr())
	memory := func(name string) int {
		n, err := strconv.Atoi(fields(ask(t, c, "INFO", "memory"))[name])
		if err != nil {
			t.Fatal(name, err)
		}
		return n
	}
	before := memory("used_memory")
	_ = ask(t, c, "SCRIPT", "LOAD", "return 1 --"+strings.Repeat("x", 10_000))
	_ = ask(t, c, "FUNCTION", "LOAD", "#!lua name=l\nredis.register_function('f', function() return 1 end) --"+strings.Repeat("x", 20_000))
	scripts, functions := memory("used_memory_scripts_eval"), memory("used_memory_functions")
	if scripts < 10_000 || functions < 20_000 || memory("used_memory") != before+scripts+functions || memory("used_memory_overhead") < scripts+functions {
		t.Errorf("scripts take %d and functions %d; used_memory was %d and is %d", scripts, functions, before, memory("used_memory"))
	}
	v, err := c.Do("MEMORY", "STATS")
	if err != nil {
		t.Fatal(err)
	}
	stats := map[string]string{}
	for i := 0; i+1 < len(v.Elems); i += 2 {
		stats[string(v.Elems[i].Bytes)] = string(v.Elems[i+1].Bytes)
	}
	if stats["lua.caches"] != strconv.Itoa(scripts) || stats["functions.caches"] != strconv.Itoa(functions) {
		t.Errorf("MEMORY STATS shows %s and %s bytes, INFO %d and %d", stats["lua.caches"], stats["functions.caches"], scripts, functions)
	}
	_, _ = ask(t, c, "SCRIPT", "FLUSH"), ask(t, c, "FUNCTION", "FLUSH")
	if got := memory("used_memory"); got != before {
		t.Errorf("%d bytes are used behind it, %d were before", got, before)
	}
}

// TestInfoCountsWhatIsRefused: INFO counts the refusals by ACL rules by their reason, until CONFIG
// RESETSTAT.
func TestInfoCountsWhatIsRefused(t *testing.T) {
	proc.NeedProcesses(t)
	addr := proc.NewLone(t).Addr()
	admin, ann := proc.Dial(t, addr), proc.Dial(t, addr)
	if got := ask(t, admin, "ACL", "SETUSER", "ann", "on", ">pw", "~a*", "&c*", "+@all", "-lpush"); got != "OK" {
		t.Fatal(got)
	}
	for _, command := range []string{"AUTH ann wrong", "AUTH ann pw", "SET b 1", "GET b", "PUBLISH other x", "LPUSH a x", "LPUSH a x", "LPUSH a x", "SET a 1"} {
		if _, err := ann.Do(strings.Fields(command)...); err != nil {
			t.Fatal(command, err)
		}
	}
	refused := func() string {
		info := fields(ask(t, admin, "INFO", "stats"))
		var said []string
		for _, reason := range []string{"auth", "cmd", "key", "channel"} {
			said = append(said, info["acl_access_denied_"+reason])
		}
		return strings.Join(said, " ")
	}
	if got := refused(); got != "1 3 2 1" {
		t.Errorf("logins, commands, keys, channels: %s", got)
	}
	_ = ask(t, admin, "ACL", "LOG", "RESET")
	if got := refused(); got != "1 3 2 1" {
		t.Errorf("behind ACL LOG RESET: %s", got)
	}
	_ = ask(t, admin, "CONFIG", "RESETSTAT")
	if got := refused(); got != "0 0 0 0" {
		t.Errorf("behind CONFIG RESETSTAT: %s", got)
	}
}

// TestInfoCountsWhoWaits: INFO counts waiting clients, and the time of a wait does not count as run
// time of the command.
func TestInfoCountsWhoWaits(t *testing.T) {
	proc.NeedProcesses(t)
	addr := proc.NewLone(t).Addr()
	c, waiting := proc.Dial(t, addr), proc.Dial(t, addr)
	if err := waiting.Write(respconn.AppendCommand(nil, "BLPOP", "list", "300")); err != nil {
		t.Fatal(err)
	}
	proc.Wait(t, patience, "the client waits", func() bool {
		info := fields(ask(t, c, "INFO", "clients"))
		return info["blocked_clients"] == "1" && info["clients_in_timeout_table"] == "1"
	})
	if v, err := c.Do("RPUSH", "list", "x"); err != nil || v.IsError() {
		t.Fatal(v, err)
	}
	if v, err := waiting.Read(); err != nil || len(v.Elems) != 2 {
		t.Fatal(v, err)
	}
	proc.Wait(t, patience, "the client goes on", func() bool {
		info := fields(ask(t, c, "INFO", "everything"))
		return info["blocked_clients"] == "0" && info["clients_in_timeout_table"] == "0" && strings.Contains(info["cmdstat_blpop"], "calls=1,usec=0,")
	})
}

// TestLatencyTellsOfTheNodesEvents: LATENCY records the node's own events if they reach the
// threshold, and none without a threshold.
func TestLatencyTellsOfTheNodesEvents(t *testing.T) {
	proc.NeedProcesses(t)
	c := proc.Dial(t, proc.NewLone(t).Addr())
	events := func() string {
		v, err := c.Do("LATENCY", "LATEST")
		if err != nil {
			t.Fatal(err)
		}
		return v.String()
	}
	_ = ask(t, c, "SET", "a", "1")
	if got := events(); got != "*0" {
		t.Fatalf("without a threshold there is %s", got)
	}
	if got := ask(t, c, "CONFIG", "SET", "latency-monitor-threshold", "1"); got != "OK" {
		t.Fatal(got)
	}
	// Such a value takes a while to log and to write to a snapshot.
	value := strings.Repeat("x", 16<<20)
	proc.Wait(t, patience, "events of the log, of commands and of snapshots are kept", func() bool {
		_ = ask(t, c, "SET", "a", value)
		_ = ask(t, c, "SAVE")
		got := events()
		return strings.Contains(got, `"command"`) && strings.Contains(got, `"raft-fsync"`) && strings.Contains(got, `"raft-commit"`) && strings.Contains(got, `"raft-snapshot"`)
	})
	if got := ask(t, c, "LATENCY", "DOCTOR"); !strings.Contains(got, "raft-fsync: ") {
		t.Error(got)
	}
	if got := ask(t, c, "LATENCY", "GRAPH", "raft-commit"); !strings.HasPrefix(got, "raft-commit - high ") {
		t.Error(got)
	}
}
