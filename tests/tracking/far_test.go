package tracking

import (
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"lockstep/tests/kit/proc"
)

// five starts five nodes that share the shards. Two of them have no replica of a given shard.
func five(t testing.TB, args ...string) *proc.Cluster {
	t.Helper()
	c := proc.NewCluster(t, 5, proc.Options{Shards: 3, Args: args})
	c.WaitPlaced(c.Nodes[0], 3)
	return c
}

func feeds(n *proc.Node, what string) string { return proc.Info(n.Addr(), "stats")[what] }

// TestEveryWayOfChangeIsToldWithoutAReplica: the clients of a node that has no replica of a key's
// shard get one invalidation for each change of the key, whatever changes it, and no other
// invalidation. When the clients have gone, no feed is left.
func TestEveryWayOfChangeIsToldWithoutAReplica(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := five(t, proc.OneLeader...)
	where := c.Where(t, c.Nodes[0], "{k}")
	far := where.Far[0]
	writer := proc.Dial(t, where.Near[0].Addr())
	var caches []*cache
	var told []*ears
	for _, m := range append(modes, mode{name: "broad redirect", redirect: true, options: []string{"BCAST"}}) {
		k := open(t, far, m)
		caches, told = append(caches, k), append(told, listenTo(k))
	}
	for _, change := range []struct{ command, want string }{
		{"SET k{k} 1", "k{k}"}, {"INCR k{k}", "k{k}"}, {"RENAME k{k} k2{k}", "k{k}"}, {"SET k{k} 5 PX 60000", "k{k}"},
		{"PEXPIRE k{k} 2000", "k{k}"}, {"", "k{k}"}, {"EVAL return~redis.call('set',KEYS[1],'x') 1 k{k}", "k{k}"},
		{"SWAPDB 0 1", "(all)"},
	} {
		lookAll(t, caches, "k{k}")
		if change.command == "" {
			againWhereLate(t, writer, caches, told, "k{k}")
		} else {
			args := strings.Fields(change.command)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "~", " ")
			}
			if got := proc.Do(t, writer, args...); strings.HasPrefix(got, "-") {
				t.Fatalf("%s: %s", change.command, got)
			}
		}
		for i, e := range told {
			want := change.want
			if strings.HasPrefix(change.command, "RENAME") && caches[i].mode.options != nil && caches[i].mode.options[0] == "BCAST" {
				// a client that tracks a prefix gets the invalidation of the other name, too
				proc.Wait(t, patience, "both names", func() bool { return strings.Count(e.soFar(), "{k}") >= 2 })
				e.take()
				continue
			}
			if want == "(all)" {
				// the invalidation comes once for each shard
				proc.Wait(t, patience, "all is invalid", func() bool { return strings.HasPrefix(e.soFar(), "(all)") })
				continue
			}
			e.wants(t, want)
			if t.Failed() {
				t.Fatalf("%s, behind %q", caches[i].name, change.command)
			}
		}
	}
	if gaps := feeds(far, "feed_gaps"); gaps != "0" {
		t.Errorf("%s gaps", gaps)
	}
	for _, k := range caches {
		k.close()
	}
	for _, n := range c.Nodes {
		proc.Wait(t, patience, "no feed is left", func() bool {
			s := proc.Info(n.Addr(), "stats")
			return s["feeds_heard"] == "0" && s["feeds_served"] == "0"
		})
	}
}

// TestOptInAndNoLoopWithoutAReplica tests OPTIN and NOLOOP on a node without a replica.
func TestOptInAndNoLoopWithoutAReplica(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := five(t, proc.OneLeader...)
	where := c.Where(t, c.Nodes[0], "mark")
	far := where.Far[1]
	writer := proc.Dial(t, far.Addr())
	k := open(t, far, mode{name: "optin", options: []string{"OPTIN"}})
	told := listenTo(k)
	for range 5 {
		k.do(t, "GET", "{mark}silent")
		k.do(t, "CLIENT", "CACHING", "YES")
		k.do(t, "GET", "mark")
		proc.Do(t, writer, "SET", "{mark}silent", "1")
		proc.Do(t, writer, "SET", "mark", "1")
		told.wants(t, "mark")
	}
	own := open(t, far, mode{name: "noloop", options: []string{"NOLOOP"}})
	heard := listenTo(own)
	own.look("mark")
	for i := range 100 {
		own.look("{mark}" + nameOf(i))
		own.do(t, "SET", "{mark}"+nameOf(i), "1")
	}
	proc.Do(t, writer, "SET", "mark", "2")
	heard.wants(t, "mark")
	proc.Do(t, writer, "SET", "{mark}"+nameOf(7), "2")
	heard.wants(t, "{mark}"+nameOf(7))
}

// TestNothingStaleStaysWithoutReplicas: clients on all five nodes cache what they read while
// writers change it. The test kills nodes that send feeds to others, and moves replicas away and
// back. In the end every cached value equals the stored one.
func TestNothingStaleStaysWithoutReplicas(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := five(t, "--replica-repair-after-ms", "600000", "--raft-snapshot-entries", "512", "--raft-trailing-entries", "128")
	w := newCrowd(t, c)
	w.more(t)
	for i := range 2 {
		leader := c.Where(t, c.Nodes[0], nameOf(i)).Leader
		leader.Kill9()
		w.more(t)
		leader.Start()
		leader.WaitReady()
		w.more(t)
	}
	// The replicas of a drained node move to others, and later some move back.
	drained := c.Nodes[3:4]
	if proc.Long() {
		drained = c.Nodes[1:]
	}
	for _, n := range drained {
		for _, how := range []string{"ON", "OFF"} {
			if said, err := proc.Ask(n.Addr(), "LOCKSTEP", "DRAIN", n.Name, how); err != nil {
				t.Fatalf("%s, %v", said, err)
			}
			w.more(t)
			c.WaitPlaced(c.Nodes[0], 3)
			w.more(t)
		}
	}
	w.end(t)
	for _, n := range c.Nodes {
		t.Logf("gaps on %s: %s", n.Name, feeds(n, "feed_gaps"))
	}
}

// TestHowSoonClientsHearWithoutAReplica measures how long after the acknowledgement of a write the
// clients of a node without a replica get the invalidation, and counts the batches that the feed
// needs for that.
func TestHowSoonClientsHearWithoutAReplica(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := five(t, proc.OneLeader...)
	where := c.Where(t, c.Nodes[0], "k")
	howSoonOn(t, where.Leader, append(where.Far, where.Near...), "calm")
	var stop atomic.Bool
	var wait sync.WaitGroup
	for i := range 2 {
		other := proc.Dial(t, where.Leader.Addr())
		wait.Go(func() {
			r := rand.New(rand.NewSource(int64(i)))
			for !stop.Load() {
				if _, err := other.Do("INCR", fmt.Sprint("other", r.Intn(100))); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	howSoonOn(t, where.Leader, append(where.Far, where.Near...), "busy")
	stop.Store(true)
	wait.Wait()
	for _, n := range where.Far {
		t.Logf("%s: %s batches, %s gaps", n.Name, feeds(n, "feed_batches"), feeds(n, "feed_gaps"))
	}
}
