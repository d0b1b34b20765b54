package ops

import (
	"sync"
	"sync/atomic"
	"time"

	"lockstep/proto/admin"
)

// Saves tracks the snapshots that are being written: those that clients asked for (SAVE, BGSAVE),
// and those that are due because of the length of a group's log.
type Saves struct {
	mu sync.Mutex // guards what follows, but last
	// busy is the number of saves and snapshots under way, and since is when the first of them
	// began. background reports whether one of them is a BGSAVE.
	busy       int
	since      time.Time
	background bool
	// done is the number of successful saves. lastTook and lastErr describe the last save.
	done     int
	lastTook time.Duration
	lastErr  error
	// last is when SAVE or BGSAVE last succeeded, in Unix time.
	last atomic.Int64
	// txns is the number of logged txns when the last successful save began.
	txns uint64
}

// start records that a client's save begins and returns a function that records its end. It returns
// an error while a save in the background is under way.
func (s *Saves) start(txns uint64, background bool) (end func(error), err error) {
	began := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.background {
		return nil, admin.ErrSaving
	}
	s.background = background
	s.busyLocked(1)
	return func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busyLocked(-1)
		s.background = s.background && !background
		s.lastTook, s.lastErr = time.Since(began), err
		if err == nil {
			s.done++
			s.txns = txns
		}
	}, nil
}

// Writing records that a group starts (1) or stops (-1) to write a snapshot.
func (s *Saves) Writing(n int) {
	s.mu.Lock()
	s.busyLocked(n)
	s.mu.Unlock()
}

func (s *Saves) busyLocked(n int) {
	if s.busy == 0 {
		s.since = time.Now()
	}
	s.busy += n
}

// Saved is what INFO reports on saves.
type Saved struct {
	Busy                    bool
	Done                    int
	Status                  string
	LastTookSec, RunningSec int
	Txns                    uint64
}

// State returns the current state of saves.
func (s *Saves) State() Saved {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := Saved{Busy: s.busy > 0, Done: s.done, Status: "ok", LastTookSec: -1, RunningSec: -1, Txns: s.txns}
	if s.lastErr != nil {
		v.Status = "err"
	}
	if s.done > 0 || s.lastErr != nil {
		v.LastTookSec = int(s.lastTook.Seconds())
	}
	if v.Busy {
		v.RunningSec = int(time.Since(s.since).Seconds())
	}
	return v
}

// LastSnapshotUnix is when SAVE or BGSAVE last succeeded, in Unix time.
func (s *Saves) LastSnapshotUnix() int64 { return s.last.Load() }
