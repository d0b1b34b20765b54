package client

import (
	"cmp"
	"context"
	"slices"
	"time"

	"lockstep/proto/stats"
)

// evictEvery is how often the memory that clients hold is added up, the same
// interval as in Redis. Too much waiting output triggers a check at once.
const evictEvery = 100 * time.Millisecond

// While clients hold less than 1/evictPart of the limit, only every evictSeldom-th tick adds it up: for ten thousand
// clients that takes a millisecond.
const evictPart, evictSeldom = 4, 10

// Evicted describes the clients that EvictClients has closed.
type Evicted struct {
	Clients int
	// Bytes is the memory they held, HeldBytes the memory all clients held before.
	Bytes, HeldBytes int64
}

// EvictClients closes clients, the largest first, while all of them together hold
// as much as the limit (Settings.ClientsBytesMax), until ctx ends. Exempt clients
// (CLIENT NO-EVICT) count, and are not closed. Each client also has limits of its
// own, but the maximum number of clients, each just below its own limits, would
// hold many times the memory of the machine.
func EvictClients(ctx context.Context, r *Registry, s *stats.Stats, settings func() *Settings, tell func(Evicted)) {
	tick := time.NewTicker(evictEvery)
	defer tick.Stop()
	crowded := s.Crowded
	for pass := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			crowded = s.Crowded
			if pass > 0 {
				pass--
				continue
			}
		case <-crowded:
		}
		most := settings().ClientsBytesMax
		if most <= 0 {
			continue
		}
		e := r.evict(most)
		if pass = 0; e.HeldBytes < most/evictPart {
			pass = evictSeldom - 1
		}
		if e.Clients == 0 {
			// The waiting output belongs to clients that are not evicted, so adding up all clients
			// again for each message is not worth it.
			crowded = nil
			continue
		}
		s.EvictedClients.Add(uint64(e.Clients))
		tell(e)
	}
}

// evict closes clients until the remaining ones hold less than most bytes.
func (r *Registry) evict(most int64) (e Evicted) {
	type candidate struct {
		c     *Connection
		bytes int64
	}
	var all []candidate
	for _, c := range r.each() {
		if c.killed.Load() {
			continue
		}
		bytes, exempt := c.heldBytes()
		e.HeldBytes += bytes
		if bytes > 0 && !exempt {
			all = append(all, candidate{c, bytes})
		}
	}
	if e.HeldBytes < most {
		return e
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.c.id, b.c.id))
	})
	for _, k := range all {
		if e.HeldBytes-e.Bytes < most {
			break
		}
		k.c.kill()
		e.Clients++
		e.Bytes += k.bytes
	}
	return e
}
