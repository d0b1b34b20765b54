// Package stepper is the loop of those who keep something as it should be: they
// look, do what there is to do, and look again after a while, or at once when they
// are told that something has changed.
package stepper

import (
	"context"
	"time"
)

// Stepper repeats a step. Kick may be called by any goroutine, also before Run.
type Stepper struct{ kicks chan struct{} }

// New returns a stepper that was not kicked.
func New() *Stepper { return &Stepper{make(chan struct{}, 1)} }

// Kick has the next step come at once. It never blocks; kicks that come before
// that step begins are one.
func (s *Stepper) Kick() {
	select {
	case s.kicks <- struct{}{}:
	default:
	}
}

// Run does a step at once, and then again and again until ctx ends. The step
// returns how long to pause behind it; 0: until the next kick.
func (s *Stepper) Run(ctx context.Context, step func(ctx context.Context) (pause time.Duration)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.kicks:
		case <-timer.C:
		}
		if pause := step(ctx); pause > 0 {
			timer.Reset(pause)
		} else {
			timer.Stop()
		}
	}
}
