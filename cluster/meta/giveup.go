package meta

import (
	"fmt"
	"slices"
)

// GiveUp returns the view of a cluster that goes on without some of its nodes. Those nodes and
// their data are lost. They become tombstones at once, without a vote of their groups: the nodes
// that are left may be too few for one.
func (v *View) GiveUp(lost []NodeID) (*View, error) {
	next := v.clone()
	for _, id := range lost {
		i, ok := findNode(next.Nodes, id)
		if !ok {
			if _, known := next.Node(id); !known {
				return nil, unknownRefusal(id)
			}
			continue
		}
		next.Nodes[i].Forced = true
		next.bury(i)
		for s := range next.Shards {
			if at, has := slices.BinarySearch(next.Shards[s].Replicas, id); has {
				next.Shards[s].Replicas = slices.Delete(slices.Clone(next.Shards[s].Replicas), at, at+1)
			}
		}
	}
	if len(next.Live()) == 0 {
		return nil, ErrLastNode.With(fmt.Sprintf("nobody of the cluster %s would be left", v.ClusterID))
	}
	next.Epoch++
	next.derive()
	return next, nil
}

// GiveUp replaces the machine's state by the state without some nodes. It is for the data folders
// of nodes that do not run; no command of the log does it.
func (m *Machine) GiveUp(lost []NodeID) error {
	next, err := m.View().GiveUp(lost)
	if err != nil {
		return err
	}
	m.publish(next, true)
	return nil
}
