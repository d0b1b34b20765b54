package report

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
)

// TestFewPagesAreMadeAtATime: a caller that waits for its turn gets a page, and one that
// goes away does not wait any longer.
func TestFewPagesAreMadeAtATime(t *testing.T) {
	s := newScrapes()
	var now, most, made atomic.Int64
	began, goOn := make(chan struct{}, scrapesMax), make(chan struct{})
	build := func() []byte {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		select {
		case began <- struct{}{}:
		default:
		}
		<-goOn
		now.Add(-1)
		made.Add(1)
		return []byte("page")
	}
	var wg sync.WaitGroup
	const clients = 20
	for range clients {
		wg.Go(func() {
			if page, ok := s.page(t.Context(), build); !ok || string(page) != "page" {
				t.Error("no page")
			}
		})
	}
	for range scrapesMax {
		<-began
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok := s.page(gone, build); ok {
		t.Error("a page for somebody who has gone")
	}
	close(goOn)
	wg.Wait()
	if most.Load() > scrapesMax || made.Load() != clients {
		t.Errorf("%d pages at a time, %d in all", most.Load(), made.Load())
	}
}
