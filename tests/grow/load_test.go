package grow

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// counters is the number of keys that a client increments in turn. Their hash slots are spread over
// all shards.
const counters = 24

// clientPace is the shortest time between two increments. There must be enough increments for
// snapshots and for logs that move on, but few enough that the test waits for the cluster and not
// for the machine.
const clientPace = 2 * time.Millisecond

// client increments its counters, one after the other. No other client writes them, so each reply
// must be one more than the last. An error, a lost write and a write that ran twice all show at
// once.
type client struct {
	name string
	conn *respconn.Conn
	done [counters]atomic.Int64
	// rounds counts the completed rounds over all counters.
	rounds atomic.Int64
	stop   atomic.Bool
	ended  chan error
	// longestNs is the longest wait for a reply since the last call of pause.
	longestNs atomic.Int64
}

func (c *client) key(i int) string { return fmt.Sprintf("count:%s:%d", c.name, i) }

func (c *client) run() error {
	pace := time.NewTicker(clientPace)
	defer pace.Stop()
	for !c.stop.Load() {
		for i := range counters {
			<-pace.C
			began := time.Now()
			v, err := c.conn.Do("INCR", c.key(i))
			want := c.done[i].Load() + 1
			if err != nil || v.String() != ":"+strconv.FormatInt(want, 10) {
				return fmt.Errorf("INCR %s: %s, %w; want %d", c.key(i), v, err, want)
			}
			c.done[i].Store(want)
			if took := int64(time.Since(began)); took > c.longestNs.Load() {
				c.longestNs.Store(took)
			}
		}
		c.rounds.Add(1)
	}
	return nil
}

// load is the set of clients of a cluster.
type load struct {
	t   *testing.T
	all []*client
	// gone are the clients that end has stopped.
	gone []*client
}

// begin adds clients of a node.
func (l *load) begin(n *proc.Node, count int) {
	l.t.Helper()
	for range count {
		conn, err := respconn.Dial(n.Addr())
		if err != nil {
			l.t.Fatal(err)
		}
		l.t.Cleanup(conn.Close)
		c := &client{name: fmt.Sprintf("%s.%d", n.Name, len(l.all)+len(l.gone)), conn: conn, ended: make(chan error, 1)}
		l.all = append(l.all, c)
		go func() { c.ended <- c.run() }()
	}
}

// end stops the clients of a node, or all clients if n is nil.
func (l *load) end(n *proc.Node) {
	l.t.Helper()
	var stay []*client
	for _, c := range l.all {
		if n != nil && c.conn.Net().RemoteAddr().String() != n.Addr() {
			stay = append(stay, c)
			continue
		}
		c.stop.Store(true)
		if err := <-c.ended; err != nil {
			l.t.Error(err)
		}
		l.gone = append(l.gone, c)
	}
	l.all = stay
}

// advance waits until every client has completed some more rounds.
func (l *load) advance(rounds int64) {
	l.t.Helper()
	from := make([]int64, len(l.all))
	for i, c := range l.all {
		from[i] = c.rounds.Load()
	}
	proc.Wait(l.t, patience, "every client goes on", func() bool {
		for i, c := range l.all {
			l.check(c)
			if c.rounds.Load() < from[i]+rounds {
				return false
			}
		}
		return true
	})
}

func (l *load) check(c *client) {
	l.t.Helper()
	select {
	case err := <-c.ended:
		l.t.Fatalf("client %s ended: %v", c.name, err)
	default:
	}
}

// pause returns the longest wait for a reply since its last call.
func (l *load) pause() time.Duration {
	longest := int64(0)
	for _, c := range l.all {
		longest = max(longest, c.longestNs.Swap(0))
	}
	return time.Duration(longest)
}

// verify reads every counter through a node.
func (l *load) verify(n *proc.Node, prepare ...string) (total int64) {
	l.t.Helper()
	conn := proc.Dial(l.t, n.Addr())
	if len(prepare) > 0 {
		proc.Do(l.t, conn, prepare...)
	}
	for _, c := range l.gone {
		for i := range counters {
			want := c.done[i].Load()
			total += want
			v, err := conn.Do("GET", c.key(i))
			// A replica may not have heard yet that the last entries are committed.
			if len(prepare) > 0 && err == nil && string(v.Bytes) != strconv.FormatInt(want, 10) {
				proc.Poll(patience, func() bool {
					v, err = conn.Do("GET", c.key(i))
					return err != nil || string(v.Bytes) == strconv.FormatInt(want, 10)
				})
			}
			if err != nil || string(v.Bytes) != strconv.FormatInt(want, 10) {
				l.t.Errorf("through %s %v: %s is %s, %v; %d increments were acknowledged", n.Name, prepare, c.key(i), v, err, want)
			}
		}
	}
	return total
}
