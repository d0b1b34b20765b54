// Package messages tests that published messages and keyspace events reach the clients of every
// node.
package messages

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

func TestMain(m *testing.M) { proc.Main(m) }

const patience = 90 * time.Second

// countPatience is how long PUBLISH waits for other nodes to count their receivers.
const countPatience = time.Second

// TestMessagesReachAllNodes: a message reaches the subscribers on every node, once each and in
// order, and PUBLISH counts all of them.
func TestMessagesReachAllNodes(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	var ears []*respconn.Conn
	for _, n := range c.Nodes {
		plain, pattern := proc.Dial(t, n.Addr()), proc.Dial(t, n.Addr())
		proc.Do(t, plain, "SUBSCRIBE", "news")
		proc.Do(t, pattern, "HELLO", "3")
		proc.Do(t, pattern, "PSUBSCRIBE", "n*")
		ears = append(ears, plain, pattern)
	}
	const messages = 200
	for i, n := range c.Nodes {
		speaker, counted, late := proc.Dial(t, n.Addr()), 0, false
		for j := range messages {
			began := time.Now()
			got := proc.Do(t, speaker, "PUBLISH", "news", fmt.Sprintf("%d-%03d", i, j))
			if got == ":6" {
				counted, late = counted+1, false
				continue
			}
			// A node that stands still for longer than the wait is not counted until it is back.
			if late = late || time.Since(began) >= countPatience; !late {
				t.Fatalf("message %d of node %d had receivers %s, not 6", j, i, got)
			}
		}
		if counted == 0 {
			t.Errorf("node %d never counted all receivers", i)
		}
	}
	for e, ear := range ears {
		next := [3]int{}
		for range 3 * messages {
			var i, j int
			got := proc.Read(t, ear)
			if _, err := fmt.Sscanf(got[strings.LastIndex(got, " ")+1:], `"%d-%d"`, &i, &j); err != nil {
				t.Fatalf("%s: %v", got, err)
			}
			if j != next[i] {
				t.Fatalf("listener %d heard message %d of node %d, not %d", e, j, i, next[i])
			}
			next[i]++
		}
	}
}

// TestANodeThatComesBackHearsMessagesAgain: messages still pass between the nodes that are left,
// and reach the third node again when it is back.
func TestANodeThatComesBackHearsMessagesAgain(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	gone := c.Follower()
	var left []*proc.Node
	for _, n := range c.Nodes {
		if n != gone {
			left = append(left, n)
		}
	}
	ear, speaker := proc.Dial(t, left[0].Addr()), proc.Dial(t, left[1].Addr())
	proc.Do(t, ear, "SUBSCRIBE", "c")
	gone.Kill9()
	for i := range 20 {
		proc.Do(t, speaker, "PUBLISH", "c", fmt.Sprint(i))
		if got := proc.Read(t, ear); !strings.HasSuffix(got, fmt.Sprintf(`"%d"`, i)) {
			t.Fatalf("message %d: %s", i, got)
		}
	}
	gone.Start()
	gone.WaitReady()
	back := proc.Dial(t, gone.Addr())
	proc.Do(t, back, "SUBSCRIBE", "c")
	proc.Wait(t, patience, "both listeners are counted", func() bool { return proc.Do(t, speaker, "PUBLISH", "c", "x") == ":2" })
}

// TestKeyspaceEventsOnEveryNode: every node publishes the events of the entries that it applies,
// once.
func TestKeyspaceEventsOnEveryNode(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	client := proc.Dial(t, c.Follower().Addr())
	proc.Do(t, client, "CONFIG", "SET", "notify-keyspace-events", "KEA")
	var ears []*respconn.Conn
	for _, n := range c.Nodes {
		ear := proc.Dial(t, n.Addr())
		proc.Wait(t, patience, "the setting has arrived", func() bool {
			return strings.Contains(proc.Do(t, ear, "CONFIG", "GET", "notify-keyspace-events"), `"AKE"`)
		})
		proc.Do(t, ear, "PSUBSCRIBE", "__key*__:*")
		ears = append(ears, ear)
	}
	// A node with a new replica may receive another node's feed until the replica has caught up.
	// Events may be lost in the change from one to the other.
	for _, n := range c.Nodes {
		proc.Wait(t, patience, "the events come from the node's own replica", func() bool {
			return proc.Info(n.Addr(), "stats")["feeds_heard"] == "0"
		})
	}
	// A node runs commands on different keys side by side, so only the events of one key have an order.
	for _, c := range []struct {
		command []string
		events  []string
	}{
		{[]string{"RPUSH", "l", "a", "b"}, []string{"rpush"}},
		{[]string{"LPOP", "l", "2"}, []string{"lpop", "del"}},
		{[]string{"SADD", "s", "m"}, []string{"sadd"}},
		{[]string{"HSET", "h", "f", "v"}, []string{"hset"}},
	} {
		proc.Do(t, client, c.command...)
		for i, ear := range ears {
			for _, event := range c.events {
				expectEvent(t, i, ear, c.command[1], event)
			}
		}
	}
}

// expectEvent reads both messages of a keyspace event.
func expectEvent(t *testing.T, node int, ear *respconn.Conn, key, event string) {
	t.Helper()
	if got := proc.Read(t, ear); !strings.HasSuffix(got, fmt.Sprintf(`"__keyspace@0__:%s" %q`, key, event)) {
		t.Fatalf("node %d: %s, not %s %s", node, got, key, event)
	}
	if got := proc.Read(t, ear); !strings.HasSuffix(got, fmt.Sprintf(`"__keyevent@0__:%s" %q`, event, key)) {
		t.Fatalf("node %d: %s, not %s %s", node, got, key, event)
	}
}
