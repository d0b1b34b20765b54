package member

import (
	"github.com/hashicorp/raft"

	"lockstep/cluster/meta/identity"
	"lockstep/cluster/shard"
)

// Kick tells the reconciler of a group that this node leads the group.
func (m *Member) Kick(group uint32) {
	if manager := m.Manager.Load(); manager != nil {
		manager.Kick(group)
	}
}

// Bootstrap makes this node the first voter of a group that it founds.
func (m *Member) Bootstrap(g *shard.Group) error {
	if m.Self.Phase != identity.Founding {
		return nil
	}
	return g.Bootstrap([]raft.Server{{ID: raft.ServerID(m.Self.ID()), Address: raft.ServerAddress(m.Config.Current().PeerAddress)}})
}
