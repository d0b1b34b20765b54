package client_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"lockstep/cluster"
	"lockstep/tests/kit/prototest"
	"lockstep/tests/kit/respconn"
)

// Rules that change while a client waits apply to everything it does next, even to commands that it
// sent before.

// ann logs in as a user who may do everything.
func ann(t *testing.T, n *prototest.Node) *respconn.Conn {
	t.Helper()
	c := prototest.Dial(t, n.Addr)
	prototest.Do(t, prototest.Dial(t, n.Addr), "ACL", "SETUSER", "ann", "on", ">pw", "~*", "&*", "+@all")
	if got := prototest.Do(t, c, "AUTH", "ann", "pw"); got != "+OK" {
		t.Fatal(got)
	}
	return c
}

// rule gives ann a rule. As on a node, clients are then judged by it.
func rule(t *testing.T, n *prototest.Node, args ...string) {
	t.Helper()
	if got := prototest.Do(t, prototest.Dial(t, n.Addr), append([]string{"ACL"}, args...)...); strings.HasPrefix(got, "-") {
		t.Fatal(got)
	}
	n.Registry.Rejudge(n.Users.Users())
}

const noSet = "-NOPERM this user has no permissions to run the 'set' command"

func TestAPauseEndsWithTheRulesOfTheMoment(t *testing.T) {
	n := prototest.StartNode(t, 1)
	admin := prototest.Dial(t, n.Addr)
	for _, change := range [][]string{{"SETUSER", "ann", "-set"}, {"DELUSER", "ann"}} {
		c := ann(t, n)
		prototest.Do(t, admin, "CLIENT", "PAUSE", "600000", "WRITE")
		held(t, n, c, "SET", "a", "1")
		rule(t, n, change...)
		prototest.Do(t, admin, "CLIENT", "UNPAUSE")
		v, err := c.Read()
		if gone := errors.Is(err, io.EOF); gone != (change[0] == "DELUSER") || !gone && v.String() != noSet {
			t.Errorf("%s: %s, %v", change, v, err)
		}
		if got := prototest.Do(t, admin, "GET", "a"); got != "(nil)" {
			t.Errorf("%s: a is %s", change, got)
		}
	}
}

func TestWhatFollowsAWaitIsJudgedBehindIt(t *testing.T) {
	n := prototest.StartNode(t, 1)
	admin := prototest.Dial(t, n.Addr)
	for _, change := range [][]string{{"SETUSER", "ann", "-set"}, {"DELUSER", "ann"}} {
		prototest.Do(t, admin, "FLUSHALL")
		c := ann(t, n)
		if err := c.Write(append(respconn.Command("BLPOP", "list", "0"), respconn.Command("SET", "a", "1")...)); err != nil {
			t.Fatal(err)
		}
		prototest.Until(t, "ann waits", func() bool { return n.Stats.Blocked.Load() == 1 })
		rule(t, n, change...)
		prototest.Do(t, admin, "RPUSH", "list", "x")
		values, err := c.Read()
		if change[0] == "SETUSER" {
			if err != nil || !strings.Contains(values.String(), `"x"`) {
				t.Errorf("BLPOP: %s, %v", values, err)
			}
			if v, err := c.Read(); err != nil || v.String() != noSet {
				t.Errorf("SET behind it: %s, %v", v, err)
			}
		}
		prototest.Until(t, "nobody waits", func() bool { return n.Stats.Blocked.Load() == 0 })
		if got := prototest.Do(t, admin, "GET", "a"); got != "(nil)" {
			t.Errorf("%s: a is %s", change, got)
		}
	}
}

func TestARuleThatComesWhileASubscriptionIsMade(t *testing.T) {
	n := prototest.StartNode(t, 1)
	c := ann(t, n)
	prototest.Do(t, c, "PING")
	n.OnHub.Store(prototest.Once(func() { rule(t, n, "SETUSER", "ann", "resetchannels", "&other") }))
	if err := c.Write(respconn.Command("SUBSCRIBE", "secret")); err != nil {
		t.Fatal(err)
	}
	prototest.Until(t, "ann is cut off", func() bool { _, err := c.Read(); return err != nil })
	// Its subscriptions end after the connection.
	other := prototest.Dial(t, n.Addr)
	prototest.Until(t, "nobody listens", func() bool { return prototest.Do(t, other, "PUBLISH", "secret", "x") == ":0" })
}

func TestARuleThatComesWhileAClientBeginsToWait(t *testing.T) {
	n := prototest.StartNode(t, 1)
	c := ann(t, n)
	n.Exec.OnShard.Store(prototest.Once(func() { rule(t, n, "SETUSER", "ann", "-blpop") }))
	if got := prototest.Do(t, c, "BLPOP", "list", "0"); got != "-NOPERM this user has no permissions to run the 'blpop' command" {
		t.Error(got)
	}
}

func TestARuleThatComesWhileAPauseBeginsToHold(t *testing.T) {
	n := prototest.StartNode(t, 1)
	admin, c := prototest.Dial(t, n.Addr), ann(t, n)
	prototest.Do(t, admin, "CLIENT", "PAUSE", "600000", "WRITE")
	delUser := prototest.Once(func() { rule(t, n, "DELUSER", "ann") })
	before := func(int, *cluster.Call) error { (*delUser)(); return nil }
	n.Exec.Lost.Store(&before)
	// The read runs once the write behind it is held.
	if err := c.Write(append(respconn.Command("GET", "a"), respconn.Command("SET", "a", "1")...)); err != nil {
		t.Fatal(err)
	}
	prototest.Until(t, "ann is cut off", func() bool { return !strings.Contains(prototest.Do(t, admin, "CLIENT", "LIST"), "user=ann") })
}

// Entries of ACL LOG have a number and two times, as since Redis 7.2. If an entry occurs again, it
// keeps its number and its first time.
func TestEntriesOfTheACLLogAreNumbered(t *testing.T) {
	admin := prototest.Dial(t, prototest.StartNode(t, 1).Addr)
	prototest.Do(t, admin, "ACL", "SETUSER", "ann", "on", ">pw", "~a", "+get", "+auth")
	c := prototest.Dial(t, admin.Net().RemoteAddr().String())
	prototest.Do(t, c, "AUTH", "ann", "pw")
	for _, key := range []string{"b", "c", "b"} {
		prototest.Do(t, c, "GET", key)
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

// Refusals at EXEC have the same entries in ACL LOG as with Redis.
func TestWhatIsRefusedAtExecIsLogged(t *testing.T) {
	redis, n := prototest.StartRedis(t), prototest.StartNode(t, 1)
	var said [2]string
	for i, addr := range []string{redis, n.Addr} {
		admin, c := prototest.Dial(t, addr), prototest.Dial(t, addr)
		prototest.Do(t, admin, "ACL", "SETUSER", "ann", "on", ">pw", "~*", "+@all")
		prototest.Do(t, c, "AUTH", "ann", "pw")
		prototest.Do(t, c, "MULTI")
		prototest.Do(t, c, "SET", "a", "1")
		prototest.Do(t, admin, "ACL", "SETUSER", "ann", "-set")
		said[i] = prototest.Do(t, c, "EXEC")
		said[i] += newestOfLog(t, admin)
	}
	if said[0] != said[1] || !strings.Contains(said[1], `"multi"`) {
		t.Errorf("Redis says\n%s\nand the node\n%s", said[0], said[1])
	}
}

// newestOfLog returns the newest entry of ACL LOG up to its age. Since 7.2 an entry has three more
// fields, at its end.
func newestOfLog(t *testing.T, admin *respconn.Conn) string {
	t.Helper()
	before, _, _ := strings.Cut(prototest.Do(t, admin, "ACL", "LOG"), `"age-seconds"`)
	return strings.Replace(before, "*20\n", "*14\n", 1)
}

// AUTH within a transaction changes the client's user for the commands behind it, as with Redis.
func TestATransactionIsJudgedByWhoItLogsInAs(t *testing.T) {
	redis, n := prototest.StartRedis(t), prototest.StartNode(t, 1)
	for _, queue := range [][]string{
		{"SET a 1", "AUTH ann pw", "GET a", "SET a 2", "GET a"},
		{"AUTH ann pw", "GET b", "AUTH bob pw", "SET b 3", "GET b"},
		{"AUTH ann wrong", "SET a 4", "ACL WHOAMI"},
		{"AUTH ann", "SET a 5", "ACL WHOAMI"},
		{"AUTH ann pw bob", "SET a 6", "ACL WHOAMI"},
		{"AUTH nobody pw", "SET a 7", "ACL WHOAMI"},
		{"HELLO 2 AUTH ann pw", "SET a 8", "GET a"},
		{"HELLO 2 SETNAME ann", "SET a 9"},
		{"HELLO 5 AUTH ann pw", "SET a 10"},
		{"AUTH ann pw", "PING", "SELECT 1", "SUBSCRIBE news"},
		{"AUTH eve pw", "SELECT 1", "SET a 13", "GET a"},
		{"EVAL return(redis.pcall('set',KEYS[1],'11')) 1 a", "AUTH bob pw"},
		{"AUTH ann pw", "EVAL return(redis.pcall('set',KEYS[1],'12')) 1 a", "GET a"},
	} {
		var said [2]string
		for i, addr := range []string{redis, n.Addr} {
			admin, c := prototest.Dial(t, addr), prototest.Dial(t, addr)
			prototest.Do(t, admin, "ACL", "SETUSER", "ann", "on", ">pw", "~a", "+@all", "-set")
			prototest.Do(t, admin, "ACL", "SETUSER", "bob", "on", ">pw", "~*", "+@all")
			prototest.Do(t, admin, "ACL", "SETUSER", "eve", "on", ">pw", "~*", "+@all", "-select")
			prototest.Do(t, admin, "ACL", "LOG", "RESET")
			prototest.Do(t, c, "MULTI")
			for _, command := range queue {
				said[i] += prototest.Do(t, c, strings.Fields(command)...) + "\n"
			}
			if reply := prototest.Do(t, c, "EXEC"); !strings.Contains(reply, `"proto"`) {
				said[i] += reply
			} else {
				_, behind, _ := strings.Cut(reply, `"modules"`)
				said[i] += behind
			}
			said[i] += "\n" + prototest.Do(t, admin, "GET", "a")
			if strings.HasPrefix(queue[1], "EVAL") {
				continue // no node is there to receive notices about scripts
			}
			said[i] += "\n" + newestOfLog(t, admin)
		}
		if said[0] != said[1] {
			t.Errorf("%q: Redis says\n%s\nand the node\n%s", queue, said[0], said[1])
		}
	}
}

// A txn carries the rules of one user. If its scripts would run as two users nothing runs: one of
// the scripts would be judged by the wrong rules.
func TestTheScriptsOfATransactionRunAsOneUser(t *testing.T) {
	n := prototest.StartNode(t, 1)
	for name, rules := range map[string]string{"ann": "~a +@all -set", "bob": "~* &* +@all", "eve": "~* +@all -set"} {
		rule(t, n, append([]string{"SETUSER", name, "on", ">pw"}, strings.Fields(rules)...)...)
	}
	const script = "EVAL return(redis.pcall('set',KEYS[1],'1')) 1 a"
	const two = "-EXECABORT Transaction discarded because of: its scripts, and SORT, would run as two users"
	for _, c := range []struct {
		queue []string
		want  string
		// refused is how many scripts are not allowed to set the key.
		refused int
	}{
		{[]string{script, "AUTH bob pw", script}, "*3", 0},
		{[]string{"AUTH ann pw", script, "GET a", "AUTH ann pw", script}, "*5", 2},
		{[]string{"AUTH ann pw", script, "AUTH bob pw", "SET a 2"}, "*4", 1},
		{[]string{"AUTH ann pw", script, "AUTH bob pw", script}, two, 0},
		{[]string{"AUTH bob pw", script, "AUTH ann pw", script}, two, 0},
		{[]string{script, "AUTH ann pw", "SORT a BY b*"}, two, 0},
		{[]string{"AUTH ann pw", script, "AUTH eve pw", script}, two, 0},
	} {
		client := prototest.Dial(t, n.Addr)
		prototest.Do(t, client, "DEL", "a")
		prototest.Do(t, client, "MULTI")
		for _, command := range c.queue {
			prototest.Do(t, client, strings.Fields(command)...)
		}
		got := prototest.Do(t, client, "EXEC")
		if !strings.HasPrefix(got, c.want) || strings.Count(got, "can't run this command") != c.refused {
			t.Errorf("%q: %s", c.queue, got)
		}
		if c.want != two {
			continue
		}
		if who, a := prototest.Do(t, client, "ACL", "WHOAMI"), prototest.Do(t, client, "EXISTS", "a"); who != `"default"` || a != ":0" {
			t.Errorf("%q: behind it the client is %s, and %s keys are there", c.queue, who, a)
		}
	}
}

// A refused command is refused before anything is locked, and reaches no shard (B5).
func TestWhatIsRefusedReachesNoShard(t *testing.T) {
	n := prototest.StartNode(t, 1)
	c := ann(t, n)
	rule(t, n, "SETUSER", "ann", "resetkeys", "~mine", "-set")
	rule(t, n, "SETUSER", "default", "resetpass", ">pw")
	stranger := prototest.Dial(t, n.Addr)
	prototest.Do(t, c, "PING")
	before := n.Exec.Batches.Load()
	for _, command := range []string{
		"NOTHING", "GET", "GET mine more", "CLIENT NOTHING", "SET mine 1", "GET others", "MGET mine others", "EVAL", "EXEC",
		"MULTI", "GET others", "EXEC",
	} {
		if got := prototest.Do(t, c, strings.Fields(command)...); !strings.HasPrefix(got, "-") && command != "MULTI" {
			t.Errorf("%s: %s", command, got)
		}
	}
	for _, command := range []string{"GET mine", "MULTI", "FLUSHALL"} {
		if got := prototest.Do(t, stranger, strings.Fields(command)...); !strings.HasPrefix(got, "-NOAUTH") {
			t.Errorf("%s: %s", command, got)
		}
	}
	if heard := n.Exec.Batches.Load() - before; heard != 0 {
		t.Errorf("the shard was asked %d times", heard)
	}
	prototest.Do(t, c, "GET", "mine")
	if n.Exec.Batches.Load() == before {
		t.Error("nor is it where nothing is refused")
	}
}

// A check by rules that are out of date must not cut off a user that was made since, or end a wait
// that is allowed again.
func TestRulesOfAMomentAgoHarmNobody(t *testing.T) {
	n := prototest.StartNode(t, 1)
	admin, none := prototest.Dial(t, n.Addr), n.Users.Users()
	c := ann(t, n)
	n.Registry.Rejudge(none)
	if got := prototest.Do(t, c, "PING"); got != "+PONG" {
		t.Error(got)
	}
	rule(t, n, "SETUSER", "ann", "-blpop")
	strict := n.Users.Users()
	rule(t, n, "SETUSER", "ann", "+blpop")
	if err := c.Write(respconn.Command("BLPOP", "list", "0")); err != nil {
		t.Fatal(err)
	}
	prototest.Until(t, "ann waits", func() bool { return n.Stats.Blocked.Load() == 1 })
	n.Registry.Rejudge(strict)
	prototest.Do(t, admin, "RPUSH", "list", "x")
	if v, err := c.Read(); err != nil || !strings.Contains(v.String(), `"x"`) {
		t.Errorf("BLPOP: %s, %v", v, err)
	}
}
