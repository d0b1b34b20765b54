package main

import (
	"strings"
	"testing"

	"lockstep/node/status"
)

func aNode(name string, roles ...string) status.Node {
	n := status.Node{ID: name + ".1", Name: name, Reachable: true}
	for i, role := range roles {
		n.Groups = append(n.Groups, status.Group{Name: []string{"meta", "0"}[i], Role: role})
	}
	return n
}

// A silent node counts as leading nothing once other nodes lead all groups.
func TestWhatADrainedNodeLeads(t *testing.T) {
	silent := status.Node{ID: "n1.1", Name: "n1"}
	for name, c := range map[string]struct {
		nodes []status.Node
		waits string
	}{
		"given up":          {[]status.Node{aNode("n1", "follower", "follower"), aNode("n2", "leader", "leader")}, ""},
		"leads still":       {[]status.Node{aNode("n1", "follower", "leader"), aNode("n2", "leader", "follower")}, "n1 still leads shard 0"},
		"nobody leads":      {[]status.Node{aNode("n1", "follower", "follower"), aNode("n2", "leader", "follower")}, "nobody leads yet: shard 0"},
		"silent, given up":  {[]status.Node{silent, aNode("n2", "leader", "leader")}, ""},
		"silent, and leads": {[]status.Node{silent, aNode("n2", "leader", "follower")}, "n1 does not answer, and no other leads shard 0"},
		"gone":              {[]status.Node{aNode("n2", "leader", "leader")}, ""},
	} {
		done, progress := leadsNothing(&status.Cluster{Nodes: c.nodes, Shards: 1}, "n1")
		if done != (c.waits == "") || progress != c.waits {
			t.Errorf("%s: %v, %q", name, done, progress)
		}
	}
}

// A repeated order finds its own work done, and not that of another order.
func TestWhatHasGoneBefore(t *testing.T) {
	c := &status.Cluster{
		Nodes:   []status.Node{aNode("n1"), aNode("n3")},
		Removed: []status.Removed{{ID: "n2.1", Name: "n2"}, {ID: "n2.2", Name: "n2", ReplacedBy: "n3.1"}, {ID: "n3.0", Name: "n3"}},
	}
	for d, want := range map[departure]string{
		{node: "n2"}:                    "n2.2",
		{node: "n2.1"}:                  "n2.1",
		{node: "n2", successor: "n3"}:   "n2.2",
		{node: "n2", successor: "n1"}:   "",
		{node: "n2", successor: "n9"}:   "",
		{node: "n2.1", successor: "n3"}: "",
		{node: "n3"}:                    "",
		{node: "n3.0"}:                  "n3.0",
		{node: "n9"}:                    "",
	} {
		if got := d.done(c); got != want {
			t.Errorf("%+v: %q, not %q", d, got, want)
		}
	}
	for d, want := range map[departure]string{
		{node: "n2"}:                  "LOCKSTEP REMOVE n2",
		{node: "n2", force: true}:     "LOCKSTEP REMOVE n2 FORCE",
		{node: "n2", successor: "n3"}: "LOCKSTEP REPLACE n2 n3",
	} {
		var words []string
		for _, w := range d.request() {
			words = append(words, w.(string))
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
