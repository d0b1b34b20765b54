// Package member is this node as a member of its cluster: who it is, where its data lies, what it
// knows of the other nodes and of the leaders of the shards, and which replicas it has.
//
// Nearly everything that a node reports, operates or relays reads this, so it is a package below those
// that do so, and none of them needs the node itself. It holds no rules of what to do: package node
// fills it in while it starts, step by step, and others read. That a field is there yet is told by the
// flags: a peer or a visitor of the admin port may come earlier. Serving is set once the replicas are
// open and all fields are filled in, Ready once clients are served.
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
	"lockstep/cluster/meta/courier"
	"lockstep/cluster/meta/identity"
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
	// Folder is the data folder; Self is who the node is, by that folder.
	Folder *identity.Folder
	Self   *identity.Identity
	// Boot is how often the node has started.
	Boot      uint64
	Transport *transport.Transport
	Courier   *courier.Courier
	// Machine has the meta group's state, MetaGroup is its Raft group, and Meta gives it orders.
	Machine   *meta.Machine
	MetaGroup *shard.Group
	Meta      *meta.Client
	Router    *router.Router
	// Leaders knows who leads each shard.
	Leaders *leaders.Table
	Manager atomic.Pointer[membership.Manager]
	// Awaited is how many nodes a cluster is to have that this node has founded, until
	// most of them vote; 0: there is nothing to await.
	Awaited atomic.Int32
	// Serving is set once the replicas are open: peers may ask earlier. Ready is set once clients are
	// served, Draining once the node is stopping.
	Serving, Ready, Draining atomic.Bool
	// replicas are this node's replicas, by the number of the shard; nil: none is open.
	replicas []atomic.Pointer[shard.Shard]
}

// PeerAddrs are the addresses at which other nodes may answer.
func (m *Member) PeerAddrs() []string {
	s := m.Config.Current()
	return membership.PeerAddrs(m.Self.ID(), s.PeerAddress, m.Machine.View(), membership.NewReplica(m.MetaGroup), s.Join)
}

// NameOf is the name of the node with an id, the id where none is known.
func (m *Member) NameOf(id string) string {
	if node, ok := m.Machine.View().Node(meta.NodeID(id)); ok {
		return node.Name
	}
	return id
}

// ClusterVersion is the cluster's, or the one that the folder says it had last: a node
// that begins knows that before the meta group's log has come to it again.
func (m *Member) ClusterVersion() int {
	version := m.Machine.View().ClusterVersion
	if id := m.Folder.Identity(); id != nil {
		version = max(version, id.ClusterVersion)
	}
	return version
}

// Outcast says why a node of this cluster is no longer listened to.
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
