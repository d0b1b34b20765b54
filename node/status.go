package node

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"time"

	"lockstep/cluster/caught"
	"lockstep/cluster/meta"
	"lockstep/cluster/shard"
	"lockstep/engine"
	"lockstep/node/backup"
	"lockstep/node/process"
	"lockstep/node/status"
)

// kindStatus asks a node for its own status, between nodes. Answer: JSON of a
// status.Node.
const kindStatus uint8 = 32

// statusTimeout is how long a node may take to tell how it is.
const statusTimeout = 700 * time.Millisecond

// Status asks all nodes how they are and judges the whole.
func (n *Node) Status(ctx context.Context) *status.Cluster {
	view := n.Machine.View()
	c := &status.Cluster{ClusterID: n.Self.ClusterID, Shards: n.ShardCount(), Seen: n.Self.Name, Version: view.ClusterVersion, LastBackupMs: backup.LastMs(view)}
	c.Nodes = make([]status.Node, len(view.Nodes))
	var wait caught.Group
	for i, known := range view.Nodes {
		wait.Go(func() { c.Nodes[i] = n.statusOf(ctx, known) })
	}
	wait.Wait()
	for _, gone := range view.Tombstones {
		c.Removed = append(c.Removed, status.Removed{ID: string(gone.ID), Name: gone.Name, ReplacedBy: string(gone.ReplacedBy)})
	}
	c.Wanted = view.Replicas
	for i := range view.Shards {
		c.Layout = append(c.Layout, n.placeOf(view, &view.Shards[i]))
	}
	c.Judge()
	return c
}

// placeOf tells where a shard is and should be.
func (n *Node) placeOf(view *meta.View, s *meta.Shard) status.Shard {
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
	leader, _ := view.Node(meta.NodeID(n.Leader(int(s.ID)).ID))
	p.Leader = leader.Name
	return p
}

func (n *Node) statusOf(ctx context.Context, known meta.Node) status.Node {
	var s status.Node
	if known.ID == n.Self.ID() {
		s = n.ownStatus()
	} else {
		ctx, cancel := context.WithTimeout(ctx, statusTimeout)
		defer cancel()
		answer, err := n.Transport.Call(ctx, known.PeerAddr, kindStatus, nil)
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

func (n *Node) serveStatus(reply func([]byte)) {
	if !n.Serving.Load() {
		reply(nil)
		return
	}
	s := n.ownStatus()
	data, _ := json.Marshal(&s)
	reply(data)
}

// ownStatus is how this node is.
func (n *Node) ownStatus() status.Node {
	s := status.Node{
		ID: string(n.Self.ID()), Name: n.Self.Name, Reachable: true, Version: process.Version, KnowsVersion: meta.KnownVersion(), PID: os.Getpid(),
		LogStore: n.Self.LogStore, WantedLogStore: string(n.cfg.Current().LogStore),
		UptimeSec: int64(time.Since(n.Started).Seconds()), RSSBytes: process.ResidentBytes(),
	}
	s.ClockOffMs, s.ClockLimitMs = n.clockOffMs(), n.clockLimit().Milliseconds()
	n.front.fill(&s)
	for _, sh := range n.Shards() {
		g := n.groupStatus(strconv.Itoa(int(sh.ID())), sh.Group(), sh)
		g.Keys = keysOf(sh)
		s.Keys += g.Keys
		s.UsedBytes += sh.Machine().MemoryBytes()
		s.Groups = append(s.Groups, g)
	}
	s.Groups = append(s.Groups, n.groupStatus("meta", n.MetaGroup, nil))
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

// watermarks are those of a state machine.
type watermarks interface {
	Queued() uint64
	Executed() uint64
}

// executedOf is how far a replica has run what Raft has given it up to applied.
// Raft's own entries pass the state machine by; what that was given and has not run
// is what it is behind.
func executedOf(applied uint64, m watermarks) uint64 {
	// Executed first: it never passes the other.
	executed := m.Executed()
	return applied - min(applied, m.Queued()-executed)
}

func (n *Node) groupStatus(name string, g *shard.Group, s *shard.Shard) status.Group {
	st := g.Stats()
	out := status.Group{
		Name: name, Role: st.Role, Term: st.Term, Committed: st.CommitIndex, LastIndex: st.LastIndex,
		Queued: st.Applied, Executed: st.Applied, Voters: st.Voters,
	}
	if m := n.Manager.Load(); m != nil {
		out.Waits = m.Waits(g.ID())
	}
	if leader, ok := n.Machine.View().Node(meta.NodeID(st.LeaderID)); ok {
		out.Leader = leader.Name
	}
	if g.Short() {
		out.VotersAwaited = n.VotersLeast(g.ID())
	}
	if s != nil {
		out.Executed, out.Version = executedOf(st.Applied, s.Machine()), s.Machine().Settings().Version
		if st.Role == "leader" {
			day := s.Day()
			out.ClockAheadMs, out.DayOffsetMs, out.ClockUnknown = day.AwayMs, day.OffsetMs, !day.Known
		}
	}
	out.Lag = st.CommitIndex - min(st.CommitIndex, out.Executed)
	switch {
	case st.Role == "leader":
	case st.LastContact == 0 && st.Role == "candidate":
		out.SilentMs = time.Since(n.Started).Milliseconds() // It was never heard.
	default:
		out.SilentMs = st.LastContact.Milliseconds()
	}
	return out
}
