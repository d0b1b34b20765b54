package client_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/prototest"
	"lockstep/tests/kit/respconn"
)

func TestPauseAnswersAsRedisDoes(t *testing.T) {
	redis := prototest.StartRedis(t)
	n := prototest.StartNode(t, 1)
	prototest.InBoth(t, n.Addr, redis, "pause", `
		CLIENT PAUSE
		CLIENT PAUSE x
		CLIENT PAUSE -1
		CLIENT PAUSE 1.5
		CLIENT PAUSE 1 NOTHING
		CLIENT PAUSE 1 ALL x
		CLIENT PAUSE x NOTHING
		CLIENT PAUSE 99999999999999999999
		CLIENT PAUSE 0
		PING
		CLIENT PAUSE 100000 WRITE
		GET a
		CLIENT UNPAUSE
		SET a 1
		CLIENT PAUSE 10 ALL
		SET a 2
		CLIENT PAUSE 9223372036854775807 write
		CLIENT UNPAUSE
		CLIENT UNPAUSE x
		SET a 3`)
}

// held starts a command and waits until a pause holds it.
func held(t *testing.T, n *prototest.Node, c *respconn.Conn, args ...string) {
	t.Helper()
	before := n.Stats.Blocked.Load()
	if err := c.Write(respconn.AppendCommand(nil, args...)); err != nil {
		t.Fatal(err)
	}
	prototest.Until(t, strings.Join(args, " ")+" is held", func() bool { return n.Stats.Blocked.Load() == before+1 })
}

func TestAPauseHoldsWhatItShould(t *testing.T) {
	n := prototest.StartNode(t, 1)
	admin, c := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
	prototest.Do(t, admin, "CLIENT", "PAUSE", "600000", "WRITE")
	for _, args := range [][]string{{"GET", "a"}, {"PING"}, {"MULTI"}, {"GET", "a"}, {"EXEC"}} {
		prototest.Do(t, c, args...)
	}
	for _, args := range [][]string{
		{"GET", "a"}, {"EVAL_RO", "return 1", "0"}, {"EVAL", "#!lua flags=no-writes\nreturn 1", "0"},
		{"MULTI"}, {"EVAL_RO", "return 1", "0"}, {"EXEC"},
	} {
		prototest.Do(t, c, args...)
	}
	for _, args := range [][]string{{"SET", "a", "1"}, {"PUBLISH", "ch", "x"}, {"EVAL", "return 1", "0"}, {"EVAL", "#!lua\nreturn 1", "0"}} {
		held(t, n, c, args...)
		prototest.Do(t, admin, "CLIENT", "UNPAUSE")
		if v, err := c.Read(); err != nil {
			t.Fatal(v, err)
		}
		prototest.Do(t, admin, "CLIENT", "PAUSE", "600000", "WRITE")
	}
	prototest.Do(t, admin, "CLIENT", "PAUSE", "600000", "ALL")
	held(t, n, c, "PING")
	if got := prototest.Do(t, admin, "CLIENT", "UNPAUSE"); got != "+OK" {
		t.Fatal(got)
	}
	if v, err := c.Read(); err != nil || v.String() != "+PONG" {
		t.Fatal(v, err)
	}
	prototest.Until(t, "nobody is held", func() bool { return n.Stats.Blocked.Load() == 0 })
}

// Commands before a held one are answered; commands after it wait.
func TestAPauseKeepsTheOrderOfReplies(t *testing.T) {
	n := prototest.StartNode(t, 1)
	admin, c := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
	prototest.Do(t, c, "SET", "a", "1")
	prototest.Do(t, admin, "CLIENT", "PAUSE", "600000", "WRITE")
	var raw []byte
	for _, args := range [][]string{{"GET", "a"}, {"INCR", "a"}, {"GET", "a"}} {
		raw = respconn.AppendCommand(raw, args...)
	}
	if err := c.Write(raw); err != nil {
		t.Fatal(err)
	}
	if v, err := c.Read(); err != nil || v.String() != `"1"` {
		t.Fatal(v, err)
	}
	prototest.Until(t, "INCR is held", func() bool { return n.Stats.Blocked.Load() == 1 })
	if got := prototest.Do(t, admin, "CLIENT", "LIST"); strings.Count(got, "flags=b ") != 1 || strings.Count(got, "cmd=incr ") != 1 {
		t.Errorf("CLIENT LIST shows %s", got)
	}
	if got := prototest.Do(t, admin, "GET", "a"); got != `"1"` {
		t.Errorf("a is %s during the pause", got)
	}
	prototest.Do(t, admin, "CLIENT", "UNPAUSE")
	for _, want := range []string{":2", `"2"`} {
		if v, err := c.Read(); err != nil || v.String() != want {
			t.Fatalf("%v %v, not %s", v, err, want)
		}
	}
}

// A transaction with writes is held at its first write.
func TestAPauseOfWritesHoldsTransactions(t *testing.T) {
	n := prototest.StartNode(t, 1)
	admin, c := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
	prototest.Do(t, c, "MULTI")
	prototest.Do(t, c, "SET", "a", "1")
	prototest.Do(t, admin, "CLIENT", "PAUSE", "600000", "WRITE")
	held(t, n, c, "EXEC")
	prototest.Do(t, admin, "CLIENT", "UNPAUSE")
	if v, err := c.Read(); err != nil || v.String() != "*1\n  +OK" {
		t.Fatal(v, err)
	}
}

// A client that disconnects while held leaves nothing behind, and its command has not run.
func TestWhoGoesAwayDuringAPauseIsForgotten(t *testing.T) {
	n := prototest.StartNode(t, 1)
	admin, c := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
	prototest.Do(t, admin, "CLIENT", "PAUSE", "600000", "WRITE")
	held(t, n, c, "SET", "a", "1")
	c.Close()
	prototest.Until(t, "the client is forgotten", func() bool { return n.Registry.Len() == 1 && n.Stats.Blocked.Load() == 0 })
	killed := prototest.Dial(t, n.Addr)
	id := strings.TrimPrefix(prototest.Do(t, killed, "CLIENT", "ID"), ":")
	held(t, n, killed, "SET", "a", "1")
	if got := prototest.Do(t, admin, "CLIENT", "KILL", "ID", id); got != ":1" {
		t.Fatal(got)
	}
	prototest.Until(t, "the killed client is forgotten", func() bool { return n.Registry.Len() == 1 && n.Stats.Blocked.Load() == 0 })
	prototest.Do(t, admin, "CLIENT", "UNPAUSE")
	if got := prototest.Do(t, admin, "GET", "a"); got != "(nil)" {
		t.Errorf("a is %s", got)
	}
}

// A pause ends by itself. Of two pauses the later end counts.
func TestAPauseEndsByItself(t *testing.T) {
	n := prototest.StartNode(t, 1)
	admin, c := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
	const ms = 200
	began := time.Now()
	prototest.Do(t, admin, "CLIENT", "PAUSE", strconv.Itoa(ms), "WRITE")
	prototest.Do(t, admin, "CLIENT", "PAUSE", "1", "WRITE")
	if got := prototest.Do(t, c, "SET", "a", "1"); got != "+OK" {
		t.Fatal(got)
	}
	if took := time.Since(began); took < ms*time.Millisecond {
		t.Errorf("went on after %v", took)
	}
}

// CLIENT LIST and KILL distinguish clients with subscriptions from the others.
func TestClientTypes(t *testing.T) {
	n := prototest.StartNode(t, 1)
	admin, listener, monitor := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
	prototest.Do(t, listener, "SUBSCRIBE", "ch")
	prototest.Do(t, monitor, "MONITOR")
	prototest.Until(t, "the listener is one", func() bool {
		return strings.Count(prototest.Do(t, admin, "CLIENT", "LIST", "TYPE", "pubsub"), "id=") == 1
	})
	for kind, want := range map[string]int{"normal": 2, "PUBSUB": 1, "master": 0, "replica": 0, "slave": 0} {
		if got := strings.Count(prototest.Do(t, admin, "CLIENT", "LIST", "TYPE", kind), "id="); got != want {
			t.Errorf("%d clients are %s, not %d", got, kind, want)
		}
	}
	if got := prototest.Do(t, admin, "CLIENT", "LIST"); !strings.Contains(got, "flags=O ") || !strings.Contains(got, "flags=P ") {
		t.Errorf("flags are missing in %s", got)
	}
	if got := prototest.Do(t, admin, "CLIENT", "KILL", "TYPE", "pubsub"); got != ":1" {
		t.Errorf("%s were killed", got)
	}
	prototest.Until(t, "the listener is gone", func() bool { return n.Registry.Len() == 2 })
}
