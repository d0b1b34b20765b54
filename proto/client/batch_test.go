package client_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockstep/cluster"
	"lockstep/proto/client"
	"lockstep/tests/kit/prototest"
)

func TestAPipelineCostsFewRounds(t *testing.T) {
	n := prototest.StartNode(t, 1)
	c := prototest.Dial(t, n.Addr)
	prototest.Do(t, c, "PING")
	var commands [][]string
	for i := range 50 {
		commands = append(commands, []string{"SET", fmt.Sprint("k", i), "v"}, []string{"PING", fmt.Sprint(i)},
			[]string{"MULTI"}, []string{"INCR", "n"}, []string{"GET", fmt.Sprint("k", i)}, []string{"EXEC"}, []string{"NOTHING"})
	}
	before := n.Exec.Batches.Load()
	replies, err := c.Pipeline(commands...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		want := []string{"+OK", fmt.Sprintf("%q", fmt.Sprint(i)), "+OK", "+QUEUED", "+QUEUED", fmt.Sprintf("*2\n  :%d\n  \"v\"", i+1),
			"-ERR unknown command 'NOTHING', with args beginning with: "}
		for j, w := range want {
			if got := replies[i*7+j].String(); got != w {
				t.Fatalf("reply %d of %q: %s", i, commands[i*7+j], got)
			}
		}
	}
	if rounds := n.Exec.Batches.Load() - before; rounds > 8 {
		t.Errorf("%d rounds for a pipeline that arrives in a few pieces", rounds)
	}
}

func TestMutedCommandsCostNoRoundEach(t *testing.T) {
	n := prototest.StartNode(t, 1)
	c := prototest.Dial(t, n.Addr)
	if err := c.Send("CLIENT", "REPLY", "OFF"); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		if err := c.Send("INCR", "n"); err != nil {
			t.Fatal(err)
		}
		if i%100 == 0 {
			if err := c.Send("NOTHING"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Send("CLIENT", "REPLY", "ON"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"+OK", `"300"`} {
		if want != "+OK" {
			if err := c.Send("GET", "n"); err != nil {
				t.Fatal(err)
			}
		}
		if v, err := c.Read(); err != nil || v.String() != want {
			t.Fatal(v, err)
		}
	}
}

// TestLargeRepliesAreNotAskedForAllAtOnce: a pipeline of reads must not make a node hold all their
// replies at the same time.
func TestLargeRepliesAreNotAskedForAllAtOnce(t *testing.T) {
	n := prototest.StartNode(t, 1)
	c := prototest.Dial(t, n.Addr)
	prototest.Do(t, c, "SET", "big", strings.Repeat("x", 1<<20))
	prototest.Do(t, c, "GET", "big")
	prototest.Do(t, c, "GET", "big")
	before := n.Exec.Batches.Load()
	var commands [][]string
	for range 40 {
		commands = append(commands, []string{"GET", "big"})
	}
	if _, err := c.Pipeline(commands...); err != nil {
		t.Fatal(err)
	}
	if rounds := n.Exec.Batches.Load() - before; rounds < 5 {
		t.Errorf("40 MB were asked for in %d rounds", rounds)
	}
}

func TestErrorsSayWhatBecameOfTheCommand(t *testing.T) {
	n := prototest.StartNode(t, 1)
	c := prototest.Dial(t, n.Addr)
	for err, want := range map[error][2]string{
		cluster.ErrUnknown:      {"-INDETERMINATE the command may or may not have been executed", ""},
		cluster.ErrReplyLost:    {"-INDETERMINATE the command was executed, but its reply is lost", ""},
		cluster.ErrNoLeader:     {"-CLUSTERDOWN no leader for this slot; the command was not executed", "-EXECABORT Transaction discarded because of: "},
		cluster.ErrOverloaded:   {"-OVERLOADED too many commands are waiting; this one was not executed", "-EXECABORT Transaction discarded because of: "},
		cluster.ErrShuttingDown: {"-CLUSTERDOWN the node is shutting down; the command was not executed", "-EXECABORT Transaction discarded because of: "},
	} {
		n.Exec.Fail.Store(&err)
		if got := prototest.Do(t, c, "SET", "a", "1"); got != want[0] {
			t.Errorf("%v: %s", err, got)
		}
		for _, queued := range [][]string{{"SET", "a", "1"}, {"PING"}} {
			prototest.Do(t, c, "MULTI")
			prototest.Do(t, c, "SET", "a", "1")
			prototest.Do(t, c, queued...)
			exec := want[0]
			if want[1] != "" {
				exec = want[1] + want[0][1:]
			}
			if got := prototest.Do(t, c, "EXEC"); got != exec {
				t.Errorf("%v, exec: %s", err, got)
			}
		}
	}
	n.Exec.Fail.Store(nil)
	if got := prototest.Do(t, c, "SET", "a", "1"); got != "+OK" {
		t.Error(got)
	}
}

func TestCommandsOnDatabasesReachAllShards(t *testing.T) {
	n := prototest.StartNode(t, 3)
	c := prototest.Dial(t, n.Addr)
	var want []string
	for i := range 100 {
		key := fmt.Sprintf("key:%02d", i)
		prototest.Do(t, c, "SET", key, "v")
		want = append(want, key)
	}
	if got := prototest.Do(t, c, "DBSIZE"); got != ":100" {
		t.Error(got)
	}
	v, err := c.Do("KEYS", "key:*")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, k := range v.Elems {
		keys = append(keys, string(k.Bytes))
	}
	slices.Sort(keys)
	if !slices.Equal(keys, want) {
		t.Errorf("KEYS: %q", keys)
	}
	keys = nil
	for cursor := "0"; len(keys) <= 200; {
		v, err := c.Do("SCAN", cursor, "COUNT", "7")
		if err != nil || len(v.Elems) != 2 {
			t.Fatal(v, err)
		}
		for _, k := range v.Elems[1].Elems {
			keys = append(keys, string(k.Bytes))
		}
		if cursor = string(v.Elems[0].Bytes); cursor == "0" {
			break
		}
	}
	slices.Sort(keys)
	if keys = slices.Compact(keys); !slices.Equal(keys, want) {
		t.Errorf("SCAN: %q", keys)
	}
	if got := prototest.Do(t, c, "SCAN", "x"); got != "-ERR invalid cursor" {
		t.Error(got)
	}
	if got := prototest.Do(t, c, "RANDOMKEY"); !strings.HasPrefix(got, `"key:`) {
		t.Error(got)
	}
	if got := prototest.Do(t, c, "FLUSHALL", "NOW"); got != "-ERR syntax error" {
		t.Error(got)
	}
	if got := prototest.Do(t, c, "FLUSHALL"); got != "+OK" {
		t.Error(got)
	}
	if got := prototest.Do(t, c, "RANDOMKEY"); got != "(nil)" {
		t.Error(got)
	}
}

func TestATransactionStaysWithinAShard(t *testing.T) {
	n := prototest.StartNode(t, 3)
	c := prototest.Dial(t, n.Addr)
	const cross = "-CROSSSLOT Keys in request don't hash to the same slot"
	for name, script := range map[string][][]string{
		"keys of two shards":  {{"SET", "foo", "1"}, {"SET", "bar", "1"}},
		"with one for a node": {{"SET", "foo", "1"}, {"PING"}, {"SET", "bar", "1"}},
	} {
		prototest.Do(t, c, "MULTI")
		for _, args := range script {
			prototest.Do(t, c, args...)
		}
		if got := prototest.Do(t, c, "EXEC"); got != cross {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := prototest.Do(t, c, "MSET", "foo", "1", "bar", "1"); got != cross {
		t.Error(got)
	}
	prototest.Do(t, c, "WATCH", "{x}1", "{x}2")
	prototest.Do(t, c, "SET", "{x}1", "new")
	prototest.Do(t, c, "MULTI")
	prototest.Do(t, c, "GET", "{x}1")
	if got := prototest.Do(t, c, "EXEC"); got != "(nil array)" {
		t.Error(got)
	}
}

func TestASlowCommandIsInTheSlowLog(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.Set(func(s *client.Settings) { s.SlowerThanUs = 0 })
	c := prototest.Dial(t, n.Addr)
	prototest.Do(t, c, "CLIENT", "SETNAME", "me")
	prototest.Do(t, c, "SET", "a", "1")
	v, err := c.Do("SLOWLOG", "GET", "1")
	if err != nil || len(v.Elems) != 1 || len(v.Elems[0].Elems) != 6 {
		t.Fatal(v, err)
	}
	e := v.Elems[0].Elems
	if e[3].String() != "*3\n  \"SET\"\n  \"a\"\n  \"1\"" || string(e[4].Bytes) != c.Net().LocalAddr().String() || string(e[5].Bytes) != "me" {
		t.Error(v)
	}
}

// A blocking command is in SLOWLOG if it was served: with its own time if it did not wait, else
// with time 0. If it timed out it is not, as with redis-server.
func TestBlockingCommandsAreInTheSlowLog(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.Set(func(s *client.Settings) { s.SlowerThanUs = 0 })
	c, pusher := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
	logged := func() (slow int) {
		for _, e := range n.Stats.Slowlog.Get(-1) {
			if e.Args[0] == "BLPOP" {
				slow++
				if waited := e.Args[1] == "waits"; e.Usec < 0 || waited && e.Usec != 0 {
					t.Errorf("%+v", e)
				}
			}
		}
		return slow
	}
	prototest.Do(t, c, "RPUSH", "filled", "x")
	prototest.Do(t, c, "BLPOP", "filled", "0")
	prototest.Do(t, c, "BLPOP", "empty", "0.01")
	if got := logged(); got != 1 {
		t.Errorf("%d of them are logged", got)
	}
	served := make(chan string, 1)
	go func() { served <- prototest.Do(t, c, "BLPOP", "waits", "0") }()
	prototest.Until(t, "it waits", func() bool { return n.Stats.Blocked.Load() == 1 })
	prototest.Do(t, pusher, "RPUSH", "waits", "x")
	<-served
	if got := logged(); got != 2 {
		t.Errorf("%d of them are logged", got)
	}
}

// The commands of a transaction are in the slow log, one by one, and EXEC is not. Commands that did
// not run are not there.
func TestCommandsOfATransactionAreInTheSlowLog(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.Set(func(s *client.Settings) { s.SlowerThanUs = 0 })
	c := prototest.Dial(t, n.Addr)
	prototest.Do(t, c, "MULTI")
	for _, command := range [][]string{{"SET", "k", "v"}, {"ECHO", "x"}, {"LPUSH", "k", "x"}} {
		prototest.Do(t, c, command...)
	}
	prototest.Do(t, c, "EXEC")
	prototest.Do(t, c, "WATCH", "k")
	prototest.Do(t, prototest.Dial(t, n.Addr), "SET", "k", "w")
	prototest.Do(t, c, "MULTI")
	prototest.Do(t, c, "SET", "k", "never")
	prototest.Do(t, c, "EXEC")
	var logged []string
	for _, e := range n.Stats.Slowlog.Get(-1) {
		logged = append(logged, strings.Join(e.Args, " "))
	}
	slices.Sort(logged)
	if got, want := strings.Join(logged, ", "), "ECHO x, LPUSH k x, MULTI, MULTI, SET k v, SET k w, WATCH k"; got != want {
		t.Errorf("logged: %s\nwant: %s", got, want)
	}
}

// A transaction that only reads, or only watches, does not enter the log. One with a program that
// may write does.
func TestATransactionThatOnlyReadsIsNoEntry(t *testing.T) {
	n := prototest.StartNode(t, 1)
	c := prototest.Dial(t, n.Addr)
	prototest.Do(t, c, "SET", "k", "v")
	entries := func() uint64 { return n.Exec.Machine(0).Taken() }
	for name, want := range map[string]struct {
		commands [][]string
		reply    string
		entries  uint64
	}{
		"reads":          {[][]string{{"MULTI"}, {"GET", "k"}, {"PING"}, {"EXISTS", "k", "l"}}, "*3 \"v\" +PONG :1", 0},
		"nothing":        {[][]string{{"WATCH", "k"}, {"MULTI"}}, "*0", 0},
		"a watch fails":  {[][]string{{"WATCH", "k"}, {"SET", "k", "v"}, {"MULTI"}, {"GET", "k"}}, "(nil array)", 1},
		"a write":        {[][]string{{"MULTI"}, {"GET", "k"}, {"SETNX", "k", "w"}}, "*2 \"v\" :0", 1},
		"GETEX reads":    {[][]string{{"MULTI"}, {"GETEX", "k"}}, "*1 \"v\"", 0},
		"GETEX writes":   {[][]string{{"MULTI"}, {"GETEX", "k", "PERSIST"}}, "*1 \"v\"", 1},
		"a script reads": {[][]string{{"MULTI"}, {"EVAL_RO", "return redis.call('get', KEYS[1])", "1", "k"}}, "*1 \"v\"", 0},
		"a script":       {[][]string{{"MULTI"}, {"EVAL", "return redis.call('get', KEYS[1])", "1", "k"}}, "*1 \"v\"", 1},
	} {
		before := entries()
		for _, args := range want.commands {
			prototest.Do(t, c, args...)
		}
		if got := strings.Join(strings.Fields(prototest.Do(t, c, "EXEC")), " "); got != want.reply || entries()-before != want.entries {
			t.Errorf("%s: %s, with %d entries instead of %d", name, got, entries()-before, want.entries)
		}
	}
}
