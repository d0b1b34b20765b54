package client

import (
	"context"
	"time"
)

// idleEvery is how often idle clients are looked for.
const idleEvery = time.Second

// CloseIdle closes clients that have been idle for as long as the current settings
// say, until ctx ends. A connection that becomes idle has a deadline of its own,
// but a timeout that is set later must also hold for connections that are already
// idle.
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
			// The tick's own time is when it was due, and the node may have been suspended since.
			idle = r.closeIdle(time.Now(), most, idle)
		}
	}
}

// idleness is since when clients have been found idle, and how many bytes they had transferred by
// then.
type idleness map[uint64]rest

type rest struct {
	since time.Time
	bytes int64
}

// closeIdle closes clients that have been idle for most or longer, or none if most is 0. before is
// the previous result.
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
