package shard

import (
	"context"
	"errors"
	"time"

	"lockstep/cluster"
	"lockstep/fsm"
)

// cutAgainEvery is how often a backup asks again while a snapshot is being
// written.
const cutAgainEvery = 20 * time.Millisecond

// Cut captures the shard's state for a backup, on the leader. The state has every write
// that was acknowledged before the call, and nothing that is proposed after Cut has
// returned. Cut waits for a snapshot that is being written, but not longer than ctx. It
// returns cluster.ErrNotLeader if this replica does not lead. The caller must release the
// snapshot.
func (s *Shard) Cut(ctx context.Context) (*fsm.Snapshot, error) {
	for {
		// This entry marks the moment: it was proposed after the call, and has executed.
		if err := s.reads.ticks.tick(ctx); err != nil {
			return nil, err
		}
		if !s.reads.enter() {
			return nil, cluster.ErrNotLeader
		}
		got, err := s.group.cut()
		s.reads.using.RUnlock()
		switch {
		case err == nil:
			return got.(*fsm.Snapshot), nil
		case !errors.Is(err, fsm.ErrSnapshotOpen):
			return nil, err
		}
		if pause(ctx, cutAgainEvery); ctx.Err() != nil {
			return nil, err
		}
	}
}
