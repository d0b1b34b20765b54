// Package blocking tests that clients that wait for a key are served in order and once, on every
// node, and through changes of the leader.
package blocking

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

func TestMain(m *testing.M) { proc.Main(m) }

const patience = 90 * time.Second

// blocked waits until n clients of the nodes are blocked, and the leader knows all of them. A node
// counts its client before the leader hears of the wait. A write through the same node reaches the
// leader after that.
func blocked(t testing.TB, c *proc.Cluster, n int) {
	t.Helper()
	proc.Wait(t, patience, fmt.Sprintf("%d clients are blocked", n), func() bool {
		sum := 0
		for _, node := range c.Nodes {
			var here int
			fmt.Sscan(proc.Info(node.Addr(), "clients")["blocked_clients"], &here)
			sum += here
		}
		return sum == n
	})
	for _, node := range c.Nodes {
		if _, err := proc.Ask(node.Addr(), "SET", "fence", "1"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWaitersAreServedInOrderOnAllNodes: waiting clients are served in the order in which they
// came, whichever node they are connected to.
func TestWaitersAreServedInOrderOnAllNodes(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	// The leader must not change, because waiting clients register with a new leader in another
	// order.
	c := proc.NewCluster(t, 3, proc.Options{Args: proc.OneLeader})
	var waiting []*respconn.Conn
	for i := range 6 {
		w := proc.Dial(t, c.Nodes[i%3].Addr())
		if err := w.Send("BLPOP", "other", "queue", "0"); err != nil {
			t.Fatal(err)
		}
		blocked(t, c, i+1)
		waiting = append(waiting, w)
	}
	pusher := proc.Dial(t, c.Follower().Addr())
	// One transaction fills the list before any client is served.
	proc.Do(t, pusher, "MULTI")
	proc.Do(t, pusher, "RPUSH", "queue", "0", "1")
	proc.Do(t, pusher, "RPUSH", "queue", "2")
	proc.Do(t, pusher, "EXEC")
	for i := 3; i < 6; i++ {
		proc.Do(t, pusher, "RPUSH", "queue", fmt.Sprint(i))
	}
	for i, w := range waiting {
		if got, want := proc.Read(t, w), fmt.Sprintf(`*2 "queue" "%d"`, i); got != want {
			t.Errorf("waiter %d got %s", i, got)
		}
	}
	if got := proc.Do(t, pusher, "EXISTS", "queue"); got != ":0" {
		t.Errorf("the list is not empty: %s", got)
	}
	blocked(t, c, 0)
}

// TestHowWaitsEnd: a wait ends by its timeout and by CLIENT UNBLOCK.
func TestHowWaitsEnd(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	follower := c.Follower().Addr()
	w := proc.Dial(t, follower)
	id := strings.TrimPrefix(proc.Do(t, w, "CLIENT", "ID"), ":")

	begun := time.Now()
	if got := proc.Do(t, w, "BLPOP", "q", "0.2"); got != "(nil array)" || time.Since(begun) < 200*time.Millisecond {
		t.Errorf("timeout: %s after %v", got, time.Since(begun))
	}
	if got := proc.Do(t, w, "BLMOVE", "q", "r", "LEFT", "LEFT", "0.01"); got != "(nil array)" {
		t.Errorf("timeout of BLMOVE: %s", got)
	}
	for how, want := range map[string]string{"TIMEOUT": "(nil array)", "ERROR": "-UNBLOCKED client unblocked via CLIENT UNBLOCK"} {
		if err := w.Send("BRPOP", "q", "0"); err != nil {
			t.Fatal(err)
		}
		blocked(t, c, 1)
		same := proc.Dial(t, follower)
		// One of two calls succeeds, whether or not the second one comes before the client has been
		// woken.
		again := []string{"CLIENT", "UNBLOCK", id, how}
		if got, err := same.Pipeline(again, again); err != nil || got[0].String() != ":1" || got[1].String() != ":0" {
			t.Errorf("CLIENT UNBLOCK twice: %v, %v", got, err)
		}
		if got := proc.Read(t, w); got != want {
			t.Errorf("unblocked by %s: %s", how, got)
		}
		if got := proc.Do(t, same, "CLIENT", "UNBLOCK", id, how); got != ":0" {
			t.Errorf("CLIENT UNBLOCK of one that is not blocked: %s", got)
		}
	}
	anUnblockedClientTakesNothing(t, c, w, id)
}

// anUnblockedClientTakesNothing: after the answer to CLIENT UNBLOCK no later write serves the
// client.
func anUnblockedClientTakesNothing(t *testing.T, c *proc.Cluster, w *respconn.Conn, id string) {
	same, leader := proc.Dial(t, c.Follower().Addr()), proc.Dial(t, c.WaitLeader().Addr())
	for range 20 {
		if err := w.Send("BRPOP", "q", "0"); err != nil {
			t.Fatal(err)
		}
		blocked(t, c, 1)
		if got := proc.Do(t, same, "CLIENT", "UNBLOCK", id, "ERROR"); got != ":1" {
			t.Errorf("CLIENT UNBLOCK: %s", got)
		}
		if got := proc.Do(t, leader, "RPUSH", "q", "x"); got != ":1" {
			t.Errorf("RPUSH: %s", got)
		}
		if got := proc.Do(t, leader, "RPOP", "q"); got != `"x"` {
			t.Errorf("RPOP behind CLIENT UNBLOCK: %s", got)
		}
		if got := proc.Read(t, w); !strings.HasPrefix(got, "-UNBLOCKED") {
			t.Errorf("the unblocked client got %s", got)
		}
	}
}

// TestAClientThatGoesAwayTakesNothing: when a waiting client closes its connection, its wait ends,
// and no element is lost.
func TestAClientThatGoesAwayTakesNothing(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	follower := c.Follower().Addr()
	other := proc.Dial(t, c.WaitLeader().Addr())
	gone := proc.Dial(t, follower)
	if err := gone.Send("BLPOP", "q", "0"); err != nil {
		t.Fatal(err)
	}
	blocked(t, c, 1)
	gone.Close()
	blocked(t, c, 0)
	proc.Do(t, other, "RPUSH", "q", "x")
	if got := proc.Do(t, other, "LRANGE", "q", "0", "-1"); got != `*1 "x"` {
		t.Errorf("what the client that went away left: %s", got)
	}
}

// TestWhatFillsAKey: a value of another type does not end a wait for a list, but a list that RENAME
// or SWAPDB puts there does. In a transaction no command waits.
func TestWhatFillsAKey(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	w, other := proc.Dial(t, c.Follower().Addr()), proc.Dial(t, c.WaitLeader().Addr())
	if err := w.Send("BLPOP", "q", "0"); err != nil {
		t.Fatal(err)
	}
	blocked(t, c, 1)
	proc.Do(t, other, "SADD", "q", "m")
	proc.Do(t, other, "DEL", "q")
	proc.Do(t, other, "SET", "q", "text")
	if got := proc.Do(t, other, "BLPOP", "q", "0"); !strings.HasPrefix(got, "-WRONGTYPE") {
		t.Errorf("of a string: %s", got)
	}
	proc.Do(t, other, "DEL", "q")
	proc.Do(t, other, "RPUSH", "q2", "y")
	proc.Do(t, other, "RENAME", "q2", "q")
	if got := proc.Read(t, w); got != `*2 "q" "y"` {
		t.Errorf("after a rename: %s", got)
	}
	// SWAPDB brings the keys of the other database.
	if err := w.Send("BLPOP", "q", "0"); err != nil {
		t.Fatal(err)
	}
	blocked(t, c, 1)
	proc.Do(t, other, "SELECT", "1")
	proc.Do(t, other, "RPUSH", "q", "z")
	proc.Do(t, other, "SWAPDB", "0", "1")
	if got := proc.Read(t, w); got != `*2 "q" "z"` {
		t.Errorf("after SWAPDB: %s", got)
	}
	// In a transaction no command waits.
	for _, args := range [][]string{{"MULTI"}, {"BLPOP", "q", "0"}, {"BRPOPLPUSH", "q", "r", "0"}} {
		proc.Do(t, w, args...)
	}
	if got := proc.Do(t, w, "EXEC"); got != "*2 (nil array) (nil)" {
		t.Errorf("in a transaction: %s", got)
	}
}

// TestStreamsAndSortedSetsAreWaitedFor: a new entry of a stream goes to all waiting readers, but
// only to one consumer of a group. A member of a sorted set goes to one waiting client.
func TestStreamsAndSortedSetsAreWaitedFor(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	// The leader must not change, because waiting clients register with a new leader in another
	// order.
	c := proc.NewCluster(t, 3, proc.Options{Args: proc.OneLeader})
	other := proc.Dial(t, c.WaitLeader().Addr())
	proc.Do(t, other, "XADD", "s", "1-1", "f", "old")
	proc.Do(t, other, "XGROUP", "CREATE", "s", "g", "$")
	send := func(i int, args ...string) *respconn.Conn {
		w := proc.Dial(t, c.Nodes[i%3].Addr())
		if err := w.Send(args...); err != nil {
			t.Fatal(err)
		}
		blocked(t, c, i+1)
		return w
	}
	var waiting []*respconn.Conn
	for i, args := range [][]string{
		{"XREAD", "BLOCK", "0", "STREAMS", "s", "$"},
		{"XREAD", "BLOCK", "0", "STREAMS", "none", "s", "0", "1-1"},
		{"XREADGROUP", "GROUP", "g", "ann", "COUNT", "1", "BLOCK", "0", "STREAMS", "s", ">"},
		{"XREADGROUP", "GROUP", "g", "bob", "COUNT", "1", "BLOCK", "0", "STREAMS", "s", ">"},
		{"BZPOPMIN", "z", "0"},
		{"BZMPOP", "0", "2", "y", "z", "MAX", "COUNT", "2"},
	} {
		waiting = append(waiting, send(i, args...))
	}
	proc.Do(t, other, "XADD", "s", "2-1", "f", "new")
	proc.Do(t, other, "XADD", "s", "3-1", "f", "newer")
	proc.Do(t, other, "ZADD", "z", "1", "a")
	proc.Do(t, other, "ZADD", "z", "2", "b")
	for i, want := range []string{`"2-1"`, `"2-1"`, `"2-1"`, `"3-1"`, `*3 "z" "a" "1"`, `"b"`} {
		if got := proc.Read(t, waiting[i]); !strings.Contains(got, want) || strings.Contains(got, "old") {
			t.Errorf("waiter %d got %s", i, got)
		}
	}
	if got := proc.Do(t, other, "XPENDING", "s", "g"); !strings.HasPrefix(got, "*4 :2") {
		t.Errorf("pending: %s", got)
	}
}

// TestAPipelineWaitsForItsBlockedCommand: the commands after a blocking one in a pipeline run after
// it, in order.
func TestAPipelineWaitsForItsBlockedCommand(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 1, proc.Options{})
	w, other := proc.Dial(t, c.Nodes[0].Addr()), proc.Dial(t, c.Nodes[0].Addr())
	var raw []byte
	for _, args := range [][]string{{"SET", "a", "1"}, {"BLPOP", "q", "0"}, {"INCR", "a"}, {"BLPOP", "q", "0"}, {"GET", "a"}} {
		raw = respconn.AppendCommand(raw, args...)
	}
	if err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if got := proc.Read(t, w); got != "+OK" {
		t.Errorf("before the blocked command: %s", got)
	}
	blocked(t, c, 1)
	if err := w.Send("ECHO", "later"); err != nil { // it arrives while the client is blocked
		t.Fatal(err)
	}
	proc.Do(t, other, "SET", "a", "41")
	proc.Do(t, other, "RPUSH", "q", "x", "y")
	for _, want := range []string{`*2 "q" "x"`, ":42", `*2 "q" "y"`, `"42"`, `"later"`} {
		if got := proc.Read(t, w); got != want {
			t.Errorf("got %s, not %s", got, want)
		}
	}
}

// TestEveryJobIsTakenOnceThroughFailovers: workers take jobs while the test kills the leader again
// and again. Every acknowledged job is taken once, and no client of a running node sees an error.
func TestEveryJobIsTakenOnceThroughFailovers(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	home := c.Follower() // this node stays up, because the clients are connected to it
	var mu sync.Mutex
	taken := map[string]int{}
	var stop atomic.Bool
	var wait sync.WaitGroup
	for range 8 {
		w := proc.Dial(t, home.Addr())
		wait.Go(func() {
			for {
				v, err := w.Do("BLPOP", "jobs", "1")
				switch {
				case err != nil || v.IsError():
					t.Errorf("a worker: %v %v", v, err)
					return
				case v.Null && stop.Load():
					return
				case v.Null:
					continue
				}
				mu.Lock()
				taken[string(v.Elems[1].Bytes)]++
				mu.Unlock()
			}
		})
	}
	pusher := proc.Dial(t, home.Addr())
	jobs := 0
	push := func(until func() bool) {
		for !until() {
			if got := proc.Do(t, pusher, "RPUSH", "jobs", fmt.Sprint(jobs)); !strings.HasPrefix(got, ":") {
				t.Fatalf("RPUSH: %s", got)
			}
			jobs++
		}
	}
	for range 3 {
		target := jobs + 150
		push(func() bool { return jobs >= target })
		leader := c.WaitLeader()
		if leader == home {
			// The node of the clients must stay up.
			for _, n := range c.Nodes {
				if n != home {
					leader = n
				}
			}
			c.Lead(leader)
		}
		leader.Kill9()
		target = jobs + 150
		push(func() bool { return jobs >= target })
		leader.Start()
		leader.WaitReady()
	}
	proc.Wait(t, patience, "all jobs are taken", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(taken) == jobs
	})
	stop.Store(true)
	wait.Wait()
	for job, times := range taken {
		if times != 1 {
			t.Errorf("job %s was taken %d times", job, times)
		}
	}
	t.Logf("%d jobs", jobs)
}

// TestGroupsWaitForThemselves: a new consumer first tries to read for its own group, whatever other
// clients wait for. It gets an error when the stream or the group is deleted.
func TestGroupsWaitForThemselves(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	other := proc.Dial(t, c.WaitLeader().Addr())
	n := 0
	dial := func() *respconn.Conn {
		n++
		return proc.Dial(t, c.Nodes[n%3].Addr())
	}
	const noGroup = "-NOGROUP No such key"
	if got := proc.Do(t, dial(), "XREADGROUP", "GROUP", "g", "ann", "BLOCK", "0", "STREAMS", "s", ">"); !strings.HasPrefix(got, noGroup) {
		t.Errorf("without a stream: %s", got)
	}
	proc.Do(t, other, "XADD", "s", "1-1", "f", "v")
	proc.Do(t, other, "XGROUP", "CREATE", "s", "late", "$")
	proc.Do(t, other, "XGROUP", "CREATE", "s", "early", "0")
	var waiting []*respconn.Conn
	for i, name := range []string{"ann", "bob"} {
		w := dial()
		if err := w.Send("XREADGROUP", "GROUP", "late", name, "BLOCK", "0", "STREAMS", "s", ">"); err != nil {
			t.Fatal(err)
		}
		blocked(t, c, i+1)
		waiting = append(waiting, w)
	}
	for _, step := range []struct{ group, id, want string }{
		{"early", ">", `"1-1"`}, {"early", "0", `"1-1"`}, {"late", "0", `*1 *2 "s" *0`}, {"none", ">", noGroup},
	} {
		if got := proc.Do(t, dial(), "XREADGROUP", "GROUP", step.group, "eve", "BLOCK", "0", "STREAMS", "s", step.id); !strings.Contains(got, step.want) {
			t.Errorf("%s of group %s, while others wait: %s", step.id, step.group, got)
		}
	}
	last := dial()
	if err := last.Send("XREADGROUP", "GROUP", "early", "eve", "BLOCK", "0", "STREAMS", "s", ">"); err != nil {
		t.Fatal(err)
	}
	blocked(t, c, 3)
	proc.Do(t, other, "XGROUP", "DESTROY", "s", "early")
	if got := proc.Read(t, last); !strings.HasPrefix(got, noGroup) {
		t.Errorf("when the group went: %s", got)
	}
	blocked(t, c, 2)
	proc.Do(t, other, "DEL", "s")
	for _, w := range waiting {
		if got := proc.Read(t, w); !strings.HasPrefix(got, noGroup) {
			t.Errorf("when the stream went: %s", got)
		}
	}
	// These are the other ways to remove a stream.
	for _, how := range [][]string{{"SET", "s", "text"}, {"RENAME", "s", "t"}, {"FLUSHALL"}, {"SWAPDB", "0", "1"}, {"PEXPIRE", "s", "1"}} {
		proc.Do(t, other, "FLUSHALL")
		proc.Do(t, other, "XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
		if err := last.Send("XREADGROUP", "GROUP", "g", "eve", "BLOCK", "0", "STREAMS", "s", ">"); err != nil {
			t.Fatal(err)
		}
		blocked(t, c, 1)
		proc.Do(t, other, how...)
		if got := proc.Read(t, last); !strings.HasPrefix(got, noGroup) && (how[0] != "SET" || !strings.HasPrefix(got, "-WRONGTYPE")) {
			t.Errorf("%s: %s", how, got)
		}
	}
}

// TestKindsOfValuesAreWaitedForApart: a client that waits for one type of value does not delay a
// client that waits for another type on the same key. BLMOVE replies with an error if its
// destination has the wrong type.
func TestKindsOfValuesAreWaitedForApart(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	other := proc.Dial(t, c.WaitLeader().Addr())
	var waiting []*respconn.Conn
	for i, args := range [][]string{{"BLPOP", "k", "0"}, {"BZPOPMIN", "k", "0"}, {"BLMOVE", "src", "text", "LEFT", "LEFT", "0"}} {
		w := proc.Dial(t, c.Nodes[i].Addr())
		if err := w.Send(args...); err != nil {
			t.Fatal(err)
		}
		blocked(t, c, i+1)
		waiting = append(waiting, w)
	}
	proc.Do(t, other, "SET", "text", "x")
	proc.Do(t, other, "ZADD", "k", "1", "a")
	if got := proc.Read(t, waiting[1]); got != `*3 "k" "a" "1"` {
		t.Errorf("of a sorted set: %s", got)
	}
	proc.Do(t, other, "RPUSH", "k", "b")
	if got := proc.Read(t, waiting[0]); got != `*2 "k" "b"` {
		t.Errorf("of a list: %s", got)
	}
	proc.Do(t, other, "RPUSH", "src", "v")
	if got := proc.Read(t, waiting[2]); !strings.HasPrefix(got, "-WRONGTYPE") {
		t.Errorf("into a string: %s", got)
	}
	if got := proc.Do(t, other, "LRANGE", "src", "0", "-1"); got != `*1 "v"` {
		t.Errorf("what was to be moved: %s", got)
	}
}
