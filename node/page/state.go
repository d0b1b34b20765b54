package page

import (
	"slices"

	"lockstep/cluster/placement"
	"lockstep/node/status"
)

// State is the cluster as the page shows it, without the Series.
type State struct {
	NowMs     int64         `json:"now_ms"`
	Seen      string        `json:"seen_by"`
	ClusterID string        `json:"cluster_id"`
	Version   int           `json:"cluster_version"`
	Health    status.Health `json:"health"`
	Alerts    []Alert       `json:"alerts"`
	Nodes     []Node        `json:"nodes"`
	// Groups are the shards in order, and the meta group last.
	Groups  []Group  `json:"groups"`
	Locks   []Lock   `json:"locks"`
	Hot     []Hot    `json:"hot"`
	Changes []Change `json:"changes"`
	Moves   []Move   `json:"moves"`
	// Plan lists the steps that remain until the cluster is balanced.
	Plan []placement.StepReport `json:"plan"`
}

// Node is a node of the cluster.
type Node struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	State     string `json:"state"`
	Drained   bool   `json:"drained,omitempty"`
	Learner   bool   `json:"learner,omitempty"`
	Reachable bool   `json:"reachable"`
	Version   string `json:"version,omitempty"`
	UptimeSec int64  `json:"uptime_sec"`
	// ClientAddr is the node's address for clients, AdminAddr that of its page, or empty if it has
	// none.
	ClientAddr string `json:"client_addr"`
	AdminAddr  string `json:"admin_addr,omitempty"`
	Clients    int    `json:"clients"`
	OpsPerSec  int64  `json:"ops_per_sec"`
	Keys       int64  `json:"keys"`
	// Leads is how many shards the node leads, Replicas of how many it has a replica, and Lag by
	// how many entries its slowest replica is behind.
	Leads     int    `json:"leads"`
	LeadsMeta bool   `json:"leads_meta,omitempty"`
	Replicas  int    `json:"replicas"`
	Lag       uint64 `json:"lag"`
	// UsedBytes is the memory of its data, RSSBytes that of its process.
	UsedBytes      int64 `json:"used_bytes"`
	RSSBytes       int64 `json:"rss_bytes"`
	MemoryBytes    int64 `json:"memory_bytes"`
	MaxMemoryBytes int64 `json:"maxmemory_bytes"`
	DiskFreeBytes  int64 `json:"disk_free_bytes"`
	DiskBytes      int64 `json:"disk_bytes"`
}

// Group is a shard, or the meta group, which has no hash slots.
type Group struct {
	Name      string `json:"name"`
	FirstSlot int    `json:"first_slot"`
	LastSlot  int    `json:"last_slot"`
	// Leader is the name of the node that says that it leads the group, or empty if none does.
	Leader    string    `json:"leader"`
	Term      uint64    `json:"term"`
	Voters    int       `json:"voters"`
	Answering int       `json:"answering"`
	Keys      int64     `json:"keys"`
	Replicas  []Replica `json:"replicas"`
}

// Replica is a replica of a group; Node is the node's name.
type Replica struct {
	Node string `json:"node"`
	Role string `json:"role"`
	Lag  uint64 `json:"lag"`
}

// Move is a replica that is being added or removed.
type Move struct {
	Shard uint32 `json:"shard"`
	Node  string `json:"node"`
	// State is one of placement's states. The replica has the entries up to Match of Last.
	State string `json:"state"`
	Match uint64 `json:"match"`
	Last  uint64 `json:"last"`
}

// movesShown bounds the moves and the steps of the plan that are shown.
const movesShown = 32

// Compose combines the reports of all nodes, on one clock. The report on placement may be missing.
func Compose(nowMs int64, c *status.Cluster, reports []NodeReport, r *placement.Report) *State {
	s := &State{NowMs: nowMs, Seen: c.Seen, ClusterID: c.ClusterID, Version: c.Version, Health: c.Health,
		// Empty lists are made so that JSON shows them as empty lists.
		Nodes: []Node{}, Locks: []Lock{}, Hot: []Hot{}, Changes: []Change{}, Moves: []Move{}, Plan: []placement.StepReport{}}
	var changes [][]Change
	led := map[string]Led{}
	byID := map[string]*NodeReport{}
	for i := range reports {
		t := &reports[i]
		byID[t.ID] = t
		changes = append(changes, t.Changes)
		s.Locks, s.Hot = append(s.Locks, t.Locks...), append(s.Hot, t.Hot...)
		for _, g := range t.Led {
			// A former leader that does not know yet that it has lost its leadership has an older
			// term.
			if g.Term >= led[g.Group].Term {
				led[g.Group] = g
			}
		}
	}
	s.Locks, s.Hot = MostWaitedFor(s.Locks, s.Hot)
	s.Changes = append(s.Changes, merge(changes)...)
	for i := range c.Nodes {
		s.Nodes = append(s.Nodes, nodeOf(&c.Nodes[i], byID[c.Nodes[i].ID]))
	}
	for i := range c.Layout {
		l := &c.Layout[i]
		s.Groups = append(s.Groups, groupOf(c, Group{Name: shardName(l.ID), FirstSlot: int(l.FirstSlot), LastSlot: int(l.LastSlot)}, led))
	}
	s.Groups = append(s.Groups, groupOf(c, Group{Name: metaName, FirstSlot: -1, LastSlot: -1}, led))
	if r != nil {
		s.move(r)
	}
	s.fillAlerts(c, byID)
	return s
}

func nodeOf(n *status.Node, t *NodeReport) Node {
	out := Node{
		ID: n.ID, Name: n.Name, State: n.Membership, Drained: n.Drained, Learner: n.Learner, Reachable: n.Reachable, Version: n.Version,
		UptimeSec: n.UptimeSec, ClientAddr: n.ClientAddr, Clients: n.Clients, OpsPerSec: n.OpsPerSec, Keys: n.Keys,
		UsedBytes: n.UsedBytes, RSSBytes: n.RSSBytes,
	}
	for i := range n.Groups {
		g := &n.Groups[i]
		out.Lag = max(out.Lag, g.Lag)
		switch leads := g.Role == "leader"; {
		case g.Name == metaName:
			out.LeadsMeta = leads
		case leads:
			out.Leads++
			out.Replicas++
		default:
			out.Replicas++
		}
	}
	if t != nil {
		out.MemoryBytes, out.MaxMemoryBytes, out.DiskFreeBytes, out.DiskBytes = t.MemoryBytes, t.MaxMemoryBytes, t.DiskFreeBytes, t.DiskBytes
	}
	return out
}

// groupOf fills in the replicas of the group and its leader.
func groupOf(c *status.Cluster, g Group, led map[string]Led) Group {
	g.Replicas = []Replica{}
	for i := range c.Nodes {
		at := c.Nodes[i].Group(g.Name)
		if at == nil {
			continue
		}
		// If two nodes say that they lead, the one with the newer term does.
		if at.Role == "leader" && at.Term >= g.Term {
			g.Leader, g.Term, g.Voters = c.Nodes[i].Name, at.Term, at.Voters
		}
		g.Replicas = append(g.Replicas, Replica{Node: c.Nodes[i].Name, Role: at.Role, Lag: at.Lag})
	}
	if l := led[g.Name]; l.Term == g.Term {
		g.Answering, g.Keys = l.Answering, l.Keys
	}
	return g
}

// move takes over the replicas that are being added or removed.
func (s *State) move(r *placement.Report) {
	for i := range r.Shards {
		shard := &r.Shards[i]
		for _, replica := range shard.Replicas {
			if replica.State != placement.StateVoter && len(s.Moves) < movesShown {
				s.Moves = append(s.Moves, Move{Shard: shard.Shard, Node: replica.Node, State: replica.State, Match: replica.Match, Last: shard.LastIndex})
			}
		}
	}
	s.Plan = append(s.Plan, r.Plan[:min(len(r.Plan), movesShown)]...)
}

// Addresses sets the addresses of the nodes' pages, by node id.
func (s *State) Addresses(admin map[string]string) {
	for i := range s.Nodes {
		s.Nodes[i].AdminAddr = admin[s.Nodes[i].ID]
	}
}

// rank puts critical alerts first.
func rank(alerts []Alert) {
	slices.SortStableFunc(alerts, func(a, b Alert) int {
		switch {
		case a.Level == b.Level:
			return 0
		case a.Level == Critical:
			return -1
		}
		return 1
	})
}
