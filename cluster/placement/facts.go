package placement

import (
	"slices"
	"time"

	"lockstep/cluster/meta"
)

// Facts are what is known of a cluster beside its view.
type Facts struct {
	// Nodes has the facts about each node by its id. A node that is missing is not alive.
	Nodes map[meta.NodeID]NodeFacts
	// Shards has the facts about each shard by its number. It is short or empty if nothing
	// is known.
	Shards []ShardFacts
}

// NodeFacts is what is known of a node.
type NodeFacts struct {
	// Alive: it has answered lately.
	Alive bool
	// Steady: it has been alive for a while, so that it may lead.
	Steady bool
	// Missing: it has not answered for so long that nothing need wait for it.
	Missing bool
	// Lost: it has been dead for so long that other nodes should get its replicas.
	Lost bool
	// ClockOff is how far its clock is ahead of the others', where that is more than it may be; else 0. It keeps its
	// replicas, and leads nothing that others can lead.
	ClockOff time.Duration
}

// ShardFacts is what a shard's leader says; the zero value: no leader is known.
type ShardFacts struct {
	// Leader is who leads the shard; empty: nobody, as far as is known.
	Leader meta.NodeID
	// Steady: it has led for a while.
	Steady bool
	// Members are the servers of the Raft group.
	Members []Member
	// LastIndex is the end of the leader's log.
	LastIndex uint64
	// Waits says in words why the leader does not change the members as the view
	// wants them.
	Waits string
}

// Member is a server of a shard's Raft group, as its leader sees it.
type Member struct {
	Node  meta.NodeID `json:"node"`
	Voter bool        `json:"voter"`
	// Match is the last log index that it is known to have; 0: none yet.
	Match uint64 `json:"match"`
	// SentBytes of SnapshotBytes are on their way to it; 0: it is sent no snapshot.
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

// Limits bound what is done at one time.
type Limits struct {
	// CopiesMax is how many shards may have a replica on its way at one time.
	CopiesMax int
	// Still: nothing is moved for the sake of balance alone.
	Still bool
}

// Kind is what a Step does.
type Kind string

const (
	// AddReplica wants a replica on Node.
	AddReplica Kind = "add"
	// DropReplica wants none on Node any more.
	DropReplica Kind = "drop"
	// MoveLeader gives the leadership to Node.
	MoveLeader Kind = "lead"
)

// Step is one change of one shard.
type Step struct {
	Kind  Kind
	Shard uint32
	Node  meta.NodeID
	// Was is where replicas are wanted before it.
	Was []meta.NodeID
	// Why says so in words.
	Why string
}

// Result is what Plan makes of a cluster.
type Result struct {
	// Steps may be carried out now, all of them.
	Steps []Step
	// Waits says in words what is wanted and cannot be done now, by shard.
	Waits map[uint32]string
	// Moving are the shards on which a change is under way.
	Moving []uint32
	// Balanced: nothing is left to do and nothing under way, nor is a node coming
	// or leaving.
	Balanced bool
}
