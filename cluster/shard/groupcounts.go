package shard

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/raftio"
)

// GroupCounts are a replica's own counters since it was opened. They are not state.
type GroupCounts struct {
	// Elections counts those in which this node stood, and Won those it won. Changes is
	// how often it learned of another leader than before, itself included.
	Elections, Won, Changes atomic.Uint64
	// FailedHeartbeats are heartbeats to followers that were not answered.
	FailedHeartbeats atomic.Uint64
	// Committed, NotProposed and Unknown count proposals by their outcome.
	Committed, NotProposed, Unknown atomic.Uint64
	// Snapshots counts those that were written, and SnapshotsFailed those that were not.
	// SnapshotBytes and SnapshotUnix are the size and the time of the last one written.
	Snapshots, SnapshotsFailed  atomic.Uint64
	SnapshotBytes, SnapshotUnix atomic.Int64

	// applying is when the application of the current batch started, in nanoseconds of
	// raftio.Now. It is 0 between batches.
	applying atomic.Int64
	// taken is the index up to which the state machine has been given all entries.
	taken atomic.Uint64
}

// Counts returns the replica's counters.
func (g *Group) Counts() *GroupCounts { return &g.counts }

// Applying is how long the current batch of entries has been applied so far. It is 0
// between batches.
func (c *GroupCounts) Applying() time.Duration {
	if began := c.applying.Load(); began != 0 {
		return raftio.Now() - time.Duration(began)
	}
	return 0
}

func (c *GroupCounts) beginApply() { c.applying.Store(int64(raftio.Now())) }
func (c *GroupCounts) endApply()   { c.applying.Store(0) }

// answered counts the outcome of a proposal.
func (c *GroupCounts) answered(err error) {
	switch {
	case err == nil:
		c.Committed.Add(1)
	case notProposed(err):
		c.NotProposed.Add(1)
	default:
		c.Unknown.Add(1)
	}
}

// wrote counts a snapshot.
func (c *GroupCounts) wrote(bytes int64, err error) {
	if err != nil {
		c.SnapshotsFailed.Add(1)
		return
	}
	c.Snapshots.Add(1)
	c.SnapshotBytes.Store(bytes)
	c.SnapshotUnix.Store(time.Now().Unix())
}

// observe counts the library's observations. The library calls the filter directly, from
// its own goroutines, so there is no channel that could be full.
func (c *GroupCounts) observe(r *raft.Raft) {
	r.RegisterObserver(raft.NewObserver(nil, false, func(o *raft.Observation) bool {
		switch seen := o.Data.(type) {
		case raft.RaftState:
			switch seen {
			case raft.Candidate:
				c.Elections.Add(1)
			case raft.Leader:
				c.Won.Add(1)
			}
		case raft.LeaderObservation:
			if seen.LeaderID != "" {
				c.Changes.Add(1)
			}
		case raft.FailedHeartbeatObservation:
			c.FailedHeartbeats.Add(1)
		}
		return false
	}))
}

// Waiting is the number of proposals without an answer.
func (g *Group) Waiting() int {
	g.proposals.mu.Lock()
	defer g.proposals.mu.Unlock()
	return len(g.proposals.open)
}

// countingSink counts the bytes of a snapshot on their way to the disk. It accepts no
// more when the group is being closed.
type countingSink struct {
	raft.SnapshotSink
	bytes   int64
	closing *atomic.Bool
}

var errClosing = errors.New("the group is being closed")

// Write implements io.Writer.
func (s *countingSink) Write(p []byte) (int, error) {
	if s.closing.Load() {
		return 0, errClosing
	}
	n, err := s.SnapshotSink.Write(p)
	s.bytes += int64(n)
	return n, err
}
