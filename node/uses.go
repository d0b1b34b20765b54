package node

import (
	"context"
	"sync/atomic"
	"time"

	"lockstep/engine"
)

// useClock is the clock for the last-use times of keys.
type useClock struct{ tick atomic.Uint32 }

// run keeps the clock until ctx ends.
func (u *useClock) run(ctx context.Context, started time.Time) {
	const tick = time.Second / engine.UseTicks
	// The clock does not begin at 0 because RESTORE IDLETIME records uses from before the start.
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
