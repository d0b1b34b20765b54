package feed

import (
	"fmt"
	"math/rand"
	"sync"
	"sync/atomic"
	"testing"

	"lockstep/engine/command"
	"lockstep/fsm"
)

// history is a shard's log: which key each entry changes. The value of a key is
// the index of the entry that changed it last.
type history struct {
	mu   sync.Mutex
	keys []string
}

func (h *history) at(i uint64) (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i > uint64(len(h.keys)) {
		return "", false
	}
	return h.keys[i-1], true
}

func (h *history) add(key string) {
	h.mu.Lock()
	h.keys = append(h.keys, key)
	h.mu.Unlock()
}

// read returns a key's value in the state after an entry.
func (h *history) read(key string, position uint64) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := min(position, uint64(len(h.keys))); i > 0; i-- {
		if h.keys[i-1] == key {
			return i
		}
	}
	return 0
}

// cacher is a client that caches what it reads. It is the Sink of its gateway.
type cacher struct {
	mu      sync.Mutex
	tracked map[string]bool
	values  map[string]uint64
	// held makes invalidations wait while a read is under way; "*" in waiting stands for all keys.
	held    bool
	waiting []string
	dropped int
}

func (c *cacher) invalidate(key string, used bool) {
	if used {
		if !c.tracked[key] {
			return
		}
		delete(c.tracked, key)
	}
	if c.held {
		c.waiting = append(c.waiting, key)
		return
	}
	c.drop(key)
}

func (c *cacher) drop(key string) {
	c.dropped++
	if key == "*" {
		clear(c.values)
	}
	delete(c.values, key)
}

func (c *cacher) drops() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dropped
}

func (c *cacher) Gap(int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.tracked)
	c.invalidate("*", false)
}

func (c *cacher) Changed(_ int, _ fsm.TxnID, keys [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range keys {
		c.invalidate(string(key), true)
	}
}

func (c *cacher) Event(int, command.EventClass, string, int, []byte) {}
func (c *cacher) Mute(int, bool)                                     {}

// look reads a key through the gateway, from the oldest state that the gateway allows.
func (c *cacher) look(key string, h *history, heard func() uint64) {
	c.mu.Lock()
	_, cached := c.values[key]
	if cached {
		c.mu.Unlock()
		return
	}
	c.held = true
	c.tracked[key] = true
	c.mu.Unlock()
	value := h.read(key, heard())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values[key] = value
	c.held = false
	for _, key := range c.waiting {
		c.drop(key)
	}
	c.waiting = nil
}

// follow lets a replica run the log, and ends its subscriptions now and then.
func follow(h *history, n *node, seed int64, written *atomic.Bool) {
	r := rand.New(rand.NewSource(seed))
	for i := uint64(1); ; {
		all := written.Load()
		key, ok := h.at(i)
		if !ok && all {
			return
		}
		if ok {
			n.run(fsm.TxnID{}, key)
			i++
		}
		if r.Intn(500) == 0 {
			n.source.End(0)
		}
	}
}

// lossy loses some requests and some answers.
func lossy() func(string, []byte) fate {
	r := rand.New(rand.NewSource(1))
	return func(string, []byte) fate {
		switch r.Intn(20) {
		case 0:
			return notSent
		case 1:
			return answerIsLost
		}
		return arrives
	}
}

// A client reads and caches while keys change, replicas run the log at different speeds,
// connections break and subscriptions end. In the end no cached value is stale, although every read
// was answered from the oldest state that is allowed.
func TestNothingStaleStaysThroughBreaks(t *testing.T) {
	const entriesMin, droppedMin, names = 1600, 20, 8
	h := &history{}
	w := &wire{nodes: map[string]*node{"a": newNode(), "b": newNode()}}
	w.lose(lossy())
	c := &cacher{tracked: map[string]bool{}, values: map[string]uint64{}}
	g := newGateway(t, w, "a", "b")
	g.cfg.Sink = c
	g.track(t)
	var wait sync.WaitGroup
	var written atomic.Bool
	wait.Go(func() {
		defer written.Store(true)
		r := rand.New(rand.NewSource(2))
		for i := uint64(0); i < entriesMin || (g.Counts().Gaps < 5 || c.drops() < droppedMin) && !t.Failed(); i++ {
			h.add(fmt.Sprint("k", r.Intn(names)))
			if i%16 == 15 {
				eventually(t, "the gateway follows", func() bool { return g.Heard(0)+16 > i })
			}
		}
	})
	for name, n := range w.nodes {
		wait.Go(func() { follow(h, n, int64(name[0]), &written) })
	}
	compared := 0
	ended := make(chan struct{})
	go func() {
		wait.Wait()
		close(ended)
	}()
	r2 := rand.New(rand.NewSource(3))
	for open := true; open; {
		select {
		case <-ended:
			open = false
		default:
			c.look(fmt.Sprint("k", r2.Intn(names)), h, func() uint64 { return g.Heard(0) })
		}
	}
	w.lose(nil)
	entries := uint64(len(h.keys))
	var stale string
	defer func() {
		if t.Failed() {
			t.Log(stale, g.Heard(0), g.Counts())
		}
	}()
	eventually(t, "all is heard", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		stale, compared = "", len(c.values)
		for key, value := range c.values {
			if now := h.read(key, entries); now != value {
				stale = fmt.Sprintf("%s is cached as %d, not %d", key, value, now)
			}
		}
		return g.Heard(0) == entries && stale == ""
	})
	for i := range names {
		c.look(fmt.Sprint("k", i), h, func() uint64 { return g.Heard(0) })
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t.Logf("%d invalidations, %d gaps, %d batches; %d values compared", c.dropped, g.Counts().Gaps, g.Counts().Batches, compared)
	if c.dropped < droppedMin {
		t.Error("too little happened to show anything")
	}
}
