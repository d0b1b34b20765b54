package survey

import (
	"context"
	"sync/atomic"
	"time"

	"lockstep/cluster/shard"
	"lockstep/node/metrics"
	"lockstep/proto/stats"
)

// Timings are histograms of how long frequent operations of the node take.
type Timings struct{ Sync, Commit, Snapshot metrics.Histogram }

// Took records how long a piece of work took.
func (t *Timings) Took(what shard.Work, took time.Duration) {
	switch what {
	case shard.Commit:
		t.Commit.Observe(took)
	case shard.Snapshotting:
		t.Snapshot.Observe(took)
	}
}

// Rates are the counters' growth per second, measured once a second.
type Rates struct {
	ops, in, out atomic.Int64
}

// Ops are commands per second.
func (r *Rates) Ops() int64 { return r.ops.Load() }

// In are bytes per second from clients.
func (r *Rates) In() int64 { return r.in.Load() }

// Out are bytes per second to clients.
func (r *Rates) Out() int64 { return r.out.Load() }

// Run measures until ctx ends.
func (r *Rates) Run(ctx context.Context, s *stats.Stats) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	var ops, in, out uint64
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		o, i, w := s.Commands(), s.In.Load(), s.Out.Load()
		// CONFIG RESETSTAT resets the counters.
		r.ops.Store(max(int64(o-ops), 0))
		r.in.Store(max(int64(i-in), 0))
		r.out.Store(max(int64(w-out), 0))
		ops, in, out = o, i, w
	}
}
