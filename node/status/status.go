// Package status is what a node tells of itself and of its cluster: the JSON
// that LOCKSTEP STATUS answers, clusterctl prints and the demo draws. Fields
// are only ever added.
package status

import "fmt"

// Health is the state of a cluster, or of one of its Raft groups.
type Health string

const (
	// Healthy: every voter answers and every group has a leader.
	Healthy Health = "healthy"
	// Degraded: every group has a leader, but a node is missing or behind.
	Degraded Health = "degraded"
	// NoQuorum: a group has no leader.
	NoQuorum Health = "no quorum"
)

// Cluster is the whole cluster as one node sees it.
type Cluster struct {
	ClusterID string `json:"cluster_id"`
	Health    Health `json:"health"`
	// Reasons say in words why the health is not Healthy.
	Reasons []string `json:"reasons,omitempty"`
	Nodes   []Node   `json:"nodes"`
	Shards  int      `json:"shards"`
	// Seen is the node that answered.
	Seen string `json:"seen_by"`
}

// Node is one node.
type Node struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	ClientAddr string `json:"client_addr"`
	PeerAddr   string `json:"peer_addr"`
	Membership string `json:"membership"`
	// Reachable is false when the node did not answer; what follows is then
	// empty.
	Reachable     bool    `json:"reachable"`
	Version       string  `json:"version,omitempty"`
	PID           int     `json:"pid,omitempty"`
	UptimeSec     int64   `json:"uptime_sec,omitempty"`
	Keys          int64   `json:"keys"`
	UsedBytes     int64   `json:"used_bytes"`
	RSSBytes      int64   `json:"rss_bytes"`
	OpsPerSec     int64   `json:"ops_per_sec"`
	Clients       int     `json:"clients"`
	CommandsTotal int64   `json:"commands_total"`
	Groups        []Group `json:"groups,omitempty"`
}

// Group is a node's replica of one Raft group.
type Group struct {
	// Name is "meta" or the shard's number.
	Name string `json:"name"`
	// Role is leader, follower, candidate or learner.
	Role      string `json:"role"`
	Term      uint64 `json:"term"`
	Committed uint64 `json:"committed"`
	Queued    uint64 `json:"queued"`
	Executed  uint64 `json:"executed"`
	LastIndex uint64 `json:"last_index"`
	Leader    string `json:"leader,omitempty"`
	Voters    int    `json:"voters"`
	// Lag is how many entries the replica is behind what it knows committed.
	Lag uint64 `json:"lag"`
}

// Group returns the node's group of that name, nil if it has none.
func (n *Node) Group(name string) *Group {
	for i := range n.Groups {
		if n.Groups[i].Name == name {
			return &n.Groups[i]
		}
	}
	return nil
}

// Judge fills in Health and Reasons from the nodes.
func (c *Cluster) Judge() {
	c.Health, c.Reasons = Healthy, nil
	for i := range c.Nodes {
		n := &c.Nodes[i]
		switch {
		case !n.Reachable:
			c.degrade("node %s does not answer", n.Name)
		case n.Membership != "member":
			c.degrade("node %s is %s", n.Name, n.Membership)
		}
	}
	for _, name := range c.groupNames() {
		c.judgeGroup(name)
	}
}

func (c *Cluster) degrade(format string, args ...any) {
	if c.Health == Healthy {
		c.Health = Degraded
	}
	c.Reasons = append(c.Reasons, fmt.Sprintf(format, args...))
}

func (c *Cluster) groupNames() []string {
	names := []string{"meta"}
	for i := range c.Shards {
		names = append(names, fmt.Sprint(i))
	}
	return names
}

func (c *Cluster) judgeGroup(name string) {
	leader := false
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if !n.Reachable {
			continue
		}
		g := n.Group(name)
		if g == nil {
			c.degrade("node %s has no replica of %s yet", n.Name, GroupTitle(name))
			continue
		}
		if g.Role == "leader" {
			leader = true
		}
		if g.Role == "learner" {
			c.degrade("node %s is a learner of %s", n.Name, GroupTitle(name))
		}
	}
	if !leader {
		c.Health = NoQuorum
		c.Reasons = append(c.Reasons, GroupTitle(name)+" has no leader")
	}
}

// GroupTitle is a group's name in a sentence.
func GroupTitle(name string) string {
	if name == "meta" {
		return "the meta group"
	}
	return "shard " + name
}
