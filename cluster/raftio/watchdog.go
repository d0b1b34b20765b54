package raftio

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// Watchdog ends the process when its disk fails, and silences a leader whose disk hangs.
// Raft does neither: with a hung disk its main loop stands still while heartbeats go out,
// so that no other node is elected; after an error it steps down and is often elected
// again. And the disk's contents after an error are unknown, because a retry may report a
// success that is none (the kernel marks pages clean that it could not write).
//
// A disk that hangs for some seconds and goes on has not failed: busy machines and cloud
// volumes have such moments, on several nodes at once. Meanwhile the leader is not heard.
// So another node is elected if the others can, and this one becomes a follower. Only
// after the limit does the process end.
//
// Only writes are timed. Reading an entry needs a processor as well as the disk, and a
// busy processor must not be taken for a disk that hangs. A disk that hangs is noticed at
// the next write, and a leader with nothing to write probes it.
type Watchdog struct {
	fatal func(error)
	limit time.Duration
	stop  chan struct{}
	// hanging is true if a call has been under way for looksPerSilence looks.
	hanging atomic.Bool

	// log gets the stack of a store that panicked. It may be nil.
	log hclog.Logger

	mu     sync.Mutex // guards calls, closed, failed
	calls  []storeCall
	closed bool
	// failed is the first failure.
	failed error
}

// storeCall is a call under way. It is unused while what is empty.
type storeCall struct {
	what string
	// ticks counts how many looks of the watchdog have found it. It counts looks and not
	// time, because a pause of this process must not be taken for the disk's.
	ticks int
}

const (
	// looksPerLimit is how often the watchdog looks within its limit. looksPerSilence is
	// how often it looks before a disk counts as hanging.
	looksPerLimit   = 6 * looksPerSilence
	looksPerSilence = 8
)

// NewWatchdog returns a watchdog. A call that takes longer than limit ends the process,
// and one that takes a sixth of it hangs. fatal is called once, with the reason why the
// process must end.
func NewWatchdog(limit time.Duration, fatal func(error)) *Watchdog {
	w := &Watchdog{fatal: fatal, limit: limit, stop: make(chan struct{})}
	go w.watch()
	return w
}

// Close ends the watch. Later failures are not reported.
func (w *Watchdog) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		close(w.stop)
	}
}

// fail reports a failure, if it is the first.
func (w *Watchdog) fail(err error) {
	w.mu.Lock()
	first := !w.closed
	w.closed = true
	if first {
		w.failed = err
		close(w.stop)
	}
	w.mu.Unlock()
	if first {
		w.fatal(err)
	}
}

// failure is the first failure that was reported. It returns nil if there was none.
func (w *Watchdog) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// Hangs reports whether a call takes so long that this node should not lead.
func (w *Watchdog) Hangs() bool { return w.hanging.Load() }

// keyProbe is the key that Probe writes.
var keyProbe = []byte("lockstep.probe")

// Probe writes a little, under the watchdog, so that a disk that hangs is found before an
// entry must be written.
func (s *Stores) Probe() error {
	return s.Stable.SetUint64(keyProbe, 1)
}

// write makes a call that writes, and times it.
func (w *Watchdog) write(what string, call func() error) error {
	i := w.begin(what)
	err := noPanic(call)
	w.mu.Lock()
	w.calls[i] = storeCall{}
	if w.hanging.Load() {
		w.noteHangingLocked()
	}
	w.mu.Unlock()
	return w.judge(what, err)
}

// read makes a call that reads. It has no time limit.
func (w *Watchdog) read(what string, call func() error) error {
	return w.judge(what, noPanic(call))
}

// judge reports the error of a call, unless the error only says that something does not
// exist.
func (w *Watchdog) judge(what string, err error) error {
	if p := (*panicked)(nil); w.log != nil && errors.As(err, &p) {
		w.log.Error("a store panicked", "panic", p.value, "stack", string(p.stack))
	}
	if err != nil && !absent(err) {
		err = fmt.Errorf("disk: %s: %w", what, err)
		w.fail(err)
	}
	return err
}

func (w *Watchdog) begin(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.calls {
		if w.calls[i].what == "" {
			w.calls[i].what = what
			return i
		}
	}
	w.calls = append(w.calls, storeCall{what: what})
	return len(w.calls) - 1
}

// absent reports whether an error only says that something does not exist. Raft
// recognizes a missing key by the text of the error.
func absent(err error) bool {
	return errors.Is(err, raft.ErrLogNotFound) || err.Error() == "not found"
}

func (w *Watchdog) watch() {
	t := time.NewTicker(max(w.limit/looksPerLimit, time.Millisecond))
	defer t.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-t.C:
			if what := w.look(); what != "" {
				w.fail(fmt.Errorf("disk: %s has taken more than %v", what, w.limit))
			}
		}
	}
}

// look counts a look at each call under way, and returns one that is overdue.
func (w *Watchdog) look() (overdue string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.calls {
		c := &w.calls[i]
		if c.what == "" {
			continue
		}
		if c.ticks++; c.ticks > looksPerLimit {
			overdue = c.what
		}
	}
	w.noteHangingLocked()
	return overdue
}

func (w *Watchdog) noteHangingLocked() {
	w.hanging.Store(slices.ContainsFunc(w.calls, func(c storeCall) bool { return c.ticks > looksPerSilence }))
}
