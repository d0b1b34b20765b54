package raftio

import "sync"

// pen lets one write to a store at a time, and none behind one that failed. What a disk
// has not synced, it may have forgotten when it is asked again, and the process does not
// end at once: another write that stood waiting would begin, and put its pages where
// those are which the disk still needs.
type pen struct {
	dog *Watchdog

	mu sync.Mutex // held over each write; guards failed
	// failed is why nothing can be written any more.
	failed error
}

// write makes a call that changes the store, under watch.
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
