package node

import (
	"sync"
	"time"
)

// background owns what a node does beside answering calls: what is begun here has
// ended before the node's data folder is anybody else's.
type background struct {
	mu    sync.Mutex // guards ended; keeps work from growing once end waits for it
	ended bool
	work  sync.WaitGroup
}

// run does something in a goroutine; false: the node ends, and nothing begins any more.
func (b *background) run(do func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended {
		b.work.Go(do)
	}
	return !b.ended
}

// end lets nothing begin any more, and waits for what has; false: some of it goes on.
func (b *background) end(patience time.Duration) bool {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.work.Wait()
	}()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-done:
		return true
	case <-late.C:
		return false
	}
}
