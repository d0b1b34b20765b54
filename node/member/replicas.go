package member

import (
	"sync/atomic"

	"lockstep/cluster/shard"
	"lockstep/engine/command"
	"lockstep/engine/script"
)

// Replica returns this node's replica of a shard, or nil if it has none.
func (m *Member) Replica(i int) *shard.Shard {
	if i < 0 || i >= len(m.replicas) {
		return nil
	}
	return m.replicas[i].Load()
}

// MakeRoom makes room for a replica of each shard. None is open yet. It is called once.
func (m *Member) MakeRoom() { m.replicas = make([]atomic.Pointer[shard.Shard], m.ShardCount()) }

// SetReplica records that a replica is open.
func (m *Member) SetReplica(i int, s *shard.Shard) { m.replicas[i].Store(s) }

// RemoveReplica records that a replica is no longer open, and returns it, or nil if there was none.
func (m *Member) RemoveReplica(i int) *shard.Shard { return m.replicas[i].Swap(nil) }

// Shards are the open replicas, in the order of their numbers.
func (m *Member) Shards() []*shard.Shard {
	list := make([]*shard.Shard, 0, len(m.replicas))
	for i := range m.replicas {
		if s := m.replicas[i].Load(); s != nil {
			list = append(list, s)
		}
	}
	return list
}

// Programs are the scripts and functions of this node's replica of a shard, or nil if it has none.
func (m *Member) Programs(i int) *command.Programs {
	if s := m.Replica(i); s != nil {
		return s.Machine().Programs()
	}
	return nil
}

// KnownScripts are the scripts of this node's replica of a shard, or nil if it has none.
func (m *Member) KnownScripts(i int) *script.Cache {
	if p := m.Programs(i); p != nil {
		return &p.Scripts
	}
	return nil
}

// ShardCount is the number of the cluster's shards.
func (m *Member) ShardCount() int { return m.Self.Creation.Shards() }

// ReplicaAddrs are the peer addresses of the other nodes that should have a replica of a shard.
func (m *Member) ReplicaAddrs(i int) []string {
	view := m.Machine.View()
	if i >= len(view.Shards) {
		return m.PeerAddrs() // the view is not there yet
	}
	var addrs []string
	for _, id := range view.Shards[i].Replicas {
		if node, ok := view.Node(id); ok && id != m.Self.ID() {
			addrs = append(addrs, node.PeerAddr)
		}
	}
	return addrs
}
