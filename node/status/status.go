// Package status is what a node reports on itself and of its cluster: the JSON
// that LOCKSTEP STATUS answers, clusterctl prints and the demo draws. Fields
// are only ever added.
package status

import (
	"fmt"
	"net"
	"slices"
	"strconv"
)

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
	// Version is the cluster's version: what nodes may write.
	Version int `json:"cluster_version"`
	// Reasons say in words why the health is not Healthy.
	Reasons []string `json:"reasons,omitempty"`
	Nodes   []Node   `json:"nodes"`
	// Removed are nodes that are no longer part of the cluster, oldest first, as
	// far as they are remembered.
	Removed []Removed `json:"removed,omitempty"`
	Shards  int       `json:"shards"`
	// Wanted is how many replicas each shard should have; 0: one on every node.
	Wanted int `json:"replicas_wanted,omitempty"`
	// Layout says which hash slots the shards have and where they are.
	Layout []Shard `json:"layout,omitempty"`
	// LastBackupMs is when the newest backup began that was read back, in Unix time;
	// 0: none is known of.
	LastBackupMs int64 `json:"last_backup_ms,omitempty"`
	// Seen is the node that answered.
	Seen string `json:"seen_by"`
}

// Removed is a node that was taken out.
type Removed struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// ReplacedBy is the id of the node that took its place, if one did.
	ReplacedBy string `json:"replaced_by,omitempty"`
}

// Shard is the place of one shard.
type Shard struct {
	ID        uint32 `json:"id"`
	FirstSlot uint16 `json:"first_slot"`
	LastSlot  uint16 `json:"last_slot"`
	// Leader is the name of the node that leads it; empty: none is known.
	Leader string `json:"leader,omitempty"`
	// Replicas are the names of the nodes that should have one, and ReplicaIDs
	// their ids, in order.
	Replicas   []string `json:"replicas"`
	ReplicaIDs []string `json:"replica_ids"`
	// Going are the names of nodes that should not have one any more.
	Going []string `json:"going,omitempty"`
}

// Node is one node.
type Node struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	ClientAddr string `json:"client_addr"`
	PeerAddr   string `json:"peer_addr"`
	// TLSPort is the port of client_addr's host for clients under TLS; 0: none.
	TLSPort    int    `json:"tls_port,omitempty"`
	Membership string `json:"membership"`
	// Drained: it leads nothing and is given nothing to lead.
	Drained bool `json:"drained,omitempty"`
	// Learner: it follows every group without a vote, until it is promoted.
	Learner bool `json:"learner,omitempty"`
	// Reachable is false when the node did not answer; what follows is then
	// empty.
	Reachable    bool   `json:"reachable"`
	Version      string `json:"version,omitempty"`
	KnowsVersion int    `json:"knows_cluster_version"`
	// LogStore is what keeps the node's Raft logs, WantedLogStore what raft-log-store
	// says: a data folder keeps the store that it was made with.
	LogStore       string  `json:"log_store,omitempty"`
	WantedLogStore string  `json:"wanted_log_store,omitempty"`
	PID            int     `json:"pid,omitempty"`
	UptimeSec      int64   `json:"uptime_sec,omitempty"`
	Keys           int64   `json:"keys"`
	UsedBytes      int64   `json:"used_bytes"`
	RSSBytes       int64   `json:"rss_bytes"`
	OpsPerSec      int64   `json:"ops_per_sec"`
	Clients        int     `json:"clients"`
	CommandsTotal  int64   `json:"commands_total"`
	Groups         []Group `json:"groups,omitempty"`
	// ClockOffMs is how far the node's clock is ahead of what a majority of the nodes say, negative: behind; 0: it is
	// not, or no majority says anything. ClockLimitMs is how far it may be, and lead where others can.
	ClockOffMs   float64 `json:"clock_off_ms,omitempty"`
	ClockLimitMs int64   `json:"clock_limit_ms,omitempty"`
}

// ClockWrong tells whether the node's clock is further off than it may be.
func (n *Node) ClockWrong() bool {
	return n.ClockLimitMs > 0 && max(n.ClockOffMs, -n.ClockOffMs) > float64(n.ClockLimitMs)
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
	// Version is the cluster version that the replica's shard has come to.
	Version int64 `json:"cluster_version,omitempty"`
	// Keys is how many keys a shard's replica has.
	Keys int64 `json:"keys,omitempty"`
	// Lag is how many entries the replica is behind what is known committed: by
	// itself, and in a Cluster by any node that answered.
	Lag uint64 `json:"lag"`
	// SilentMs is for how long the leader has not been heard; 0 on the leader.
	SilentMs int64 `json:"silent_ms,omitempty"`
	// ClockAheadMs is, on a shard's leader, how far the shard's time of day is ahead of what a majority of its voters
	// say; negative: behind. DayOffsetMs leads from the shard's log time to its time of day.
	ClockAheadMs float64 `json:"clock_ahead_ms,omitempty"`
	DayOffsetMs  int64   `json:"day_offset_ms,omitempty"`
	// ClockUnknown: too few of the voters have told the leader what their clocks show.
	ClockUnknown bool `json:"clock_unknown,omitempty"`
	// Waits says, on the leader, what keeps it from changing the group's members
	// as it should.
	Waits string `json:"waits,omitempty"`
	// VotersAwaited is how many voters a group must have before it takes writes, where
	// the node has founded the cluster and they are not there yet; 0: it takes them.
	VotersAwaited int `json:"voters_awaited,omitempty"`
}

// Keys is how many keys the cluster has: of each shard, what its leader says, or
// where none is known the replica that has most.
func (c *Cluster) Keys() int64 {
	sum := int64(0)
	for i := range c.Shards {
		most := int64(0)
		for j := range c.Nodes {
			g := c.Nodes[j].Group(strconv.Itoa(i))
			if g != nil && g.Role == "leader" {
				most = g.Keys
				break
			}
			if g != nil {
				most = max(most, g.Keys)
			}
		}
		sum += most
	}
	return sum
}

// AddrFor is where clients find the node that speak TLS, or do not.
func (n *Node) AddrFor(secured bool) string {
	host, _, err := net.SplitHostPort(n.ClientAddr)
	if !secured || n.TLSPort == 0 || err != nil {
		return n.ClientAddr
	}
	return net.JoinHostPort(host, strconv.Itoa(n.TLSPort))
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
	for _, w := range c.Waiting() {
		c.degrade("%s", w)
	}
	c.judgePlacement()
	c.judgeFounding()
	for _, name := range c.groupNames() {
		c.measureLag(name)
		c.judgeGroup(name)
	}
}

// judgeFounding tells which groups take no writes, for the cluster is not whole yet.
func (c *Cluster) judgeFounding() {
	for i := range c.Nodes {
		for _, g := range c.Nodes[i].Groups {
			if g.VotersAwaited > 0 {
				c.degrade("%s takes no writes until %d nodes vote in it; it has %d voters", GroupTitle(g.Name), g.VotersAwaited, g.Voters)
			}
		}
	}
}

// measureLag compares the replicas of a group: one that its leader cannot reach
// does not know what it lacks.
func (c *Cluster) measureLag(name string) {
	var replicas []*Group
	committed := uint64(0)
	for i := range c.Nodes {
		if g := c.Nodes[i].Group(name); g != nil && c.Nodes[i].Reachable {
			replicas = append(replicas, g)
			committed = max(committed, g.Committed)
		}
	}
	for _, g := range replicas {
		g.Lag = max(g.Lag, committed-min(committed, g.Executed))
	}
}

// SilentMostMs is for how long a replica may not hear its leader: elections are
// shorter by far.
const SilentMostMs = 10_000

// judgePlacement tells what is wanted and not there, or moving.
func (c *Cluster) judgePlacement() {
	live := 0
	for i := range c.Nodes {
		if n := &c.Nodes[i]; !n.Learner && (n.Membership == "member" || n.Membership == "joining") {
			live++
		}
	}
	for _, p := range c.Layout {
		if want := min(c.Wanted, live); len(p.Replicas) < want {
			c.degrade("shard %d has %d of %d replicas", p.ID, len(p.Replicas), want)
		}
		for _, name := range p.Going {
			c.degrade("node %s has not given up its replica of shard %d yet", name, p.ID)
		}
	}
}

// expects tells whether a node should have a replica of a group. A status of a
// node that does not tell where replicas are comes from one that has all
// everywhere.
func (c *Cluster) expects(n *Node, group string) bool {
	i := slices.IndexFunc(c.Layout, func(s Shard) bool { return fmt.Sprint(s.ID) == group })
	return i < 0 || slices.Contains(c.Layout[i].ReplicaIDs, n.ID)
}

// Waiting says in words what keeps groups from changing their members as they
// should.
func (c *Cluster) Waiting() []string {
	var all []string
	for i := range c.Nodes {
		for _, g := range c.Nodes[i].Groups {
			if g.Waits != "" {
				all = append(all, fmt.Sprintf("%s waits with a change of its members: %s", GroupTitle(g.Name), g.Waits))
			}
		}
	}
	return all
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
	var deaf []string
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if !n.Reachable {
			continue
		}
		g := n.Group(name)
		expected := c.expects(n, name)
		if g == nil && !expected {
			continue
		}
		if g == nil {
			c.degrade("node %s has no replica of %s yet", n.Name, GroupTitle(name))
			continue
		}
		switch {
		case g.Role == "leader":
			leader = true
		case g.SilentMs > SilentMostMs && expected:
			deaf = append(deaf, fmt.Sprintf("node %s has not heard the leader of %s for %d s", n.Name, GroupTitle(name), g.SilentMs/1000))
		}
		// A full meta group has members that do not vote.
		if g.Role == "learner" && !n.Learner && expected && (name != "meta" || g.Voters < metaVotersFull) {
			c.degrade("node %s is a learner of %s", n.Name, GroupTitle(name))
		}
	}
	if !leader {
		c.Health = NoQuorum
		c.Reasons = append(c.Reasons, GroupTitle(name)+" has no leader")
		return
	}
	for _, why := range deaf {
		c.degrade("%s", why)
	}
}

// metaVotersFull is how many voters the meta group has when it takes no more.
const metaVotersFull = 5

// GroupTitle is a group's name in a sentence.
func GroupTitle(name string) string {
	if name == "meta" {
		return "the meta group"
	}
	return "shard " + name
}
