// Package secret_test starts real nodes that prove to each other that they know their cluster's
// secret, and strangers that do not know it.
package secret_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/secret"
	"lockstep/node/status"
	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
	"lockstep/tests/kit/stranger"
	"lockstep/tests/kit/writers"
)

func TestMain(m *testing.M) { proc.Main(m) }

const (
	patience = 2 * time.Minute

	first  = "the-first-secret-of-this-cluster"
	second = "the-second-secret-of-this-cluster"
)

// statusOf returns the cluster as a node sees it.
func statusOf(t *testing.T, n *proc.Node) *status.Cluster {
	t.Helper()
	var c status.Cluster
	if err := json.Unmarshal([]byte(proc.MustAsk(t, n.Addr(), "LOCKSTEP", "STATUS")), &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

// kept returns the path of the secret file in a node's data folder.
func kept(n *proc.Node) string { return filepath.Join(n.DataDir(), "cluster-secret") }

// keptSecrets returns the secrets in that file.
func keptSecrets(t *testing.T, n *proc.Node) secret.List {
	t.Helper()
	list, err := secret.ReadFile(kept(n))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// logged waits until a node's log contains a text.
func logged(t *testing.T, n *proc.Node, words string) {
	t.Helper()
	proc.Wait(t, patience, n.Name+" says: "+words, func() bool { return strings.Contains(n.Log(), words) })
}

// ended waits until a node that cannot start has ended, and returns its log.
func ended(t *testing.T, n *proc.Node) string {
	t.Helper()
	proc.Wait(t, patience, n.Name+" ends", func() bool { return !n.Running() })
	if code, _ := n.Ended(); code != 1 {
		t.Errorf("%s ended with %d", n.Name, code)
	}
	return n.Log()
}

// TestAStrangerGetsNothing: strangers know the cluster's id and the ids of its nodes, but no
// secret. They get no data, can read and write nothing, and cannot join.
func TestAStrangerGetsNothing(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Args: []string{"--cluster-secret", first}})
	proc.MustAsk(t, c.Nodes[0].Addr(), "SET", "k", "what only members read")
	before := statusOf(t, c.Nodes[0])
	addr := c.Nodes[0].PeerAddr()
	var saying sync.WaitGroup
	for who, words := range stranger.Words(before.ClusterID) {
		saying.Go(func() {
			told, err := stranger.Say(addr, words)
			if err != nil {
				t.Errorf("%s is not closed: %v", who, err)
			}
			if told != "" && (len(told) != len(stranger.Hello) || !strings.HasPrefix(told, secret.Magic)) {
				t.Errorf("%s is told %q", who, told)
			}
		})
	}
	saying.Wait()
	for _, secrets := range [][]string{nil, {stranger.Secret}, {stranger.Secret, second}} {
		for _, cluster := range []string{"", before.ClusterID} {
			x := stranger.Node(t, cluster, before.Nodes[1].ID, secrets...)
			for kind := 1; kind < 256; kind++ {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				answer, err := x.Call(ctx, addr, uint8(kind), []byte("{}"))
				cancel()
				if err == nil || strings.Contains(err.Error(), before.ClusterID) {
					t.Fatalf("a request of kind %d: %q, %v", kind, answer, err)
				}
			}
			for _, group := range []uint32{0, 1<<32 - 1} {
				if _, err := x.StreamLayer(group).Dial(raft.ServerAddress(addr), patience); err == nil {
					t.Errorf("a Raft stream of group %d is open", group)
				}
			}
		}
	}
	if n := strings.Count(c.Nodes[0].Log(), "peer connection refused"); n > 200 {
		t.Errorf("strangers made %d lines of log", n)
	}
	// The log reports at most one stranger a second.
	for proved, words := range map[string]error{stranger.Secret: secret.ErrUnproved, "": secret.ErrStranger} {
		proc.Wait(t, patience, "the log says what a stranger did", func() bool {
			_, _ = stranger.Node(t, before.ClusterID, "x", strings.Fields(proved)...).StreamLayer(0).Dial(raft.ServerAddress(addr), patience)
			return strings.Contains(c.Nodes[0].Log(), words.Error())
		})
	}
	if now := statusOf(t, c.Nodes[0]); len(now.Nodes) != 3 || proc.MustAsk(t, c.Nodes[0].Addr(), "GET", "k") != "what only members read" {
		t.Errorf("strangers have changed something: %+v", now.Nodes)
	}
}

// TestACrowdOfStrangersKeepsNoNodeOut: more strangers than there are places hold connections to all
// three nodes. On each node they do so in another way that holds a connection long. Meanwhile one
// node restarts, and another one joins.
func TestACrowdOfStrangersKeepsNoNodeOut(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Args: []string{"--cluster-secret", first}})
	for i, n := range c.Nodes {
		stranger.Gather(t, 1500, n.PeerAddr(), []string{"", stranger.Hello, stranger.Hello + "\x01p"}[i])
	}
	again := c.Follower()
	again.Kill9()
	again.Start()
	again.WaitReady()
	c.Join(proc.Options{Args: []string{"--cluster-secret", first}}).WaitReady()
	proc.MustAsk(t, again.Addr(), "SET", "k", "v")
}

// TestWhoMayJoin tests the table of docs/security.md.
func TestWhoMayJoin(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("# a comment\n"+first+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const asks, other = "it wants the cluster's secret proved", "its cluster has another secret"
	for _, row := range []struct {
		name           string
		founder, joins []string
		then           []string // a command that the founder gets before the other joins
		refused        string
	}{
		{name: "nothing is set"},
		{name: "the same secret", founder: []string{"--cluster-secret", first}, joins: []string{"--cluster-secret", first}},
		{name: "the same, one of them from a file", founder: []string{"--cluster-secret", first}, joins: []string{"--cluster-secret-file", file}},
		{name: "another secret", founder: []string{"--cluster-secret", first}, joins: []string{"--cluster-secret", second}, refused: other},
		{name: "the founder has one", founder: []string{"--cluster-secret", first}, refused: asks},
		{name: "the joiner has one", joins: []string{"--cluster-secret", first}, refused: other},
		{name: "the same password", founder: []string{"--requirepass", "sesame"}, joins: []string{"--requirepass", "sesame"}},
		{name: "another password", founder: []string{"--requirepass", "sesame"}, joins: []string{"--requirepass", "Sesame"}, refused: other},
		{name: "the founder has a password", founder: []string{"--requirepass", "sesame"}, refused: asks},
		{name: "a secret is stronger than a password", founder: []string{"--cluster-secret", first, "--requirepass", "sesame"}, joins: []string{"--cluster-secret", first, "--requirepass", "Sesame"}},
		{name: "a password came later", then: []string{"CONFIG", "SET", "requirepass", "sesame"}, refused: asks},
		{name: "the default user may not do everything", then: []string{"ACL", "SETUSER", "default", "-flushall"}, refused: asks},
		{name: "the default user is off", then: []string{"ACL", "SETUSER", "default", "off"}, refused: asks},
		{name: "protected-mode is off", founder: []string{"--protected-mode", "no"}, joins: []string{"--protected-mode", "no"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a := proc.NewUnstarted(t, "founder", append([]string{"--bootstrap"}, row.founder...)...)
			a.Start()
			logged(t, a, "ready for clients")
			if row.then != nil {
				proc.MustAsk(t, a.Addr(), row.then...)
			}
			b := proc.NewUnstarted(t, "joiner", append([]string{"--join", a.PeerAddr()}, row.joins...)...)
			b.Start()
			if row.refused != "" {
				logged(t, b, row.refused)
				if proc.Ping(b.Addr()) {
					t.Error("it serves clients")
				}
				return
			}
			logged(t, b, "taken in")
			logged(t, b, "ready for clients")
			if row.founder == nil {
				if info, err := os.Stat(kept(b)); err != nil || info.Mode().Perm() != 0o600 || !keptSecrets(t, a).Equal(keptSecrets(t, b)) {
					t.Errorf("the secret was not handed on: %v, %v", info, err)
				}
			}
		})
	}
}

// TestANodeThatOthersReachHasASecret: a node that other machines can reach starts only with a
// secret, or if its settings allow it to run without one.
func TestANodeThatOthersReachHasASecret(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	for _, row := range []struct {
		name   string
		args   []string
		starts bool
	}{
		{"all addresses", []string{"--bind", "*"}, false},
		{"all addresses, to join", []string{"--bind", "0.0.0.0", "--join", "127.0.0.1:1"}, false},
		{"all addresses, to found", []string{"--bind", "127.0.0.1 0.0.0.0", "--join", "127.0.0.1:1", "--bootstrap-expect", "3"}, false},
		{"this machine", []string{"--bind", "127.0.0.1 -::1"}, true},
		{"a secret", []string{"--bind", "0.0.0.0", "--cluster-secret", first}, true},
		{"a password", []string{"--bind", "0.0.0.0", "--requirepass", "sesame"}, true},
		{"it was told so", []string{"--bind", "0.0.0.0", "--protected-mode", "no"}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			n := proc.NewUnstarted(t, "n", row.args...)
			n.Start()
			if row.starts {
				logged(t, n, "ready for clients")
				return
			}
			if said := ended(t, n); !strings.Contains(said, "other machines can reach this node's peer port") || !strings.Contains(said, "cluster-secret") {
				t.Errorf("it says %s", said)
			}
			if _, err := os.Stat(filepath.Join(n.DataDir(), "identity.json")); err == nil {
				t.Error("it has begun to be a node")
			}
		})
	}
}

// TestWhereItIsToldToJoinTheWrongPort: a node that is told to join a port that is no peer port says
// so at once, names the right port, and ends.
func TestWhereItIsToldToJoinTheWrongPort(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	admin := proc.FreePort(t)
	a := proc.NewNode(t, proc.Options{Args: []string{"--admin-port", strconv.Itoa(admin)}})
	locked := proc.NewUnstarted(t, "locked", "--requirepass", "sesame", "--bootstrap")
	locked.Start()
	logged(t, locked, "ready for clients")
	redis := proc.RedisServer(t)
	for _, row := range []struct{ name, join, says string }{
		{"a node's port for clients", a.Addr(), fmt.Sprintf("this port is for clients; nodes meet at the peer port, %d", a.Port+10000)},
		{"one that wants a password", locked.Addr(), fmt.Sprintf("this port is for clients; nodes meet at the peer port, %d", locked.Port+10000)},
		{"a redis-server", redis.Addr(), "this port is for clients; nodes meet at the peer port, as a rule the port for clients plus 10000"},
		{"an admin port", net.JoinHostPort("127.0.0.1", strconv.Itoa(admin)), "this port speaks HTTP, as a node's admin-port does; nodes meet at the peer port"},
	} {
		n := proc.NewUnstarted(t, "astray", "--join", row.join)
		began := time.Now()
		n.Start()
		if said := ended(t, n); !strings.Contains(said, row.join) || !strings.Contains(said, row.says) {
			t.Errorf("%s: it says %s", row.name, said)
		}
		t.Logf("%s: %v", row.name, time.Since(began).Round(time.Millisecond))
	}
	logged(t, a, "a node takes this port for the peer port")
	// With several addresses the node does not end, because the right node may be starting.
	n := proc.NewUnstarted(t, "both", "--join", a.Addr()+","+a.PeerAddr())
	n.Start()
	logged(t, n, "taken in")
	// It does not end either while nodes found a cluster. Their addresses are not certain before
	// all nodes are there.
	m := proc.NewUnstarted(t, "expecting", "--join", a.Addr(), "--bootstrap-expect", "2")
	m.Start()
	logged(t, m, "of the addresses to join these are no peer ports")
}

// TestTheSecretOutlastsItsNodes: the secret stays the same when all nodes are killed, when a node
// loses its disk, when nodes get other addresses, and when one of three nodes is recovered.
func TestTheSecretOutlastsItsNodes(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	was := keptSecrets(t, c.Nodes[0])
	proc.MustAsk(t, c.Nodes[0].Addr(), "SET", "k", "v")
	c.Restart()
	c.WaitLeader()

	lost := c.Nodes[2]
	lost.Kill9()
	if err := os.RemoveAll(lost.DataDir()); err != nil {
		t.Fatal(err)
	}
	lost.Start("--replace")
	lost.WaitReady()

	for _, n := range c.Nodes {
		n.Stop()
	}
	meeting := proc.FreePort(t)
	for i, n := range c.Nodes {
		port := meeting
		if i > 0 {
			port = proc.FreePort(t)
		}
		n.Start("--peer-port", strconv.Itoa(port), "--join", "127.0.0.1:"+strconv.Itoa(meeting), "--bootstrap", "no")
	}
	for _, n := range c.Nodes {
		n.WaitReady()
	}
	c.WaitLeader()
	proc.MustAsk(t, c.Nodes[1].Addr(), "SET", "k", "w")
	proc.Wait(t, patience, "the last node has it", func() bool {
		v, err := proc.Ask(lost.Addr(), "GET", "k")
		return err == nil && v == "w"
	})
	for _, n := range c.Nodes {
		n.Kill9()
	}
	if out, code := proc.Ctl(t, "127.0.0.1:1", "recover", "--dir", c.Nodes[0].DataDir(), "--lost", "n2,n3", "--yes"); code != 0 {
		t.Fatalf("recover: %d, %s", code, out)
	}
	c.Nodes[0].Start("--peer-port", strconv.Itoa(meeting))
	c.Nodes[0].WaitReady()
	if v := proc.MustAsk(t, c.Nodes[0].Addr(), "GET", "k"); v != "w" {
		t.Errorf("k is %q", v)
	}
	if !keptSecrets(t, c.Nodes[0]).Equal(was) {
		t.Error("the secret has changed")
	}

	// A node does not start with a data folder from which the secret is missing, and says so.
	c.Nodes[0].Stop()
	if err := os.Remove(kept(c.Nodes[0])); err != nil {
		t.Fatal(err)
	}
	c.Nodes[0].Start()
	if said := ended(t, c.Nodes[0]); !strings.Contains(said, "and not the cluster's secret") {
		t.Errorf("it says %s", said)
	}
}

// begun starts writers at all nodes.
func begun(t *testing.T, c *proc.Cluster) *writers.Writers {
	t.Helper()
	next := 0
	w := writers.Begin(t, 6, func() (*respconn.Conn, error) {
		next++
		return respconn.Dial(c.Nodes[next%len(c.Nodes)].Addr())
	})
	w.Advance(20)
	return w
}

// unharmed lets the writers continue, which must see no error, and reads everything back.
func unharmed(t *testing.T, c *proc.Cluster, w *writers.Writers) {
	t.Helper()
	w.GoOn("the secret was changed", 0, 20, true)
	w.Verify(map[string]func(...string) (respconn.Value, error){"n1": func(args ...string) (respconn.Value, error) {
		conn := proc.Dial(t, c.Nodes[0].Addr())
		defer conn.Close()
		return conn.Do(args...)
	}})
}

// lockedOut waits until no node lets in a node that knows only the given secret.
func lockedOut(t *testing.T, c *proc.Cluster, text string) {
	t.Helper()
	s := statusOf(t, c.Nodes[0])
	for _, n := range c.Nodes {
		proc.Wait(t, patience, n.Name+" does not take the old secret", func() bool {
			_, err := stranger.Node(t, s.ClusterID, s.Nodes[0].ID, text).StreamLayer(0).Dial(raft.ServerAddress(n.PeerAddr()), patience)
			return errors.Is(err, secret.ErrClosed)
		})
	}
}

// TestTheSecretChangesUnderWrites: clusterctl changes the secret, and no client sees an error.
func TestTheSecretChangesUnderWrites(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	w := begun(t, c)
	old := keptSecrets(t, c.Nodes[0])
	away := c.Follower()
	away.Stop()
	asked := c.WaitLeader()
	said, code := proc.Ctl(t, asked.Addr(), "secret", "rotate")
	if code == 0 || !strings.Contains(said, away.Name+" does not") || len(keptSecrets(t, asked)) != 1 {
		t.Errorf("without %s: exit %d, %s", away.Name, code, said)
	}
	away.Start()
	away.WaitReady()
	w.Advance(20)
	w.Tell()
	for range 2 {
		said, code = proc.Ctl(t, asked.Addr(), "secret", "rotate")
		if code != 0 || !strings.Contains(said, "all nodes (3) have the new secret") {
			t.Fatalf("exit %d, %s", code, said)
		}
		w.Advance(20)
	}
	for _, n := range c.Nodes {
		if now := keptSecrets(t, n); len(now) != 1 || now.Shares(old) || !now.Equal(keptSecrets(t, asked)) {
			t.Errorf("%s has %d secrets, and not the new one alone", n.Name, len(now))
		}
	}
	lockedOut(t, c, old[0].Text())
	unharmed(t, c, w)
	// The nodes still have the new secrets after a restart.
	c.Restart()
	c.WaitLeader()
	c.Join(proc.Options{}).WaitReady()
}

// TestTheSecretChangesInFilesUnderWrites: the secret changes in the nodes' files, as when a mounted
// Secret changes.
func TestTheSecretChangesInFilesUnderWrites(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	write := func(text string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(file+".new", []byte(text), 0o600), os.Rename(file+".new", file)); err != nil {
			t.Fatal(err)
		}
	}
	write(first + "\n")
	c := proc.NewCluster(t, 3, proc.Options{Args: []string{"--cluster-secret-file", file}})
	w := begun(t, c)
	write(second + "\n")
	for _, n := range c.Nodes {
		logged(t, n, "none of the secrets is in force")
	}
	for step, text := range []string{second + "\n" + first + "\n", second + "\n"} {
		write(text)
		for _, n := range c.Nodes {
			proc.Wait(t, patience, n.Name+" has taken it", func() bool { return strings.Count(n.Log(), "the cluster's secrets have changed") == step+1 })
		}
		w.Advance(20)
	}
	lockedOut(t, c, first)
	unharmed(t, c, w)
	if said, code := proc.Ctl(t, c.Nodes[0].Addr(), "secret", "rotate"); code == 0 || !strings.Contains(said, "from cluster-secret-file") {
		t.Errorf("clusterctl secret rotate: exit %d, %s", code, said)
	}
}

// TestTheSecretChangesByConfigSetUnderWrites: CONFIG SET changes the secret.
func TestTheSecretChangesByConfigSetUnderWrites(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Args: []string{"--cluster-secret", first}})
	w := begun(t, c)
	for text, why := range map[string]string{second: "none of the secrets is in force", "": "none of the secrets is in force", "short": "16 to 256 characters"} {
		if _, err := proc.Ask(c.Nodes[0].Addr(), "CONFIG", "SET", "cluster-secret", text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{second + " " + first, second} {
		for _, n := range c.Nodes {
			proc.MustAsk(t, n.Addr(), "CONFIG", "SET", "cluster-secret", text)
			w.Advance(5)
		}
	}
	lockedOut(t, c, first)
	unharmed(t, c, w)
	if got := proc.Do(t, proc.Dial(t, c.Nodes[0].Addr()), "CONFIG", "GET", "cluster*"); strings.Contains(got, "secret-of-this") || !strings.Contains(got, "(hidden)") {
		t.Errorf("CONFIG GET shows %s", got)
	}
	one := proc.NewNode(t, proc.Options{})
	if _, err := proc.Ask(one.Addr(), "CONFIG", "SET", "cluster-secret", first); err == nil || !strings.Contains(err.Error(), "clusterctl secret rotate") {
		t.Errorf("where the secret is in the data folder: %v", err)
	}
}
