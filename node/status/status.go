// Package status defines what a node reports on itself and on its cluster: the JSON that LOCKSTEP
// STATUS answers, clusterctl prints and the demo draws. Fields are only ever added.
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
	// Healthy means that every voter answers and every group has a leader.
	Healthy Health = "healthy"
	// Degraded means that every group has a leader, but a node is missing or behind.
	Degraded Health = "degraded"
	// NoQuorum means that a group has no leader.
	NoQuorum Health = "no quorum"
)

// Cluster is the whole cluster as one node sees it.
type Cluster struct {
	ClusterID string `json:"cluster_id"`
	Health    Health `json:"health"`
	// Version is the cluster's version, which decides what nodes may write.
	Version int `json:"cluster_version"`
	// Reasons are texts that say why the health is not Healthy.
	Reasons []string `json:"reasons,omitempty"`
	Nodes   []Node   `json:"nodes"`
	// Removed are nodes that are no longer part of the cluster, oldest first, as far as the cluster
	// remembers them.
	Removed []Removed `json:"removed,omitempty"`
	Shards  int       `json:"shards"`
	// Wanted is how many replicas each shard should have; 0 means one on every node.
	Wanted int `json:"replicas_wanted,omitempty"`
	// Layout says which hash slots the shards have and where they are.
	Layout []Shard `json:"layout,omitempty"`
	// LastBackupMs is when the newest backup began that was read back, in Unix time, or 0 if none
	// is known.
	LastBackupMs int64 `json:"last_backup_ms,omitempty"`
	// Seen is the node that answered.
	Seen string `json:"seen_by"`
}

// Removed is a node that was removed.
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
	// Leader is the name of the node that leads it, or empty if no leader is known.
	Leader string `json:"leader,omitempty"`
	// Replicas are the names of the nodes that should have a replica, and ReplicaIDs their ids in
	// the same order.
	Replicas   []string `json:"replicas"`
	ReplicaIDs []string `json:"replica_ids"`
	// Going are the names of nodes that should no longer have a replica.
	Going []string `json:"going,omitempty"`
}

// Node is one node.
type Node struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	ClientAddr string `json:"client_addr"`
	PeerAddr   string `json:"peer_addr"`
	// TLSPort is the port of client_addr's host for clients under TLS, or 0 if there is none.
	TLSPort    int    `json:"tls_port,omitempty"`
	Membership string `json:"membership"`
	// Drained means that the node leads no group and is given none to lead.
	Drained bool `json:"drained,omitempty"`
	// Learner means that the node follows every group without a vote, until it is promoted.
	Learner bool `json:"learner,omitempty"`
	// Reachable is false if the node did not answer; the fields below are then empty.
	Reachable    bool   `json:"reachable"`
	Version      string `json:"version,omitempty"`
	KnowsVersion int    `json:"knows_cluster_version"`
	// LogStore is the kind of store of the node's Raft logs, WantedLogStore the setting
	// raft-log-store: a data folder keeps the kind that it was made with.
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
	// ClockOffMs is how far the node's clock is ahead of a majority of the nodes, negative if it is
	// behind. It is 0 if it agrees, or if there is no majority. ClockLimitMs is the limit beyond
	// which the node leads only if no other can.
	ClockOffMs   float64 `json:"clock_off_ms,omitempty"`
	ClockLimitMs int64   `json:"clock_limit_ms,omitempty"`
}

// ClockWrong reports whether the node's clock is off by more than the limit.
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
	// Version is the cluster version that the replica of the shard has reached.
	Version int64 `json:"cluster_version,omitempty"`
	// Keys is how many keys a shard's replica has.
	Keys int64 `json:"keys,omitempty"`
	// Lag is how many entries the replica is behind the highest index known to be committed: known
	// to the replica itself, and in a Cluster to any node that answered.
	Lag uint64 `json:"lag"`
	// SilentMs is how long the leader has not been heard; 0 on the leader.
	SilentMs int64 `json:"silent_ms,omitempty"`
	// ClockAheadMs is, on a shard's leader, how far the shard's time of day is ahead of that of a
	// majority of its voters, negative if it is behind. DayOffsetMs is the shard's time of day
	// minus its log time.
	ClockAheadMs float64 `json:"clock_ahead_ms,omitempty"`
	DayOffsetMs  int64   `json:"day_offset_ms,omitempty"`
	// ClockUnknown means that too few voters have told the leader their time.
	ClockUnknown bool `json:"clock_unknown,omitempty"`
	// Waits says, on the leader, what keeps it from changing the group's members as it should.
	Waits string `json:"waits,omitempty"`
	// VotersAwaited is how many voters a group must have before it takes writes, if the node has
	// founded the cluster and they are still missing. It is 0 if the group takes writes.
	VotersAwaited int `json:"voters_awaited,omitempty"`
}

// Keys is the number of keys of the cluster: for each shard that of its leader, or of the replica
// with the most keys if no leader is known.
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

// AddrFor is the address of the node for clients that speak TLS, or for those that do not.
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

// judgeFounding reports the groups that take no writes because the cluster is not complete yet.
func (c *Cluster) judgeFounding() {
	for i := range c.Nodes {
		for _, g := range c.Nodes[i].Groups {
			if g.VotersAwaited > 0 {
				c.degrade("%s takes no writes until %d nodes vote in it; it has %d voters", GroupTitle(g.Name), g.VotersAwaited, g.Voters)
			}
		}
	}
}

// measureLag compares the replicas of a group, because a replica that its leader cannot reach does
// not know how far it is behind.
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

// SilentMostMs is how long a replica may be without news of its leader. Elections are far shorter.
const SilentMostMs = 10_000

// judgePlacement reports replicas that are missing or moving.
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

// expects reports whether a node should have a replica of a group. If a status has no layout, it
// comes from a node that has all replicas everywhere.
func (c *Cluster) expects(n *Node, group string) bool {
	i := slices.IndexFunc(c.Layout, func(s Shard) bool { return fmt.Sprint(s.ID) == group })
	return i < 0 || slices.Contains(c.Layout[i].ReplicaIDs, n.ID)
}

// Waiting are texts that say what keeps groups from changing their members as they should.
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
		// A full meta group has members without a vote.
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

// metaVotersFull is the maximum number of voters of the meta group.
const metaVotersFull = 5

// GroupTitle is a group's name in a sentence.
func GroupTitle(name string) string {
	if name == "meta" {
		return "the meta group"
	}
	return "shard " + name
}
