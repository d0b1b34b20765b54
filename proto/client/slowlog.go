package client

import (
	"fmt"
	"math"
	"slices"
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
	// entries are oldest first.
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
	l.entries = append(l.entries, e)
	if over := len(l.entries) - max; over > 0 {
		l.entries = slices.Delete(l.entries, 0, over)
	}
}

// Get returns the newest n entries, newest first; all when n is negative.
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

// slow puts a command into the slow log if it took long enough.
func (c *Client) slow(spec *command.Spec, args [][]byte, took time.Duration) {
	s := c.settings
	if !isSlow(spec, took, s.SlowerThanUs, s.SlowlogLen) {
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

// isSlow tells whether a command belongs into a slow log of a length, in which
// stands what took slowerThanUs or longer.
func isSlow(spec *command.Spec, took time.Duration, slowerThanUs int64, length int) bool {
	return slowerThanUs >= 0 && took.Microseconds() >= slowerThanUs && length > 0 && !spec.Is(command.SkipSlowlog)
}

// slowArgs clips a command, and hides passwords.
func slowArgs(spec *command.Spec, args [][]byte) []string {
	hidden := secrets(spec, args)
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

// secrets tells which arguments of a command say a password, by their place, in order.
func secrets(spec *command.Spec, args [][]byte) []int {
	switch spec.Name {
	case "auth":
		return places(1, len(args))
	case "hello":
		return optionSecrets(args, 2, helloSecrets)
	case "config|set":
		return configSecrets(args)
	case "acl|setuser":
		return places(3, len(args))
	case "migrate":
		return optionSecrets(args, 6, migrateSecrets)
	}
	return nil
}

// option is a word among the options of a command: how many arguments belong to it,
// and whether they say a password.
type option struct {
	args   int
	secret bool
}

var (
	helloSecrets   = map[string]option{"auth": {2, true}, "setname": {1, false}}
	migrateSecrets = map[string]option{"auth": {1, true}, "auth2": {2, true}, "keys": {math.MaxInt32, false}}
)

// optionSecrets are the secret arguments of options, which begin at from. The
// arguments of one option are not taken for the words of others.
func optionSecrets(args [][]byte, from int, options map[string]option) []int {
	var list []int
	for i := from; i < len(args); i++ {
		o := options[fold(args[i])]
		if o.secret {
			list = append(list, places(i+1, min(i+1+o.args, len(args)))...)
		}
		i += o.args
	}
	return list
}

// configSecrets are the values of directives that are passwords.
func configSecrets(args [][]byte) []int {
	var list []int
	for i := 2; i+1 < len(args); i += 2 {
		switch fold(args[i]) {
		case "requirepass", "cluster-secret", "masterauth", "masteruser", "tls-key-file-pass", "tls-client-key-file-pass":
			list = append(list, i+1)
		}
	}
	return list
}

func places(from, to int) []int {
	var list []int
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}
