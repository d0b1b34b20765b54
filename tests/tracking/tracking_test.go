// Package tracking tests CLIENT TRACKING: a client that caches what it reads gets an invalidation
// for every change, on every node, and keeps no stale value through changes of the leader.
package tracking

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
)

func TestMain(m *testing.M) { proc.Main(m) }

const patience = 90 * time.Second

func open(t testing.TB, n *proc.Node, m mode) *cache {
	t.Helper()
	c := &cache{name: fmt.Sprintf("%s on node %d", m.name, n.Index), addr: n.Addr(), mode: m}
	if err := c.connect(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

const names = 24

func nameOf(i int) string { return fmt.Sprintf("k%d", i) }

// TestNothingStaleStaysThroughFailovers: clients on every node cache what they read, writers on
// every node change it, and leaders die meanwhile. In the end every cached value equals the stored
// one.
func TestNothingStaleStaysThroughFailovers(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	for _, shards := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d shards", shards), func(t *testing.T) { failovers(t, shards) })
	}
}

func failovers(t *testing.T, shards int) {
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Shards: shards})
	w := newCrowd(t, c)
	w.more(t)
	for range 2 {
		leader := c.WaitLeader()
		leader.Kill9()
		w.more(t)
		leader.Start()
		leader.WaitReady()
		w.more(t)
	}
	w.end(t)
}

// TestHowSoonClientsHearOfChanges measures how long after the acknowledgement of a write the client
// of each node gets the invalidation. A follower learns that an entry is committed with the next
// entry, or, in a calm cluster, from a message that Raft's leader sends for that.
func TestHowSoonClientsHearOfChanges(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Args: proc.OneLeader})
	howSoon(t, c, "calm")
	var stop atomic.Bool
	var wait sync.WaitGroup
	for i := range 2 {
		other := proc.Dial(t, c.WaitLeader().Addr())
		wait.Go(func() {
			for !stop.Load() {
				if _, err := other.Do("INCR", fmt.Sprint("other", i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	howSoon(t, c, "busy")
	stop.Store(true)
	wait.Wait()
}

func howSoon(t *testing.T, c *proc.Cluster, when string) {
	t.Helper()
	howSoonOn(t, c.WaitLeader(), c.Nodes, when)
}

// soonAtMost bounds the median. It is far more than an invalidation takes on a busy machine.
const soonAtMost = 2 * time.Second

// howSoonOn measures on the given nodes. The writes go to leader.
func howSoonOn(t *testing.T, leader *proc.Node, nodes []*proc.Node, when string) {
	t.Helper()
	rounds := 40
	if proc.Long() {
		rounds = 1000
	}
	type news struct {
		node int
		at   time.Time
	}
	heard := make(chan news, 64)
	var caches []*cache
	for i, n := range nodes {
		k := open(t, n, modes[0])
		k.heard = func(string) { heard <- news{i, time.Now()} }
		caches = append(caches, k)
	}
	writer := proc.Dial(t, leader.Addr())
	took := make([][]time.Duration, len(nodes))
	for i := range rounds {
		for _, k := range caches {
			if _, ok := k.look("k"); !ok {
				t.Fatal("a connection ended")
			}
		}
		proc.Do(t, writer, "SET", "k", fmt.Sprint(i))
		acked := time.Now()
		// A client may get two invalidations for a write: one for the key, and one for all keys
		// after a gap in the feed.
		for told := map[int]bool{}; len(told) < len(caches); {
			select {
			case n := <-heard:
				if !told[n.node] {
					took[n.node] = append(took[n.node], n.at.Sub(acked))
				}
				told[n.node] = true
			case <-time.After(patience):
				t.Fatalf("write %d: not everybody was told", i)
			}
		}
	}
	for i, all := range took {
		if len(all) != rounds {
			t.Fatalf("%s was told %d times of %d writes", nodes[i].Name, len(all), rounds)
		}
		slices.Sort(all)
		t.Logf("%s: %s (%s): from the acknowledgement to the invalidation, median %v, 99 of 100 within %v, most %v (negative: before it)",
			when, nodes[i].Name, nodes[i].Role(), all[rounds/2], all[rounds*99/100], all[rounds-1])
		if all[rounds/2] > soonAtMost {
			t.Errorf("%s: half of the news come to %s later than %v", when, nodes[i].Name, soonAtMost)
		}
	}
}
