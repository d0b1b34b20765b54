package acl

import (
	"slices"
	"sync"
	"time"
)

// Entry is something that was refused.
type Entry struct {
	// Reason is "auth", "command", "key" or "channel"; Context "toplevel" or
	// "multi"; Object the command, key or channel.
	Reason, Context, Object string
	User                    string
	// Client describes the connection as CLIENT LIST does.
	Client string
	Count  int
	// At is the time of the last refusal, Since that of the first, and ID tells
	// entries apart.
	At, Since time.Time
	ID        int64
}

// Log keeps one node's recent refusals, newest first. The zero value is ready.
type Log struct {
	mu      sync.Mutex // guards what follows
	entries []Entry
	nextID  int64
	counts  Counts
}

// Counts are the numbers of refusals, for each reason.
type Counts struct{ Auth, Command, Key, Channel uint64 }

func (c *Counts) count(reason string) {
	switch reason {
	case "auth":
		c.Auth++
	case "command":
		c.Command++
	case "key":
		c.Key++
	case "channel":
		c.Channel++
	}
}

const (
	// groupWithin is the time within which a repeated refusal is counted in its old
	// entry.
	groupWithin = time.Minute
	// groupAmong is how many of the newest entries are searched for the same
	// refusal.
	groupAmong = 10
	// textMax bounds an object in the log, in bytes.
	textMax = 4 << 10
)

// Add records a refusal. The log keeps at most max entries.
func (l *Log) Add(e Entry, max int) {
	e.Object, e.User = clip(e.Object), clip(e.User)
	e.Count, e.Since = 1, e.At
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts.count(e.Reason)
	e.ID = l.nextID
	for i := range l.entries[:min(groupAmong, len(l.entries))] {
		old := l.entries[i]
		if old.Reason == e.Reason && old.Context == e.Context && old.Object == e.Object && old.User == e.User && e.At.Sub(old.At) <= groupWithin {
			e.Count += old.Count
			e.ID, e.Since = old.ID, old.Since
			l.entries = slices.Delete(l.entries, i, i+1)
			break
		}
	}
	if e.ID == l.nextID {
		l.nextID++
	}
	l.entries = slices.Insert(l.entries, 0, e)
	if len(l.entries) > max {
		l.entries = slices.Delete(l.entries, max, len(l.entries))
	}
}

func clip(text string) string { return text[:min(len(text), textMax)] }

// Newest returns the newest n entries.
func (l *Log) Newest(n int) []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries[:min(max(n, 0), len(l.entries))])
}

// Reset empties the log. It does not change the counts.
func (l *Log) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

// Counts returns the numbers of refusals since the start, or since ResetCounts.
func (l *Log) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

// ResetCounts sets the counts to zero.
func (l *Log) ResetCounts() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts = Counts{}
}
