package fulldisk

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

const (
	// hangsAtLeast is how long a disk hangs at least. A node loses the leadership once its disk has
	// hung for 5 s.
	hangsAtLeast = 8 * time.Second
	// hangsAtMost is less than the 30 s after which a node with a hung disk ends.
	hangsAtMost = 25 * time.Second
	// writesUsual is the number of writes that show that a client is served.
	writesUsual = 50
	// pace is the shortest time between two commands of a client. It leaves the machine free for
	// the nodes.
	pace = 2 * time.Millisecond
)

// counting is a client that increments a counter of its own. Each reply must be one more than the
// last, so an error, a lost write and a doubled one show at once.
type counting struct {
	node *proc.Node
	key  string
	done atomic.Int64
	// longest is the longest wait for a reply. The test reads it after the client has ended.
	longest time.Duration
}

func (c *counting) run(t *testing.T, stop *atomic.Bool) {
	conn, err := respconn.Dial(c.node.Addr())
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for n := int64(1); !stop.Load(); n++ {
		<-tick.C
		began := time.Now()
		v, err := conn.Do("INCR", c.key)
		if err != nil || v.String() != ":"+strconv.FormatInt(n, 10) {
			t.Errorf("a client of %s: INCR %s, number %d: %s, %v", c.node.Name, c.key, n, v, err)
			return
		}
		c.longest = max(c.longest, time.Since(began))
		c.done.Store(n)
	}
}

// lookFor reads another client's counter through a node, again and again. Each read must see every
// increment that was acknowledged before the read began.
func lookFor(t *testing.T, n *proc.Node, c *counting, reads *atomic.Int64, stop *atomic.Bool) {
	conn, err := respconn.Dial(n.Addr())
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for !stop.Load() {
		<-tick.C
		least := c.done.Load()
		v, err := conn.Do("GET", c.key)
		if got, _ := strconv.ParseInt(string(v.Bytes), 10, 64); err != nil || v.IsError() || got < least {
			t.Errorf("%s read %s, %v; %d increments were acknowledged before", n.Name, v, err, least)
			return
		}
		reads.Add(1)
	}
}

// went waits until each of the clients has done writesUsual more writes.
func went(t *testing.T, patience time.Duration, when string, clients ...*counting) {
	t.Helper()
	from := make([]int64, len(clients))
	for i, c := range clients {
		from[i] = c.done.Load()
	}
	proc.Wait(t, patience, fmt.Sprintf("%d more writes of every client %s", writesUsual, when), func() bool {
		for i, c := range clients {
			if c.done.Load() < from[i]+writesUsual {
				return t.Failed()
			}
		}
		return true
	})
}

// TestAHungDiskIsAPause: under load a disk hangs for some seconds and then works again. The clients
// of all nodes, also those of the node itself, see a pause and no error. Reads through the node see
// what other clients wrote meanwhile. No write is lost or doubled, and the process still runs.
func TestAHungDiskIsAPause(t *testing.T) {
	proc.NeedProcesses(t)
	for _, s := range []struct {
		kind   string
		leader bool
	}{{"boltdb", true}, {"wal", true}, {"boltdb", false}} {
		role := map[bool]string{true: "leader", false: "follower"}[s.leader]
		t.Run(s.kind+"/"+role, func(t *testing.T) {
			t.Parallel()
			hang(t, s.kind, s.leader)
		})
	}
}

func hang(t *testing.T, kind string, leader bool) {
	var d *freezable
	// With this timeout a client sees an error only if its command is never answered, also on a
	// slow machine.
	o := proc.Options{LogStore: kind, Args: []string{"--write-timeout-ms", "120000"}, Before: func(n *proc.Node) {
		if n.Index == 0 {
			d = mountFreezable(t, n)
		}
	}}
	c := proc.NewCluster(t, 3, o)
	victim := c.Nodes[0]
	leads := victim
	if !leader {
		leads = c.Nodes[1]
	}
	c.Lead(leads)
	pid := victim.Pid()
	var clients []*counting
	var stop atomic.Bool
	var all sync.WaitGroup
	defer all.Wait()
	defer stop.Store(true)
	for _, n := range c.Nodes {
		client := &counting{node: n, key: "count:" + n.Name}
		clients = append(clients, client)
		all.Go(func() { client.run(t, &stop) })
	}
	var reads atomic.Int64
	all.Go(func() { lookFor(t, victim, clients[1], &reads, &stop) })
	went(t, patience, "at first", clients...)

	began := time.Now()
	hung := time.NewTimer(hangsAtLeast)
	d.freeze()
	// The node with the hung disk cannot have stored these writes, so another node leads now.
	went(t, hangsAtMost, "beside the disk that hangs", clients[1:]...)
	others := time.Since(began)
	if others < hangsAtLeast { // otherwise it has hung long enough, and must not hang for too long
		<-hung.C
		went(t, hangsAtMost-hangsAtLeast, "while it hangs", clients[1:]...)
	}
	d.thaw()
	hungFor := time.Since(began)
	went(t, patience, "behind it", clients...)
	proc.Wait(t, patience, "something is read", func() bool { return reads.Load() > 0 || t.Failed() })
	stop.Store(true)
	all.Wait()
	if victim.Pid() != pid {
		t.Errorf("%s was process %d, and is %d", victim.Name, pid, victim.Pid())
	}
	if _, err := c.SameState(); err != nil {
		t.Error(err)
	}
	for _, client := range clients {
		want := strconv.FormatInt(client.done.Load(), 10)
		for _, n := range c.Nodes {
			if got, err := proc.Ask(n.Addr(), "GET", client.key); got != want || err != nil {
				t.Errorf("%s through %s is %q, %v; %s increments were acknowledged", client.key, n.Name, got, err, want)
			}
		}
		t.Logf("%s: %s increments, longest wait %v", client.key, want, client.longest.Round(time.Millisecond))
	}
	t.Logf("the disk of %s, which led: %v, hung for %v; the others went on after %v; %d reads through it", victim.Name, leader, hungFor.Round(time.Millisecond), others.Round(time.Millisecond), reads.Load())
}
