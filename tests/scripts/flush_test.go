package scripts

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// TestFlushesAreUnseenByEval: the script cache is flushed all the time while scripts run through
// all nodes, alone, in pipelines and in transactions. The log does not hold the texts of these
// scripts. Every call still runs once, in the order of its connection, and no call gets a NOSCRIPT
// error.
func TestFlushesAreUnseenByEval(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	const clients, calls = 6, 40
	cluster := proc.NewCluster(t, 3, proc.Options{Shards: 2})
	stop := make(chan struct{})
	var flushing, wg sync.WaitGroup
	flusher := proc.Dial(t, cluster.Nodes[1].Addr())
	flushing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if v, err := flusher.Do("SCRIPT", "FLUSH"); err != nil || v.String() != "+OK" {
				t.Errorf("SCRIPT FLUSH: %s, %v", v, err)
				return
			}
		}
	})
	left, again, rounds := 0, 0, 0
	// It is a matter of chance whether a flush comes between a script and its call.
	proc.Wait(t, patience, "scripts are left out, and missed", func() bool {
		rounds++
		for i := range clients {
			c := proc.Dial(t, cluster.Nodes[i%3].Addr())
			c.Patience = patience
			wg.Go(func() { countThrough(t, c, fmt.Sprint(i, "in", rounds), calls) })
		}
		wg.Wait()
		left, again = 0, 0
		for _, n := range cluster.Nodes {
			stats := proc.Info(n.Addr(), "stats")
			l, _ := strconv.Atoi(stats["script_texts_left_out"])
			a, _ := strconv.Atoi(stats["script_texts_sent_again"])
			left, again = left+l, again+a
		}
		return t.Failed() || left > 0 && again > 0
	})
	t.Logf("%d texts were left out, %d calls sent again", left, again)
	close(stop)
	flushing.Wait()
	c := proc.Dial(t, cluster.Nodes[0].Addr())
	if got := say(t, c, "GET", "{all}"); got != strconv.Quote(strconv.Itoa(rounds*clients*calls)) {
		t.Errorf("%s calls of %d ran", got, rounds*clients*calls)
	}
	for _, n := range cluster.Nodes {
		if log := n.Log(); strings.Contains(log, "panic") {
			t.Errorf("%s: %s", n.Name, log)
		}
	}
}

// countThrough increments the client's own key and a key that all clients share, by scripts.
func countThrough(t *testing.T, c *respconn.Conn, name string, calls int) {
	long := " --" + strings.Repeat("x", 500)
	own := "return redis.call('incr', KEYS[1])" + long
	all := "redis.call('incr', KEYS[1]) return redis.call('append', KEYS[2], ARGV[1])" + long
	key, trace := "own"+name, "{all}trace"+name
	for n := 1; n <= calls; n++ {
		replies, err := c.Pipeline([]string{"EVAL", own, "1", key}, []string{"GET", key}, []string{"MULTI"},
			[]string{"EVAL", all, "2", "{all}", trace, strconv.Itoa(n % 10)}, []string{"GETRANGE", trace, "-1", "-1"}, []string{"EXEC"})
		if err != nil {
			t.Errorf("client %s: %v", name, err)
			return
		}
		want := ":" + strconv.Itoa(n) + " " + strconv.Quote(strconv.Itoa(n)) + " *2\n  :" + strconv.Itoa(n) + "\n  " + strconv.Quote(strconv.Itoa(n%10))
		if got := replies[0].String() + " " + replies[1].String() + " " + replies[5].String(); got != want {
			t.Errorf("client %s, call %d: %s, want %s", name, n, got, want)
			return
		}
	}
}
