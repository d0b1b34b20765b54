package badinput

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// ends counts how the BLPOPs of a storm ended.
type ends struct {
	mu sync.Mutex
	// served are the elements that were given out; each must be given out once.
	served            []string
	unblocked, closed int
	other             []string
}

// wait reads the answer to one blocked client.
func (e *ends) wait(c *respconn.Conn) {
	v, err := c.Read()
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err != nil:
		e.closed++
	case len(v.Elems) == 2:
		e.served = append(e.served, string(v.Elems[1].Bytes))
	case strings.HasPrefix(v.String(), "-UNBLOCKED"):
		e.unblocked++
	default:
		e.other = append(e.other, v.String())
	}
}

func (e *ends) total() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.served) + e.unblocked + e.closed + len(e.other)
}

// blocked is the number of blocked clients, on all nodes.
func blocked(c *proc.Cluster) int {
	sum := 0
	for _, n := range c.Nodes {
		number := 0
		_, _ = fmt.Sscan(proc.Info(n.Addr(), "clients")["blocked_clients"], &number)
		sum += number
	}
	return sum
}

const stormClients, stormQuarter = 1000, 250

// stormPatience bounds an answer that comes only after everything before it.
const stormPatience = 5 * patience

// blockAll makes a thousand clients wait for one key, on all nodes in turn, and returns their IDs.
func (e *ends) blockAll(t *testing.T, addrs []string) []string {
	t.Helper()
	ids := make([]string, stormClients)
	for i := range ids {
		c := proc.Dial(t, addrs[i%len(addrs)])
		c.Patience = stormPatience
		id, err := c.Do("CLIENT", "ID")
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = string(id.Bytes)
		if err := c.Send("BLPOP", "storm", "other-storm", "0"); err != nil {
			t.Fatal(err)
		}
		go e.wait(c)
	}
	return ids
}

// endHalf kills the first quarter of the clients and unblocks the second, on all nodes at once.
func endHalf(t *testing.T, addrs, ids []string) {
	var wg sync.WaitGroup
	for n := range addrs {
		c := proc.Dial(t, addrs[n])
		c.Patience = patience
		wg.Go(func() {
			var commands [][]string
			for i := n; i < 2*stormQuarter; i += len(addrs) {
				if i < stormQuarter {
					commands = append(commands, []string{"CLIENT", "KILL", "ID", ids[i]})
				} else {
					commands = append(commands, []string{"CLIENT", "UNBLOCK", ids[i], "ERROR"})
				}
			}
			replies, err := c.Pipeline(commands...)
			if err != nil {
				t.Error(err)
			}
			for i, v := range replies {
				if v.String() != ":1" {
					t.Errorf("%q answers %s", commands[i], v)
				}
			}
		})
	}
	wg.Wait()
}

// TestAStormOfBlockedClients: a thousand clients of three nodes wait for one key. A quarter is
// killed and a quarter unblocked, all at once, the leader changes, and elements come for the rest.
// Each of those gets one, no element comes twice or is lost, and no client is left waiting.
func TestAStormOfBlockedClients(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	const half, spare = 2 * stormQuarter, 10
	cluster := proc.NewCluster(t, 3, proc.Options{})
	var e ends
	ids := e.blockAll(t, cluster.Addrs())
	proc.Wait(t, patience, "all wait", func() bool { return blocked(cluster) == stormClients })
	endHalf(t, cluster.Addrs(), ids)
	proc.Wait(t, patience, "half of them are gone", func() bool { return blocked(cluster) == half && e.total() == half })
	leader, follower := cluster.WaitLeader(), cluster.Follower()
	c := proc.Dial(t, follower.Addr())
	c.Patience = patience
	for i := range half + spare {
		if i == stormQuarter {
			proc.Wait(t, patience, "the leader gives its place away", func() bool {
				_, err := proc.Ask(leader.Addr(), "LOCKSTEP", "TRANSFER", "0")
				return err == nil
			})
		}
		if v, err := c.Do("RPUSH", "storm", fmt.Sprint("e", i)); err != nil || v.IsError() {
			t.Fatalf("RPUSH: %v, %v", v, err)
		}
	}
	proc.Wait(t, patience, "everybody is served", func() bool { return e.total() == stormClients })
	if e.closed != stormQuarter || e.unblocked != stormQuarter || len(e.other) > 0 {
		t.Errorf("%d closed, %d unblocked, others: %q", e.closed, e.unblocked, e.other)
	}
	slices.Sort(e.served)
	if once := slices.Compact(slices.Clone(e.served)); len(once) != half {
		t.Errorf("%d of %d elements were given out once", len(once), half)
	}
	if left, err := proc.Ask(follower.Addr(), "LLEN", "storm"); err != nil || left != fmt.Sprint(spare) {
		t.Errorf("%s elements are left, want %d: %v", left, spare, err)
	}
	proc.Wait(t, patience, "nobody waits", func() bool { return blocked(cluster) == 0 })
	for _, n := range cluster.Nodes {
		mustLive(t, n, n.Pid())
	}
}

// TestEndlessTransactionsAndWatches: a MULTI with endless commands, and as many watched keys, are
// refused at their limits. The client stays connected, and its memory stays bounded.
func TestEndlessTransactionsAndWatches(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	const limit, endless, piece = 1 << 16, 200_000, 10_000
	n := proc.NewNode(t, proc.Options{})
	pid := n.Pid()
	c := proc.Dial(t, n.Addr())
	c.Patience = patience
	// many sends so many commands in pieces, and counts the answers by their text.
	many := func(command func(i int) []string) map[string]int {
		answers := map[string]int{}
		for from := 0; from < endless; from += piece {
			var commands [][]string
			for i := range piece {
				commands = append(commands, command(from+i))
			}
			replies, err := c.Pipeline(commands...)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range replies {
				answers[v.String()]++
			}
		}
		return answers
	}
	do := func(want string, args ...string) {
		t.Helper()
		if v, err := c.Do(args...); err != nil || !strings.HasPrefix(v.String(), want) {
			t.Errorf("%q answers %.100s, want %s; %v", args, v, want, err)
		}
	}
	grown := watchRSS(n, func() {
		do("+OK", "MULTI")
		answers := many(func(int) []string { return []string{"INCR", "n"} })
		if answers["+QUEUED"] != limit || answers["-ERR the transaction is too large"] != endless-limit {
			t.Errorf("commands in a MULTI: %v", answers)
		}
		do("-EXECABORT", "EXEC")
		do("(nil)", "GET", "n")
		answers = many(func(i int) []string { return []string{"WATCH", fmt.Sprint("k", i)} })
		if answers["+OK"] != limit || answers["-ERR too many watched keys"] != endless-limit {
			t.Errorf("watched keys: %v", answers)
		}
		do("+OK", "MULTI")
		do("+QUEUED", "SET", "k5", "v")
		do("*1", "EXEC")
		do("+OK", "WATCH", "k5")
		do("+OK", "UNWATCH")
		for i := range 31 {
			do("+OK", "WATCH", fmt.Sprint(i)+strings.Repeat("k", mb))
		}
		do("-ERR too many watched keys", "WATCH", "31"+strings.Repeat("k", mb))
		do("+OK", "UNWATCH")
	})
	t.Logf("it took %d MB", grown/mb)
	if grown > 512*mb {
		t.Errorf("it took %d MB", grown/mb)
	}
	mustLive(t, n, pid)
}
