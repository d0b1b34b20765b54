package main

import (
	"strings"
	"testing"

	"lockstep/node/status"
)

func TestWhatIsSurplus(t *testing.T) {
	c := func(health status.Health, nodes ...string) *status.Cluster {
		c := &status.Cluster{Health: health}
		for _, n := range nodes {
			name, down := strings.CutSuffix(n, "!")
			c.Nodes = append(c.Nodes, status.Node{Name: name, Reachable: !down})
		}
		return c
	}
	for _, test := range []struct {
		c    *status.Cluster
		to   int
		want string
		err  string
	}{
		{c(status.Healthy, "db-0", "db-1", "db-2"), 3, "", ""},
		{c(status.Healthy, "db-0", "db-1", "db-2", "db-10", "db-3"), 3, "db-10 db-3", ""},
		{c(status.Healthy, "db-0", "db-1", "db-2", "other-7", "db-07", "db-x", "db--9"), 3, "", ""},
		{c(status.Degraded, "db-0", "db-1", "db-2!"), 2, "db-2", ""},
		{c(status.Degraded, "db-0", "db-1!", "db-2"), 2, "", "db-1, to stay, does not answer"},
		{c(status.Degraded, "db-0", "db-1!", "db-2"), 3, "", ""},
		{c(status.NoQuorum, "db-0", "db-1", "db-2"), 2, "", "has no leader"},
		{c(status.Healthy, "db-4", "db-5"), 1, "", "no node would be left"},
	} {
		got, err := surplus(test.c, "db-", test.to)
		if strings.Join(got, " ") != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("to %d: %v, %v; want %q, %q", test.to, got, err, test.want, test.err)
		}
	}
}
