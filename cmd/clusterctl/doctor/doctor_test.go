package doctor

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/node/status"
)

// well returns a healthy cluster of n nodes on good machines.
func well(n int) (*status.Cluster, []status.Host) {
	c := &status.Cluster{ClusterID: "c1", Shards: 1, Seen: "n1", Version: 2, LastBackupMs: 5}
	var hosts []status.Host
	for i := range n {
		name := fmt.Sprintf("n%d", i+1)
		role := "follower"
		if i == 0 {
			role = "leader"
		}
		c.Nodes = append(c.Nodes, status.Node{
			ID: name + ".1", Name: name, Reachable: true, Membership: "member", Version: "1.0", KnowsVersion: 2, PeerAddr: name + ":7000",
			Groups: []status.Group{{Name: "0", Role: role, Voters: n}, {Name: "meta", Role: role, Voters: n}},
		})
		hosts = append(hosts, status.Host{
			ID: name + ".1", Name: name, Reachable: true, SyncUs: []int64{900, 1000, 1100, 2000}, DiskFreeBytes: 80 << 30, DiskBytes: 100 << 30,
			Files: 65536, FilesOpen: 50, MaxClients: 10000, HugePages: "madvise", Backlog: 4096, MemoryBytes: 16 << 30, MaxMemoryBytes: 8 << 30,
		})
	}
	return c, hosts
}

func TestAHealthyClusterHasNoFindings(t *testing.T) {
	r := Examine(well(3))
	if len(r.Findings) != 0 || r.Worst() != "" || len(r.Checks) != len(checks) {
		t.Errorf("%+v", r)
	}
}

func TestEveryIllnessIsFound(t *testing.T) {
	for name, ill := range map[string]struct {
		nodes int
		make  func(c *status.Cluster, h []status.Host)
		want  Finding
	}{
		"one of three is down": {3, func(c *status.Cluster, h []status.Host) { down(c, h, 1) },
			Finding{Risk, "quorum", "", "one more node down", "clusterctl replace"}},
		"two of three are down": {3, func(c *status.Cluster, h []status.Host) { down(c, h, 1); down(c, h, 2) },
			Finding{Ill, "quorum", "", "without a quorum", "clusterctl recover"}},
		"nobody leads": {3, func(c *status.Cluster, _ []status.Host) { c.Nodes[0].Groups[0].Role = "candidate" },
			Finding{Ill, "quorum", "", "shard 0", "start the nodes"}},
		"two nodes": {2, func(*status.Cluster, []status.Host) {},
			Finding{Advice, "quorum", "", "fewer than three voters", "clusterctl join"}},
		"a learner does not count": {4, func(c *status.Cluster, h []status.Host) {
			for i := range c.Nodes {
				c.Nodes[i].Groups[0].Voters, c.Nodes[i].Groups[1].Voters = 3, 3
			}
			c.Nodes[3].Groups[0].Role, c.Nodes[3].Groups[1].Role = "learner", "learner"
			down(c, h, 1)
		}, Finding{Risk, "quorum", "", "one more node down", ""}},
		"drained":     {3, func(c *status.Cluster, _ []status.Host) { c.Nodes[1].Drained = true }, Finding{Advice, "members", "n2", "drained", "drain n2 --off"}},
		"joining":     {3, func(c *status.Cluster, _ []status.Host) { c.Nodes[1].Membership = "joining" }, Finding{Advice, "members", "n2", "is joining", ""}},
		"waiting":     {3, func(c *status.Cluster, _ []status.Host) { c.Nodes[0].Groups[0].Waits = "n9 is silent" }, Finding{Risk, "members", "", "n9 is silent", ""}},
		"behind":      {3, func(c *status.Cluster, _ []status.Host) { c.Nodes[2].Groups[0].Lag = lagMax + 1 }, Finding{Risk, "lag", "n3", "10001 entries behind in shard 0", ""}},
		"slow disk":   {3, func(_ *status.Cluster, h []status.Host) { h[1].SyncUs = []int64{9000, 25000, 30000, 40000} }, Finding{Risk, "disk-sync", "n2", "30.0 ms at worst", "faster disk"}},
		"sick disk":   {3, func(_ *status.Cluster, h []status.Host) { h[1].SyncUs = []int64{400000} }, Finding{Ill, "disk-sync", "n2", "400.0 ms", ""}},
		"no disk":     {3, func(_ *status.Cluster, h []status.Host) { h[1].SyncUs = nil }, Finding{Ill, "disk-sync", "n2", "could not be written", ""}},
		"disk filled": {3, func(_ *status.Cluster, h []status.Host) { h[1].DiskFreeBytes = 10 << 30 }, Finding{Risk, "disk-space", "n2", "(10%) are free", ""}},
		"log store": {3, func(c *status.Cluster, _ []status.Host) {
			c.Nodes[1].LogStore, c.Nodes[1].WantedLogStore = "boltdb", "wal"
		},
			Finding{Advice, "log-store", "n2", "in boltdb, with which its data folder was made, but raft-log-store is wal", "To keep boltdb set raft-log-store"}},
		"disk full":                            {3, func(_ *status.Cluster, h []status.Host) { h[1].DiskFreeBytes = 100 << 20 }, Finding{Ill, "disk-space", "n2", "100 MB (0%)", ""}},
		"clock":                                {3, func(_ *status.Cluster, h []status.Host) { h[1].AheadMs, h[1].UnsureMs = -700, 100 }, Finding{Risk, "clock", "n2", "-700 ms off what most nodes say", "chrony"}},
		"the clock of the node that was asked": {3, func(_ *status.Cluster, h []status.Host) { h[1].AheadMs, h[2].AheadMs = 3_600_000, 3_600_001 }, Finding{Risk, "clock", "n1", "-3600000 ms off", "chrony"}},
		"clocks of two":                        {2, func(_ *status.Cluster, h []status.Host) { h[1].AheadMs, h[1].UnsureMs = -700, 100 }, Finding{Risk, "clock", "", "the clock of n1 is 700 ms ahead of that of n2 (give or take 100), and no majority", "chrony"}},
		"clocks while one is down":             {3, func(c *status.Cluster, h []status.Host) { down(c, h, 2); h[1].AheadMs = 9000 }, Finding{Risk, "clock", "", "n2 is 9000 ms ahead of that of n1", "chrony"}},
		"wrong year":                           {3, func(_ *status.Cluster, h []status.Host) { h[1].AheadMs = 1e9 }, Finding{Risk, "clock", "n2", "ms off", ""}},
		"ahead":                                {3, func(c *status.Cluster, _ []status.Host) { c.Nodes[0].Groups[0].ClockAheadMs = 3600_000 }, Finding{Risk, "log-clock", "n1", "shard 0 is 3600000 ms ahead", "clock adopt"}},
		"back":                                 {3, func(c *status.Cluster, _ []status.Host) { c.Nodes[0].Groups[0].ClockAheadMs = -600 }, Finding{Risk, "log-clock", "n1", "shard 0 is 600 ms behind", "clock adopt"}},
		"no word":                              {3, func(c *status.Cluster, _ []status.Host) { c.Nodes[0].Groups[0].ClockUnknown = true }, Finding{Risk, "log-clock", "n1", "too few of the voters of shard 0", "network"}},
		"two programs": {3, func(c *status.Cluster, _ []status.Host) { c.Nodes[1].Version, c.Nodes[1].KnowsVersion = "0.9", 1 },
			Finding{Advice, "versions", "", "1.0 on n1, n3; 0.9 on n2", "finish the upgrade"}},
		"not raised":    {3, func(c *status.Cluster, _ []status.Host) { c.Version = 1 }, Finding{Advice, "versions", "", "at version 1, all nodes know 2", "clusterctl upgrade"}},
		"no backup":     {3, func(c *status.Cluster, _ []status.Host) { c.LastBackupMs = 0 }, Finding{Advice, "backup", "", "no backup of it is known", "once a day"}},
		"one missed":    {3, func(_ *status.Cluster, h []status.Host) { h[0].ClockMs = 40 * 3600_000 }, Finding{Advice, "backup", "", "39 hours old", ""}},
		"many missed":   {3, func(_ *status.Cluster, h []status.Host) { h[0].ClockMs = 200 * 3600_000 }, Finding{Risk, "backup", "", "199 hours old", "schedule"}},
		"few files":     {3, func(_ *status.Cluster, h []status.Host) { h[1].Files = 1024 }, Finding{Risk, "files", "n2", "may open 1024 files", "LimitNOFILE"}},
		"full":          {3, func(c *status.Cluster, _ []status.Host) { c.Nodes[1].UsedBytes = 8 << 30 }, Finding{Risk, "memory", "n2", "100% of maxmemory", "raise"}},
		"cut off":       {3, func(c *status.Cluster, _ []status.Host) { c.Nodes[1].Groups[0].SilentMs = 70_000 }, Finding{Risk, "members", "n2", "has not heard the leader of shard 0 for 70 s", "one direction"}},
		"no limit":      {3, func(_ *status.Cluster, h []status.Host) { h[1].MaxMemoryBytes = 0 }, Finding{Advice, "memory", "n2", "maxmemory is not set", "12288 MB"}},
		"too much":      {3, func(_ *status.Cluster, h []status.Host) { h[1].MaxMemoryBytes = 15 << 30 }, Finding{Risk, "memory", "n2", "of the 16384 MB that the process may take", ""}},
		"no overcommit": {3, func(_ *status.Cluster, h []status.Host) { h[1].Overcommit = 2 }, Finding{Advice, "kernel", "n2", "overcommit_memory is 2", "sysctl"}},
		"huge pages":    {3, func(_ *status.Cluster, h []status.Host) { h[1].HugePages = "always" }, Finding{Advice, "kernel", "n2", "huge pages", "madvise"}},
		"backlog":       {3, func(_ *status.Cluster, h []status.Host) { h[1].Backlog = 128 }, Finding{Advice, "kernel", "n2", "somaxconn is 128", "4096"}},
	} {
		c, hosts := well(ill.nodes)
		ill.make(c, hosts)
		r := Examine(c, hosts)
		found := false
		for _, f := range r.Findings {
			found = found || f.Level == ill.want.Level && f.Check == ill.want.Check && f.Node == ill.want.Node &&
				strings.Contains(f.What, ill.want.What) && strings.Contains(f.Do, ill.want.Do) && f.Do != ""
		}
		if !found {
			t.Errorf("%s: %+v, want %+v", name, r.Findings, ill.want)
		}
	}
}

// down sets what is known of a node that does not answer.
func down(c *status.Cluster, h []status.Host, i int) {
	c.Nodes[i].Reachable, c.Nodes[i].Groups = false, nil
	h[i] = status.Host{ID: h[i].ID, Name: h[i].Name}
}

func TestTheWorstComesFirst(t *testing.T) {
	c, hosts := well(3)
	hosts[0].Backlog = 1
	hosts[1].AheadMs = 800
	hosts[2].SyncUs = nil
	r := Examine(c, hosts)
	if len(r.Findings) != 3 || r.Findings[0].Level != Ill || r.Findings[1].Level != Risk || r.Worst() != Ill {
		t.Errorf("%+v", r.Findings)
	}
}
