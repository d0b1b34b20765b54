package member

import (
	"lockstep/cluster/leaders"
	"lockstep/cluster/meta"
	"lockstep/cluster/shard"
)

// KnowsLeaders reports whether this node knows the leader of every shard.
func (m *Member) KnowsLeaders() bool {
	for i := range m.ShardCount() {
		if _, known := m.LeaderOf(i); !known {
			return false
		}
	}
	return true
}

// HeardLeader is the leader of a shard as this node's replica knows it.
func (m *Member) HeardLeader(i int) leaders.Leadership {
	if s := m.Replica(i); s != nil {
		return m.leadership(s.Leader())
	}
	return leaders.Leadership{}
}

// LearnLeader takes over the leader that another node's replica knows.
func (m *Member) LearnLeader(i int, said shard.Leader) { m.Leaders.Learn(i, m.leadership(said)) }

// MayLead reports whether another node's statement about a shard's leader can be true.
func (m *Member) MayLead(i int, l leaders.Leadership) bool {
	if l.Node == m.Self.Incarnation {
		s := m.Replica(i)
		return s == nil || l.Term <= s.Group().Term()
	}
	_, known := m.Machine.View().ByIncarnation(l.Node)
	return known
}

// DisproveLeader records that a node has not reached the term in which it is said to have led.
func (m *Member) DisproveLeader(i int, claim shard.Leader, by uint64) {
	if id := meta.NodeID(claim.ID); id.Incarnation() == by {
		m.Log.Warn("what this node was told of a shard's leader was false", "shard", i, "leader", claim.ID, "term", claim.Term)
		m.Leaders.Disprove(i, leaders.Leadership{Term: claim.Term, Node: by})
	}
}

// leadership converts a replica's knowledge of its leader to the form that all nodes use.
func (m *Member) leadership(l shard.Leader) leaders.Leadership {
	if node, known := m.Machine.View().Node(meta.NodeID(l.ID)); known {
		return leaders.Leadership{Term: l.Term, Node: node.Incarnation}
	}
	return leaders.Leadership{}
}

// KnownLeader is the leader of a shard by what the nodes have told each other.
func (m *Member) KnownLeader(i int) shard.Leader {
	of := m.Leaders.Of(i)
	node, known := m.Machine.View().ByIncarnation(of.Node)
	if !known {
		return shard.Leader{}
	}
	return shard.Leader{ID: string(node.ID), Addr: node.PeerAddr, Term: of.Term, Self: of.Node == m.Self.Incarnation}
}

// LeaderOf returns the node that leads a shard. During an election it is the previous leader.
func (m *Member) LeaderOf(shard int) (meta.Node, bool) {
	m.Leaders.Learn(shard, m.HeardLeader(shard))
	return m.Machine.View().ByIncarnation(m.Leaders.Of(shard).Node)
}

// Leaderless are the shards that have no leader, as far as this node knows.
func (m *Member) Leaderless() []int {
	var all []int
	for i := range m.ShardCount() {
		if !m.HasLeader(i) {
			all = append(all, i)
		}
	}
	return all
}

// HasLeader reports whether a shard has a leader, as far as this node knows. The router remembers a
// leader until a newer one is known, so its entry alone proves nothing. If this node has a replica,
// that replica must hear the leader; else the leader must be reachable.
func (m *Member) HasLeader(i int) bool {
	known := m.Leader(i)
	if known.Addr == "" {
		return false
	}
	if s := m.Replica(i); s != nil {
		own := s.Leader()
		return own.Addr != "" || known.Term > own.Term && !m.Transport.Lost(known.Addr)
	}
	return !m.Transport.Lost(known.Addr)
}

// GroupLeader is a group's leader as this node knows it.
func (m *Member) GroupLeader(group uint32) (addr string, self bool) {
	if group == meta.GroupID {
		if m.MetaGroup == nil {
			return "", false
		}
		id, a := m.MetaGroup.Leader()
		return string(a), string(id) == string(m.Self.ID()) && m.MetaGroup.IsLeader()
	}
	if !m.Serving.Load() || uint64(group) >= uint64(m.ShardCount()) {
		return "", false
	}
	l := m.Leader(int(group))
	return l.Addr, l.Self
}

// Leader is the leader of a shard as far as this node knows.
func (m *Member) Leader(i int) shard.Leader {
	if m.Serving.Load() {
		return m.Router.Leader(i)
	}
	if s := m.Replica(i); s != nil {
		return s.Leader()
	}
	return shard.Leader{}
}
