// Package stats counts what the clients of one node did: commands, their times, errors, slow commands, and slow
// events. Package client counts; package admin and the node report the counts.
package stats

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/proto/acl"
	"lockstep/proto/resp"
)

// Stats are the node's counters of commands. They count what this node's own
// clients sent, wherever it ran.
type Stats struct {
	commands map[*command.Spec]*commandStat
	total    atomic.Uint64
	errors   atomic.Uint64

	// Traffic is what all connections took together.
	resp.Traffic
	// Measuring reports whether the times of commands are kept (latency-tracking).
	Measuring atomic.Bool
	// RejectedConns counts refused connections.
	RejectedConns atomic.Uint64
	// EvictedClients counts clients closed because all clients together held too
	// much.
	EvictedClients atomic.Uint64
	// Blocked is the number of clients that wait for a key to be filled,
	// BlockedFor the number of those that wait for a limited time.
	Blocked, BlockedFor atomic.Int64

	mu       sync.Mutex // guards prefixes
	prefixes map[string]uint64

	Slowlog Slowlog
	ACLLog  acl.Log
	Latency LatencyMonitor
}

type commandStat struct {
	calls, usec, rejected, failed atomic.Uint64
	times                         histogram
}

// prefixesMax and prefixBytesMax bound the error codes that are counted one by one,
// because scripts can invent any number of codes.
const (
	prefixesMax    = 128
	prefixBytesMax = 64
)

// New returns counters at zero.
func New() *Stats {
	s := &Stats{commands: map[*command.Spec]*commandStat{}, prefixes: map[string]uint64{}}
	s.Measuring.Store(true)
	s.Crowded = make(chan struct{}, 1)
	for _, spec := range commands.All() {
		s.commands[spec] = &commandStat{}
		for _, sub := range spec.Sub {
			s.commands[sub] = &commandStat{}
		}
	}
	return s
}

// Rejected counts a command that was refused.
func (s *Stats) Rejected(spec *command.Spec) { s.commands[spec].rejected.Add(1) }

// Tally is a number of commands of one row that ran together, with the same time
// for each.
type Tally struct {
	spec          *command.Spec
	took          time.Duration
	calls, failed uint64
}

// NewTally returns an empty tally for commands of a row, each of which took took.
func NewTally(spec *command.Spec, took time.Duration) Tally { return Tally{spec: spec, took: took} }

// Add counts one more command. It returns false if the command is of another row.
func (t *Tally) Add(spec *command.Spec, failed bool) bool {
	if t.spec != spec {
		return false
	}
	t.calls++
	if failed {
		t.failed++
	}
	return true
}

// Ran counts a command that ran.
func (s *Stats) Ran(spec *command.Spec, took time.Duration, failed bool) {
	t := NewTally(spec, took)
	t.Add(spec, failed)
	s.Count(&t)
}

// Count counts the tally's commands, and empties the tally.
func (s *Stats) Count(t *Tally) {
	if t.calls == 0 {
		return
	}
	st := s.commands[t.spec]
	st.calls.Add(t.calls)
	st.usec.Add(t.calls * uint64(t.took.Microseconds()))
	if s.Measuring.Load() {
		st.times.add(t.took, t.calls)
	}
	s.event(t.spec, t.took)
	if t.failed > 0 {
		st.failed.Add(t.failed)
	}
	s.total.Add(t.calls)
	*t = Tally{}
}

// event records how long a command took.
func (s *Stats) event(spec *command.Spec, took time.Duration) {
	switch {
	case s.Latency.Threshold() == 0 || spec.Has(command.RunsQueue):
	case spec.Is(command.Fast):
		s.Latency.Took(EventFastCommand, took)
	default:
		s.Latency.Took(EventCommand, took)
	}
}

// CountError counts an error reply by its first word.
func (s *Stats) CountError(reply []byte) {
	s.errors.Add(1)
	word := reply[1:]
	if i := bytes.IndexAny(word, " \r"); i >= 0 {
		word = word[:i]
	}
	if len(word) > prefixBytesMax {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.prefixes[string(word)]; known || len(s.prefixes) < prefixesMax {
		s.prefixes[string(word)]++
	}
}

// Commands is the number of commands run.
func (s *Stats) Commands() uint64 { return s.total.Load() }

// Errors is the number of error replies.
func (s *Stats) Errors() uint64 { return s.errors.Load() }

// CommandStat is one line of INFO commandstats.
type CommandStat struct {
	Name                          string
	Calls, Usec, Rejected, Failed uint64
}

// PerCommand returns the commands that were called or refused, by name.
func (s *Stats) PerCommand() []CommandStat {
	var all []CommandStat
	for spec, st := range s.commands {
		c := CommandStat{spec.Name, st.calls.Load(), st.usec.Load(), st.rejected.Load(), st.failed.Load()}
		if c.Calls+c.Rejected > 0 {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b CommandStat) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// ErrorStat is one line of INFO errorstats.
type ErrorStat struct {
	Prefix string
	Count  uint64
}

// PerError returns the error codes that were answered, by name.
func (s *Stats) PerError() []ErrorStat {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []ErrorStat
	for p, n := range s.prefixes {
		all = append(all, ErrorStat{p, n})
	}
	slices.SortFunc(all, func(a, b ErrorStat) int { return cmp.Compare(a.Prefix, b.Prefix) })
	return all
}

// Reset sets the counters to zero (CONFIG RESETSTAT).
func (s *Stats) Reset() {
	for _, st := range s.commands {
		st.calls.Store(0)
		st.usec.Store(0)
		st.rejected.Store(0)
		st.failed.Store(0)
		st.times.reset()
	}
	s.total.Store(0)
	s.errors.Store(0)
	s.RejectedConns.Store(0)
	s.EvictedClients.Store(0)
	s.In.Store(0)
	s.Out.Store(0)
	s.Reads.Store(0)
	s.Writes.Store(0)
	s.ProtocolErrors.Store(0)
	s.QueryClosed.Store(0)
	s.OutputClosed.Store(0)
	s.ACLLog.ResetCounts()
	s.mu.Lock()
	clear(s.prefixes)
	s.mu.Unlock()
}
