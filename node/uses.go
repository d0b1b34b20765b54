package node

import (
	"context"
	"sync/atomic"
	"time"

	"lockstep/engine"
)

// useClock is the clock by which uses of keys are noted.
type useClock struct{ tick atomic.Uint32 }

// run keeps the clock until ctx ends.
func (u *useClock) run(ctx context.Context, started time.Time) {
	const tick = time.Second / engine.UseTicks
	// The clock does not begin at 0: RESTORE IDLETIME records uses of before the start.
	const begin = 1 << 31
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		u.tick.Store(begin + uint32(time.Since(started)/tick))
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}
