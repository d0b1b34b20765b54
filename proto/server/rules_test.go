package server_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"lockstep/tests/respconn"
)

// Rules that change while a client waits hold for what it does next, however much of
// it was sent before.

// ann logs in as a user who may do everything.
func ann(t *testing.T, n *node) *respconn.Conn {
	t.Helper()
	c := dial(t, n.addr)
	do(t, dial(t, n.addr), "ACL", "SETUSER", "ann", "on", ">pw", "~*", "&*", "+@all")
	if got := do(t, c, "AUTH", "ann", "pw"); got != "+OK" {
		t.Fatal(got)
	}
	return c
}

// rule gives ann a rule, as a node does: clients are judged behind it.
func rule(t *testing.T, n *node, args ...string) {
	t.Helper()
	if got := do(t, dial(t, n.addr), append([]string{"ACL"}, args...)...); strings.HasPrefix(got, "-") {
		t.Fatal(got)
	}
	n.registry.Rejudge(n.users.Users())
}

const noSet = "-NOPERM this user has no permissions to run the 'set' command"

func TestAPauseEndsWithTheRulesOfTheMoment(t *testing.T) {
	n := startNode(t, 1)
	admin := dial(t, n.addr)
	for _, change := range [][]string{{"SETUSER", "ann", "-set"}, {"DELUSER", "ann"}} {
		c := ann(t, n)
		do(t, admin, "CLIENT", "PAUSE", "600000", "WRITE")
		held(t, n, c, "SET", "a", "1")
		rule(t, n, change...)
		do(t, admin, "CLIENT", "UNPAUSE")
		v, err := c.Read()
		if gone := errors.Is(err, io.EOF); gone != (change[0] == "DELUSER") || !gone && v.String() != noSet {
			t.Errorf("%s: %s, %v", change, v, err)
		}
		if got := do(t, admin, "GET", "a"); got != "(nil)" {
			t.Errorf("%s: a is %s", change, got)
		}
	}
}

func TestWhatFollowsAWaitIsJudgedBehindIt(t *testing.T) {
	n := startNode(t, 1)
	admin := dial(t, n.addr)
	for _, change := range [][]string{{"SETUSER", "ann", "-set"}, {"DELUSER", "ann"}} {
		do(t, admin, "FLUSHALL")
		c := ann(t, n)
		if err := c.Write(append(respconn.Command("BLPOP", "list", "0"), respconn.Command("SET", "a", "1")...)); err != nil {
			t.Fatal(err)
		}
		until(t, "ann waits", func() bool { return n.stats.Blocked.Load() == 1 })
		rule(t, n, change...)
		do(t, admin, "RPUSH", "list", "x")
		values, err := c.Read()
		if change[0] == "SETUSER" {
			if err != nil || !strings.Contains(values.String(), `"x"`) {
				t.Errorf("BLPOP: %s, %v", values, err)
			}
			if v, err := c.Read(); err != nil || v.String() != noSet {
				t.Errorf("SET behind it: %s, %v", v, err)
			}
		}
		until(t, "nobody waits", func() bool { return n.stats.Blocked.Load() == 0 })
		if got := do(t, admin, "GET", "a"); got != "(nil)" {
			t.Errorf("%s: a is %s", change, got)
		}
	}
}

// once makes a hook that runs f the first time.
func once(f func()) *func() {
	ran := false
	hook := func() {
		if !ran {
			ran = true
			f()
		}
	}
	return &hook
}

func TestARuleThatComesWhileASubscriptionIsMade(t *testing.T) {
	n := startNode(t, 1)
	c := ann(t, n)
	do(t, c, "PING")
	n.onHub.Store(once(func() { rule(t, n, "SETUSER", "ann", "resetchannels", "&other") }))
	if err := c.Write(respconn.Command("SUBSCRIBE", "secret")); err != nil {
		t.Fatal(err)
	}
	until(t, "ann is cut off", func() bool { _, err := c.Read(); return err != nil })
	if got := do(t, dial(t, n.addr), "PUBLISH", "secret", "x"); got != ":0" {
		t.Errorf("%s listen", got)
	}
}

func TestARuleThatComesWhileAClientBeginsToWait(t *testing.T) {
	n := startNode(t, 1)
	c := ann(t, n)
	n.exec.onShard.Store(once(func() { rule(t, n, "SETUSER", "ann", "-blpop") }))
	if got := do(t, c, "BLPOP", "list", "0"); got != "-NOPERM this user has no permissions to run the 'blpop' command" {
		t.Error(got)
	}
}

// Entries of ACL LOG have a number of their own and two times, as since Redis 7.2; one
// that is refused again keeps its number and the first time.
func TestEntriesOfTheACLLogAreNumbered(t *testing.T) {
	admin := dial(t, startNode(t, 1).addr)
	do(t, admin, "ACL", "SETUSER", "ann", "on", ">pw", "~a", "+get", "+auth")
	c := dial(t, admin.Net().RemoteAddr().String())
	do(t, c, "AUTH", "ann", "pw")
	for _, key := range []string{"b", "c", "b"} {
		do(t, c, "GET", key)
	}
	v, err := admin.Do("ACL", "LOG")
	if err != nil || len(v.Elems) != 2 {
		t.Fatal(v, err)
	}
	field := func(entry int, name string) string {
		fields := v.Elems[entry].Elems
		for i := 0; i+1 < len(fields); i += 2 {
			if string(fields[i].Bytes) == name {
				return string(fields[i+1].Bytes)
			}
		}
		return "none"
	}
	for entry, want := range []string{"b 2 0", "c 1 1"} {
		if got := field(entry, "object") + " " + field(entry, "count") + " " + field(entry, "entry-id"); got != want {
			t.Errorf("entry %d is %s, not %s", entry, got, want)
		}
		made, last := field(entry, "timestamp-created"), field(entry, "timestamp-last-updated")
		if len(made) != 13 || len(last) != 13 || made > last {
			t.Errorf("entry %d is of %s and %s", entry, made, last)
		}
	}
	if field(1, "timestamp-created") != field(1, "timestamp-last-updated") {
		t.Error("what was refused once has two times")
	}
}

// What is refused at EXEC stands in ACL LOG as Redis has it.
func TestWhatIsRefusedAtExecIsLogged(t *testing.T) {
	redis, n := startRedis(t), startNode(t, 1)
	var said [2]string
	for i, addr := range []string{redis, n.addr} {
		admin, c := dial(t, addr), dial(t, addr)
		do(t, admin, "ACL", "SETUSER", "ann", "on", ">pw", "~*", "+@all")
		do(t, c, "AUTH", "ann", "pw")
		do(t, c, "MULTI")
		do(t, c, "SET", "a", "1")
		do(t, admin, "ACL", "SETUSER", "ann", "-set")
		said[i] = do(t, c, "EXEC")
		before, _, _ := strings.Cut(do(t, admin, "ACL", "LOG"), `"age-seconds"`)
		// Since 7.2 an entry has three more fields, at its end.
		said[i] += strings.Replace(before, "*20\n", "*14\n", 1)
	}
	if said[0] != said[1] || !strings.Contains(said[1], `"multi"`) {
		t.Errorf("Redis says\n%s\nand the node\n%s", said[0], said[1])
	}
}
