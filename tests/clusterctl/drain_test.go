package clusterctl

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// counting is a client that increments two counters all the time: one of its own, and one that it
// shares with the others.
type counting struct {
	conn *respconn.Conn
	own  string
	// done is how often the client has incremented both.
	done atomic.Int64
	stop atomic.Bool
	// longestNs is the longest wait for a reply since it was last read.
	longestNs atomic.Int64
	ended     chan error
}

const (
	sharedCounter = "count:all"
	// pace is the minimum time between two rounds of a client. It leaves most of the machine to the
	// nodes.
	pace = 2 * time.Millisecond
)

func count(t *testing.T, addr, own string) *counting {
	t.Helper()
	conn, err := respconn.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	c := &counting{conn: conn, own: own, ended: make(chan error, 1)}
	go func() { c.ended <- c.run() }()
	return c
}

func (c *counting) run() error {
	last := 0
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for n := int64(1); !c.stop.Load(); n++ {
		<-tick.C
		began := time.Now()
		own, err := c.conn.Do("INCR", c.own)
		if err != nil || own.String() != ":"+strconv.FormatInt(n, 10) {
			return fmt.Errorf("INCR %s, number %d: %s, %w", c.own, n, own, err)
		}
		c.waited(time.Since(began))
		began = time.Now()
		all, err := c.conn.Do("INCR", sharedCounter)
		if err != nil {
			return err
		}
		if now, err := strconv.Atoi(string(all.Bytes)); all.Kind != ':' || err != nil || now <= last {
			return fmt.Errorf("INCR %s: %s after %d", sharedCounter, all, last)
		} else {
			last = now
		}
		c.waited(time.Since(began))
		c.done.Store(n)
	}
	return nil
}

func (c *counting) waited(d time.Duration) {
	for {
		longest := c.longestNs.Load()
		if int64(d) <= longest || c.longestNs.CompareAndSwap(longest, int64(d)) {
			return
		}
	}
}

// advance waits until every client has done n more rounds, or one has failed.
func advance(t *testing.T, clients []*counting, n int64) {
	t.Helper()
	from := make([]int64, len(clients))
	for i, c := range clients {
		from[i] = c.done.Load()
	}
	proc.Wait(t, patience, fmt.Sprintf("every client did %d more rounds", n), func() bool {
		for i, c := range clients {
			select {
			case err := <-c.ended:
				t.Fatalf("client %s ended: %v", c.own, err)
			default:
			}
			if c.done.Load() < from[i]+n {
				return false
			}
		}
		return true
	})
}

// longestOf is the longest wait of all clients since the last call.
func longestOf(clients []*counting) time.Duration {
	longest := time.Duration(0)
	for _, c := range clients {
		longest = max(longest, time.Duration(c.longestNs.Swap(0)))
	}
	return longest
}

// endAll stops the clients, checks through a node that every acknowledged increment was done once,
// and returns the number of rounds.
func endAll(t *testing.T, clients []*counting, addr string) int {
	t.Helper()
	var failed error
	total := 0
	for _, client := range clients {
		client.stop.Store(true)
		failed = errors.Join(failed, <-client.ended)
		total += int(client.done.Load())
	}
	if failed != nil {
		t.Fatal(failed)
	}
	for _, client := range clients {
		if v, err := proc.Ask(addr, "GET", client.own); v != strconv.FormatInt(client.done.Load(), 10) || err != nil {
			t.Errorf("%s is %q, %v after %d", client.own, v, err, client.done.Load())
		}
	}
	if v, err := proc.Ask(addr, "GET", sharedCounter); v != strconv.Itoa(total) || err != nil {
		t.Errorf("%s is %q, %v after %d", sharedCounter, v, err, total)
	}
	return total
}

// A leader that is told to stop under load transfers its leadership first: clients of the other
// nodes see only a pause. The nodes have long heartbeat timeouts, so that even on a busy machine no
// follower misses a leader that is alive.
func TestALeaderThatIsToldToStopHandsOver(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Args: []string{"--raft-heartbeat-ms", "3000", "--raft-election-ms", "3000"}})
	leader := c.WaitLeader()
	term := proc.Info(leader.Addr(), "raft")["raft_term"]
	var clients []*counting
	logged := map[*proc.Node]int{}
	for _, n := range c.Nodes {
		if n == leader {
			continue
		}
		logged[n] = len(n.Log())
		for i := range 3 {
			clients = append(clients, count(t, n.Addr(), fmt.Sprintf("count:%s:%d", n.Name, i)))
		}
	}
	advance(t, clients, 30)
	began := time.Now()
	code := leader.Stop()
	took := time.Since(began)
	if code != 0 {
		t.Errorf("exit status %d after SIGTERM", code)
	}
	advance(t, clients, 30)

	longest := longestOf(clients)
	next := c.WaitLeader()
	total := endAll(t, clients, next.Addr())

	// The term is one higher, and no node stood for election by itself: it was a transfer.
	if was, err := strconv.Atoi(term); err != nil || proc.Info(next.Addr(), "raft")["raft_term"] != strconv.Itoa(was+1) {
		t.Errorf("term %s after %s", proc.Info(next.Addr(), "raft")["raft_term"], term)
	}
	for n, from := range logged {
		if strings.Contains(n.Log()[from:], "heartbeat timeout reached") {
			t.Errorf("%s missed the leader:\n%s", n.Name, n.Log()[from:])
		}
	}
	if strings.Contains(leader.Log(), "not every leadership was handed over") {
		t.Errorf("it did not hand over:\n%s", leader.LogTail(2000))
	}
	t.Logf("%d increments; the longest wait was %v, the leader took %v to end", 2*total, longest, took)
}
