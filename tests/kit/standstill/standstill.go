// Package standstill stops a txn in the middle, for tests that look at the state meanwhile.
package standstill

import (
	"sync"

	"lockstep/engine"
	"lockstep/engine/command"
)

// Observer is a command.Observer that blocks at the first event of a key.
type Observer struct {
	key  string
	once sync.Once
	// Entered is closed when the observer blocks. It blocks until Open is closed.
	Entered, Open chan struct{}
}

// New returns an observer for a key.
func New(key string) *Observer {
	return &Observer{key: key, Entered: make(chan struct{}), Open: make(chan struct{})}
}

// Wants implements command.Observer.
func (*Observer) Wants(command.EventClass) bool { return true }

// Filled implements command.Observer.
func (*Observer) Filled(int, []byte, engine.Kind) {}

// Gone implements command.Observer.
func (*Observer) Gone(int, []byte) {}

// Event implements command.Observer.
func (o *Observer) Event(_ command.EventClass, _ string, _ int, key []byte) {
	if string(key) == o.key {
		o.once.Do(func() {
			close(o.Entered)
			<-o.Open
		})
	}
}
