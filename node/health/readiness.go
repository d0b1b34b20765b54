// Package health judges a node: whether it is alive, whether it has started, and whether it is
// ready.
//
// Liveness asks whether this process is stuck and a restart would help. It is never about other
// nodes, because a restart restores no quorum. Readiness asks whether clients should be sent to
// this node. An election makes no node unready, and a node that has caught up once since its start
// stays caught up.
package health

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/shard"
	"lockstep/node/config"
	"lockstep/node/member"
	"lockstep/node/survey"
)

// Every is how often the node checks which shards have leaders and whether this node has caught up.
const Every = 200 * time.Millisecond

// Facts are what health reads to judge the node.
type Facts struct {
	*member.Member
	Survey *survey.Survey
	// Dying returns why the process must end because of its disk or its data, or nil.
	Dying func() error
	// Ctx ends with the node.
	Ctx context.Context
}

// Health judges a node.
type Health struct{ readiness }

// New returns a Health that has not looked at anything yet.
func New(f Facts) *Health {
	return &Health{readiness{Facts: f, behind: "nothing was looked at yet", targets: map[uint32]uint64{}}}
}

// readiness tracks what the probes need and a single look does not show: since when a shard has no
// leader, and whether this node has caught up since its start.
//
// A node has caught up when it has executed, in each shard of which it should have a replica, all
// entries that the leader had committed when this node first asked it. From then on the node counts
// as caught up for good: later lag does not make it unready.
type readiness struct {
	Facts

	// targets are the commit indexes of the leaders, by shard. Only Watch uses them.
	targets map[uint32]uint64

	mu sync.Mutex // guards what follows
	// led is when each shard was last known to have a leader, or the time of the start.
	led []time.Time
	// caughtUp is set once. Until then behind says what is missing.
	caughtUp bool
	behind   string
}

// Watch checks shards and lag regularly until the node stops.
func (r *readiness) Watch() {
	t := time.NewTicker(Every)
	defer t.Stop()
	for {
		r.refresh(time.Now())
		select {
		case <-t.C:
		case <-r.Ctx.Done():
			return
		}
	}
}

func (r *readiness) refresh(now time.Time) {
	missing := r.Leaderless()
	r.mu.Lock()
	if r.led == nil {
		r.led = slices.Repeat([]time.Time{now}, r.ShardCount())
	}
	for i := range r.led {
		if !slices.Contains(missing, i) {
			r.led[i] = now
		}
	}
	done := r.caughtUp
	r.mu.Unlock()
	if done {
		return
	}
	behind := r.missing()
	r.mu.Lock()
	r.caughtUp, r.behind = behind == "", behind
	r.mu.Unlock()
}

// missing returns why this node has not caught up, or "" if it has.
func (r *readiness) missing() string {
	view := r.Machine.View()
	if !view.Created() {
		return "the cluster's state is not known yet"
	}
	for i := range view.Shards {
		s, wanted := r.Replica(i), slices.Contains(view.Shards[i].Replicas, r.Self.ID())
		switch {
		case s == nil && wanted:
			return fmt.Sprintf("its replica of shard %d is not there yet", i)
		case s == nil:
			continue
		}
		if why := r.behindIn(s); why != "" {
			return fmt.Sprintf("shard %d: %s", i, why)
		}
	}
	return ""
}

// behindIn says how far a replica is behind the index that its leader had committed when this node
// first asked.
func (r *readiness) behindIn(s *shard.Shard) string {
	target, known := r.targets[s.ID()]
	if !known {
		if target, known = r.committed(s); !known {
			return "its leader has not been reached yet"
		}
		r.targets[s.ID()] = target
	}
	if at := r.Survey.GroupStatus(member.GroupName(s.ID()), s.Group(), s).Executed; at < target {
		return fmt.Sprintf("%d of %d entries have run", at, target)
	}
	return ""
}

// committed asks the shard's leader for its commit index.
func (r *readiness) committed(s *shard.Shard) (uint64, bool) {
	leader := r.Leader(int(s.ID()))
	switch {
	case leader.Addr == "":
		return 0, false
	case leader.Self:
		// A leader that may serve has executed the entries of its predecessors.
		return s.Group().Stats().CommitIndex, s.Leads()
	}
	node, ok := r.Machine.View().Node(meta.NodeID(leader.ID))
	if !ok {
		return 0, false
	}
	ctx, cancel := context.WithTimeout(r.Ctx, survey.Timeout)
	defer cancel()
	told := r.Survey.StatusOf(ctx, node)
	group := told.Group(strconv.Itoa(int(s.ID())))
	if group == nil || group.Role != "leader" {
		return 0, false
	}
	return group.Committed, true
}

// catchUp returns an error until this node has caught up since its start.
func (r *readiness) catchUp() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.caughtUp {
		return nil
	}
	return fmt.Errorf("has not caught up: %s", r.behind)
}

// leaders returns an error if a shard has been without a leader for longer than the grace: an
// election alone makes no node unready.
func (r *readiness) leaders() error {
	return r.within(r.Leaderless(), leaderGrace(r.Config.Current()), time.Now())
}

// leaderGrace is how long a shard may be without a leader.
func leaderGrace(s *config.Settings) time.Duration {
	return time.Duration(s.ReadyLeaderGraceMs) * time.Millisecond
}

// within returns an error if one of the shards without a leader lost it grace ago or earlier.
func (r *readiness) within(missing []int, grace time.Duration, now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, i := range missing {
		if r.led == nil {
			return fmt.Errorf("shard %d has no leader", i)
		}
		if since := now.Sub(r.led[i]); since >= grace {
			return fmt.Errorf("shard %d has had no leader for %v", i, since.Round(time.Second))
		}
	}
	return nil
}
