package main

import (
	"slices"
	"testing"

	"lockstep/cluster/placement"
)

func TestWhatIsUnderWayIsTold(t *testing.T) {
	report := &placement.Report{Shards: []placement.ShardReport{{Shard: 3, LastIndex: 900, Waits: "n5 is being sent a snapshot", Replicas: []placement.ReplicaReport{
		{Node: "n1", State: placement.StateVoter, Match: 900},
		{Node: "n4", State: placement.StateCatchingUp, Match: 850},
		{Node: "n5", State: placement.StateCatchingUp, SentBytes: 3 << 19, SnapshotBytes: 80 << 20},
		{Node: "n2", State: placement.StateGoing},
	}}}}
	want := []string{
		"shard 3: n4 is catching up (850 of 900 entries)",
		"shard 3: n5 is being sent a snapshot (1.5 of 80.0 MB)",
		"shard 3: n2 is going",
		"shard 3 waits: n5 is being sent a snapshot",
	}
	if got := underWay(report); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
