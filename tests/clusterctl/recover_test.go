package clusterctl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep/node/status"
	"lockstep/tests/kit/proc"
)

// recovery runs clusterctl recover on a stopped node's folder.
func recovery(t *testing.T, n *proc.Node, more ...string) (string, int) {
	t.Helper()
	return proc.Ctl(t, "127.0.0.1:1", append([]string{"recover", "--dir", n.DataDir()}, more...)...)
}

// Two of three nodes are lost for good. The third continues with all acknowledged data that it had,
// under the same cluster id. New nodes join, and the lost ones are refused when they come back,
// alone or together.
func TestAClusterIsRecoveredFromOneOfThree(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Shards: 2})
	survivor, lost := c.Nodes[1], []*proc.Node{c.Nodes[0], c.Nodes[2]}
	const keys = 40
	fill(t, survivor.Addr(), "k", keys)
	was := healthy(t, survivor.Addr(), 3, keys)
	names := lost[0].Name + "," + lost[1].Name
	// The log of the leader has everything that the leader has acknowledged.
	proc.Wait(t, patience, "the survivor leads", func() bool {
		_, code := proc.Ctl(t, survivor.Addr(), "transfer", "--shard", "all", "--to", survivor.Name)
		return code == 0
	})
	var clients []*counting
	for i := range 4 {
		clients = append(clients, count(t, survivor.Addr(), fmt.Sprint("count:", i)))
	}
	advance(t, clients, 10)

	if out, code := recovery(t, survivor, "--lost", names, "--yes"); code != 4 || !strings.Contains(out, "in use by another lockstepd") {
		t.Errorf("while the node runs: exit %d, %s", code, out)
	}
	lost[1].Kill9()
	advance(t, clients, 10)
	survivor.Kill9()
	began := time.Now()
	refusals := []struct {
		args  []string
		words string
	}{
		{[]string{"--lost", lost[1].Name, "--yes"}, "every group still has a quorum"},
		{[]string{"--lost", names, "--yes"}, fmt.Sprintf("something answers at %s, where node %s was", lost[0].PeerAddr(), lost[0].Name)},
		{[]string{"--lost", survivor.Name, "--yes"}, "is the node of this folder"},
		{[]string{"--lost", "n9", "--yes"}, `no node "n9"`},
	}
	for _, r := range refusals {
		out, code := recovery(t, survivor, r.args...)
		if code != 4 {
			t.Errorf("%v: exit %d", r.args, code)
		}
		says(t, out, r.words)
	}
	lost[0].Kill9()
	allIsTheirs := givenAway(t, survivor.DataDir())
	out, code := recovery(t, survivor, "--lost", names)
	if code != 4 {
		t.Errorf("without a yes: exit %d", code)
	}
	says(t, out, "the meta group: 2 of 3 voters are lost", "shard 0: 2 of 3 voters are lost", "shard 1: 2 of 3 voters are lost",
		"after that are gone for good", "must never be used again: n1, n3", "pass --yes")
	out, code = recovery(t, survivor, "--lost", names, "--yes")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	says(t, out, "the meta group goes on from entry", "shard 0 goes on from entry", "last written 2", "start the node as usual")
	allIsTheirs()
	// The node's error message has ids, but an operator who repeats the command uses names.
	endsItsRecovery(t, survivor, nodeOf(t, was, lost[0].Name).ID+","+lost[1].Name)
	allIsTheirs()

	survivor.Start()
	survivor.WaitReady()
	total := survived(t, clients, survivor.Addr())
	t.Logf("recover: %d increments, none lost, none doubled; no writes for %.2f s", total, time.Since(began).Seconds())
	all := keys + int64(len(clients)) + 1
	now := healthy(t, survivor.Addr(), 1, all)
	if now.ClusterID != was.ClusterID || len(now.Removed) != 2 || nodeOf(t, now, survivor.Name).ID != nodeOf(t, was, survivor.Name).ID {
		t.Errorf("cluster %s with %+v, removed %+v; it was %s", now.ClusterID, now.Nodes, now.Removed, was.ClusterID)
	}
	holds(t, survivor.Addr(), "k", keys)
	fill(t, survivor.Addr(), "new", 5)

	stayAway(t, lost)
	holds(t, survivor.Addr(), "new", 5)

	join(t, survivor.Addr(), "n4")
	join(t, survivor.Addr(), "n5")
	healthy(t, survivor.Addr(), 3, all+5)
}

// endsItsRecovery sets the mark of a recovery that was killed after the last group and before its
// end: no group is stuck any more, but the node does not start until the recovery is run again.
func endsItsRecovery(t *testing.T, n *proc.Node, names string) {
	t.Helper()
	path := filepath.Join(n.DataDir(), "identity.json")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(text), "{", `{"recovering": true,`, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, code := recovery(t, n, "--lost", names, "--yes")
	if code != 0 {
		t.Errorf("behind its last group: exit %d, %s", code, out)
	}
	says(t, out, "start the node as usual")
}

// givenAway gives a folder to another user, if root runs the test, and returns a function that
// checks that all files in the folder still belong to that user.
func givenAway(t *testing.T, dir string) (check func()) {
	t.Helper()
	const owner = 10060
	if os.Geteuid() != 0 {
		return func() {}
	}
	each := func(do func(path string) error) {
		t.Helper()
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error { return errors.Join(err, do(path)) })
		if err != nil {
			t.Error(err)
		}
	}
	each(func(path string) error { return os.Lchown(path, owner, owner) })
	return func() {
		t.Helper()
		each(func(path string) error {
			info, err := os.Lstat(path)
			if err == nil && info.Sys().(*syscall.Stat_t).Uid != owner {
				err = fmt.Errorf("%s is root's: the node could not write it", path)
			}
			return err
		})
	}
}

// stayAway starts lost nodes: together they could form a quorum with outdated data.
func stayAway(t *testing.T, lost []*proc.Node) {
	t.Helper()
	before := []int{len(lost[0].Log()), len(lost[1].Log())}
	for _, n := range lost {
		n.Start()
	}
	for i, n := range lost {
		code, log := ends(t, n, before[i])
		if code == 0 {
			t.Errorf("%s: exit status 0", n.Name)
		}
		says(t, log, "removed from the cluster", "move the folder")
	}
}

// survived stops clients whose connections broke, and checks that every acknowledged increment was
// done once. The last call of each client may or may not have been done.
func survived(t *testing.T, clients []*counting, addr string) (total int64) {
	t.Helper()
	ask := func(args ...string) string {
		t.Helper()
		v, err := proc.Ask(addr, args...)
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return v
	}
	for _, c := range clients {
		if err := <-c.ended; err == nil {
			t.Errorf("%s ended without an error", c.own)
		}
		done := c.done.Load()
		if n, err := strconv.ParseInt(ask("GET", c.own), 10, 64); err != nil || n < done || n > done+1 {
			t.Errorf("%s is %d, %v after %d", c.own, n, err, done)
		}
		total += done
	}
	n, err := strconv.ParseInt(ask("GET", sharedCounter), 10, 64)
	if err != nil || n < total || n > total+int64(len(clients)) {
		t.Errorf("%s is %d, %v after %d", sharedCounter, n, err, total)
	}
	// The next write is taken.
	if got := ask("INCR", sharedCounter); got != strconv.FormatInt(n+1, 10) {
		t.Errorf("%s is %s after %d", sharedCounter, got, n)
	}
	return total + n
}

// Two of five nodes remain. They are recovered with the same command, and continue together with
// the data of the one that is further ahead.
func TestAClusterIsRecoveredFromTwoOfFive(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 5, proc.Options{Args: []string{"--replicas", "5"}})
	healthy(t, c.Nodes[0].Addr(), 5, 0)
	behind, ahead := c.Nodes[3], c.Nodes[4]
	const keys = 30
	fill(t, ahead.Addr(), "early", keys)
	healthy(t, ahead.Addr(), 5, keys)
	behind.Kill9()
	fill(t, ahead.Addr(), "late", keys)
	// Acknowledged writes are on three of the four nodes.
	proc.Wait(t, patience, ahead.Name+" has all of it", func() bool { return nodeOf(t, statusOf(t, ahead.Addr()), ahead.Name).Keys == 2*keys })
	for _, n := range c.Nodes {
		n.Kill9()
	}
	for _, n := range []*proc.Node{behind, ahead} {
		out, code := recovery(t, n, "--lost", "n1,n2,n3", "--yes", "-o", "json")
		if code != 0 {
			t.Fatalf("%s: exit %d, %s", n.Name, code, out)
		}
		says(t, out, "the same --lost, to the folders of the other nodes that remain", `"stuck": true`)
		// A second run does no harm.
		if out, code := recovery(t, n, "--lost", "n1,n2,n3", "--yes"); code != 4 {
			t.Errorf("again: exit %d, %s", code, out)
		}
	}
	behind.Start()
	ahead.Start()
	proc.Wait(t, patience, "the two go on", func() bool { _, err := proc.Ask(behind.Addr(), "GET", "late:0"); return err == nil })
	healthy(t, ahead.Addr(), 2, 2*keys)
	for _, n := range []*proc.Node{behind, ahead} {
		holds(t, n.Addr(), "early", keys)
		holds(t, n.Addr(), "late", keys)
	}
}

// Only two learners remain. They are recovered with the same command, and continue together and not
// each by itself.
func TestTwoLearnersThatRemainGoOnTogether(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	everywhere := []string{"--replicas", "0", "--write-timeout-ms", "5000"}
	c := proc.NewCluster(t, 1, proc.Options{Args: everywhere})
	for range 2 {
		c.Join(proc.Options{Args: append(everywhere, "--learner", "yes")})
	}
	const keys = 30
	fill(t, c.Nodes[0].Addr(), "k", keys)
	remain := c.Nodes[1:]
	for _, n := range remain {
		proc.Wait(t, patience, n.Name+" has all of it", func() bool {
			s := statusOf(t, c.Nodes[0].Addr())
			return len(s.Nodes) == 3 && nodeOf(t, s, n.Name).Keys == keys
		})
	}
	for _, n := range c.Nodes {
		n.Kill9()
	}
	for _, n := range remain {
		if out, code := recovery(t, n, "--lost", "n1", "--yes"); code != 0 {
			t.Fatalf("%s: exit %d, %s", n.Name, code, out)
		}
	}
	remain[0].Start()
	proc.Wait(t, patience, "the first answers", func() bool { _, err := proc.Ask(remain[0].Addr(), "PING"); return err == nil })
	if said, err := proc.Ask(remain[0].Addr(), "SET", "alone", "yes"); err == nil {
		t.Errorf("what the other does not know was acknowledged: %s", said)
	}
	remain[1].Start()
	for i, n := range remain {
		proc.Wait(t, patience, n.Name+" takes writes", func() bool {
			_, err := proc.Ask(n.Addr(), "SET", fmt.Sprint("new:", i), fmt.Sprint("new:", i))
			return err == nil
		})
	}
	for _, n := range remain {
		holds(t, n.Addr(), "k", keys)
		holds(t, n.Addr(), "new", len(remain))
	}
	for _, n := range remain {
		if out, code := proc.Ctl(t, n.Addr(), "promote", n.Name); code != 0 {
			t.Errorf("%s: exit %d, %s", n.Name, code, out)
		}
	}
	healthy(t, remain[0].Addr(), 2, keys+2)
}

// If shards have fewer replicas than there are nodes, a shard may be stuck while the meta group is
// not. Then only the shard is recovered, and the lost nodes are removed as usual. The other nodes
// keep running. They know of leaders and writes that the remaining replica, which was down at the
// time, does not know.
func TestAShardIsRecoveredBesideALiveMetaGroup(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 5, proc.Options{})
	const keys = 30
	fill(t, c.Nodes[0].Addr(), "k", keys)
	whole := healthy(t, c.Nodes[0].Addr(), 5, keys)
	var holders, others []*proc.Node
	for _, n := range c.Nodes {
		if slices.Contains(whole.Layout[0].Replicas, n.Name) {
			holders = append(holders, n)
		} else {
			others = append(others, n)
		}
	}
	if len(holders) != 3 || len(others) != 2 {
		t.Fatalf("%d replicas: %+v", len(holders), whole.Layout)
	}
	survivor := holders[0]
	if out, code := recovery(t, others[0], "--lost", holders[1].Name, "--yes"); code != 4 {
		t.Errorf("of a node that runs: exit %d, %s", code, out)
	}
	listen(t, others[0].Addr())
	survivor.Kill9()
	for i := range 4 {
		to := holders[1+i%2].Name
		proc.Wait(t, patience, to+" leads", func() bool {
			_, code := proc.Ctl(t, others[0].Addr(), "transfer", "--shard", "0", "--to", to)
			return code == 0
		})
	}
	fill(t, others[0].Addr(), "late", keys)
	holds(t, others[0].Addr(), "late", keys)
	holders[1].Kill9()
	holders[2].Kill9()
	lost := holders[1].Name + "," + holders[2].Name
	proc.Wait(t, patience, "no quorum", func() bool { return statusOf(t, others[0].Addr()).Health == status.NoQuorum })
	out, code := recovery(t, survivor, "--lost", lost, "--yes")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	says(t, out, "shard 0: 2 of 3 voters are lost", "shard 0 goes on from entry")
	if strings.Contains(out, "meta goes on") {
		t.Errorf("the meta group has its quorum: %s", out)
	}
	survivor.Start()
	survivor.WaitReady()
	for _, n := range others {
		proc.Wait(t, patience, "what is left is read through "+n.Name, func() bool { _, err := proc.Ask(n.Addr(), "GET", "k:0"); return err == nil })
		holds(t, n.Addr(), "k", keys)
		if v, err := proc.Ask(n.Addr(), "GET", "late:0"); v != "" || err != nil {
			t.Errorf("what is lost is %q, %v through %s", v, err, n.Name)
		}
	}
	for _, n := range holders[1:] {
		proc.Wait(t, patience, n.Name+" is removed", func() bool { _, code := proc.Ctl(t, others[0].Addr(), "remove", n.Name, "--yes"); return code == 0 })
	}
	healthy(t, others[1].Addr(), 3, keys)
	for _, n := range append(others, survivor) {
		conn := proc.Dial(t, n.Addr())
		proc.Wait(t, patience, n.Name+" knows the leader of the slots", func() bool { return strings.Contains(proc.Do(t, conn, "CLUSTER", "SLOTS"), "16383") })
	}
}

// listen makes a node receive all changes, for a client that caches.
func listen(t *testing.T, addr string) {
	t.Helper()
	conn := proc.Dial(t, addr)
	proc.Do(t, conn, "HELLO", "3")
	if said := proc.Do(t, conn, "CLIENT", "TRACKING", "ON", "BCAST"); said != "+OK" && said != "OK" {
		t.Fatal(said)
	}
}
