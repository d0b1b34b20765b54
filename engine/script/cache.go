package script

import (
	"container/list"
	"errors"
	"sync"
	"sync/atomic"
)

// ErrCacheFull is the reply to SCRIPT LOAD if loaded scripts take up all the room.
var ErrCacheFull = errors.New("ERR the script cache is full: SCRIPT FLUSH empties it")

// CacheLimits bound a cache. They decide which scripts are found, so they must
// be the same on every replica.
type CacheLimits struct {
	// Scripts is the most scripts, Bytes the greatest length of their sources together.
	Scripts, Bytes int
}

// Cache holds scripts by their SHA1. Scripts that were loaded stay. Scripts that were only
// evaluated make room for others, beginning with the one that was not used for the longest time.
//
// A cache is replicated: it changes only at the scripts' places in the log, by one goroutine. Any
// goroutine may read it. Scripts are added before they are compiled, because compiling takes longer
// than the log should wait. A script that turns out not to compile counts as missing (Known).
type Cache struct {
	mu sync.RWMutex // guards the fields below
	// bySum and byText find the same scripts. A lookup by text spares EVAL from computing the SHA1.
	bySum  map[Sum]*list.Element
	byText map[string]*list.Element
	// loaded and used hold values of type *Cached, the longest unused first.
	loaded, used list.List
	bytes        int
	// memory is MemoryBytes.
	memory atomic.Int64
}

// These are the measured bytes of a script that has run: scriptBytes for any script, and sourceCost
// for each byte of its source, which covers the source and the compiled form.
const (
	scriptBytes = 18 << 10
	sourceCost  = 9
)

// Cached is a script in a cache. Loaded is set if it came by SCRIPT LOAD.
type Cached struct {
	*Script
	Loaded bool
}

// Keep adds a script that is being evaluated, unless there is no room for it, and returns the
// script to run.
func (c *Cache) Keep(s *Script, l CacheLimits) *Script {
	c.mu.Lock()
	defer c.mu.Unlock()
	if there := c.touch(c.bySum[s.Sum]); there != nil {
		return there
	}
	if c.room(len(s.Source), l) {
		c.add(&Cached{Script: s})
	}
	return s
}

// Load keeps a script until the next Flush.
func (c *Cache) Load(s *Script, l CacheLimits) (*Script, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.bySum[s.Sum]; e != nil {
		there := e.Value.(*Cached)
		if !there.Loaded {
			c.drop(e)
			c.add(&Cached{there.Script, true})
		}
		return there.Script, nil
	}
	if !c.room(len(s.Source), l) {
		return nil, ErrCacheFull
	}
	c.add(&Cached{s, true})
	return s, nil
}

func (c *Cache) add(s *Cached) {
	if c.bySum == nil {
		c.bySum, c.byText = map[Sum]*list.Element{}, map[string]*list.Element{}
	}
	order := &c.used
	if s.Loaded {
		order = &c.loaded
	}
	e := order.PushBack(s)
	c.bySum[s.Sum], c.byText[s.Source] = e, e
	c.bytes += len(s.Source)
	c.count()
}

// count updates memory.
func (c *Cache) count() { c.memory.Store(int64(sourceCost*c.bytes + scriptBytes*len(c.bySum))) }

// MemoryBytes is the approximate memory of the scripts.
func (c *Cache) MemoryBytes() int64 { return c.memory.Load() }

// drop removes a script that was only evaluated.
func (c *Cache) drop(e *list.Element) {
	s := c.used.Remove(e).(*Cached)
	delete(c.bySum, s.Sum)
	delete(c.byText, s.Source)
	c.bytes -= len(s.Source)
	c.count()
}

// room drops scripts that were only evaluated until another script fits.
func (c *Cache) room(size int, l CacheLimits) bool {
	for len(c.bySum)+1 > l.Scripts || c.bytes+size > l.Bytes {
		oldest := c.used.Front()
		if oldest == nil {
			return false
		}
		c.drop(oldest)
	}
	return true
}

// touch marks a script as used. It returns nil if there is none.
func (c *Cache) touch(e *list.Element) *Script {
	if e == nil {
		return nil
	}
	s := e.Value.(*Cached)
	if !s.Loaded {
		c.used.MoveToBack(e)
	}
	return s.Script
}

// Use finds a script that is to run from the log by its SHA1 in letters, or returns nil.
func (c *Cache) Use(sha string) *Script {
	sum, ok := sumOf(sha)
	if !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.touch(c.bySum[sum])
}

// Get finds a script by its SHA1 in letters, and does not mark it as used.
func (c *Cache) Get(sha string) *Script {
	sum, ok := sumOf(sha)
	if !ok {
		return nil
	}
	return c.Named(sum)
}

// Named finds a script by its SHA1, and does not mark it as used.
func (c *Cache) Named(sum Sum) *Script {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return scriptOf(c.bySum[sum])
}

// Find finds a script by its text, and does not mark it as used.
func (c *Cache) Find(source []byte) *Script {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return scriptOf(c.byText[string(source)])
}

func scriptOf(e *list.Element) *Script {
	if e == nil {
		return nil
	}
	return e.Value.(*Cached).Script
}

// All lists the scripts, the longest unused first.
func (c *Cache) All() []Cached {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := make([]Cached, 0, len(c.bySum))
	for _, order := range []*list.List{&c.loaded, &c.used} {
		for e := order.Front(); e != nil; e = e.Next() {
			all = append(all, *e.Value.(*Cached))
		}
	}
	return all
}

// Restore puts back what All listed.
func (c *Cache) Restore(s Cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bySum[s.Sum] == nil {
		c.add(&s)
	}
}

// Size is the number of scripts, and the length of their sources together.
func (c *Cache) Size() (scripts, bytes int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.bySum), c.bytes
}

// Flush forgets all scripts.
func (c *Cache) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bySum, c.byText, c.bytes = nil, nil, 0
	c.count()
	c.loaded.Init()
	c.used.Init()
}
