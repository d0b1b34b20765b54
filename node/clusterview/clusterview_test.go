package clusterview

import (
	"testing"

	"lockstep/cluster/meta"
)

// WAIT returns how many other nodes certainly have the acknowledged writes. A replica that is still
// being added does not count.
func TestAReplicaThatIsOnItsWayCountsForNothing(t *testing.T) {
	nodes := []meta.NodeID{"a", "b", "c", "d", "e", "f"}
	for _, c := range []struct{ has, wanted, others int }{
		{1, 1, 0}, {2, 2, 1}, {3, 3, 1}, {5, 5, 2},
		// One is being moved.
		{2, 1, 0}, {3, 2, 1}, {4, 3, 1}, {6, 5, 2},
		// One more is being added, then another.
		{1, 3, 0}, {2, 3, 0}, {3, 5, 1}, {4, 5, 1},
		// This node's own replica is still to be added.
		{3, 0, 0},
	} {
		if got := votersOf(&meta.Shard{Replicas: nodes[:c.has]}, c.wanted) / 2; got != c.others {
			t.Errorf("%d replicas of %d: %d others have it, not %d", c.has, c.wanted, got, c.others)
		}
	}
}
