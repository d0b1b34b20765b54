package raftio

import (
	"sync"

	"github.com/hashicorp/raft"
)

// The cache is bounded twice: many small entries, or few large ones.
const (
	cacheEntriesMax = 512
	cacheBytesMax   = 8 << 20
)

// cache keeps the newest entries in memory: the entries that are sent to followers, and
// that Raft applies, right after they were written. The library's own cache is bounded
// only by the number of entries, which may have megabytes each, and it hides that a store
// is monotonic.
type cache struct {
	*LogStore
	mu sync.RWMutex // guards ring, low, high, bytes
	// ring holds the entries low to high-1 at their index modulo its length.
	ring      [cacheEntriesMax]*raft.Log
	low, high uint64
	bytes     int
}

var (
	_ raft.LogStore          = (*cache)(nil)
	_ raft.MonotonicLogStore = (*cache)(nil)
)

// GetLog implements raft.LogStore.
func (c *cache) GetLog(index uint64, l *raft.Log) error {
	c.mu.RLock()
	held := c.low <= index && index < c.high
	if held {
		*l = *c.ring[index%cacheEntriesMax]
	}
	c.mu.RUnlock()
	if held {
		return nil
	}
	return c.LogStore.GetLog(index, l)
}

// StoreLog implements raft.LogStore.
func (c *cache) StoreLog(l *raft.Log) error { return c.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore.
func (c *cache) StoreLogs(logs []*raft.Log) error {
	if err := c.LogStore.StoreLogs(logs); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range logs {
		if l.Index != c.high {
			c.dropBelowLocked(c.high)
			c.low, c.high = l.Index, l.Index
		}
		for c.low < c.high && (c.high-c.low == cacheEntriesMax || c.bytes+len(l.Data) > cacheBytesMax) {
			c.dropBelowLocked(c.low + 1)
		}
		c.ring[l.Index%cacheEntriesMax] = l
		c.high++
		c.bytes += len(l.Data)
	}
	return nil
}

// DeleteRange implements raft.LogStore.
func (c *cache) DeleteRange(from, to uint64) error {
	c.mu.Lock()
	if to+1 < c.high {
		c.dropBelowLocked(to + 1)
	} else {
		for c.high > max(from, c.low) {
			c.high--
			c.forgetLocked(c.high)
		}
	}
	c.mu.Unlock()
	return c.LogStore.DeleteRange(from, to)
}

// Empty deletes all entries.
func (c *cache) Empty() error {
	c.mu.Lock()
	c.dropBelowLocked(c.high)
	c.mu.Unlock()
	return c.LogStore.Empty()
}

func (c *cache) dropBelowLocked(index uint64) {
	for ; c.low < min(index, c.high); c.low++ {
		c.forgetLocked(c.low)
	}
}

func (c *cache) forgetLocked(index uint64) {
	l := &c.ring[index%cacheEntriesMax]
	c.bytes -= len((*l).Data)
	*l = nil
}
