package main

import (
	"strings"
	"testing"

	"lockstep/node/status"
)

func TestClocksAreShown(t *testing.T) {
	c := &status.Cluster{Shards: 2, Nodes: []status.Node{
		{Name: "a", Reachable: true, ClockLimitMs: 500, Groups: []status.Group{{Name: "0", Role: "leader", ClockAheadMs: -1.25, DayOffsetMs: -3_600_000}}},
		{Name: "b", Reachable: true, ClockLimitMs: 500, ClockOffMs: 3_600_000, Groups: []status.Group{{Name: "1", Role: "leader", ClockUnknown: true}, {Name: "0", Role: "follower"}}},
		{Name: "c"},
	}}
	v := clockViewOf(c)
	if v.LimitMs != 500 || len(v.Nodes) != 3 || len(v.Shards) != 2 || !v.Nodes[1].Wrong || v.Nodes[0].Wrong {
		t.Errorf("%+v", v)
	}
	var out strings.Builder
	printClocks(&out, v)
	for _, line := range []string{
		"a as a majority of the nodes say", "b 3600000.0 ms ahead; leads only where no other node can", "c does not answer",
		"0 a 1.2 ms behind -3600000 ms", "1 b no majority of the voters says 0 ms",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), line) {
			t.Errorf("%q is not said:\n%s", line, out.String())
		}
	}
}
