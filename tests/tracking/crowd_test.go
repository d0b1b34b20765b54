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

// crowd is a set of clients on every node of a cluster. Until end is called, some of them cache
// what they read, and others change it.
type crowd struct {
	cluster *proc.Cluster
	caches  []*cache
	stop    atomic.Bool
	// gate is held for reading by readers and writers. more holds it for writing while it calls
	// judge.
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

// read starts readers on every node, one in each mode. After the death of a node its readers
// connect again with an empty cache.
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

// run looks up keys until the crowd ends. It stops while the gate is closed.
func (c *cache) run(r *rand.Rand, w *crowd) {
	pause := time.NewTicker(2 * time.Millisecond)
	defer pause.Stop()
	for !w.stop.Load() {
		<-pause.C
		w.gate.RLock()
		ok := true
		if c.mode.name == "noloop" && r.Intn(20) == 0 {
			// A client with NOLOOP drops a key from its cache when it writes the key itself.
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

// write starts writers on every node that change keys in all ways. A write may fail while there is
// no leader or while its node is down.
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

// more lets the crowd continue for a while, and judges it three times.
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

// judge waits until the cached values equal the stored ones, and returns how many values are
// cached. No client reads or writes meanwhile, but keys may expire.
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

// end stops the crowd, and logs the counts.
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
