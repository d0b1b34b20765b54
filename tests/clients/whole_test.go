package clients

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// TestScanWandersFromNodeToNode scans four shards, with each step at another node, while other keys
// are written and deleted and leaders change. Every key that is there all the time must come
// exactly once.
func TestScanWandersFromNodeToNode(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Shards: shards})
	spread(t, c)
	var conns []*respconn.Conn
	for _, n := range c.Nodes {
		conns = append(conns, proc.Dial(t, n.Addr()))
	}
	const stay = 2000
	for i := range stay {
		must(t, conns[0].Send("SET", fmt.Sprint("stay:", i), "1"))
	}
	for range stay {
		if got := proc.Read(t, conns[0]); got != "+OK" {
			t.Fatal(got)
		}
	}
	for i, conn := range conns {
		if got := proc.Do(t, conn, "DBSIZE"); got != fmt.Sprint(":", stay) {
			t.Errorf("DBSIZE of node %d is %s", i+1, got)
		}
		// INFO counts the keys in the node's own replicas.
		proc.Wait(t, patience, fmt.Sprintf("INFO keyspace of node %d counts all keys", i+1), func() bool {
			return strings.HasPrefix(proc.Info(c.Nodes[i].Addr(), "keyspace")["db0"], fmt.Sprintf("keys=%d,", stay))
		})
	}
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { comeAndGo(t, c.Nodes[0].Addr(), stop) })
	for round := range shards {
		give(t, c, round, (round+1)%len(c.Nodes))
		scanEverywhere(t, conns, stay, []string{"7", "50", "333", "5000"}[round])
	}
	close(stop)
	running.Wait()
	if got := proc.Do(t, conns[1], "FLUSHALL"); got != "+OK" {
		t.Fatal(got)
	}
	for i, conn := range conns {
		if got := proc.Do(t, conn, "DBSIZE"); got != ":0" {
			t.Errorf("after FLUSHALL, DBSIZE of node %d is %s", i+1, got)
		}
	}
}

// scanEverywhere scans with each step at the next node, and expects the keys that stay.
func scanEverywhere(t *testing.T, conns []*respconn.Conn, stay int, count string) {
	t.Helper()
	seen := map[string]int{}
	cursor := "0"
	for step := 0; ; step++ {
		v, err := conns[step%len(conns)].Do("SCAN", cursor, "COUNT", count, "MATCH", "stay:*")
		if err != nil || len(v.Elems) != 2 || step > 100_000 {
			t.Fatalf("step %d: %v, %v", step, v, err)
		}
		for _, key := range v.Elems[1].Elems {
			seen[string(key.Bytes)]++
		}
		if cursor = string(v.Elems[0].Bytes); cursor == "0" {
			break
		}
	}
	for i := range stay {
		if times := seen[fmt.Sprint("stay:", i)]; times != 1 {
			t.Fatalf("COUNT %s: stay:%d came %d times", count, i, times)
		}
	}
}

// comeAndGo writes and deletes other keys until stop is closed.
func comeAndGo(t *testing.T, addr string, stop <-chan struct{}) {
	w, err := respconn.DialTimeout(addr, time.Minute)
	if err != nil {
		t.Error(err)
		return
	}
	defer w.Close()
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		args := []string{"SET", "other:" + strconv.Itoa(i%500), "1"}
		if i%3 == 2 {
			args = []string{"DEL", "other:" + strconv.Itoa((i*7)%500)}
		}
		if v, err := w.Do(args...); err != nil || v.IsError() {
			t.Errorf("%v: %v, %v", args, v, err)
			return
		}
	}
}
