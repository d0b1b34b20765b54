package stats

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"lockstep/engine/command"
)

// Slowlog keeps the latest slow commands. The time is how long the client waited
// for the command, including the quorum's disks; for a pipeline it is the command's
// share.
type Slowlog struct {
	mu     sync.Mutex // guards nextID, entries
	nextID int64
	// entries are oldest first.
	entries []SlowEntry
}

// SlowEntry is one slow command.
type SlowEntry struct {
	ID, UnixSec, Usec int64
	Args              []string
	Addr, Name        string
}

// Bounds of what is kept of a long command.
const (
	slowArgsMax = 32
	slowArgMax  = 128
)

// Add puts a command into the log, which keeps at most max entries.
func (l *Slowlog) Add(e SlowEntry, max int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.ID = l.nextID
	l.nextID++
	l.entries = append(l.entries, e)
	if over := len(l.entries) - max; over > 0 {
		l.entries = slices.Delete(l.entries, 0, over)
	}
}

// Get returns the newest n entries, newest first. It returns all if n is negative.
func (l *Slowlog) Get(n int) []SlowEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n < 0 || n > len(l.entries) {
		n = len(l.entries)
	}
	newest := slices.Clone(l.entries[len(l.entries)-n:])
	slices.Reverse(newest)
	return newest
}

// Len is the number of entries.
func (l *Slowlog) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

// Reset empties the log.
func (l *Slowlog) Reset() {
	l.mu.Lock()
	l.entries = nil
	l.mu.Unlock()
}

// IsSlow reports whether a command belongs in a slow log of this length, which keeps commands that took slowerThanUs
// or longer.
func IsSlow(spec *command.Spec, took time.Duration, slowerThanUs int64, length int) bool {
	return slowerThanUs >= 0 && took.Microseconds() >= slowerThanUs && length > 0 && !spec.Is(command.SkipSlowlog)
}

// SlowArgs clips a command, and hides passwords.
func SlowArgs(spec *command.Spec, args [][]byte) []string {
	var hidden []int
	if spec.Secrets != nil {
		hidden = spec.Secrets(args)
	}
	var list []string
	for i, a := range args {
		if slices.Contains(hidden, i) {
			a = []byte("(redacted)")
		}
		if i == slowArgsMax-1 && len(args) > slowArgsMax {
			return append(list, fmt.Sprintf("... (%d more arguments)", len(args)-i))
		}
		if len(a) > slowArgMax {
			list = append(list, fmt.Sprintf("%s... (%d more bytes)", a[:slowArgMax], len(a)-slowArgMax))
			continue
		}
		list = append(list, string(a))
	}
	return list
}
