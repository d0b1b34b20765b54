package stats

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// LatencyMonitor keeps the times of slow events, for LATENCY. An event below the
// threshold costs one comparison.
type LatencyMonitor struct {
	thresholdMs atomic.Int64
	mu          sync.Mutex // guards events
	events      map[string]*latencyEvent
}

const (
	// latencySamplesMax is how many samples an event keeps, Redis's number, and
	// latencyEventsMax how many events there are.
	latencySamplesMax = 160
	latencyEventsMax  = 64
)

// Events of the node itself. The events for commands are those of Redis:
// EventCommand and EventFastCommand.
const (
	EventCommand     = "command"
	EventFastCommand = "fast-command"
	EventExpire      = "expire-cycle"
	EventSync        = "raft-fsync"
	EventCommit      = "raft-commit"
	EventSnapshot    = "raft-snapshot"
)

// LatencySample is the longest an event took within one second.
type LatencySample struct{ UnixSec, Ms int64 }

// latencyEvent is the history of one event, with the oldest samples first.
type latencyEvent struct {
	samples []LatencySample
	maxMs   int64
}

// SetThreshold sets from how many milliseconds on an event is kept; 0 means never.
func (m *LatencyMonitor) SetThreshold(ms int64) { m.thresholdMs.Store(ms) }

// Threshold is the threshold in milliseconds.
func (m *LatencyMonitor) Threshold() int64 { return m.thresholdMs.Load() }

// Took records how long an event took. Any goroutine may call it.
func (m *LatencyMonitor) Took(event string, took time.Duration) {
	if t := m.thresholdMs.Load(); t > 0 && took.Milliseconds() >= t {
		m.add(event, LatencySample{time.Now().Unix(), took.Milliseconds()})
	}
}

func (m *LatencyMonitor) add(event string, s LatencySample) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.events[event]
	if e == nil {
		if len(m.events) >= latencyEventsMax {
			return
		}
		if m.events == nil {
			m.events = map[string]*latencyEvent{}
		}
		e = &latencyEvent{}
		m.events[event] = e
	}
	e.maxMs = max(e.maxMs, s.Ms)
	if n := len(e.samples); n > 0 && e.samples[n-1].UnixSec == s.UnixSec {
		e.samples[n-1].Ms = max(e.samples[n-1].Ms, s.Ms)
		return
	}
	if len(e.samples) == latencySamplesMax {
		e.samples = slices.Delete(e.samples, 0, 1)
	}
	e.samples = append(e.samples, s)
}

// LatencyHistory is the history of one event, oldest sample first.
type LatencyHistory struct {
	Event   string
	Samples []LatencySample
	MaxMs   int64
}

// Histories returns all events that have samples, by name.
func (m *LatencyMonitor) Histories() []LatencyHistory {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []LatencyHistory
	for name, e := range m.events {
		all = append(all, LatencyHistory{name, slices.Clone(e.samples), e.maxMs})
	}
	slices.SortFunc(all, func(a, b LatencyHistory) int { return cmp.Compare(a.Event, b.Event) })
	return all
}

// History returns one event. ok is false if there is no history of it.
func (m *LatencyMonitor) History(event string) (h LatencyHistory, ok bool) {
	for _, h := range m.Histories() {
		if h.Event == event {
			return h, true
		}
	}
	return LatencyHistory{}, false
}

// Reset forgets the named events, or all if none are named, and returns how many
// there were.
func (m *LatencyMonitor) Reset(events ...string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(events) == 0 {
		n := len(m.events)
		m.events = nil
		return n
	}
	n := 0
	for _, name := range events {
		if m.events[name] != nil {
			delete(m.events, name)
			n++
		}
	}
	return n
}
