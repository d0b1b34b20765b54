package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockstep/cluster/placement"
	"lockstep/node/status"
)

// group is a node's replica.
func group(name, role string, term, lag uint64) status.Group {
	return status.Group{Name: name, Role: role, Term: term, Voters: 3, Lag: lag}
}

// three is a healthy cluster of three nodes and two shards.
func three() (*status.Cluster, []NodeReport) {
	c := &status.Cluster{ClusterID: "c", Seen: "a", Shards: 2, Layout: []status.Shard{
		{ID: 0, FirstSlot: 0, LastSlot: 8191, Replicas: []string{"a", "b", "c"}, ReplicaIDs: []string{"1", "2", "3"}},
		{ID: 1, FirstSlot: 8192, LastSlot: 16383, Replicas: []string{"a", "b", "c"}, ReplicaIDs: []string{"1", "2", "3"}},
	}}
	roles := [][3]string{{"leader", "follower", "follower"}, {"follower", "leader", "follower"}, {"leader", "follower", "follower"}}
	var reports []NodeReport
	for i, name := range []string{"a", "b", "c"} {
		n := status.Node{ID: fmt.Sprint(i + 1), Name: name, Membership: "member", Reachable: true, UsedBytes: 50}
		for g, group := range []string{"0", "1", "meta"} {
			n.Groups = append(n.Groups, status.Group{Name: group, Role: roles[g][i], Term: 7, Voters: 3, Lag: uint64(i)})
		}
		c.Nodes = append(c.Nodes, n)
		reports = append(reports, NodeReport{ID: n.ID, NowMs: 1e6, DiskFreeBytes: 50, DiskBytes: 100, MemoryBytes: 1000, MaxMemoryBytes: 100})
	}
	reports[0].Led = []Led{{"0", 7, 3, 3, 5}, {"meta", 7, 3, 3, 0}}
	reports[1].Led = []Led{{"1", 7, 3, 3, 6}}
	c.Judge()
	return c, reports
}

func texts(alerts []Alert) (all []string) {
	for _, a := range alerts {
		all = append(all, strings.TrimSpace(a.Level+": "+a.Text+" "+strings.Join(a.Nodes, ",")))
	}
	return all
}

func TestClusterThatIsWell(t *testing.T) {
	c, reports := three()
	s := Compose(1e6, c, reports, nil)
	if s.Health != status.Healthy || len(s.Alerts) != 0 || len(s.Nodes) != 3 || len(s.Groups) != 3 {
		t.Fatalf("%+v", s)
	}
	a := s.Nodes[0]
	if a.Leads != 1 || !a.LeadsMeta || a.Replicas != 2 || a.DiskBytes != 100 || s.Nodes[2].Lag != 2 || s.Nodes[2].Leads != 0 {
		t.Errorf("%+v", s.Nodes)
	}
	if g := s.Groups[1]; g.Name != "1" || g.Leader != "b" || g.Term != 7 || g.Voters != 3 || g.Answering != 3 || g.Keys != 6 || g.FirstSlot != 8192 || g.LastSlot != 16383 || len(g.Replicas) != 3 {
		t.Errorf("%+v", g)
	}
	if g := s.Groups[2]; g.Name != "meta" || g.Leader != "a" || g.FirstSlot != -1 {
		t.Errorf("%+v", g)
	}
	s.Addresses(map[string]string{"2": "b:8080"})
	if s.Nodes[1].AdminAddr != "b:8080" || s.Nodes[0].AdminAddr != "" {
		t.Errorf("%+v", s.Nodes)
	}
}

func TestAlerts(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(*status.Cluster, []NodeReport)
		want  []string
	}{
		"quorum at risk": {func(_ *status.Cluster, reports []NodeReport) { reports[0].Led[0].Answering = 2 },
			[]string{"critical: quorum at risk: 2 of 3 voters of shard 0 answer; the next failure stops it"}},
		"a lone node is not at risk: it is alone": {func(c *status.Cluster, reports []NodeReport) {
			c.Nodes[0].Groups[0].Voters, reports[0].Led[0].Voters, reports[0].Led[0].Answering = 1, 1, 1
		}, nil},
		"a leader that has not told": {func(_ *status.Cluster, told []NodeReport) { told[0] = NodeReport{ID: "1"} }, nil},
		"disks": {func(_ *status.Cluster, reports []NodeReport) {
			reports[0].DiskFreeBytes, reports[2].DiskFreeBytes = 19, 19
		},
			[]string{"warning: the disk is 81% full a,c"}},
		"memory":    {func(_ *status.Cluster, reports []NodeReport) { reports[1].MaxMemoryBytes = 52 }, []string{"warning: the data takes 96% of maxmemory b"}},
		"lag":       {func(c *status.Cluster, _ []NodeReport) { c.Nodes[2].Groups[0].Lag = 10001 }, []string{"warning: 10001 entries are committed and have not run c"}},
		"slow disk": {func(_ *status.Cluster, reports []NodeReport) { reports[2].DiskSlow = true }, []string{"warning: the disk is slow: most syncs of the last minute took more than 100 ms c"}},
		"unknown": {func(_ *status.Cluster, reports []NodeReport) { reports[2].Unknown = 3 },
			[]string{"warning: 3 calls were answered with INDETERMINATE in the last five minutes: they may or may not have run c"}},
		"unsteady": {func(_ *status.Cluster, reports []NodeReport) {
			for term := range uint64(4) {
				reports[0].Changes = append(reports[0].Changes, Change{1e6, "1", term, "a", "b"})
			}
		}, []string{"warning: shard 1 has changed its leader 4 times in a quarter of an hour"}},
		"unsteady long ago": {func(_ *status.Cluster, reports []NodeReport) {
			for term := range uint64(4) {
				reports[0].Changes = append(reports[0].Changes, Change{1e6 - changesWithinMs, "1", term, "a", "b"})
			}
		}, nil},
		"no backup for long": {func(c *status.Cluster, _ []NodeReport) { c.LastBackupMs = 1e6 - 40*msPerHour }, []string{"warning: the newest backup is 40 hours old"}},
		"a backup of today":  {func(c *status.Cluster, _ []NodeReport) { c.LastBackupMs = 1e6 - 30*msPerHour }, nil},
		"a node is gone": {func(c *status.Cluster, reports []NodeReport) { c.Nodes[2].Reachable, reports[2].DiskSlow = false, true },
			[]string{"warning: node c does not answer"}},
		"no leader is worse than a full disk": {func(c *status.Cluster, reports []NodeReport) {
			c.Nodes[1].Groups[1].Role, reports[1].Led, reports[0].DiskFreeBytes = "candidate", nil, 1
		}, []string{"critical: shard 1 has no leader", "warning: the disk is 99% full a"}},
	} {
		c, reports := three()
		tc.spoil(c, reports)
		c.Judge()
		if got := texts(Compose(1e6, c, reports, nil).Alerts); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// If two nodes say that they lead, the one with the older term does not know of the newer leader
// yet.
func TestNewerTermLeads(t *testing.T) {
	c, reports := three()
	c.Nodes[2].Groups[0] = group("0", "leader", 8, 0)
	reports[2].Led = []Led{{"0", 8, 3, 2, 9}}
	if g := Compose(1e6, c, reports, nil).Groups[0]; g.Leader != "c" || g.Term != 8 || g.Answering != 2 || g.Keys != 9 {
		t.Errorf("%+v", g)
	}
	slices.Reverse(c.Nodes)
	slices.Reverse(reports)
	if g := Compose(1e6, c, reports, nil).Groups[0]; g.Leader != "c" || g.Term != 8 || g.Answering != 2 || g.Keys != 9 {
		t.Errorf("the other way round: %+v", g)
	}
}

func TestMovesAndRowsAreBounded(t *testing.T) {
	c, reports := three()
	r := &placement.Report{Shards: []placement.ShardReport{
		{Shard: 0, LastIndex: 90, Replicas: []placement.ReplicaReport{{Node: "a", State: placement.StateVoter}, {Node: "b", State: placement.StateCatchingUp, Match: 30}}},
	}}
	s := Compose(1e6, c, reports, r)
	if len(s.Moves) != 1 || s.Moves[0] != (Move{0, "b", placement.StateCatchingUp, 30, 90}) {
		t.Errorf("%+v", s.Moves)
	}
	for i := range 500 {
		r.Plan = append(r.Plan, placement.StepReport{Shard: uint32(i)})
		r.Shards = append(r.Shards, r.Shards[0])
		reports[0].Locks = append(reports[0].Locks, Lock{Slot: i, Writers: i})
		reports[1].Hot = append(reports[1].Hot, Hot{Slot: i, Waited: uint64(i)})
		c.Reasons = append(c.Reasons, fmt.Sprint(i))
	}
	s = Compose(1e6, c, reports, r)
	if len(s.Moves) != movesShown || len(s.Plan) != movesShown || len(s.Locks) != rowsShown || len(s.Hot) != rowsShown || len(s.Alerts) != alertsShown {
		t.Errorf("%d moves, %d steps, %d locks, %d hot, %d alerts", len(s.Moves), len(s.Plan), len(s.Locks), len(s.Hot), len(s.Alerts))
	}
	if s.Locks[0].Slot != 499 || s.Hot[0].Slot != 499 {
		t.Errorf("the first are %+v and %+v", s.Locks[0], s.Hot[0])
	}
}
