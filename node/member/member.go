// Package member describes this node as a member of its cluster: its identity, its data folder, its
// replicas, and its knowledge of the other nodes and of the leaders of the shards.
//
// Nearly all code that reports on, operates or relays for a node reads this. So the package stands
// below that code, which then does not need the node itself. It has no rules of its own: package
// node fills it in step by step while it starts, and others read it. Flags show which fields are
// set, because a peer or a visitor of the admin port may come earlier. Serving is set once the
// replicas are open and all fields are filled in, Ready once clients are served.
package member

import (
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"lockstep/cluster/leaders"
	"lockstep/cluster/membership"
	"lockstep/cluster/meta"
	"lockstep/cluster/meta/identity"
	"lockstep/cluster/meta/leaderrpc"
	"lockstep/cluster/router"
	"lockstep/cluster/shard"
	"lockstep/cluster/transport"
	"lockstep/node/config"
)

// Member is this node as a member of its cluster.
type Member struct {
	Config *config.Config
	Log    *slog.Logger
	// Started is when the process began to start the node.
	Started time.Time
	// Folder is the data folder. Self is the identity of the node in that folder.
	Folder *identity.Folder
	Self   *identity.Identity
	// Boot is how often the node has started.
	Boot      uint64
	Transport *transport.Transport
	LeaderRPC *leaderrpc.Client
	// Machine has the meta group's state, MetaGroup is its Raft group, and Meta sends it commands.
	Machine   *meta.Machine
	MetaGroup *shard.Group
	Meta      *meta.Client
	Router    *router.Router
	// Leaders holds the leader of each shard.
	Leaders *leaders.Table
	Manager atomic.Pointer[membership.Manager]
	// Awaited is how many nodes a cluster that this node has founded is to have. It is 0 once most
	// of them vote, or if there is nothing to wait for.
	Awaited atomic.Int32
	// Serving is set once the replicas are open; peers may ask earlier. Ready is set once clients
	// are served, Draining once the node is stopping.
	Serving, Ready, Draining atomic.Bool
	// replicas are this node's replicas by the number of the shard, nil for a shard without an open
	// one.
	replicas []atomic.Pointer[shard.Shard]
}

// PeerAddrs are the addresses at which other nodes may answer.
func (m *Member) PeerAddrs() []string {
	s := m.Config.Current()
	return membership.PeerAddrs(m.Self.ID(), s.PeerAddress, m.Machine.View(), membership.NewReplica(m.MetaGroup), s.Join)
}

// NameOf is the name of the node with an id, or the id itself if the node is unknown.
func (m *Member) NameOf(id string) string {
	if node, ok := m.Machine.View().Node(meta.NodeID(id)); ok {
		return node.Name
	}
	return id
}

// ClusterVersion is the cluster's version, at least the last one that the folder has recorded: a
// starting node knows that one before it has received the meta group's log again.
func (m *Member) ClusterVersion() int {
	version := m.Machine.View().ClusterVersion
	if id := m.Folder.Identity(); id != nil {
		version = max(version, id.ClusterVersion)
	}
	return version
}

// Outcast returns why this node no longer listens to a node of its cluster, or "" if it does.
func (m *Member) Outcast(id string) string {
	if own := m.Folder.Identity(); own != nil && slices.Contains(own.Lost, meta.NodeID(id)) {
		return fmt.Sprintf("node %s was given up when its cluster was recovered; its data folder cannot be used again", id)
	}
	if m.Machine == nil {
		return ""
	}
	if node, ok := m.Machine.View().Node(meta.NodeID(id)); ok && node.State == meta.Removed {
		return fmt.Sprintf("node %s was removed from the cluster; its data folder cannot be used again", id)
	}
	return ""
}
