package fsm

import (
	"context"
	"sync"
	"sync/atomic"
)

// progress computes the executed watermark from the txns that have run.
type progress struct {
	executed atomic.Uint64
	// taken is the index of the last entry whose tickets are all taken, queued that
	// of the last entry started. They are written under mu.
	taken, queued atomic.Uint64

	mu struct {
		sync.Mutex
		// open holds the entries that have been started and that the watermark has
		// not passed, in log order.
		open    []*openEntry
		waiters []waiter
		// took is closed when taken moves. It is nil if nobody waits for that.
		took chan struct{}
		// openBytes is the memory of the entries with a txn that has not run, wherever the
		// watermark is.
		openBytes int64
		// room is closed when openBytes has fallen to roomAt. It is nil if nobody waits for that.
		room   chan struct{}
		roomAt int64
	}
}

// openEntry counts the txns of an entry that have not run, plus one while its
// tickets are still being taken.
type openEntry struct {
	index uint64
	// bytes is about the memory that the entry takes until all of them have run.
	bytes int64
	left  atomic.Int64
}

type waiter struct {
	index uint64
	done  chan struct{}
}

// openEntry opens the entry at index, which takes about bytes of memory. The caller
// ends it with done(entry, 1).
func (p *progress) openEntry(index uint64, bytes int64) *openEntry {
	e := &openEntry{index: index, bytes: bytes}
	e.left.Store(1)
	p.mu.Lock()
	p.mu.open = append(p.mu.open, e)
	p.mu.openBytes += bytes
	p.queued.Store(index)
	p.mu.Unlock()
	return e
}

// awaitRoom blocks while open entries take more than max bytes, and then until they
// take half of that, because stopping and starting at every entry would be slow.
// Only the goroutine that starts entries calls it.
func (p *progress) awaitRoom(max int64) {
	p.mu.Lock()
	if p.mu.openBytes <= max {
		p.mu.Unlock()
		return
	}
	room := make(chan struct{})
	p.mu.room, p.mu.roomAt = room, max/2
	p.mu.Unlock()
	<-room
}

// done subtracts n from the entry's count, and moves the watermark when the oldest
// entries are complete.
func (p *progress) done(e *openEntry, n int64) {
	if e.left.Add(-n) > 0 {
		return
	}
	p.mu.Lock()
	p.mu.openBytes -= e.bytes
	if p.mu.room != nil && p.mu.openBytes <= p.mu.roomAt {
		close(p.mu.room)
		p.mu.room = nil
	}
	passed := 0
	for passed < len(p.mu.open) && p.mu.open[passed].left.Load() == 0 {
		p.executed.Store(p.mu.open[passed].index)
		passed++
	}
	if passed == len(p.mu.open) {
		clear(p.mu.open)
		p.mu.open = p.mu.open[:0]
	} else {
		p.mu.open = p.mu.open[passed:]
	}
	if passed > 0 {
		p.wakeLocked()
	}
	p.mu.Unlock()
}

func (p *progress) wakeLocked() {
	executed := p.executed.Load()
	kept := p.mu.waiters[:0]
	for _, w := range p.mu.waiters {
		if w.index <= executed {
			close(w.done)
			continue
		}
		kept = append(kept, w)
	}
	p.mu.waiters = kept
}

// arrive records that everything up to an index has started; reset completes it.
func (p *progress) arrive(index uint64) {
	p.mu.Lock()
	p.queued.Store(index)
	p.mu.Unlock()
}

// reset sets the watermark after a snapshot was loaded. No entry may be open.
func (p *progress) reset(index uint64) {
	p.mu.Lock()
	p.queued.Store(index)
	p.executed.Store(index)
	p.tookLocked(index)
	p.wakeLocked()
	p.mu.Unlock()
}

// took records that the tickets of the entry at index are taken.
func (p *progress) took(index uint64) {
	p.mu.Lock()
	p.tookLocked(index)
	p.mu.Unlock()
}

func (p *progress) tookLocked(index uint64) {
	p.taken.Store(index)
	if p.mu.took != nil {
		close(p.mu.took)
		p.mu.took = nil
	}
}

func (p *progress) waitTaken(ctx context.Context, index uint64) error {
	for p.taken.Load() < index {
		p.mu.Lock()
		if p.taken.Load() >= index {
			p.mu.Unlock()
			return nil
		}
		if p.mu.took == nil {
			p.mu.took = make(chan struct{})
		}
		moved := p.mu.took
		p.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (p *progress) wait(ctx context.Context, index uint64) error {
	if p.executed.Load() >= index {
		return nil
	}
	p.mu.Lock()
	if p.executed.Load() >= index {
		p.mu.Unlock()
		return nil
	}
	w := waiter{index, make(chan struct{})}
	p.mu.waiters = append(p.mu.waiters, w)
	p.mu.Unlock()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		p.cancel(w)
		return ctx.Err()
	}
}

func (p *progress) cancel(w waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.mu.waiters {
		if p.mu.waiters[i].done == w.done {
			last := len(p.mu.waiters) - 1
			p.mu.waiters[i] = p.mu.waiters[last]
			p.mu.waiters = p.mu.waiters[:last]
			return
		}
	}
}
