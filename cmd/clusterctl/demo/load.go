package demo

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// writers is how many connections write at once.
	writers = 8
	// keysPerWriter is how many keys each writer writes in turn.
	keysPerWriter = 500
	// callTimeout is longer than the server's own wait for a leader, so that the server can still
	// report the outcome.
	callTimeout = 30 * time.Second
)

// Load writes growing numbers to keys of its own, through any node, and remembers which
// were acknowledged. Its checker reads every key again and again. A key that holds less
// than what was acknowledged before the read began is a lost write.
type Load struct {
	addrs []string
	// first is the number of the first write. It is greater than those of earlier demos, whose data
	// may still be in the folder: an old value must not count as a write of this demo.
	first int64
	on    atomic.Bool
	// acked[k] is the greatest number acknowledged for key k.
	acked []atomic.Int64

	// Acknowledged counts writes that were answered OK, Errors those with another answer, Checked
	// the reads of the checker, and Lost the writes that it did not find.
	Acknowledged, Errors, Checked, Lost atomic.Int64
	// slowestMs is the longest time of a write since SlowestMs was last called.
	slowestMs atomic.Int64
}

func newLoad(addrs []string) *Load {
	return &Load{addrs: addrs, first: time.Now().UnixMicro(), acked: make([]atomic.Int64, writers*keysPerWriter)}
}

// Toggle switches the load on or off and reports whether it is on now.
func (l *Load) Toggle() bool {
	for {
		old := l.on.Load()
		if l.on.CompareAndSwap(old, !old) {
			return !old
		}
	}
}

// On reports whether the load is on.
func (l *Load) On() bool { return l.on.Load() }

// SlowestMs is the longest time of a write since the last call.
func (l *Load) SlowestMs() int64 { return l.slowestMs.Swap(0) }

// start starts to write and to check. stop ends that and waits for the end.
func (l *Load) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// run writes and checks until ctx ends.
func (l *Load) run(ctx context.Context) {
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() { l.write(ctx, w) })
	}
	wait.Go(func() { l.check(ctx) })
	wait.Wait()
}

// connection is a client that stays with one node, and changes to another one if that
// node is gone.
type connection struct {
	addrs  []string
	next   int
	client *redis.Client
}

func (c *connection) get() *redis.Client {
	if c.client == nil {
		addr := c.addrs[c.next%len(c.addrs)]
		c.client = redis.NewClient(&redis.Options{
			Addr: addr, MaxRetries: -1, PoolSize: 1, DialTimeout: time.Second,
			ReadTimeout: callTimeout, WriteTimeout: time.Second, DisableIdentity: true,
		})
	}
	return c.client
}

// failed closes the connection and moves on to the next node.
func (c *connection) failed() {
	c.close()
	c.next++
}

func (c *connection) close() {
	if c.client != nil {
		c.client.Close()
		c.client = nil
	}
}

func demoKey(k int) string { return "demo:" + strconv.Itoa(k) }

func (l *Load) write(ctx context.Context, w int) {
	conn := &connection{addrs: l.addrs, next: w}
	defer conn.close()
	for n := l.first; ctx.Err() == nil; n++ {
		if !l.on.Load() {
			pause(ctx, 50*time.Millisecond)
			continue
		}
		k := w*keysPerWriter + int(n%keysPerWriter)
		begin := time.Now()
		err := conn.get().Set(ctx, demoKey(k), n, 0).Err()
		if took := time.Since(begin).Milliseconds(); took > l.slowestMs.Load() {
			l.slowestMs.Store(took)
		}
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			// Connections to a killed node break. Only an answer of a running node counts as an
			// error.
			if isReply(err) {
				l.Errors.Add(1)
			} else {
				conn.failed()
				pause(ctx, 20*time.Millisecond)
			}
			continue
		}
		l.acked[k].Store(n)
		l.Acknowledged.Add(1)
	}
}

func isReply(err error) bool {
	_, ok := err.(redis.Error)
	return ok
}

const checkBatch = 100

func (l *Load) check(ctx context.Context) {
	conn := &connection{addrs: l.addrs}
	defer conn.close()
	for first := 0; ctx.Err() == nil; first = (first + checkBatch) % len(l.acked) {
		if l.Acknowledged.Load() == 0 {
			pause(ctx, 50*time.Millisecond)
			continue
		}
		if !l.checkKeys(ctx, conn, first) {
			conn.failed()
			pause(ctx, 50*time.Millisecond)
		}
		pause(ctx, 5*time.Millisecond)
	}
}

// CheckAll reads every key once more and returns how many were read.
func (l *Load) CheckAll(ctx context.Context) (int, error) {
	conn := &connection{addrs: l.addrs}
	defer conn.close()
	read := 0
	for first := 0; first < len(l.acked); {
		if l.checkKeys(ctx, conn, first) {
			first += checkBatch
			read += checkBatch
			continue
		}
		if ctx.Err() != nil {
			return read, fmt.Errorf("the last check reached %d of %d keys: %w", read, len(l.acked), ctx.Err())
		}
		conn.failed()
		pause(ctx, 50*time.Millisecond)
	}
	return read, nil
}

// checkKeys reads a batch of keys. It returns false if no node answered.
func (l *Load) checkKeys(ctx context.Context, conn *connection, first int) bool {
	want := make([]int64, checkBatch)
	keys := make([]string, checkBatch)
	for i := range want {
		want[i] = l.acked[first+i].Load()
		keys[i] = demoKey(first + i)
	}
	got, err := conn.get().MGet(ctx, keys...).Result()
	if err != nil {
		return false
	}
	for i, w := range want {
		if w == 0 {
			continue
		}
		l.Checked.Add(1)
		text, _ := got[i].(string)
		if n, _ := strconv.ParseInt(text, 10, 64); n < w {
			l.Lost.Add(1)
		}
	}
	return true
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
