package clients

import (
	"fmt"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// TestReadYourWritesByToken writes through one node and reads from the replicas of all nodes. A
// token that is passed from the writer's connection to a reader's makes the reader see the write,
// with a timeout of 0 and with a long one.
func TestReadYourWritesByToken(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Shards: shards})
	spread(t, c)
	var readers []*respconn.Conn
	for _, n := range c.Nodes {
		r := proc.Dial(t, n.Addr())
		if got := proc.Do(t, r, "READONLY"); got != "+OK" {
			t.Fatal(got)
		}
		readers = append(readers, r)
	}
	writer := proc.Dial(t, c.Nodes[0].Addr())
	waited := map[string]int{}
	for i := range 150 {
		if i%50 == 25 {
			give(t, c, i/50, (i/50+1)%len(c.Nodes))
		}
		key, value := fmt.Sprintf("token:%d", i%7), strconv.Itoa(i)
		if got := proc.Do(t, writer, "SET", key, value); got != "+OK" {
			t.Fatal(got)
		}
		token, err := writer.Do("LOCKSTEP", "TOKEN")
		if err != nil || token.IsError() {
			t.Fatalf("%v, %v", token, err)
		}
		for j, r := range readers {
			patience := []string{"0", "10000"}[(i+j)%2]
			waited[patience+proc.Do(t, r, "LOCKSTEP", "WAITFOR", string(token.Bytes), patience)]++
			if got := proc.Do(t, r, "GET", key); got != strconv.Quote(value) {
				t.Fatalf("write %d, token %s: node %d gives %s", i, token, j, got)
			}
		}
	}
	t.Logf("patience and answers: %v", waited)
	if waited["10000:0"] > waited["10000:1"]/10 {
		t.Errorf("who waited did not see the token come: %v", waited)
	}
}

// acknowledged holds the time at which each value of a counter was acknowledged.
type acknowledged struct {
	mu    sync.Mutex
	times []time.Time
}

// before returns the last value that was acknowledged before a moment.
func (a *acknowledged) before(moment time.Time) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return sort.Search(len(a.times), func(i int) bool { return !a.times[i].Before(moment) })
}

// count increments a counter through a node until stop is closed.
func count(t *testing.T, addr string, acked *acknowledged, stop <-chan struct{}) {
	w, err := respconn.DialTimeout(addr, time.Minute)
	if err != nil {
		t.Error(err)
		return
	}
	defer w.Close()
	for i := 1; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		if v, err := w.Do("SET", "count", strconv.Itoa(i)); err != nil || v.IsError() {
			t.Errorf("SET count %d: %v, %v", i, v, err)
			return
		}
		acked.mu.Lock()
		acked.times = append(acked.times, time.Now())
		acked.mu.Unlock()
	}
}

// readBounded reads the counter from a node's replica until stop is closed, and counts its reads.
func readBounded(t *testing.T, addr string, bound time.Duration, acked *acknowledged, stop <-chan struct{}, reads *atomic.Int64) {
	r, err := respconn.DialTimeout(addr, time.Minute)
	if err != nil {
		t.Error(err)
		return
	}
	defer r.Close()
	for _, args := range [][]string{{"READONLY"}, {"LOCKSTEP", "STALENESS", strconv.FormatInt(bound.Milliseconds(), 10)}} {
		if v, err := r.Do(args...); err != nil || v.IsError() {
			t.Errorf("%v: %v, %v", args, v, err)
		}
	}
	pace := time.NewTicker(time.Millisecond)
	defer pace.Stop()
	for {
		select {
		case <-stop:
			return
		case <-pace.C:
		}
		least := acked.before(time.Now().Add(-bound))
		v, err := r.Do("GET", "count")
		if got, _ := strconv.Atoi(string(v.Bytes)); err != nil || v.IsError() || got < least {
			t.Errorf("%s read %v, %v; %d was acknowledged %v before", addr, v, err, least, bound)
			return
		}
		reads.Add(1)
	}
}

// TestStalenessIsBounded increments a counter through one node while the other nodes read it from
// their replicas with a staleness bound. Meanwhile leaders change and one replica is paused. No
// read may return a value that is older than the bound allows.
func TestStalenessIsBounded(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Shards: shards})
	spread(t, c)
	const bound = 100 * time.Millisecond
	var acked acknowledged
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { count(t, c.Nodes[0].Addr(), &acked, stop) })
	var reads [3]atomic.Int64
	for node := 1; node < 3; node++ {
		running.Go(func() { readBounded(t, c.Nodes[node].Addr(), bound, &acked, stop, &reads[node]) })
	}
	further := func(when string) {
		t.Helper()
		from := acked.before(time.Now())
		proc.Wait(t, patience, "the counter goes on: "+when, func() bool { return acked.before(time.Now()) > from+steps })
	}
	further("at the start")
	for shard := range shards {
		give(t, c, shard, (shard+1)%len(c.Nodes))
		further("a leader has changed")
	}
	c.Nodes[2].Pause()
	further("a node is paused")
	c.Nodes[2].Continue()
	further("it goes on")
	// On a busy machine the proof that a replica is fresh comes late, and the node forwards its
	// reads.
	forwarded := func() int64 {
		n, _ := strconv.ParseInt(proc.Info(c.Nodes[1].Addr(), "stats")["forwarded_calls"], 10, 64)
		return n
	}
	read, sent := reads[1].Load(), forwarded()
	proc.Wait(t, patience, "node 2's own replica answers half of a hundred reads", func() bool {
		if reads[1].Load() < read+100 {
			return t.Failed()
		}
		now := forwarded()
		enough := now-sent <= (reads[1].Load()-read)/2
		read, sent = reads[1].Load(), now
		return enough
	})
	close(stop)
	running.Wait()
	t.Logf("%d writes; %d reads of node 2, which forwarded %d calls; %d reads of node 3", acked.before(time.Now()), reads[1].Load(), forwarded(), reads[2].Load())
}
