package client

import (
	"context"
	"time"
)

// idleEvery is how often clients are looked at that may be idle.
const idleEvery = time.Second

// CloseIdle closes clients that have been idle for as long as the settings of the
// moment say, until ctx ends. A connection that comes to rest has a deadline of its
// own; but a time that is set later must hold for those, too, that rest already.
func CloseIdle(ctx context.Context, r *Registry, settings func() *Settings) {
	tick := time.NewTicker(idleEvery)
	defer tick.Stop()
	var idle idleness
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			most := time.Duration(settings().IdleTimeoutSec) * time.Second
			// What the tick says is when it was due: the node may have stood still since.
			idle = r.closeIdle(time.Now(), most, idle)
		}
	}
}

// idleness is since when clients have been found at rest, and how many bytes had passed
// by then.
type idleness map[uint64]rest

type rest struct {
	since time.Time
	bytes int64
}

// closeIdle closes clients that rest since a time that is most ago, or longer; most 0:
// none. before is what the last look returned.
func (r *Registry) closeIdle(now time.Time, most time.Duration, before idleness) idleness {
	if most == 0 {
		return nil
	}
	found := idleness{}
	for _, c := range r.each() {
		use := c.conn.Usage()
		if c.busy.Load() || c.listens.Load() || use.WaitingBytes > 0 {
			continue
		}
		at := rest{now, use.InBytes + use.OutBytes}
		if was, known := before[c.id]; known && was.bytes == at.bytes {
			at.since = was.since
		}
		if now.Sub(at.since) >= most {
			c.kill()
			continue
		}
		found[c.id] = at
	}
	return found
}
