package messages

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

func five(t testing.TB, args ...string) *proc.Cluster {
	t.Helper()
	c := proc.NewCluster(t, 5, proc.Options{Shards: 3, Args: args})
	c.WaitPlaced(c.Nodes[0], 3)
	return c
}

// choose turns keyspace events on, and waits until every node has the setting.
func choose(t testing.TB, c *proc.Cluster, classes, shown string) {
	t.Helper()
	proc.Do(t, proc.Dial(t, c.Nodes[0].Addr()), "CONFIG", "SET", "notify-keyspace-events", classes)
	for _, n := range c.Nodes {
		ear := proc.Dial(t, n.Addr())
		proc.Wait(t, patience, "the setting has arrived", func() bool {
			return strings.Contains(proc.Do(t, ear, "CONFIG", "GET", "notify-keyspace-events"), `"`+shown+`"`)
		})
	}
}

// TestKeyspaceEventsWithoutAReplica: a node that has no replica of a key's shard publishes the
// key's events like any other node: once, in order, and to all kinds of subscribers. It requests no
// feed when no client has subscribed to events.
func TestKeyspaceEventsWithoutAReplica(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := five(t, proc.OneLeader...)
	choose(t, c, "KEA", "AKE")
	where := c.Where(t, c.Nodes[0], "l")
	far := where.Far[0]
	other := proc.Dial(t, far.Addr())
	proc.Do(t, other, "SUBSCRIBE", "news")
	if n := proc.Info(far.Addr(), "stats")["feeds_heard"]; n != "0" {
		t.Errorf("%s feeds for a listener of something else", n)
	}
	both, plain, resp3 := proc.Dial(t, far.Addr()), proc.Dial(t, far.Addr()), proc.Dial(t, far.Addr())
	proc.Do(t, both, "PSUBSCRIBE", "__key*__:*")
	proc.Do(t, plain, "SUBSCRIBE", "__keyevent@0__:rpush")
	proc.Do(t, resp3, "HELLO", "3")
	proc.Do(t, resp3, "PSUBSCRIBE", "*")
	client := proc.Dial(t, where.Near[0].Addr())
	proc.Do(t, client, "RPUSH", "l", "a", "b")
	proc.Do(t, client, "LPOP", "l", "2")
	proc.Do(t, client, "SET", "{l}s", "v", "PX", "300")
	for _, want := range []string{"l rpush", "l lpop", "l del", "{l}s set", "{l}s expire", "{l}s expired"} {
		key, event, _ := strings.Cut(want, " ")
		for _, ear := range []*respconn.Conn{both, resp3} {
			if got := proc.Read(t, ear); !strings.HasSuffix(got, fmt.Sprintf(`"__keyspace@0__:%s" %q`, key, event)) {
				t.Fatalf("%s, not %s", got, want)
			}
			if got := proc.Read(t, ear); !strings.HasSuffix(got, fmt.Sprintf(`"__keyevent@0__:%s" %q`, event, key)) {
				t.Fatalf("%s, not %s", got, want)
			}
		}
	}
	if got := proc.Read(t, plain); !strings.HasSuffix(got, `"__keyevent@0__:rpush" "l"`) {
		t.Errorf("%s", got)
	}
	both.Close()
	plain.Close()
	resp3.Close()
	for _, n := range c.Nodes {
		proc.Wait(t, patience, "no feed is left", func() bool {
			s := proc.Info(n.Addr(), "stats")
			return s["feeds_heard"] == "0" && s["feeds_served"] == "0"
		})
	}
}

// ear counts the events of each numbered key.
type ear struct {
	mu    sync.Mutex
	times map[string]int
	last  int
}

var numbered = regexp.MustCompile(`n:(\d+)`)

func (e *ear) listen(conn *respconn.Conn) {
	conn.Patience = 10 * time.Minute
	for {
		v, err := conn.Read()
		if err != nil {
			return
		}
		m := numbered.FindStringSubmatch(v.String())
		if m == nil {
			continue
		}
		e.mu.Lock()
		e.times[m[1]]++
		_, _ = fmt.Sscan(m[1], &e.last)
		e.mu.Unlock()
	}
}

// number writes numbered keys through a node, each once, until stop is called.
func number(t *testing.T, n *proc.Node, written *atomic.Int64) (stop func()) {
	var ends atomic.Bool
	var wait sync.WaitGroup
	writer := proc.Dial(t, n.Addr())
	wait.Go(func() {
		pace := time.NewTicker(2 * time.Millisecond)
		defer pace.Stop()
		for !ends.Load() {
			<-pace.C
			n := written.Add(1)
			if v, err := writer.Do("SET", fmt.Sprintf("{l}n:%d", n), "1"); err != nil || v.IsError() {
				t.Errorf("write %d: %v, %v", n, v, err)
				return
			}
		}
	})
	return func() {
		ends.Store(true)
		wait.Wait()
	}
}

// goesOn waits until the events of new writes come.
func (e *ear) goesOn(t *testing.T, n *proc.Node, written *atomic.Int64, when string) {
	t.Helper()
	from := int(written.Load())
	proc.Wait(t, proc.ElectionPatience, "events come "+when, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.last > from+50
	})
	e.mu.Lock()
	lost := int(written.Load()) - len(e.times)
	e.mu.Unlock()
	t.Logf("%s: %d written, at most %d events lost so far, %s gaps", when, written.Load(), lost, proc.Info(n.Addr(), "stats")["feed_gaps"])
}

// lacksNone waits until all events of a hundred consecutive writes have come. On a busy machine a
// gap is possible at any time.
func (e *ear) lacksNone(t *testing.T, written *atomic.Int64, when string) {
	t.Helper()
	const row = 100
	from := int(written.Load())
	proc.Wait(t, patience, "the events of a hundred writes in a row come "+when, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.last < from+row {
			return false
		}
		for n := from + 1; n <= from+row; n++ {
			if e.times[strconv.Itoa(n)] == 0 {
				from = e.last
				return false
			}
		}
		return true
	})
}

// replicasOf returns the number of shards that have a replica on a node.
func replicasOf(n *proc.Node) int {
	count := 0
	for field := range proc.Info(n.Addr(), "raft") {
		if strings.HasPrefix(field, "raft_shard") {
			count++
		}
	}
	return count
}

// TestKeyspaceEventsComeAtMostOnce: a client writes keys, each once. Meanwhile the replica that
// feeds a node is killed, and replicas move to that node and away from it. No event comes twice.
// Some events are lost in a gap, and later events come again.
func TestKeyspaceEventsComeAtMostOnce(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := five(t, "--replica-repair-after-ms", "600000")
	choose(t, c, "E$", "$E")
	where := c.Where(t, c.Nodes[0], "{l}")
	far := where.Far[0]
	conn := proc.Dial(t, far.Addr())
	proc.Do(t, conn, "SUBSCRIBE", "__keyevent@0__:set")
	e := &ear{times: map[string]int{}}
	go e.listen(conn)
	var written atomic.Int64
	stop := number(t, far, &written)
	goesOn := func(when string) {
		t.Helper()
		e.goesOn(t, far, &written, when)
	}
	goesOn("at first")
	e.lacksNone(t, &written, "in a calm cluster")
	leader := where.Leader
	leader.Kill9()
	goesOn("behind a kill")
	leader.Start()
	leader.WaitReady()
	goesOn("behind its return")
	drain := func(how string, nodes ...*proc.Node) {
		t.Helper()
		for _, n := range nodes {
			if said, err := proc.Ask(far.Addr(), "LOCKSTEP", "DRAIN", n.Name, how); err != nil {
				t.Fatalf("%s, %v", said, err)
			}
		}
		c.WaitPlaced(far, 3)
	}
	// When two other nodes are drained, this node must take a replica. When it is drained itself,
	// it gives the replica away.
	drain("ON", where.Near[1], where.Near[2])
	if now := c.Where(t, far, "{l}"); !slices.Contains(now.Near, far) {
		t.Fatalf("%s has got no replica", far.Name)
	}
	goesOn("with a replica")
	proc.Wait(t, patience, "the feed of the shard has ended", func() bool {
		return proc.Info(far.Addr(), "stats")["feeds_heard"] == strconv.Itoa(3-replicasOf(far))
	})
	goesOn("from the own replica")
	drain("OFF", where.Near[1], where.Near[2])
	drain("ON", far)
	if now := c.Where(t, far, "{l}"); slices.Contains(now.Near, far) {
		t.Fatalf("%s has a replica still", far.Name)
	}
	goesOn("without it")
	e.lacksNone(t, &written, "in the end")
	stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	for n, times := range e.times {
		if times > 1 {
			t.Errorf("the event of write %s came %d times", n, times)
		}
	}
}

// TestScriptsPublishToNodesWithoutAReplica: a script's messages reach the subscribers on every
// node, also on nodes without a replica of the script's shard, once each and in order.
func TestScriptsPublishToNodesWithoutAReplica(t *testing.T) {
	proc.NeedProcesses(t)
	c := five(t, proc.OneLeader...)
	where := c.Where(t, c.Nodes[0], "l")
	var ears []*respconn.Conn
	for _, n := range c.Nodes {
		plain, sharded := proc.Dial(t, n.Addr()), proc.Dial(t, n.Addr())
		proc.Do(t, plain, "SUBSCRIBE", "news")
		proc.Do(t, sharded, "SSUBSCRIBE", "news")
		ears = append(ears, plain, sharded)
	}
	const messages = 50
	speaker := proc.Dial(t, where.Far[0].Addr())
	for i := range messages {
		if got := proc.Do(t, speaker, "EVAL", "redis.call('incr', KEYS[1]) redis.call('spublish', 'news', ARGV[1]) return redis.call('publish', 'news', ARGV[1])", "1", "l", strconv.Itoa(i)); got != ":0" {
			t.Fatalf("message %d: %s", i, got)
		}
	}
	for e, ear := range ears {
		for i := range messages {
			if got := proc.Read(t, ear); !strings.HasSuffix(got, fmt.Sprintf(`"news" "%d"`, i)) {
				t.Fatalf("listener %d heard %s, not message %d", e, got, i)
			}
		}
	}
}
