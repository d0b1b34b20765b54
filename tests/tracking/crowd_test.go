package tracking

import (
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// crowd are clients on every node of a cluster: some cache what they read, some
// change it, until end.
type crowd struct {
	cluster *proc.Cluster
	caches  []*cache
	stop    atomic.Bool
	// gate is held by readers and writers; judge closes it.
	gate     sync.RWMutex
	wait     sync.WaitGroup
	written  atomic.Int64
	compared int
}

func newCrowd(t *testing.T, c *proc.Cluster) *crowd {
	w := &crowd{cluster: c}
	w.read(t)
	w.write()
	return w
}

// read begins to look at keys on every node, in each mode. Where a node dies the
// readers come back with an empty cache.
func (w *crowd) read(t *testing.T) {
	for _, n := range w.cluster.Nodes {
		for _, m := range modes {
			k := open(t, n, m)
			w.caches = append(w.caches, k)
			seed := int64(len(w.caches))
			w.wait.Go(func() { k.run(rand.New(rand.NewSource(seed)), w) })
		}
	}
}

// run looks at keys until the crowd ends, while the gate is open.
func (c *cache) run(r *rand.Rand, w *crowd) {
	pause := time.NewTicker(2 * time.Millisecond)
	defer pause.Stop()
	for !w.stop.Load() {
		<-pause.C
		w.gate.RLock()
		ok := true
		if c.mode.name == "noloop" && r.Intn(20) == 0 {
			// What it writes itself it drops itself.
			key := nameOf(r.Intn(names))
			c.mu.Lock()
			delete(c.values, key)
			c.mu.Unlock()
			if ok = c.data.Send("APPEND", key, "+") == nil; ok {
				_, ok = c.reply()
			}
		} else {
			_, ok = c.look(nameOf(r.Intn(names)))
		}
		w.gate.RUnlock()
		if !ok {
			c.lost++
			c.data.Close()
			<-c.ends
			for !w.stop.Load() && c.connect() != nil {
				<-pause.C
			}
		}
	}
}

// write begins to change keys through every node, in all ways. An error may come
// while there is no leader, and a node may be gone.
func (w *crowd) write() {
	for _, n := range w.cluster.Nodes {
		w.wait.Go(func() {
			r := rand.New(rand.NewSource(int64(n.Index)))
			pause := time.NewTicker(4 * time.Millisecond)
			defer pause.Stop()
			var conn *respconn.Conn
			for i := 0; !w.stop.Load(); i++ {
				<-pause.C
				if conn == nil {
					if conn, _ = respconn.DialTimeout(n.Addr(), patience); conn == nil {
						continue
					}
				}
				w.gate.RLock()
				v, err := conn.Do(change(r, n.Index, i)...)
				w.gate.RUnlock()
				if err != nil {
					conn.Close()
					conn = nil
				} else if !v.IsError() {
					w.written.Add(1)
				}
			}
			if conn != nil {
				conn.Close()
			}
		})
	}
}

func change(r *rand.Rand, node, i int) []string {
	key, value := nameOf(r.Intn(names)), fmt.Sprintf("%d-%d", node, i)
	switch r.Intn(40) {
	case 0:
		return []string{"DEL", key}
	case 1:
		return []string{"SET", key, value, "PX", fmt.Sprint(1 + r.Intn(100))}
	case 2:
		return []string{"FLUSHALL"}
	case 3:
		return []string{"APPEND", key, "!"}
	}
	return []string{"SET", key, value}
}

// more lets the crowd go on for a while, and judges it now and then.
func (w *crowd) more(t *testing.T) {
	t.Helper()
	for range 3 {
		goal := w.written.Load() + 150
		proc.Wait(t, proc.ElectionPatience, "writes go on", func() bool { return w.written.Load() >= goal })
		w.gate.Lock()
		w.compared += w.judge(t)
		w.gate.Unlock()
	}
}

// judge waits, while nobody reads or writes, until what is cached is what is
// there, and returns how much that is. Keys that expire do so meanwhile.
func (w *crowd) judge(t *testing.T) int {
	t.Helper()
	reader := proc.Dial(t, w.cluster.WaitLeader().Addr())
	defer reader.Close()
	var wrong []string
	cached := 0
	fresh := proc.Poll(patience, func() bool {
		store := map[string]string{}
		for i := range names {
			store[nameOf(i)] = proc.Do(t, reader, "GET", nameOf(i))
		}
		wrong, cached = nil, 0
		for _, k := range w.caches {
			old, n := k.stale(store)
			wrong, cached = append(wrong, old...), cached+n
		}
		return len(wrong) == 0
	})
	if !fresh {
		t.Fatalf("stale for ever:\n%s", strings.Join(wrong, "\n"))
	}
	return cached
}

// end sends the crowd away, and tells what it saw.
func (w *crowd) end(t *testing.T) {
	t.Helper()
	w.stop.Store(true)
	w.wait.Wait()
	news, hits, misses, lost := 0, 0, 0, 0
	for _, k := range w.caches {
		news, hits, misses, lost = news+k.news, hits+k.hits, misses+k.misses, lost+k.lost
		if k.silent {
			t.Errorf("%s: no answer for %v", k.name, patience)
		}
	}
	t.Logf("%d invalidations, %d hits, %d misses, %d connections lost with their node; %d cached values compared", news, hits, misses, lost, w.compared)
	if news < 100 || hits < 100 || misses < 100 || lost == 0 || w.compared < 100 {
		t.Error("too little happened to show anything")
	}
}
