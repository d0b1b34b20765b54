// Package founding starts real nodes with the same settings, in any order, and checks which cluster
// they found.
package founding

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/node/status"
	"lockstep/tests/kit/proc"
)

const patience = 120 * time.Second

// cluster returns the cluster as a node sees it, or nil if the node has none or does not answer.
func cluster(n *proc.Node) *status.Cluster {
	var c status.Cluster
	reply, err := proc.Ask(n.Addr(), "LOCKSTEP", "STATUS")
	if err != nil || json.Unmarshal([]byte(reply), &c) != nil {
		return nil
	}
	return &c
}

// together waits until all nodes are members of one cluster, and returns it.
func together(t *testing.T, nodes []*proc.Node) *status.Cluster {
	t.Helper()
	var first *status.Cluster
	proc.Wait(t, patience, "all nodes belong to one healthy cluster", func() bool {
		if first = cluster(nodes[0]); first == nil {
			return false
		}
		for _, n := range nodes {
			c := cluster(n)
			if c == nil || c.ClusterID != first.ClusterID || len(c.Nodes) != len(nodes) || c.Health != status.Healthy {
				return false
			}
		}
		return true
	})
	return first
}

// logged waits until a node's log contains a text.
func logged(t *testing.T, n *proc.Node, words string) {
	t.Helper()
	proc.Wait(t, patience, n.Name+" says: "+words, func() bool { return strings.Contains(n.Log(), words) })
}

func TestThreeNodesThatWereToldTheSameAreOneCluster(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewFounders(t, 3, proc.Options{Args: []string{"--replace", "yes"}})
	a, b, last := c.Nodes[0], c.Nodes[1], c.Nodes[2]

	// One of three nodes waits, and says why. Two of them wait, too, also if the node with the
	// lowest name is missing.
	last.Start()
	logged(t, last, "1 of 3 expected nodes are there (n3)")
	b.Start()
	logged(t, last, "2 of 3 expected nodes are there (n2,n3)")
	if proc.Ping(b.Addr()) || proc.Ping(last.Addr()) {
		t.Fatal("two of three serve clients")
	}
	a.Start()
	born := together(t, c.Nodes)
	if !strings.Contains(a.Log(), "this node has the lowest name and founds it") || strings.Contains(b.Log()+last.Log(), "and founds it") {
		t.Fatal("another node than n1 founded the cluster")
	}
	proc.MustAsk(t, b.Addr(), "SET", "greeting", "hello")

	// The founder loses its disk while another node is down. It waits for a quorum of the existing
	// cluster, and does not found a new one.
	a.Kill9()
	last.Kill9()
	if err := os.RemoveAll(a.DataDir()); err != nil {
		t.Fatal(err)
	}
	a.Start()
	logged(t, a, "not taken in yet")
	last.Start()
	whole := together(t, c.Nodes)
	if whole.ClusterID != born.ClusterID {
		t.Fatalf("cluster %s became %s", born.ClusterID, whole.ClusterID)
	}
	if got := proc.MustAsk(t, a.Addr(), "GET", "greeting"); got != "hello" {
		t.Fatalf("read %q", got)
	}

	// After all nodes have been killed and started with the same flags, it is the same cluster.
	for _, n := range c.Nodes {
		n.Kill9()
	}
	for _, n := range c.Nodes {
		n.Start()
	}
	if again := together(t, c.Nodes); again.ClusterID != born.ClusterID {
		t.Fatalf("cluster %s became %s", born.ClusterID, again.ClusterID)
	}
}

// held checks that no node accepts any kind of write, and that the status says why.
func held(t *testing.T, nodes []*proc.Node) {
	t.Helper()
	// Some of the commands wait for ten seconds, so all of them run at the same time.
	var given sync.WaitGroup
	for _, n := range nodes {
		for _, order := range [][]string{
			{"SET", "greeting", "hello"}, {"EVAL", "return redis.call('INCR', KEYS[1])", "1", "n"}, {"FUNCTION", "LOAD", "#!lua name=l\nredis.register_function('f', function() end)"},
			{"CONFIG", "SET", "maxmemory", "1gb"}, {"ACL", "SETUSER", "ann", "on"},
		} {
			given.Go(func() { isRefused(t, n, order) })
		}
	}
	given.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for _, n := range nodes {
		// There is no key to read, and the nodes may say so. A read waits for a leader no longer
		// than a write does.
		var got string
		proc.Wait(t, patience, n.Name+" answers a read", func() (answers bool) {
			var err error
			got, err = proc.Ask(n.Addr(), "EXISTS", "greeting", "n")
			return err == nil
		})
		if got != "0" {
			t.Errorf("through %s there are keys: %s", n.Name, got)
		}
	}
	proc.Wait(t, patience, "the status says that writes wait", func() bool {
		c := cluster(nodes[0])
		return c != nil && strings.Contains(strings.Join(c.Reasons, "; "), "shard 0 takes no writes until 2 nodes vote in it; it has 1 voter")
	})
}

// isRefused sends a command until it is refused. If the founder stands still for a moment, a reply
// may say that the result is unknown.
func isRefused(t *testing.T, n *proc.Node, order []string) {
	t.Helper()
	var err error
	refused := proc.Poll(patience, func() bool {
		var got string
		if got, err = proc.Ask(n.Addr(), order...); err == nil {
			t.Errorf("%s answers %s %s while one node votes: %s", n.Name, order[0], order[1], got)
			return true
		}
		return order[0] != "SET" || strings.Contains(err.Error(), "CLUSTERDOWN ")
	})
	if !refused {
		t.Errorf("%s answers a write: %v", n.Name, err)
	}
}

// ready asks the readiness probe of a node.
func ready(t *testing.T, port string) (code int, why string) {
	t.Helper()
	answer, err := http.Get("http://127.0.0.1:" + port + "/readyz")
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// done sends a command until it succeeds. A node that stands still for a moment may run into its
// own write-timeout-ms, and reply that the result is unknown.
func done(t *testing.T, n *proc.Node, order ...string) {
	t.Helper()
	var err error
	if !proc.Poll(patience, func() bool { _, err = proc.Ask(n.Addr(), order...); return err == nil }) {
		t.Fatalf("%q: %v", order, err)
	}
}

// TestNothingIsAcknowledgedBeforeMostVote: the founder of a cluster of three votes alone until
// another node has caught up. No write is acknowledged before it is on two disks, however long that
// takes, and also if the founder restarts meanwhile. Two nodes of three are enough. A cluster that
// was complete once may become smaller.
func TestNothingIsAcknowledgedBeforeMostVote(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewFounders(t, 3, proc.Options{Args: []string{"--write-timeout-ms", "500"}})
	admin := strconv.Itoa(proc.FreePort(t))
	founder, second, third := c.Nodes[0], c.Nodes[1], c.Nodes[2]
	founder.Start("--admin-port", admin)
	// These nodes are admitted, and vote only when an operator promotes them.
	second.Start("--learner", "yes")
	third.Start("--learner", "yes")
	taken := func() bool {
		seen := cluster(founder)
		if seen == nil || len(seen.Nodes) != 3 {
			return false
		}
		for _, n := range c.Nodes {
			if own := cluster(n); own == nil || len(own.Nodes) != 3 {
				return false
			}
		}
		for _, n := range seen.Nodes {
			if n.Membership != "member" {
				return false
			}
		}
		return true
	}
	proc.Wait(t, patience, "all three are taken in", taken)
	held(t, c.Nodes)
	if code, why := ready(t, admin); code != http.StatusServiceUnavailable || !strings.Contains(why, "awaits other nodes") {
		t.Errorf("/readyz of the founder: %d %s", code, why)
	}

	founder.Kill9()
	founder.Start("--admin-port", admin)
	proc.Wait(t, patience, "the founder is back", taken)
	held(t, c.Nodes[:1])

	third.Kill9()
	proc.MustAsk(t, founder.Addr(), "LOCKSTEP", "PROMOTE", second.Name)
	proc.Wait(t, patience, "two of three take writes", func() bool {
		got, err := proc.Ask(second.Addr(), "SET", "greeting", "hello")
		return err == nil && got == "OK"
	})
	proc.Wait(t, patience, "the founder is ready", func() bool { code, _ := ready(t, admin); return code == http.StatusOK })
	var seen *status.Cluster
	proc.Wait(t, patience, "the founder reports the cluster", func() bool { seen = cluster(founder); return seen != nil })
	for _, n := range seen.Nodes {
		for _, g := range n.Groups {
			if n.Name == founder.Name && (g.Voters != 2 || g.VotersAwaited != 0) {
				t.Errorf("writes were taken: %+v", g)
			}
		}
	}
	done(t, founder, "CONFIG", "SET", "maxmemory", "1gb")

	// The cluster was complete once, so it is smaller now because an operator wants that.
	for _, gone := range []*proc.Node{third, second} {
		done(t, founder, "LOCKSTEP", "REMOVE", gone.Name)
	}
	proc.Wait(t, patience, "the founder votes alone", func() bool {
		seen := cluster(founder)
		return seen != nil && len(seen.Nodes) == 1 && seen.Nodes[0].Group("0").Voters == 1
	})
	founder.Kill9()
	founder.Start()
	proc.Wait(t, patience, "the founder alone takes writes", func() bool {
		got, err := proc.Ask(founder.Addr(), "SET", "greeting", "again")
		return err == nil && got == "OK"
	})
}

// TestAFounderIsToldNotToAwaitTheOthers: two of three nodes never come. An operator starts the
// founder with another number, and it continues without them.
func TestAFounderIsToldNotToAwaitTheOthers(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewFounders(t, 3, proc.Options{Args: []string{"--write-timeout-ms", "500", "--learner", "yes"}})
	for _, n := range c.Nodes {
		n.Start()
	}
	proc.Wait(t, patience, "the founder answers", func() bool { return cluster(c.Nodes[0]) != nil })
	if got, err := proc.Ask(c.Nodes[0].Addr(), "SET", "greeting", "hello"); err == nil {
		t.Fatalf("a write is answered: %s", got)
	}
	c.Nodes[0].Kill9()
	c.Nodes[0].Start("--bootstrap-expect", "1")
	proc.Wait(t, patience, "the founder alone takes writes", func() bool {
		got, err := proc.Ask(c.Nodes[0].Addr(), "SET", "greeting", "hello")
		return err == nil && got == "OK"
	})
}

func TestOtherNumbersAreSaidLoudlyAndFoundNothing(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewFounders(t, 2, proc.Options{})
	c.Nodes[0].Start()
	c.Nodes[1].Start("--bootstrap-expect", "3")
	logged(t, c.Nodes[0], "n2 has bootstrap-expect 3, and this node 2")
	logged(t, c.Nodes[1], "n1 has bootstrap-expect 2, and this node 3")
	c.Nodes[1].Kill9()
	c.Nodes[1].Start()
	logged(t, c.Nodes[1], "bootstrap-expect is not what this node was started with before")
	together(t, c.Nodes)
}

// TestARemovedNodeJoinsAnewWhenItIsStartedAgain: a removed node stays up and serves no clients.
// When it is started again, it joins as a new node and keeps its old data aside.
func TestARemovedNodeJoinsAnewWhenItIsStartedAgain(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewFounders(t, 3, proc.Options{Args: []string{"--rejoin", "yes", "--replace", "yes"}})
	for i, n := range c.Nodes {
		n.Start("--admin-port", strconv.Itoa(proc.FreePort(t)))
		if i == 0 {
			logged(t, n, "1 of 3")
		}
	}
	born := together(t, c.Nodes)
	gone := c.Nodes[2]
	proc.MustAsk(t, c.Nodes[0].Addr(), "SET", "greeting", "hello")
	proc.MustAsk(t, c.Nodes[0].Addr(), "LOCKSTEP", "REMOVE", gone.Name)
	logged(t, gone, "stays up without serving")
	if strings.Contains(gone.Log(), "something goes on in the background") {
		t.Error("the removed node has not closed all that it closes")
	}
	together(t, c.Nodes[:2])
	if !gone.Running() || proc.Ping(gone.Addr()) {
		t.Fatal("the removed node ended, or serves clients")
	}
	gone.Stop()
	gone.Start()
	whole := together(t, c.Nodes)
	if whole.ClusterID != born.ClusterID {
		t.Fatalf("cluster %s became %s", born.ClusterID, whole.ClusterID)
	}
	if got := proc.MustAsk(t, gone.Addr(), "GET", "greeting"); got != "hello" {
		t.Fatalf("read %q", got)
	}
	if !strings.Contains(gone.Log(), "its data is set aside, and a new node begins here") {
		t.Fatal("it does not say what became of its data")
	}
}
