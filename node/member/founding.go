package member

import (
	"fmt"

	"lockstep/cluster/membership"
	"lockstep/cluster/meta"
)

// Awaits is how many nodes the cluster must reach, or 0 if there is nothing to wait for. An
// operator who restarts a founder with a smaller number no longer wants the other nodes.
func (m *Member) Awaits() int {
	nodes := m.Folder.Identity().Awaited
	if now := m.Config.Current().BootstrapExpect; now > 0 {
		nodes = min(nodes, now)
	}
	return nodes
}

// VotersLeast is how many voters a group must have before it takes writes.
func (m *Member) VotersLeast(group uint32) int {
	nodes := int(m.Awaited.Load())
	if nodes == 0 {
		return 0
	}
	most := membership.MetaVotersMax
	if group != meta.GroupID {
		most = m.Self.Creation.Replicas
		if v := m.Machine.View(); v.Created() {
			most = v.Replicas
		}
	}
	if most > 0 { // else there is a replica on every node
		nodes = min(nodes, most)
	}
	return nodes/2 + 1
}

// Short returns an error that names the first group with too few voters to take writes, or nil.
func (m *Member) Short() error {
	if m.Awaited.Load() == 0 {
		return nil
	}
	if m.MetaGroup.Short() {
		return m.tooFew("the meta group", meta.GroupID, m.MetaGroup.Voters())
	}
	for _, s := range m.Shards() {
		if s.Group().Short() {
			return m.tooFew(fmt.Sprintf("shard %d", s.ID()), s.ID(), s.Group().Voters())
		}
	}
	return nil
}

func (m *Member) tooFew(what string, group uint32, voters int) error {
	return fmt.Errorf("%s takes no writes: %d of %d voters are there, of %d nodes that are expected",
		what, voters, m.VotersLeast(group), m.Awaited.Load())
}
