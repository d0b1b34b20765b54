package status

import (
	"slices"
	"testing"
)

// replica is a node's replica of a group with that role.
func replica(group, role, waits string) Group { return Group{Name: group, Role: role, Waits: waits} }

func member(name, membership string, groups ...Group) Node {
	return Node{Name: name, Membership: membership, Reachable: len(groups) > 0, Groups: groups}
}

func TestHealthIsJudgedInWords(t *testing.T) {
	leads := member("a", "member", replica("meta", "leader", ""), replica("0", "leader", ""))
	follows := member("b", "member", replica("meta", "follower", ""), replica("0", "follower", ""))
	for _, c := range []struct {
		name    string
		nodes   []Node
		health  Health
		reasons []string
	}{
		{"whole", []Node{leads, follows}, Healthy, nil},
		{"one away", []Node{leads, member("b", "member")}, Degraded, []string{"node b does not answer"}},
		{"one on its way out", []Node{leads, member("b", "leaving", follows.Groups...)}, Degraded, []string{"node b is leaving"}},
		{
			"a change that waits",
			[]Node{member("a", "member", replica("meta", "leader", "c is catching up"), replica("0", "leader", "")), follows},
			Degraded, []string{"the meta group waits with a change of its members: c is catching up"},
		},
		{
			"a newcomer",
			[]Node{leads, member("b", "joining", replica("meta", "learner", ""))},
			Degraded, []string{"node b is joining", "node b is a learner of the meta group", "node b has no replica of shard 0 yet"},
		},
		{
			"a shard's change that waits",
			[]Node{member("a", "member", replica("meta", "leader", ""), replica("0", "leader", "c does not answer")), follows},
			Degraded, []string{"shard 0 waits with a change of its members: c does not answer"},
		},
		{
			"a shard that nobody leads", []Node{member("a", "member", replica("meta", "leader", ""), replica("0", "candidate", "")), follows},
			NoQuorum, []string{"shard 0 has no leader"},
		},
		{
			"the leader is away: what it was is not what it is",
			[]Node{{Name: "a", Membership: "member", Groups: leads.Groups}, follows},
			NoQuorum, []string{"node a does not answer", "the meta group has no leader", "shard 0 has no leader"},
		},
		{
			"nobody answers", []Node{member("a", "member"), member("b", "member")},
			NoQuorum, []string{"node a does not answer", "node b does not answer", "the meta group has no leader", "shard 0 has no leader"},
		},
		{
			"a replica is missing, and nobody leads: the worse counts",
			[]Node{member("a", "member", replica("meta", "leader", "")), follows},
			NoQuorum, []string{"node a has no replica of shard 0 yet", "shard 0 has no leader"},
		},
		{
			"one that answers us, and does not hear its leader",
			[]Node{leads, member("b", "member", replica("meta", "follower", ""), Group{Name: "0", Role: "candidate", SilentMs: 70_000})},
			Degraded, []string{"node b has not heard the leader of shard 0 for 70 s"},
		},
		{
			"one that has not heard it while another was elected",
			[]Node{leads, member("b", "member", replica("meta", "follower", ""), Group{Name: "0", Role: "follower", SilentMs: 3_000})}, Healthy, nil,
		},
		{"nobody leads", []Node{follows}, NoQuorum, []string{"the meta group has no leader", "shard 0 has no leader"}},
	} {
		cluster := Cluster{Nodes: c.nodes, Shards: 1}
		cluster.Judge()
		if cluster.Health != c.health || !slices.Equal(cluster.Reasons, c.reasons) {
			t.Errorf("%s: %s %q, want %s %q", c.name, cluster.Health, cluster.Reasons, c.health, c.reasons)
		}
	}
}

// A replica that is cut off does not know how far it is behind, but the others do.
func TestLagIsMeasuredByWhoKnowsMost(t *testing.T) {
	c := Cluster{Shards: 1, Nodes: []Node{
		member("a", "member", replica("meta", "leader", ""), Group{Name: "0", Role: "leader", Committed: 900, Executed: 890, Lag: 10}),
		member("b", "member", replica("meta", "follower", ""), Group{Name: "0", Role: "follower", Committed: 100, Executed: 100}),
		{Name: "c", Membership: "member", Groups: []Group{{Name: "0", Role: "leader", Committed: 5000}}},
	}}
	c.Judge()
	if a, b := c.Nodes[0].Group("0").Lag, c.Nodes[1].Group("0").Lag; a != 10 || b != 800 {
		t.Errorf("lags of %d and %d", a, b)
	}
}

func TestEveryShardIsJudged(t *testing.T) {
	nodes := []Node{
		member("a", "member", replica("meta", "leader", ""), replica("0", "leader", ""), replica("1", "follower", "")),
		member("b", "member", replica("meta", "follower", ""), replica("0", "follower", ""), replica("1", "follower", "")),
	}
	for shards, want := range map[int]Health{1: Healthy, 2: NoQuorum} {
		c := Cluster{Nodes: nodes, Shards: shards}
		if c.Judge(); c.Health != want {
			t.Errorf("%d shards: %s %q, want %s", shards, c.Health, c.Reasons, want)
		}
	}
}

func TestAJudgementForgetsTheOneBefore(t *testing.T) {
	c := Cluster{Nodes: []Node{member("a", "member")}, Shards: 1}
	if c.Judge(); c.Health != NoQuorum || len(c.Reasons) != 3 {
		t.Fatalf("%s %q", c.Health, c.Reasons)
	}
	c.Nodes[0] = member("a", "member", replica("meta", "leader", ""), replica("0", "leader", ""))
	if c.Judge(); c.Health != Healthy || len(c.Reasons) != 0 {
		t.Errorf("%s %q after all is well again", c.Health, c.Reasons)
	}
}

func TestAGroupIsFoundByItsName(t *testing.T) {
	n := member("a", "member", replica("meta", "leader", ""), replica("1", "follower", ""))
	if g := n.Group("1"); g != &n.Groups[1] {
		t.Errorf("group 1 is %v", g)
	}
	if g := n.Group("0"); g != nil {
		t.Errorf("there is no group 0, and yet %v", g)
	}
}

// In a cluster with placed replicas, only a missing replica that is wanted counts.
func TestOnlyWhatIsWantedIsMissed(t *testing.T) {
	node := func(name string, groups ...Group) Node {
		return Node{ID: name, Name: name, Membership: "member", Reachable: true, Groups: append(groups, Group{Name: "meta", Role: "follower", Voters: 3})}
	}
	follower, leader := Group{Name: "0", Role: "follower"}, Group{Name: "0", Role: "leader"}
	for _, c := range []struct {
		name   string
		nodes  []Node
		place  Shard
		health Health
		says   string
	}{
		{"all is where it should be", []Node{node("a", leader), node("b", follower), node("c")}, Shard{ReplicaIDs: []string{"a", "b"}}, Healthy, ""},
		{"one is not there yet", []Node{node("a", leader), node("b"), node("c")}, Shard{ReplicaIDs: []string{"a", "b"}}, Degraded, "node b has no replica of shard 0 yet"},
		{"one is too few", []Node{node("a", leader), node("b"), node("c")}, Shard{ReplicaIDs: []string{"a"}}, Degraded, "shard 0 has 1 of 2 replicas"},
		{"one is to go", []Node{node("a", leader), node("b", follower), node("c", follower)}, Shard{ReplicaIDs: []string{"a", "b"}, Going: []string{"c"}}, Degraded, "node c has not given up its replica of shard 0 yet"},
		{"one follows who should not", []Node{node("a", leader), node("b", follower), node("c", Group{Name: "0", Role: "learner"})}, Shard{ReplicaIDs: []string{"a", "b"}}, Healthy, ""},
	} {
		c.place.Replicas = c.place.ReplicaIDs
		s := Cluster{Nodes: c.nodes, Shards: 1, Wanted: 2, Layout: []Shard{c.place}}
		s.Nodes[0].Groups[1].Role = "leader"
		s.Judge()
		if s.Health != c.health || c.says != "" && (len(s.Reasons) != 1 || s.Reasons[0] != c.says) {
			t.Errorf("%s: %s, %q", c.name, s.Health, s.Reasons)
		}
	}
	// The sixth node of a cluster has no vote in the meta group, and needs none.
	sixth := node("f")
	sixth.Groups[0] = Group{Name: "meta", Role: "learner", Voters: 5}
	s := Cluster{Nodes: []Node{node("a", leader), sixth}, Shards: 1, Wanted: 1, Layout: []Shard{{Replicas: []string{"a"}, ReplicaIDs: []string{"a"}}}}
	s.Nodes[0].Groups[1].Role = "leader"
	if s.Judge(); s.Health != Healthy {
		t.Errorf("%s, %q", s.Health, s.Reasons)
	}
}

// The cluster's keys are the keys of all shards, each counted once, wherever they are.
func TestKeysAreCountedOnce(t *testing.T) {
	of := func(group, role string, keys int64) Group { return Group{Name: group, Role: role, Keys: keys} }
	c := Cluster{Shards: 3, Nodes: []Node{
		member("a", "member", of("0", "leader", 10), of("1", "follower", 4)),
		member("b", "member", of("0", "follower", 9), of("2", "follower", 7)),
		member("c", "member", of("1", "leader", 5), of("2", "candidate", 6)),
	}}
	if got := c.Keys(); got != 10+5+7 {
		t.Errorf("%d keys", got)
	}
}
