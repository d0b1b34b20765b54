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

// Cut fixes the shard's state for a backup, on the leader: every write that was
// acknowledged before the call is in it, and nothing that is proposed after
// it returned. It waits for a snapshot that is being written, but not longer than
// ctx. cluster.ErrNotLeader where this replica does not lead. The caller
// releases what it gets.
func (s *Shard) Cut(ctx context.Context) (*fsm.Snapshot, error) {
	for {
		// The marker: an entry that was proposed after the call, and has executed.
		if err := s.ticks.tick(ctx); err != nil {
			return nil, err
		}
		if !s.enterRead() {
			return nil, cluster.ErrNotLeader
		}
		got, err := s.group.cut()
		s.readers.RUnlock()
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
