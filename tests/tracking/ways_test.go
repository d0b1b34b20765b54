package tracking

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// ears records the invalidations that a cache has got, in order.
type ears struct {
	mu    sync.Mutex
	heard []string
}

func (e *ears) hear(key string) {
	if key == "" {
		key = "(all)"
	}
	e.mu.Lock()
	e.heard = append(e.heard, key)
	e.mu.Unlock()
}

// soFar returns the invalidations since the last call of take.
func (e *ears) soFar() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.heard, " ")
}

func (e *ears) take() {
	e.mu.Lock()
	e.heard = nil
	e.mu.Unlock()
}

func listenTo(c *cache) *ears {
	e := &ears{}
	c.mu.Lock()
	c.heard = e.hear
	c.mu.Unlock()
	return e
}

func lookAll(t *testing.T, caches []*cache, key string) {
	t.Helper()
	for _, k := range caches {
		if _, ok := k.look(key); !ok {
			t.Fatal("a connection ended")
		}
	}
}

// againWhereLate makes sure that all caches have looked up a key before it expires. On a busy
// machine the key may have expired earlier. Then all of them connect again and look up a key that
// lives longer.
func againWhereLate(t *testing.T, writer *respconn.Conn, caches []*cache, told []*ears, key string) {
	t.Helper()
	for ms := 4000; proc.Do(t, writer, "PTTL", key) == ":-2"; ms *= 2 {
		proc.Do(t, writer, "SET", key, "again", "PX", strconv.Itoa(ms))
		for i, k := range caches {
			k.close()
			if err := k.connect(); err != nil {
				t.Fatal(err)
			}
			told[i].take()
		}
		lookAll(t, caches, key)
	}
}

func (e *ears) wants(t *testing.T, want string) {
	t.Helper()
	var got string
	if !proc.Poll(patience, func() bool {
		got = e.soFar()
		return got == want
	}) {
		t.Errorf("told %q, not %q", got, want)
	}
	e.take()
}

// TestEveryWayOfChangeIsToldOnEveryNode: the clients of every node get an invalidation for every
// way in which a key changes: a write through any node, an expiry, a database that is emptied or
// swapped, and a node that takes its state from a snapshot.
func TestEveryWayOfChangeIsToldOnEveryNode(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Shards: 1})
	writer := proc.Dial(t, c.Follower().Addr())
	var caches []*cache
	var told []*ears
	for _, n := range c.Nodes {
		k := open(t, n, modes[0])
		caches, told = append(caches, k), append(told, listenTo(k))
	}
	for _, change := range []struct{ command, want string }{
		{"SET k 1", "k"}, {"INCR k", "k"}, {"RENAME k other", "k"}, {"SET k 5 PX 60000", "k"}, {"PEXPIRE k 2000", "k"}, {"", "k"},
		{"SET k 1 PX 2000", "k"}, {"", "k"}, {"MULTI", ""}, {"SET k 1", ""}, {"SET k 2", ""}, {"EXEC", "k"},
		{"FLUSHDB", "(all)"}, {"SWAPDB 0 1", "(all)"}, {"FLUSHALL", "(all)"},
	} {
		lookAll(t, caches, "k")
		if change.command == "" {
			againWhereLate(t, writer, caches, told, "k")
		} else {
			if got := proc.Do(t, writer, strings.Fields(change.command)...); strings.HasPrefix(got, "-") {
				t.Fatalf("%s: %s", change.command, got)
			}
		}
		for i, e := range told {
			if change.want != "" {
				e.wants(t, change.want)
			}
			if t.Failed() {
				t.Fatalf("node %d, behind %q", i, change.command)
			}
		}
	}
	for i, n := range c.Nodes {
		other := proc.Dial(t, n.Addr())
		proc.Do(t, other, "DEBUG", "RELOAD")
		told[i].wants(t, "(all)")
	}
}

// TestASnapshotFromTheLeaderInvalidatesEverything: a follower that was paused gets a snapshot
// instead of log entries. Its clients must drop everything, because the follower has not seen the
// single changes.
func TestASnapshotFromTheLeaderInvalidatesEverything(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Shards: 1, Args: []string{"--raft-snapshot-entries", "100", "--raft-trailing-entries", "10"}})
	paused := c.Follower()
	k := open(t, paused, modes[0])
	told := listenTo(k)
	writer := proc.Dial(t, c.WaitLeader().Addr())
	proc.Do(t, writer, "SET", "k", "old")
	proc.Wait(t, patience, "the value is cached", func() bool {
		v, ok := k.look("k")
		return ok && v == `"old"`
	})
	told.take()
	paused.Pause()
	proc.Do(t, writer, "SET", "k", "new")
	for i := range 400 {
		proc.Do(t, writer, "SET", "other", fmt.Sprint(i))
	}
	proc.Do(t, writer, "LOCKSTEP", "SNAPSHOT")
	for i := range 400 {
		proc.Do(t, writer, "SET", "other", fmt.Sprint(i))
	}
	proc.Do(t, writer, "LOCKSTEP", "SNAPSHOT")
	paused.Continue()
	// The entries that were already on their way to the follower when it was paused come first.
	proc.Wait(t, patience, "everything is invalid", func() bool { return strings.HasSuffix(told.soFar(), "(all)") })
	if v, ok := k.look("k"); !ok || v != `"new"` {
		t.Errorf("behind the snapshot: %s", v)
	}
}

// TestNoLoopOnAFollower: when a client with NOLOOP writes through a follower, the follower applies
// the entry after it has sent the reply. It must still recognize the write as the client's own.
func TestNoLoopOnAFollower(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	k := open(t, c.Follower(), mode{name: "noloop", options: []string{"NOLOOP"}})
	told := listenTo(k)
	writer := proc.Dial(t, c.WaitLeader().Addr())
	k.look("mark")
	for i := range 200 {
		k.look(nameOf(i))
		k.do(t, "SET", nameOf(i), "1")
	}
	k.do(t, "MULTI")
	k.do(t, "SET", nameOf(0), "2")
	k.do(t, "EXEC")
	proc.Do(t, writer, "SET", "mark", "1")
	told.wants(t, "mark")
	// The client gets invalidations for the writes of other clients, because its keys are still
	// registered.
	proc.Do(t, writer, "SET", nameOf(7), "2")
	told.wants(t, nameOf(7))
	broad := open(t, c.Follower(), mode{name: "bcast", options: []string{"BCAST", "NOLOOP"}})
	told = listenTo(broad)
	for i := range 50 {
		broad.do(t, "SET", nameOf(i), "1")
	}
	proc.Do(t, writer, "SET", "mark", "2")
	told.wants(t, "mark")
}

// TestTheTableIsBoundedAndShown: the table never holds more keys than its bound, and INFO shows its
// sizes.
func TestTheTableIsBoundedAndShown(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 1, proc.Options{Args: []string{"--tracking-table-max-keys", "10"}})
	k, wide := open(t, c.Nodes[0], modes[0]), open(t, c.Nodes[0], modes[2])
	told := listenTo(k)
	for i := range names {
		k.look(nameOf(i))
	}
	proc.Wait(t, patience, "what went is told of", func() bool {
		return len(strings.Fields(told.soFar())) == names-10
	})
	stats, clients := proc.Info(c.Nodes[0].Addr(), "stats"), proc.Info(c.Nodes[0].Addr(), "clients")
	got := fmt.Sprint(clients["tracking_clients"], stats["tracking_total_keys"], stats["tracking_total_items"], stats["tracking_total_prefixes"])
	if got != "210101" {
		t.Errorf("INFO: %s", got)
	}
	other := proc.Dial(t, c.Nodes[0].Addr())
	proc.Do(t, other, "CONFIG", "SET", "tracking-table-max-keys", "3")
	proc.Wait(t, patience, "the new bound holds", func() bool {
		return proc.Info(c.Nodes[0].Addr(), "stats")["tracking_total_keys"] == "3"
	})
	wide.close()
	k.close()
	proc.Wait(t, patience, "nobody tracks", func() bool {
		return proc.Info(c.Nodes[0].Addr(), "clients")["tracking_clients"] == "0" && proc.Info(c.Nodes[0].Addr(), "stats")["tracking_total_keys"] == "0"
	})
}
