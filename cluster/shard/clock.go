package shard

import (
	"sync"
	"time"
)

// clock gives a leader the time it stamps entries with: wall time at the
// beginning of its term, or the last stamp of the log if that is later, and
// from there on by the monotonic clock. So it never runs backwards, and a wall
// clock that is set anew within a term changes nothing.
type clock struct {
	mu     sync.Mutex
	baseMs int64
	base   time.Time
}

// anchor begins a term after the log's last stamp.
func (c *clock) anchor(stampMs int64) {
	c.mu.Lock()
	c.base = time.Now()
	c.baseMs = max(stampMs, c.base.UnixMilli())
	c.mu.Unlock()
}

// nowMs is the time in milliseconds since 1970.
func (c *clock) nowMs() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.baseMs + time.Since(c.base).Milliseconds()
}
