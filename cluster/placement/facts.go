package placement

import (
	"slices"
	"time"

	"lockstep/cluster/meta"
)

// Facts are what is known about a cluster in addition to its view.
type Facts struct {
	// Nodes has the facts about each node by its id. A node that is missing is not alive.
	Nodes map[meta.NodeID]NodeFacts
	// Shards has the facts about each shard by its number. It may be shorter than the number of
	// shards; nothing is known about the rest.
	Shards []ShardFacts
}

// NodeFacts is what is known of a node.
type NodeFacts struct {
	// Alive is true if the node has answered lately.
	Alive bool
	// Steady is true if the node has been alive for a while, so that it may lead.
	Steady bool
	// Missing is true if the node has been silent for so long that no change should wait for it.
	Missing bool
	// Lost is true if the node has been dead for so long that other nodes should get its replicas.
	Lost bool
	// ClockOff is how far the node's clock is ahead of the others', or 0 if the difference is
	// allowed. A node with a wrong clock keeps its replicas, and leads only shards that no other
	// node can lead.
	ClockOff time.Duration
}

// ShardFacts is what a shard's leader reports. It is zero if no leader is known.
type ShardFacts struct {
	// Leader is the shard's leader, or empty if none is known.
	Leader meta.NodeID
	// Steady is true if the leader has led for a while.
	Steady bool
	// Members are the servers of the Raft group.
	Members []Member
	// LastIndex is the end of the leader's log.
	LastIndex uint64
	// Waits says in words why the leader does not change the members as the view wants.
	Waits string
}

// Member is a server of a shard's Raft group, as its leader sees it.
type Member struct {
	Node  meta.NodeID `json:"node"`
	Voter bool        `json:"voter"`
	// Match is the last log index that the server is known to have; 0 means none yet.
	Match uint64 `json:"match"`
	// SentBytes of SnapshotBytes have been sent to the server; both are 0 if no snapshot is being
	// sent.
	SentBytes     int64 `json:"sent_bytes,omitempty"`
	SnapshotBytes int64 `json:"snapshot_bytes,omitempty"`
}

func (f *Facts) node(id meta.NodeID) NodeFacts { return f.Nodes[id] }

func (f *Facts) shard(i int) ShardFacts {
	if i < len(f.Shards) {
		return f.Shards[i]
	}
	return ShardFacts{}
}

// Votes reports whether a node is a voter of the shard.
func (s *ShardFacts) Votes(id meta.NodeID) bool {
	return slices.ContainsFunc(s.Members, func(m Member) bool { return m.Voter && m.Node == id })
}

// has reports whether a node is a server of the shard's group.
func (s *ShardFacts) has(id meta.NodeID) bool {
	return slices.ContainsFunc(s.Members, func(m Member) bool { return m.Node == id })
}

// Limits bound what is done at the same time.
type Limits struct {
	// CopiesMax is how many shards may be copying a replica at the same time.
	CopiesMax int
	// Still is true if nothing may be moved only for balance.
	Still bool
}

// Kind is the kind of a Step.
type Kind string

const (
	// AddReplica puts a replica on Node.
	AddReplica Kind = "add"
	// DropReplica removes the replica on Node.
	DropReplica Kind = "drop"
	// MoveLeader moves the leadership to Node.
	MoveLeader Kind = "lead"
)

// Step is one change of one shard.
type Step struct {
	Kind  Kind
	Shard uint32
	Node  meta.NodeID
	// Was lists the nodes that should have a replica before the step.
	Was []meta.NodeID
	// Why is the reason in words.
	Why string
}

// Result is the result of Plan.
type Result struct {
	// Steps may all be carried out now.
	Steps []Step
	// Waits says in words, by shard, which wanted change is not possible now.
	Waits map[uint32]string
	// Moving are the shards on which a change is under way.
	Moving []uint32
	// Balanced is true if nothing is left to do, no change is under way, and no node is joining or
	// leaving.
	Balanced bool
}
