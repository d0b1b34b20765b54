package client

import (
	"fmt"
	"sync"
	"time"

	"lockstep/engine/command"
)

// Slowlog keeps the latest commands that took long. The time is what the
// client waited for the command, the quorum's disks included; of a pipeline,
// its share.
type Slowlog struct {
	mu     sync.Mutex
	nextID int64
	// entries are newest first.
	entries []SlowEntry
}

// SlowEntry is one slow command.
type SlowEntry struct {
	ID, UnixSec, Usec int64
	Args              []string
	Addr, Name        string
}

// Of a long command only so much is kept.
const (
	slowArgsMax = 32
	slowArgMax  = 128
)

func (l *Slowlog) add(e SlowEntry, max int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.ID = l.nextID
	l.nextID++
	l.entries = append([]SlowEntry{e}, l.entries[:min(len(l.entries), max-1)]...)
}

// Get returns the newest n entries; all when n is negative.
func (l *Slowlog) Get(n int) []SlowEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n < 0 || n > len(l.entries) {
		n = len(l.entries)
	}
	return append([]SlowEntry(nil), l.entries[:n]...)
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

// slow puts a command into the slow log if it took long enough.
func (c *Client) slow(spec *command.Spec, args [][]byte, took time.Duration) {
	s := c.backend.Settings()
	if s.SlowerThanUs < 0 || took.Microseconds() < s.SlowerThanUs || s.SlowlogLen <= 0 || spec.Is(command.SkipSlowlog) {
		return
	}
	c.shared.mu.Lock()
	name := c.shared.name
	c.shared.mu.Unlock()
	c.stats.Slowlog.add(SlowEntry{
		UnixSec: time.Now().Unix(), Usec: took.Microseconds(), Args: slowArgs(spec, args),
		Addr: c.conn.RemoteAddr().String(), Name: name,
	}, s.SlowlogLen)
}

// slowArgs clips a command, and hides passwords.
func slowArgs(spec *command.Spec, args [][]byte) []string {
	if secret(spec, args) {
		list := []string{string(args[0])}
		for range args[1:] {
			list = append(list, "(redacted)")
		}
		return list
	}
	var list []string
	for i, a := range args {
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

// secret tells whether a command carries a password.
func secret(spec *command.Spec, args [][]byte) bool {
	switch spec.Name {
	case "auth", "hello":
		return true
	case "config|set":
		for _, a := range args[2:] {
			if fold(a) == "requirepass" || fold(a) == "masterauth" {
				return true
			}
		}
	}
	return false
}
