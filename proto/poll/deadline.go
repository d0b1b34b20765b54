package poll

import (
	"sync"
	"time"
)

// deadline is the time at which a waiting goroutine gives up. It may be moved during the
// wait.
type deadline struct {
	mu    sync.Mutex // guards what follows
	timer *time.Timer
	// at is the time; zero is none.
	at time.Time
	// over is closed when the time has come; it is nil until reached is called.
	over chan struct{}
	// passed is true if over is closed, or has to be closed once it exists.
	passed bool
	// no is the number of the setting in force: timers of earlier settings are ignored.
	no uint64
}

// set moves the time; zero is none.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.no++
	d.at = t
	if d.passed {
		d.passed, d.over = false, nil
	}
	if t.IsZero() {
		return
	}
	wait := time.Until(t)
	if wait <= 0 {
		d.passLocked()
		return
	}
	no := d.no
	d.timer = time.AfterFunc(wait, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.no == no {
			d.passLocked()
		}
	})
}

func (d *deadline) passLocked() {
	d.passed = true
	if d.over != nil {
		close(d.over)
	}
}

// time returns the deadline; zero is none.
func (d *deadline) time() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at
}

// reached returns a channel that is closed when the time has come.
func (d *deadline) reached() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over == nil {
		d.over = make(chan struct{})
		if d.passed {
			close(d.over)
		}
	}
	return d.over
}

func (d *deadline) past() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passed
}
