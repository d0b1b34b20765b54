package linear

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

const (
	// cutLasts is shorter than the time that a write may wait. A client that waited for the end of
	// the cut would still get its reply.
	cutLasts = 8 * time.Second
	// servedWithin is how long a call may take on a busy machine. The node finds out after half a
	// second that it cannot reach the leader.
	servedWithin = 3 * time.Second
)

// cutOff is a cluster of three nodes in which the connection between the gateway and the leader can
// be cut.
type cutOff struct {
	t                       *testing.T
	wires                   *wires
	gateway, leader, helper *proc.Node
	ways                    []way
	longest                 time.Duration
}

func newCutOff(t *testing.T) *cutOff {
	t.Helper()
	w := newWires(t)
	c := proc.NewCluster(t, 3, proc.Options{Shards: 1, Before: w.before})
	proc.MustAsk(t, c.Nodes[0].Addr(), "CONFIG", "SET", "rebalance", "no")
	c.Lead(c.Nodes[0])
	x := &cutOff{t: t, wires: w, leader: c.Nodes[0], gateway: c.Nodes[1], helper: c.Nodes[2]}
	x.ways = []way{{x.gateway.Name, x.leader.Name}, {x.leader.Name, x.gateway.Name}}
	proc.Wait(t, proc.ElectionPatience, "the gateway serves", func() bool {
		_, err := proc.Ask(x.gateway.Addr(), "SET", "before", "1")
		return err == nil
	})
	return x
}

// do runs a command through the gateway, and records how long it took.
func (x *cutOff) do(c *respconn.Conn, want string, args ...string) {
	x.t.Helper()
	began := time.Now()
	got := proc.Do(x.t, c, args...)
	x.longest = max(x.longest, time.Since(began))
	if got != want {
		x.t.Errorf("%q: %s, want %s", args, got, want)
	}
}

// counter is a number from INFO stats.
func (x *cutOff) counter(n *proc.Node, name string) int {
	v, err := strconv.Atoi(proc.Info(n.Addr(), "stats")[name])
	if err != nil {
		x.t.Errorf("%s of %s: %v", name, n.Name, err)
	}
	return v
}

// A node that is cut off from the leader, but not from the others, serves its clients through one
// of those. Before, its clients had to wait for the end of the cut.
func TestANodeThatIsCutOffFromTheLeaderServesItsClients(t *testing.T) {
	for _, tears := range []bool{false, true} {
		t.Run(fmt.Sprintf("connections break: %v", tears), func(t *testing.T) {
			t.Parallel()
			x := newCutOff(t)
			c, fills := proc.Dial(t, x.gateway.Addr()), proc.Dial(t, x.helper.Addr())
			x.cut(tears)
			began, n := time.Now(), 0
			for ; time.Since(began) < cutLasts; n++ {
				x.do(c, "+OK", "SET", "k", strconv.Itoa(n))
				x.do(c, fmt.Sprintf("%q", strconv.Itoa(n)), "GET", "k")
				x.do(c, fmt.Sprintf(":%d", 2*n+1), "INCR", "n")
				x.do(c, "+OK", "MULTI")
				x.do(c, "+QUEUED", "INCR", "n")
				x.do(c, fmt.Sprintf("*1 :%d", 2*n+2), "EXEC")
				x.pop(c, fills, n)
			}
			if x.longest > servedWithin {
				t.Errorf("a call took %v", x.longest)
			}
			relayed, passedOn := x.counter(x.gateway, "relayed_calls"), x.counter(x.helper, "passed_on_calls")
			t.Logf("%d rounds; the longest call took %v; %d calls went through another node", n, x.longest.Round(time.Millisecond), relayed)
			if relayed == 0 || passedOn == 0 || n < 2 {
				t.Errorf("%d rounds; %d calls went through another node, which passed %d on", n, relayed, passedOn)
			}
			x.wires.free(x.ways, false)
			x.direct(c)
			x.do(c, fmt.Sprintf("%q", strconv.Itoa(2*n)), "GET", "n")
		})
	}
}

// cut stops all traffic between the gateway and the leader. With tears their connections also
// break, and new ones cannot be made.
func (x *cutOff) cut(tears bool) {
	x.wires.hold(x.ways)
	if tears {
		x.wires.hold(x.ways)
		x.wires.free(x.ways, true)
	}
}

// pop waits for a list through the gateway, and fills the list once the leader knows of the wait.
func (x *cutOff) pop(c, fills *respconn.Conn, n int) {
	x.t.Helper()
	began, item := time.Now(), "item"+strconv.Itoa(n)
	if err := c.Send("BLPOP", "list", "20"); err != nil {
		x.t.Fatal(err)
	}
	proc.Wait(x.t, proc.ElectionPatience, "the client waits", func() bool { return proc.Info(x.gateway.Addr(), "clients")["blocked_clients"] == "1" })
	proc.Do(x.t, fills, "RPUSH", "list", item)
	got := proc.Read(x.t, c)
	x.longest = max(x.longest, time.Since(began))
	if !strings.Contains(got, item) {
		x.t.Errorf("BLPOP: %s, want %s", got, item)
	}
}

// direct waits until the gateway sends its calls directly again.
func (x *cutOff) direct(c *respconn.Conn) {
	x.t.Helper()
	proc.Wait(x.t, proc.ElectionPatience, "calls go directly", func() bool {
		before := x.counter(x.gateway, "relayed_calls")
		proc.Do(x.t, c, "GET", "k")
		return x.counter(x.gateway, "relayed_calls") == before
	})
}

// A client caches a value that it has read through a node that is cut off. It must be told of a
// change of the value while the cut lasts.
func TestAClientOfANodeThatIsCutOffCachesNothingOld(t *testing.T) {
	t.Parallel()
	x := newCutOff(t)
	writer := proc.Dial(t, x.leader.Addr())
	caches := &oneKey{x: x, c: proc.Dial(t, x.gateway.Addr())}
	proc.Do(t, caches.c, "HELLO", "3")
	proc.Do(t, caches.c, "CLIENT", "TRACKING", "ON")
	caches.c.Patience = toldWithin
	proc.Do(t, writer, "SET", "cached", "before")
	caches.await("before")
	x.cut(false)
	began, n := time.Now(), 0
	for ; time.Since(began) < cutLasts; n++ {
		proc.Do(t, writer, "SET", "cached", strconv.Itoa(n))
		caches.await(strconv.Itoa(n))
	}
	t.Logf("it was told of %d changes, the first of them after %v", n, caches.longest.Round(time.Millisecond))
	if n < 2 {
		t.Errorf("it was told of %d changes", n)
	}
	x.wires.free(x.ways, false)
}

// toldWithin is how long a change may be unknown on a node that is cut off: its replica notices
// after at most two seconds that the leader is silent, and then asks.
const toldWithin = 7 * time.Second

// oneKey is a client that caches one key. It reads the key again only after an invalidation.
type oneKey struct {
	x       *cutOff
	c       *respconn.Conn
	value   string
	valid   bool
	longest time.Duration
}

// await waits until the client has a value.
func (k *oneKey) await(want string) {
	k.x.t.Helper()
	began := time.Now()
	for !k.valid || k.value != want {
		if !k.valid {
			if err := k.c.Send("GET", "cached"); err != nil {
				k.x.t.Fatal(err)
			}
		}
		v, err := k.c.Read()
		for err == nil && !k.valid && v.Kind == '>' {
			v, err = k.c.Read() // an invalidation of the previous value
		}
		if err != nil {
			k.x.t.Fatalf("it has cached %q, not %q, and is not told: %v", k.value, want, err)
		}
		if k.valid = v.Kind != '>'; k.valid {
			k.value = string(v.Bytes)
		}
	}
	k.longest = max(k.longest, time.Since(began))
}
