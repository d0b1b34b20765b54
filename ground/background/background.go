// Package background runs goroutines that must end before the things that they use are closed.
//
// A sync.WaitGroup alone is not enough: Go may be called while another goroutine waits in Wait, and
// Wait may then return before the new goroutine has ended.
package background

import (
	"sync"
	"time"
)

// Group is a set of goroutines. Its zero value is ready for use.
type Group struct {
	mu    sync.Mutex // guards ended; keeps work from growing once End waits for it
	ended bool
	work  sync.WaitGroup
}

// Go runs do in a goroutine. After End it runs nothing and returns false.
func (g *Group) Go(do func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		g.work.Go(do)
	}
	return !g.ended
}

// End lets no new goroutine begin, and waits for those that have begun.
func (g *Group) End() {
	g.close()
	g.work.Wait()
}

func (g *Group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
}

// EndWithin is End with a time limit. It returns false if some goroutines have not ended by then.
func (g *Group) EndWithin(patience time.Duration) bool {
	g.close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.work.Wait()
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
