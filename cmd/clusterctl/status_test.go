package main

import (
	"strings"
	"testing"

	"lockstep/node/status"
)

// The number of nodes that the user expects decides.
func TestNodesThatShouldBeThere(t *testing.T) {
	for _, c := range []struct {
		health, want status.Health
		nodes        int
		says         string
	}{
		{status.Healthy, status.Healthy, 0, ""},
		{status.Healthy, status.Healthy, 2, ""},
		{status.Healthy, status.Degraded, 3, "there should be 3 nodes, and there are 2"},
		{status.Healthy, status.Degraded, 1, "there should be 1 node, and there are 2"},
		{status.NoQuorum, status.NoQuorum, 3, "there should be 3 nodes"},
	} {
		got := &status.Cluster{Health: c.health, Nodes: make([]status.Node, 2)}
		expect(got, c.nodes)
		if said := strings.Join(got.Reasons, "; "); got.Health != c.want || !strings.Contains(said, c.says) || c.says == "" && said != "" {
			t.Errorf("%+v: %s, %q", c, got.Health, said)
		}
	}
}
