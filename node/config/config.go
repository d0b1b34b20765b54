package config

import (
	"sync"
	"sync/atomic"
)

// Config is the configuration of one running node. All methods may be called
// by any goroutine.
type Config struct {
	// CheckOnly is set if the command line asks to check the configuration and not
	// to start.
	CheckOnly bool

	// file is the path of the file that was read, "" for none.
	file string
	// rewriting is held while the file is written.
	rewriting sync.Mutex
	current   atomic.Pointer[Settings]

	// mu is held while settings are replaced and while watchers are called, so
	// that watchers see changes in the order in which they were made. It guards
	// what follows.
	mu       sync.Mutex
	watchers []watcher
	// replicate sends settings through the cluster's log. It is nil until there is one.
	replicate func([]Pair) error
	check     func(*Settings, []Pair) error
	warn      func(Warning)
}

type watcher struct {
	directive *Directive
	tell      func(*Settings)
}

// Pair is a directive and its value in the form of CONFIG GET and CONFIG SET.
type Pair struct{ Name, Value string }

func newConfig(s *Settings) *Config {
	c := &Config{warn: func(Warning) {}}
	c.current.Store(s)
	return c
}

// Current is the settings of this instant. They never change; ask again to see
// later ones. It costs one atomic load.
func (c *Config) Current() *Settings { return c.current.Load() }

// OnChange calls tell after each change of the named directive, with the
// settings in force from then on. Calls come one at a time, in the order of the
// changes; tell must not block and must not set anything.
func (c *Config) OnChange(name string, tell func(*Settings)) {
	d, ok := Lookup(name)
	if !ok {
		panic("config: no directive " + name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watchers = append(c.watchers, watcher{d, tell})
}

// OnWarning sets the function that receives the warnings after the start.
func (c *Config) OnWarning(warn func(Warning)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.warn = warn
}

// publishLocked makes next the current settings and calls the watchers of the directives whose
// values differ.
func (c *Config) publishLocked(next *Settings) {
	last := c.current.Swap(next)
	for _, w := range c.watchers {
		if row := w.directive.row; last.text[row] != next.text[row] {
			w.tell(next)
		}
	}
}

// clone copies settings so that they can be changed and published. Slices that
// fields hold are replaced as a whole, never written, and need no copy.
func (s *Settings) clone() *Settings {
	next := *s
	next.text = append([]string(nil), s.text...)
	next.origin = append([]Origin(nil), s.origin...)
	return &next
}

// Value is the canonical text of a directive and where it came from.
func (s *Settings) Value(d *Directive) (string, Origin) { return s.text[d.row], s.origin[d.row] }
