// Package stepper is a loop that keeps something in a wanted state. Its step looks, does what is
// necessary, and runs again after a pause, or at once after a kick.
package stepper

import (
	"context"
	"time"
)

// Stepper repeats a step. Any goroutine may call Kick, also before Run.
type Stepper struct{ kicks chan struct{} }

// New returns a stepper.
func New() *Stepper { return &Stepper{make(chan struct{}, 1)} }

// Kick makes the next step come at once. It never blocks. Several kicks before that step begins
// count as one.
func (s *Stepper) Kick() {
	select {
	case s.kicks <- struct{}{}:
	default:
	}
}

// Run does a step at once, and then repeats it until ctx ends. The step returns how long to pause
// after it; 0 means until the next kick.
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
