// Package survey collects the state of this node and of all nodes.
//
// It answers the requests with which nodes ask each other about their state (KindStatus,
// KindExamine, KindPageData), and combines the answers of all nodes: the status on which LOCKSTEP
// STATUS and the orders rely, the doctor's examination of machines, and the data of the web page. A
// node that does not answer in time is reported as unreachable; nothing here waits longer. A survey
// only reads counters, so it delays no command and adds no work to any.
package survey

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"sync"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/placement"
	"lockstep/cluster/shard"
	"lockstep/engine"
	"lockstep/ground/caught"
	"lockstep/ground/secure"
	"lockstep/node/backup"
	"lockstep/node/member"
	"lockstep/node/page"
	"lockstep/node/process"
	"lockstep/node/status"
	"lockstep/proto/admin"
	"lockstep/proto/client"
	"lockstep/proto/stats"
)

// KindStatus asks a node for its own status. The answer is JSON of a status.Node.
const KindStatus uint8 = 32

// Timeout is how long a node may take to report its status.
const Timeout = 700 * time.Millisecond

// Clock compares this node's wall clock with those of other nodes.
type Clock interface {
	// Wall reads this node's wall clock.
	Wall() time.Time
	// OffMs is by how many milliseconds it is ahead of a majority of the nodes.
	OffMs() float64
	// Limit is how far it may be off.
	Limit() time.Duration
	// Wrong returns by how much a node's clock is off, or 0 if that is within the limit.
	Wrong(id meta.NodeID) time.Duration
}

// Facts are the parts of the node that a survey reads.
type Facts struct {
	*member.Member
	Stats    *stats.Stats
	Registry *client.Registry
	Clock    Clock
	// TLS holds the certificates. It is nil if no port speaks TLS.
	TLS *secure.Keeper
	// Secret describes the cluster's secret.
	Secret func() status.Secret
	// Ctx ends with the node.
	Ctx context.Context
}

// Survey collects the state of this node and of all nodes.
type Survey struct {
	Facts
	Timings Timings
	Rates   Rates
	// history and changes are recorded for the page.
	history page.History
	changes page.Changes
	// probing is held while the disk is timed.
	probing sync.Mutex

	mu        sync.Mutex // guards placement, placed; held while the report is asked for
	placement *placement.Report
	placed    time.Time
}

// New returns a survey without any samples. The fields of its member may be filled in later.
func New(f Facts) *Survey { return &Survey{Facts: f} }

// Status asks all nodes for their status and judges the cluster.
func (v *Survey) Status(ctx context.Context) *status.Cluster {
	view := v.Machine.View()
	c := &status.Cluster{ClusterID: v.Self.ClusterID, Shards: v.ShardCount(), Seen: v.Self.Name, Version: view.ClusterVersion, LastBackupMs: backup.LastMs(view)}
	c.Nodes = make([]status.Node, len(view.Nodes))
	var wait caught.Group
	for i, known := range view.Nodes {
		wait.Go(func() { c.Nodes[i] = v.StatusOf(ctx, known) })
	}
	wait.Wait()
	for _, gone := range view.Tombstones {
		c.Removed = append(c.Removed, status.Removed{ID: string(gone.ID), Name: gone.Name, ReplacedBy: string(gone.ReplacedBy)})
	}
	c.Wanted = view.Replicas
	for i := range view.Shards {
		c.Layout = append(c.Layout, v.placeOf(view, &view.Shards[i]))
	}
	c.Judge()
	return c
}

// placeOf describes where a shard's replicas are and should be.
func (v *Survey) placeOf(view *meta.View, s *meta.Shard) status.Shard {
	p := status.Shard{ID: s.ID, FirstSlot: s.FirstSlot, LastSlot: s.LastSlot, Replicas: []string{}, ReplicaIDs: []string{}}
	for _, id := range s.Replicas {
		r, _ := view.Node(id)
		p.Replicas = append(p.Replicas, r.Name)
		p.ReplicaIDs = append(p.ReplicaIDs, string(id))
	}
	for _, g := range s.Going {
		if r, ok := view.Node(g.Node); ok {
			p.Going = append(p.Going, r.Name)
		}
	}
	leader, _ := view.Node(meta.NodeID(v.Leader(int(s.ID)).ID))
	p.Leader = leader.Name
	return p
}

// StatusOf asks one node for its status.
func (v *Survey) StatusOf(ctx context.Context, known meta.Node) status.Node {
	var s status.Node
	if known.ID == v.Self.ID() {
		s = v.ownStatus()
	} else {
		ctx, cancel := context.WithTimeout(ctx, Timeout)
		defer cancel()
		answer, err := v.Transport.Call(ctx, known.PeerAddr, KindStatus, nil)
		if err == nil {
			err = json.Unmarshal(answer, &s)
		}
		if err != nil || s.ID != string(known.ID) {
			s = status.Node{}
		}
	}
	s.ID, s.Name, s.Membership = string(known.ID), known.Name, string(known.State)
	s.ClientAddr, s.PeerAddr, s.TLSPort, s.Drained, s.Learner = known.ClientAddr, known.PeerAddr, known.TLSPort, known.Drained, known.Learner
	return s
}

// ServeStatus answers KindStatus.
func (v *Survey) ServeStatus(reply func([]byte)) {
	if !v.Serving.Load() {
		reply(nil)
		return
	}
	s := v.ownStatus()
	data, _ := json.Marshal(&s)
	reply(data)
}

// ownStatus is the status of this node.
func (v *Survey) ownStatus() status.Node {
	s := status.Node{
		ID: string(v.Self.ID()), Name: v.Self.Name, Reachable: true, Version: process.Version, KnowsVersion: meta.KnownVersion(), PID: os.Getpid(),
		LogStore: v.Self.LogStore, WantedLogStore: string(v.Config.Current().LogStore),
		UptimeSec: int64(time.Since(v.Started).Seconds()), RSSBytes: process.ResidentBytes(),
	}
	s.ClockOffMs, s.ClockLimitMs = v.Clock.OffMs(), v.Clock.Limit().Milliseconds()
	s.Clients, s.CommandsTotal, s.OpsPerSec = v.Registry.Len(), int64(v.Stats.Commands()), v.Rates.Ops()
	for _, sh := range v.Shards() {
		g := v.GroupStatus(strconv.Itoa(int(sh.ID())), sh.Group(), sh)
		g.Keys = keysOf(sh)
		s.Keys += g.Keys
		s.UsedBytes += sh.Machine().MemoryBytes()
		s.Groups = append(s.Groups, g)
	}
	s.Groups = append(s.Groups, v.GroupStatus("meta", v.MetaGroup, nil))
	return s
}

// keysOf counts the keys of a replica.
func keysOf(s *shard.Shard) int64 {
	keys := 0
	for db := range engine.Databases {
		keys += s.Machine().Keyspace().Keys(db)
	}
	return int64(keys)
}

// watermarks are the progress of a state machine.
type watermarks interface {
	Queued() uint64
	Executed() uint64
}

// executedOf is the index up to which a replica has executed the log, of which Raft has delivered
// the entries up to applied. Raft's own entries do not reach the state machine, so the lag is the
// number of entries that the state machine has queued and not executed.
func executedOf(applied uint64, m watermarks) uint64 {
	// Executed is read first, because it is never greater than Queued.
	executed := m.Executed()
	return applied - min(applied, m.Queued()-executed)
}

// GroupStatus is the status of a replica of a group. s is the shard, or nil for the meta group.
func (v *Survey) GroupStatus(name string, g *shard.Group, s *shard.Shard) status.Group {
	st := g.Stats()
	out := status.Group{
		Name: name, Role: st.Role, Term: st.Term, Committed: st.CommitIndex, LastIndex: st.LastIndex,
		Queued: st.Applied, Executed: st.Applied, Voters: st.Voters,
	}
	if m := v.Manager.Load(); m != nil {
		out.Waits = m.Waits(g.ID())
	}
	if leader, ok := v.Machine.View().Node(meta.NodeID(st.LeaderID)); ok {
		out.Leader = leader.Name
	}
	if g.Short() {
		out.VotersAwaited = v.VotersLeast(g.ID())
	}
	if s != nil {
		out.Executed, out.Version = executedOf(st.Applied, s.Machine()), s.Machine().Settings().Version
		if st.Role == "leader" {
			day := s.Clock().Day()
			out.ClockAheadMs, out.DayOffsetMs, out.ClockUnknown = day.AwayMs, day.OffsetMs, !day.Known
		}
	}
	out.Lag = st.CommitIndex - min(st.CommitIndex, out.Executed)
	switch {
	case st.Role == "leader":
	case st.LastContact == 0 && st.Role == "candidate":
		out.SilentMs = time.Since(v.Started).Milliseconds() // no leader was ever heard
	default:
		out.SilentMs = st.LastContact.Milliseconds()
	}
	return out
}

// StatusJSON implements admin.Operator.
func (v *Survey) StatusJSON(ctx context.Context) ([]byte, error) { return json.Marshal(v.Status(ctx)) }

// LockSlots implements admin.Operator.
func (v *Survey) LockSlots() []admin.LockSlot {
	var all []admin.LockSlot
	for _, s := range v.Shards() {
		i := int(s.ID())
		for _, l := range s.Machine().Sched().Slots() {
			mode := "shared"
			if l.Exclusive {
				mode = "exclusive"
			}
			all = append(all, admin.LockSlot{Shard: i, Slot: int(l.Slot), Mode: mode, Holders: l.Holders, Readers: l.WaitingShared, Writers: l.WaitingExclusive, Labels: l.Labels, HeldMs: l.RanNs / 1e6, Queue: l.Queue})
		}
	}
	return all
}
