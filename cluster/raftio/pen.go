package raftio

import "sync"

// pen lets one goroutine at a time write to a store, and none after a write that failed.
// When asked again, a disk may have forgotten data that it has not synced. The process
// does not end at once: another write that was waiting would start, and would put its
// pages where the pages are that the disk still needs.
type pen struct {
	dog *Watchdog

	mu sync.Mutex // held over each write; guards failed
	// failed is why nothing can be written any more.
	failed error
}

// write makes a call that changes the store, under the watchdog.
func (p *pen) write(what string, call func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil {
		return p.failed
	}
	err := p.dog.write(what, call)
	if err != nil && !absent(err) {
		p.failed = err
	}
	return err
}
