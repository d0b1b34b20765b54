package acl

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

const patience = 60 * time.Second

// as connects to a node and logs in.
func as(t *testing.T, n *proc.Node, user, password string) *respconn.Conn {
	t.Helper()
	c := proc.Dial(t, n.Addr())
	if got := proc.Do(t, c, "auth", user, password); got != "+OK" {
		t.Fatalf("%s at %s: %s", user, n.Name, got)
	}
	return c
}

// everywhere waits until every node gives the wanted answer to a command.
func everywhere(t *testing.T, c *proc.Cluster, want string, args ...string) {
	t.Helper()
	for _, n := range c.Nodes {
		conn := proc.Dial(t, n.Addr())
		proc.Wait(t, patience, n.Name+" answers "+want, func() bool { return proc.Do(t, conn, args...) == want })
	}
}

func expect(t *testing.T, c *respconn.Conn, want string, args ...string) {
	t.Helper()
	if got := proc.Do(t, c, args...); got != want {
		t.Fatalf("%q\n got %s\nwant %s", args, got, want)
	}
}

// gone waits until the server has closed a connection.
func gone(t *testing.T, c *respconn.Conn, what string) {
	t.Helper()
	proc.Wait(t, patience, what+" is cut off", func() bool { _, err := c.Do("ping"); return err != nil })
}

const noKey = "-NOPERM this user has no permissions to access one of the keys used as arguments"

// TestThePasswordChangesOnlyWithTheRest: CONFIG SET sets all of its pairs or none. If it set the
// password and then failed, the error would lock the user out.
func TestThePasswordChangesOnlyWithTheRest(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, proc.Options{})
	c := proc.Dial(t, n.Addr())
	for _, more := range [][]string{{"maxmemory", "much"}, {"dir", "/tmp"}, {"no-such", "x"}, {"requirepass", "twice"}} {
		if got := proc.Do(t, c, append([]string{"config", "set", "requirepass", "secret"}, more...)...); !strings.HasPrefix(got, "-ERR") {
			t.Errorf("%q: %s", more, got)
		}
		expect(t, proc.Dial(t, n.Addr()), "+PONG", "ping")
	}
	expect(t, c, "+OK", "config", "set", "requirepass", "secret", "maxmemory", "1gb")
	expect(t, proc.Dial(t, n.Addr()), "-NOAUTH Authentication required.", "ping")
}

// afar returns an address of this machine that is not a loopback address.
func afar(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() {
			return ip.IP.String()
		}
	}
	proc.Skip(t, "this machine has no address but its loopback's")
	return ""
}

// TestAnOpenNodeTakesNobodyFromAfar tests protected-mode. As long as there is no password, a client
// from another machine gets an error with the reason, and its connection is closed. redis-server
// does the same, and its clients look at the first word of the error.
func TestAnOpenNodeTakesNobodyFromAfar(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	from := afar(t)
	node := proc.NewNode(t, proc.Options{Args: []string{"--bind", "0.0.0.0", "--cluster-secret", "what-no-stranger-knows"}})
	redis := proc.RedisServer(t, "--bind", "0.0.0.0", "--protected-mode", "yes")
	for who, server := range map[string]*proc.Process{"the node": node.Process, "redis-server": redis} {
		first := func() string {
			c, err := respconn.Dial(net.JoinHostPort(from, strconv.Itoa(server.Port)))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			v, err := c.Do("PING")
			if err != nil {
				return err.Error()
			}
			word, _, _ := strings.Cut(v.String(), " ")
			return word
		}
		if got := first(); got != "-DENIED" {
			t.Errorf("%s answers %q", who, got)
		}
		proc.MustAsk(t, server.Addr(), "CONFIG", "SET", "requirepass", "secret")
		if got := first(); got != "-NOAUTH" {
			t.Errorf("%s, with a password, answers %q", who, got)
		}
	}
}

// TestBeforeLoggingInNothingRuns: before the login only the commands run that log in or end the
// connection.
func TestBeforeLoggingInNothingRuns(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, proc.Options{})
	expect(t, proc.Dial(t, n.Addr()), "+OK", "config", "set", "requirepass", "secret")
	c := proc.Dial(t, n.Addr())
	var free []string
	for _, container := range commands.All() {
		for _, spec := range append([]*command.Spec{container}, container.Sub...) {
			switch {
			case spec.Is(command.NoAuth):
				free = append(free, spec.Name)
				continue
			case spec.Internal() || len(spec.Sub) > 0:
				continue
			}
			words := strings.Split(spec.Name, "|")
			for len(words) < max(spec.Arity, -spec.Arity) {
				words = append(words, "1")
			}
			want := "-NOAUTH Authentication required."
			switch spec.Name {
			case "exec": // as in Redis
				want = "-EXECABORT Transaction discarded because of: NOAUTH Authentication required."
			case "debug": // nobody may run it
				want = proc.Do(t, proc.Dial(t, n.Addr()), "debug", "help")
			}
			expect(t, c, want, words...)
		}
	}
	if want := []string{"auth", "hello", "quit", "reset"}; !slices.Equal(free, want) {
		t.Errorf("without logging in: %q", free)
	}
	if got := proc.Do(t, c, "hello", "3"); !strings.HasPrefix(got, "-NOAUTH") {
		t.Error(got)
	}
}

// TestUsersThatNobodyConfirmsAreRefused: a node that has lost the meta group's leader refuses
// administrative commands after acl-stale-admin-ms, and all clients after acl-stale-ms, until the
// cluster is back.
func TestUsersThatNobodyConfirmsAreRefused(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Args: []string{"--acl-stale-admin-ms", "2000", "--acl-stale-ms", "4000"}})
	node := c.Nodes[0]
	open := proc.Dial(t, node.Addr())
	expect(t, open, "+OK", "acl", "setuser", "ann", "on", ">pw", "~*", "&*", "+@all")
	everywhere(t, c, "+OK", "acl", "dryrun", "ann", "get", "a")
	ann, monitor, listener := as(t, node, "ann", "pw"), as(t, node, "ann", "pw"), as(t, node, "ann", "pw")
	expect(t, monitor, "+OK", "monitor")
	proc.Do(t, listener, "subscribe", "news")
	for _, n := range c.Nodes[1:] {
		n.Pause()
	}
	code := func(answer string) string { word, _, _ := strings.Cut(answer, " "); return word }
	proc.Wait(t, patience, "orders are refused", func() bool { return code(proc.Do(t, ann, "config", "get", "port")) == "-CLUSTERDOWN" })
	gone(t, monitor, "who monitors")
	gone(t, ann, "ann")
	gone(t, listener, "who listens")
	late := proc.Dial(t, node.Addr())
	for _, words := range [][]string{{"auth", "ann", "pw"}, {"ping"}, {"get", "a"}} {
		if got := proc.Do(t, late, words...); !strings.Contains(got, "acl-stale-ms") {
			t.Errorf("%q: %s", words, got)
		}
	}
	for _, n := range c.Nodes[1:] {
		n.Continue()
	}
	proc.Wait(t, patience, "ann may log in again", func() bool { return proc.Do(t, late, "auth", "ann", "pw") == "+OK" })
	expect(t, late, "+OK", "config", "set", "maxmemory", "1gb")
}

func TestUsersAreTheClusters(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	first := proc.Dial(t, c.Nodes[1].Addr())
	expect(t, first, "+OK", "acl", "setuser", "ann", "on", ">pw", "~a*", "+@all", "-flushall", "&news.*")
	everywhere(t, c, "+OK", "acl", "dryrun", "ann", "get", "a1")
	var anns []*respconn.Conn
	for _, n := range c.Nodes {
		ann := as(t, n, "ann", "pw")
		expect(t, ann, `"ann"`, "acl", "whoami")
		expect(t, ann, "+OK", "set", "a1", "x")
		expect(t, ann, noKey, "set", "b1", "x")
		expect(t, ann, "-NOPERM this user has no permissions to run the 'flushall' command", "flushall")
		anns = append(anns, ann)
	}
	scripts(t, anns)

	// The leader changes, and every node restarts.
	c.WaitLeader().Kill9()
	for _, n := range c.Nodes {
		if !n.Running() {
			n.Start()
		}
	}
	c.WaitLeader()
	for _, n := range c.Nodes {
		n.Stop()
	}
	for _, n := range c.Nodes {
		n.Start()
	}
	c.WaitLeader()
	for i, n := range c.Nodes {
		n.WaitReady()
		proc.Wait(t, patience, n.Name+" knows ann again", func() bool {
			anns[i] = proc.Dial(t, n.Addr())
			return proc.Do(t, anns[i], "auth", "ann", "pw") == "+OK"
		})
		expect(t, anns[i], noKey, "get", "b1")
	}
	changes(t, c, anns)
}

// scripts tests that the commands of a script need the rights of the user that runs it, on every
// node, and that the replicas agree.
func scripts(t *testing.T, anns []*respconn.Conn) {
	const write = "redis.call('set', KEYS[1], 'by script') return redis.pcall('set', 'b1', 'x')"
	for _, ann := range anns {
		expect(t, ann, "-ERR The user executing the script can't access at least one of the keys mentioned in the command arguments", "eval", write, "1", "a1")
		expect(t, ann, `"by script"`, "get", "a1")
		expect(t, ann, noKey, "eval", write, "1", "b1")
		expect(t, ann, ":1", "eval", "return redis.acl_check_cmd('get', 'a2')", "0")
		expect(t, ann, "(nil)", "eval", "return redis.acl_check_cmd('get', 'b2')", "0")
		expect(t, ann, "-ERR The user executing the script can't publish to the channel mentioned in the command", "eval", "return redis.pcall('publish', 'c', 'x')", "0")
		expect(t, ann, ":0", "eval", "return redis.call('publish', 'news.1', 'x')", "0")
	}
}

// changes tests what happens to the connections of a user that changes.
func changes(t *testing.T, c *proc.Cluster, anns []*respconn.Conn) {
	admin := proc.Dial(t, c.Nodes[2].Addr())
	listening := as(t, c.Nodes[0], "ann", "pw")
	if _, err := listening.Do("subscribe", "news.1"); err != nil {
		t.Fatal(err)
	}
	waiting := as(t, c.Nodes[1], "ann", "pw")
	if err := waiting.Write([]byte("blpop a-list 0\r\n")); err != nil {
		t.Fatal(err)
	}
	proc.Wait(t, patience, "ann waits", func() bool { return proc.Info(c.Nodes[1].Addr(), "clients")["blocked_clients"] == "1" })
	expect(t, anns[0], "+OK", "multi")
	expect(t, anns[0], "+QUEUED", "set", "a1", "queued")
	expect(t, anns[0], "+QUEUED", "incr", "a-counter")
	expect(t, admin, "+OK", "acl", "setuser", "ann", "resetchannels", "-set", "-blpop")
	everywhere(t, c, `"This user has no permissions to run the 'set' command"`, "acl", "dryrun", "ann", "set", "a1", "x")
	gone(t, listening, "who listens to what it may not hear")
	if got := proc.Read(t, waiting); got != "-NOPERM this user has no permissions to run the 'blpop' command" {
		t.Errorf("who waited: %s", got)
	}
	got := proc.Do(t, anns[0], "exec")
	if !strings.Contains(got, "-NOPERM ACLs rules changed") || !strings.Contains(got, ":1") {
		t.Errorf("exec: %s", got)
	}
	expect(t, admin, ":1", "acl", "deluser", "ann", "nobody")
	for _, ann := range anns {
		gone(t, ann, "a deleted user")
	}
	late := proc.Dial(t, c.Nodes[0].Addr())
	expect(t, late, "-WRONGPASS invalid username-password pair or user is disabled.", "auth", "ann", "pw")
}

func TestOnePasswordOfTheDefaultUser(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	admin, other := proc.Dial(t, c.Nodes[0].Addr()), proc.Dial(t, c.Nodes[1].Addr())
	expect(t, admin, "+OK", "config", "set", "requirepass", "one")
	fresh := func(n *proc.Node) string { return proc.Do(t, proc.Dial(t, n.Addr()), "ping") }
	for _, n := range c.Nodes {
		proc.Wait(t, patience, n.Name+" wants the password", func() bool { return strings.HasPrefix(fresh(n), "-NOAUTH") })
		expect(t, as(t, n, "default", "one"), "+PONG", "ping")
	}
	expect(t, other, "+PONG", "ping") // it logged in before the change
	expect(t, other, "+OK", "acl", "setuser", "default", "resetpass", ">two")
	expect(t, as(t, c.Nodes[1], "default", "two"), "+OK", "config", "set", "requirepass", "")
	for _, n := range c.Nodes {
		proc.Wait(t, patience, n.Name+" wants no password", func() bool { return fresh(n) == "+PONG" })
	}
}

func TestAnACLFileIsWhatAClusterBeginsWith(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	path := filepath.Join(t.TempDir(), "users.acl")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# people\nuser default on nopass ~* &* +@all\nuser bob on >b ~* &* +@all\n")
	n := proc.NewNode(t, proc.Options{Args: []string{"--aclfile", path}})
	bob := as(t, n, "bob", "b")
	expect(t, bob, "+OK", "acl", "setuser", "eve", "on", "nopass")
	expect(t, bob, "+OK", "acl", "save")
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "user eve on nopass resetchannels -@all\n") || strings.Contains(string(text), ">b") {
		t.Errorf("the file: %q %v", text, err)
	}
	write("user bob on >b ~* &* +@all\nuser eve on\nuser eve off\n")
	if got := proc.Do(t, bob, "acl", "load"); !strings.Contains(got, "twice") {
		t.Errorf("a user twice: %s", got)
	}
	write("user default on nopass ~* &* +@all\nuser ann on nopass\n")
	expect(t, proc.Dial(t, n.Addr()), "+OK", "acl", "load")
	gone(t, bob, "a user that is not in the file")
	expect(t, proc.Dial(t, n.Addr()), "*2 \"ann\" \"default\"", "acl", "users")
	// The cluster has users now, so a node no longer reads the file at its start.
	n.Stop()
	write("user default on nopass ~* &* +@all\nuser other on nopass\n")
	n.Start()
	n.WaitReady()
	expect(t, proc.Dial(t, n.Addr()), "*2 \"ann\" \"default\"", "acl", "users")
}

// TestANodeInAnotherClusterGoesByTheUsersThere: a node that was removed from one cluster and joins
// another uses the users of the new cluster, not those that its folder still holds.
func TestANodeInAnotherClusterGoesByTheUsersThere(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	first, second := proc.NewCluster(t, 2, proc.Options{Args: []string{"--rejoin", "yes"}}), proc.NewNode(t, proc.Options{})
	moves := first.Nodes[1]
	c := proc.Dial(t, first.Nodes[0].Addr())
	for _, rule := range []string{"on", "nopass", "allkeys", "+@all"} {
		expect(t, c, "+OK", "acl", "setuser", "ghost", rule)
	}
	everywhere(t, first, proc.Do(t, c, "acl", "list"), "acl", "list")
	expect(t, proc.Dial(t, second.Addr()), "+OK", "acl", "setuser", "ann", "on")
	if out, code := proc.Ctl(t, first.Nodes[0].Addr(), "remove", moves.Name, "--yes"); code != 0 {
		t.Fatalf("remove: exit %d, %s", code, out)
	}
	proc.Wait(t, patience, "the removed node ends", func() bool { return !moves.Running() })
	moves.Start("--join", second.PeerAddr())
	moves.WaitReady()
	late := proc.Dial(t, moves.Addr())
	expect(t, late, proc.Do(t, proc.Dial(t, second.Addr()), "acl", "list"), "acl", "list")
	if got := proc.Do(t, late, "auth", "ghost", "x"); !strings.HasPrefix(got, "-WRONGPASS") {
		t.Errorf("a user of the first cluster is let in: %s", got)
	}
	expect(t, late, "+OK", "acl", "setuser", "bob", "on")
	if got := proc.Do(t, late, "acl", "users"); !strings.Contains(got, "bob") {
		t.Errorf("a user that was just made is not there: %s", got)
	}
}

// TestAUserIsDeletedWhereNobodyHasHeardOfItYet: a user can be deleted through a node that has not
// heard of the user yet.
func TestAUserIsDeletedWhereNobodyHasHeardOfItYet(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	var conns []*respconn.Conn
	for _, n := range c.Nodes {
		conns = append(conns, proc.Dial(t, n.Addr()))
	}
	for i := range 30 {
		makes, deletes := conns[i%3], conns[(i+1)%3]
		expect(t, makes, "+OK", "acl", "setuser", "bob", "on")
		expect(t, deletes, ":1", "acl", "deluser", "bob")
	}
}

// TestANodeWithAnACLFileStartsAlone: a node that was started with an ACL file has stored the
// cluster's users, and serves without a quorum like any other node.
func TestANodeWithAnACLFileStartsAlone(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	path := filepath.Join(t.TempDir(), "users.acl")
	if err := os.WriteFile(path, []byte("user default on nopass ~* &* +@all\nuser bob on >b ~* &* +@all\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := proc.NewCluster(t, 3, proc.Options{Args: []string{"--aclfile", path}})
	everywhere(t, c, `*2 "bob" "default"`, "acl", "users")
	for _, n := range c.Nodes {
		n.Stop()
	}
	alone := c.Nodes[0]
	alone.Start()
	proc.Wait(t, patience, "it answers", func() bool {
		if !alone.Running() {
			t.Fatalf("it has ended: %s", alone.LogTail(500))
		}
		return proc.Ping(alone.Addr())
	})
	expect(t, as(t, alone, "bob", "b"), `"bob"`, "acl", "whoami")
}
