// Package health judges a node: whether it is alive, whether it has started, and whether it is ready.
//
// Liveness asks whether this process is stuck and a restart would help. It is never about other nodes: a
// restart brings no quorum back. Readiness asks whether clients should be sent here; an election takes no
// node out of service, and a node that has caught up once since its start has caught up for good.
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

// Every is how often it is looked which shards have leaders and whether this
// node has caught up.
const Every = 200 * time.Millisecond

// Facts are what health is judged by.
type Facts struct {
	*member.Member
	Survey *survey.Survey
	// Dying is why the process must end for the sake of its disk or its data, nil: it need not.
	Dying func() error
	// Ctx ends with the node.
	Ctx context.Context
}

// Health judges a node.
type Health struct{ readiness }

// New has looked at nothing yet.
func New(f Facts) *Health {
	return &Health{readiness{Facts: f, behind: "nothing was looked at yet", targets: map[uint32]uint64{}}}
}

// readiness knows what the probes ask for and no moment shows: since when a shard
// has no leader, and whether this node has caught up since its start.
//
// To have caught up is to have executed all that the leader had committed when
// it was first asked, in each shard of which this node is to have a replica. It
// is so once and for all: later lag does not take a node out of service.
type readiness struct {
	Facts

	// targets are what the leaders had committed, by shard. They are Watch's own.
	targets map[uint32]uint64

	mu sync.Mutex // guards what follows
	// led is when each shard was last known to have a leader; the start counts.
	led []time.Time
	// caughtUp is set once; until then behind says what is missing.
	caughtUp bool
	behind   string
}

// Watch looks until the node stops.
func (r *readiness) Watch() {
	t := time.NewTicker(Every)
	defer t.Stop()
	for {
		r.look(time.Now())
		select {
		case <-t.C:
		case <-r.Ctx.Done():
			return
		}
	}
}

func (r *readiness) look(now time.Time) {
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

// missing says what keeps this node from having caught up, "" if nothing does.
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

// behindIn says how far a replica is behind what its leader had committed when
// it was first asked.
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

// committed asks the shard's leader how far it has committed.
func (r *readiness) committed(s *shard.Shard) (uint64, bool) {
	leader := r.Leader(int(s.ID()))
	switch {
	case leader.Addr == "":
		return 0, false
	case leader.Self:
		// A leader that may serve has executed its predecessors' entries.
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

// catchUp says whether this node has caught up since its start.
func (r *readiness) catchUp() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.caughtUp {
		return nil
	}
	return fmt.Errorf("has not caught up: %s", r.behind)
}

// leaders says whether every shard has a leader or had one a moment ago: an
// election takes no node out of service.
func (r *readiness) leaders() error {
	return r.within(r.Leaderless(), leaderGrace(r.Config.Current()), time.Now())
}

// leaderGrace is how long a shard may be without a leader.
func leaderGrace(s *config.Settings) time.Duration {
	return time.Duration(s.ReadyLeaderGraceMs) * time.Millisecond
}

// within says whether each of the shards without a leader had one less than grace
// ago.
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
