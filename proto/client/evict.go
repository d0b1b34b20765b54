package client

import (
	"cmp"
	"context"
	"slices"
	"time"

	"lockstep/proto/stats"
)

// evictEvery is how often it is added up what clients hold, as often as Redis
// does. What waits to be read is looked at as soon as it is too much.
const evictEvery = 100 * time.Millisecond

// While clients hold less than a part of what they may, it is added up less often: for ten thousand clients
// that takes a millisecond.
const evictPart, evictSeldom = 4, 10

// Evicted is what EvictClients tells of clients that it closed.
type Evicted struct {
	Clients int
	// Bytes is what they held, HeldBytes what all did before.
	Bytes, HeldBytes int64
}

// EvictClients closes clients, the one first that holds most, while all of them
// together hold as much as they may (Settings.ClientsBytesMax), until ctx ends.
// Those that are exempt (CLIENT NO-EVICT) count, and stay. Each client has its own
// limits beside it; but as many as there may be, each just below them, would hold
// many times the memory that there is.
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
			// Whatever waits is of those that stay: not worth a look at all of them for each
			// message.
			crowded = nil
			continue
		}
		s.EvictedClients.Add(uint64(e.Clients))
		tell(e)
	}
}

// evict closes clients until those that are left hold less than so many bytes.
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
