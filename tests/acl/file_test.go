package acl

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// brokenFiles are ACL files with one wrong line, the number of that line from 1, and the reason
// that redis-server gives. There is no file with an unclosed parenthesis, because redis-server 7.0
// crashes when it reads one.
var brokenFiles = []struct {
	text, reason string
	line         int
}{
	{"user eve on nopass ~* &* +@all\nuser bob on +nosuch\n", "Unknown command or category name in ACL", 2},
	{"user bob on +@nosuch\nuser eve on\n", "Unknown command or category name in ACL", 1},
	{"user eve on\n\n\nuser bob on %Q~x\n", "Syntax error", 4},
	{"user eve on\nuser bob on >hunter2 #hunter2\n", "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters", 2},
	{"user eve on\n\nusr bob on\n", "should start with user keyword followed by the username", 3},
	{"user eve on\nuser\n", "should start with user keyword followed by the username", 2},
	{"user eve on\nuser bob on\nuser eve off\n", "", 3}, // the user comes twice
}

// aclServer is a server or a whole cluster. Its ACL file is at path.
type aclServer struct {
	name, path string
	conns      []*respconn.Conn
	// wrong returns texts of which an error about that line must contain one.
	wrong func(line int) []string
}

func (s aclServer) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(s.path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestABrokenACLFileChangesNothing: ACL LOAD of a file with a wrong line fails with the number of
// the line, as in redis-server. No user changes on any node, whichever node runs the command, and
// no client is disconnected.
func TestABrokenACLFileChangesNothing(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	const good = "user ann on >pw ~a* +@all\nuser default on nopass ~* &* +@all\n"
	fresh := func(name string) aclServer {
		s := aclServer{name: name, path: filepath.Join(t.TempDir(), "users.acl")}
		s.wrong = func(line int) []string { return []string{s.path + ":" + strconv.Itoa(line) + ":"} }
		s.write(t, good)
		return s
	}
	redis, lone, three := fresh("redis-server"), fresh("a node"), fresh("a cluster")
	redis.wrong = func(line int) []string {
		return []string{redis.path + ":" + strconv.Itoa(line), "on line " + strconv.Itoa(line) + "."}
	}
	redis.conns = append(redis.conns, proc.Dial(t, proc.RedisServer(t, "--aclfile", redis.path).Addr()))
	lone.conns = append(lone.conns, proc.Dial(t, proc.NewNode(t, proc.Options{Args: []string{"--aclfile", lone.path}}).Addr()))
	c := proc.NewCluster(t, 3, proc.Options{Args: []string{"--aclfile", three.path}})
	everywhere(t, c, `*2 "ann" "default"`, "acl", "users")
	for _, n := range append(c.Followers(), c.WaitLeader()) {
		three.conns = append(three.conns, proc.Dial(t, n.Addr()))
	}
	for _, s := range []aclServer{redis, lone, three} {
		checkBrokenFiles(t, s)
	}

	// When the file is correct, ACL LOAD through a follower changes the users of all nodes.
	three.write(t, "user default on nopass ~* &* +@all\nuser bob on >b ~* +@all\n")
	expect(t, three.conns[0], "+OK", "acl", "load")
	everywhere(t, c, `*2 "bob" "default"`, "acl", "users")
}

// checkBrokenFiles loads every broken file through every node of a server.
func checkBrokenFiles(t *testing.T, s aclServer) {
	t.Helper()
	for _, c := range s.conns {
		expect(t, c, "+OK", "auth", "ann", "pw")
	}
	before := proc.Do(t, s.conns[0], "acl", "list")
	for _, broken := range brokenFiles {
		s.write(t, broken.text)
		for i, c := range s.conns {
			got := proc.Do(t, c, "acl", "load")
			named := false
			for _, words := range s.wrong(broken.line) {
				named = named || strings.Contains(got, words)
			}
			if !strings.HasPrefix(got, "-ERR ") || !named || !strings.Contains(got, broken.reason) {
				t.Errorf("%s, node %d of %q: %s", s.name, i, broken.text, got)
			}
			// A rule may contain a password, so Lockstep shows no rule in an error.
			if s.name != "redis-server" && strings.Contains(got, "hunter2") {
				t.Errorf("%s shows a rule: %s", s.name, got)
			}
		}
		for i, c := range s.conns {
			expect(t, c, `"ann"`, "acl", "whoami")
			if after := proc.Do(t, c, "acl", "list"); after != before {
				t.Errorf("%s, node %d after %q\nhas %s\nhad %s", s.name, i, broken.text, after, before)
			}
		}
	}
}
