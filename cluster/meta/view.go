package meta

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"lockstep/engine/hashslot"
)

// GroupID is the meta group's number among the Raft groups; shards count from 0.
const GroupID uint32 = 1<<32 - 1

// NodeID names one node for ever: its name, a dot, and its incarnation in hex.
type NodeID string

// MakeNodeID puts a node id together.
func MakeNodeID(name string, incarnation uint64) NodeID {
	const width = 16
	id := append(make([]byte, 0, len(name)+1+width), name...)
	id = append(id, '.')
	id = hex.AppendEncode(id, binary.BigEndian.AppendUint64(make([]byte, 0, 8), incarnation))
	return NodeID(id)
}

// Incarnation is the part of the id that is the node's own number; 0: the id is none.
func (id NodeID) Incarnation() uint64 {
	dot := strings.LastIndexByte(string(id), '.')
	if dot < 0 {
		return 0
	}
	n, err := strconv.ParseUint(string(id[dot+1:]), 16, 64)
	if err != nil || MakeNodeID(string(id[:dot]), n) != id {
		return 0
	}
	return n
}

// NodeState is how far a node's membership has come.
type NodeState string

const (
	// Joining: known to the cluster; it has not caught up with the meta group yet.
	Joining NodeState = "joining"
	// Member: it follows the meta group, as a voter or, where there are enough
	// of those, as a non-voter.
	Member NodeState = "member"
	// Leaving: its replicas are being taken away, shard by shard.
	Leaving NodeState = "leaving"
	// Removed: gone; its id stays known for a while so that it can be told.
	Removed NodeState = "removed"
)

// Live reports whether the node should hold replicas.
func (s NodeState) Live() bool { return s == Joining || s == Member }

// Node is one node of the cluster, or one that was.
type Node struct {
	ID          NodeID `json:"id"`
	Name        string `json:"name"`
	Incarnation uint64 `json:"incarnation"`
	// PeerAddr is where other nodes reach it, "host:port"; the host is a name
	// that is resolved at each dial, or an IP.
	PeerAddr string `json:"peer_addr"`
	// ClientAddr is what clients are told to dial, and Hostname, if it is
	// announced, the name that may stand for its host.
	ClientAddr string `json:"client_addr"`
	Hostname   string `json:"hostname,omitempty"`
	AdminAddr  string `json:"admin_addr,omitempty"`
	// TLSPort is the port of the same host for clients under TLS, 0: there is none.
	// Where it is ClientAddr's there is no other.
	TLSPort int       `json:"tls_port,omitempty"`
	Version string    `json:"version,omitempty"`
	State   NodeState `json:"state"`
	// Drained: it should have no replicas and lead nothing; see MarkDrained.
	Drained bool `json:"drained,omitempty"`
	// Learner: it follows every group and votes in none, until it is promoted.
	Learner bool `json:"learner,omitempty"`
	// Forced: its removal was ordered although it may cost a quorum.
	Forced bool `json:"forced,omitempty"`
	// DetachedFrom lists, in order, the groups that a leaving node has left: the
	// shards, and at last the meta group.
	DetachedFrom []uint32 `json:"detached_from,omitempty"`
	// ReplacedBy is the node that took this one's place, if one did.
	ReplacedBy NodeID `json:"replaced_by,omitempty"`
}

// HashSeed keys the hash tables of one shard's engines, alike on all replicas.
type HashSeed [16]byte

// MarshalText writes the seed in hex.
func (s HashSeed) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, s[:]), nil }

// UnmarshalText reads a seed in hex.
func (s *HashSeed) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(s) {
		return fmt.Errorf("meta: a hash seed has %d hex digits, not %d", 2*len(s), len(text))
	}
	_, err := hex.Decode(s[:], text)
	return err
}

// Creation holds the choices made when the cluster was created, for ever.
type Creation struct {
	// CreatedMs is when, in Unix time; for people.
	CreatedMs int64 `json:"created_ms"`
	// LockSlots is the size of every engine's lock table.
	LockSlots int `json:"lock_slots"`
	// HeartbeatMs and ElectionMs must be equal on all nodes, for the read
	// lease rests on them.
	HeartbeatMs int `json:"heartbeat_ms"`
	ElectionMs  int `json:"election_ms"`
	// Replicas is how many replicas each shard was wanted to have; 0: one on every
	// node (View.Placed).
	Replicas int `json:"replicas,omitempty"`
	// Seeds has one hash seed per shard, so its length is the number of shards.
	Seeds []HashSeed `json:"seeds"`
}

// Shards is the number of shards.
func (c *Creation) Shards() int { return len(c.Seeds) }

// Shard is one shard's place: its hash slots and who replicates it.
type Shard struct {
	ID        uint32 `json:"id"`
	FirstSlot uint16 `json:"first_slot"`
	LastSlot  uint16 `json:"last_slot"`
	// Replicas are the nodes that should have a replica, ordered by id.
	Replicas []NodeID `json:"replicas"`
	// Going are nodes that should not have one any more, and may still.
	Going []Going `json:"going,omitempty"`
}

// View is the meta group's state at one moment. It never changes.
type View struct {
	// ClusterID is empty until the cluster is created.
	ClusterID string `json:"cluster_id"`
	// ClusterVersion says what nodes may write (package version).
	ClusterVersion int `json:"cluster_version"`
	// Epoch grows by one with every change.
	Epoch uint64 `json:"epoch"`
	// Index is the log index of the last applied command.
	Index    uint64   `json:"index"`
	Creation Creation `json:"creation"`
	// Replicas is how many replicas each shard is wanted to have; 0: one on every
	// node (Placed).
	Replicas int `json:"replicas_wanted,omitempty"`
	// Nodes are ordered by id; removed ones are in Tombstones.
	Nodes []Node `json:"nodes"`
	// Tombstones are the newest removed nodes, oldest first.
	Tombstones []Node            `json:"tombstones,omitempty"`
	Shards     []Shard           `json:"shards"`
	Settings   map[string]string `json:"settings,omitempty"`
	// Users are ordered by name; UserChanges counts their changes.
	Users       []User `json:"users,omitempty"`
	UserChanges uint64 `json:"user_changes,omitempty"`
	// Done are the newest commands, oldest first. Forgotten is the index of the last
	// command before them, which is not remembered any more.
	Done      []Done `json:"done,omitempty"`
	Forgotten uint64 `json:"forgotten,omitempty"`

	// shardOfSlot is shared by all views: shards keep their slots.
	shardOfSlot *[hashslot.Count]uint16
}

// ShardOfSlot returns the number of the shard that owns a hash slot; 0 while
// the cluster has not been created.
func (v *View) ShardOfSlot(slot uint16) int { return int(v.shardOfSlot[slot]) }

// Created reports whether the cluster exists yet.
func (v *View) Created() bool { return v.ClusterID != "" }

// Node finds a node by id, also a removed one that is still known.
func (v *View) Node(id NodeID) (Node, bool) {
	if i, ok := findNode(v.Nodes, id); ok {
		return v.Nodes[i], true
	}
	for i := range v.Tombstones {
		if v.Tombstones[i].ID == id {
			return v.Tombstones[i], true
		}
	}
	return Node{}, false
}

// ByIncarnation finds a node that has not been removed by its incarnation.
func (v *View) ByIncarnation(incarnation uint64) (Node, bool) {
	for i := range v.Nodes {
		if v.Nodes[i].Incarnation == incarnation {
			return v.Nodes[i], true
		}
	}
	return Node{}, false
}

// Lookup finds a node that has not been removed by its id or its name. Of two
// with one name, the live one is meant.
func (v *View) Lookup(idOrName string) (Node, bool) {
	if i, ok := findNode(v.Nodes, NodeID(idOrName)); ok {
		return v.Nodes[i], true
	}
	found := -1
	for i := range v.Nodes {
		if v.Nodes[i].Name == idOrName && (found < 0 || v.Nodes[i].State.Live()) {
			found = i
		}
	}
	if found < 0 {
		return Node{}, false
	}
	return v.Nodes[found], true
}

// ByPeerAddr finds the node that is reached at a peer address, the live one if
// one is leaving the same address.
func (v *View) ByPeerAddr(addr string) (Node, bool) {
	found := -1
	for i := range v.Nodes {
		if v.Nodes[i].PeerAddr == addr && (found < 0 || v.Nodes[i].State.Live()) {
			found = i
		}
	}
	if found < 0 {
		return Node{}, false
	}
	return v.Nodes[found], true
}

// Live returns the nodes that should hold replicas.
func (v *View) Live() []Node {
	live := make([]Node, 0, len(v.Nodes))
	for _, n := range v.Nodes {
		if n.State.Live() {
			live = append(live, n)
		}
	}
	return live
}

// HasLeftShards reports whether every shard has let go of a node.
func (v *View) HasLeftShards(n Node) bool {
	if n.State == Removed {
		return true
	}
	left := len(n.DetachedFrom)
	if left > 0 && n.DetachedFrom[left-1] == GroupID {
		left--
	}
	return left == len(v.Shards)
}

// clone copies what a command may change.
func (v *View) clone() *View {
	c := *v
	c.Nodes = slices.Clone(v.Nodes)
	c.Tombstones = slices.Clone(v.Tombstones)
	c.Shards = slices.Clone(v.Shards)
	c.Settings = maps.Clone(v.Settings)
	if c.Settings == nil {
		c.Settings = map[string]string{}
	}
	return &c
}

// finish derives what follows from the rest.
func (v *View) finish() {
	if len(v.Shards) == 0 {
		v.shardOfSlot = new([hashslot.Count]uint16)
		return
	}
	if !v.Placed() {
		v.placeEverywhere()
	}
	if v.shardOfSlot == nil {
		v.shardOfSlot = slotTable(v.Shards)
	}
}

// placeEverywhere wants a replica of every shard on every live node.
func (v *View) placeEverywhere() {
	live := v.Live()
	replicas := make([]NodeID, len(live))
	for i := range live {
		replicas[i] = live[i].ID
	}
	for i := range v.Shards {
		v.Shards[i].Replicas = replicas
	}
}

func findNode(nodes []Node, id NodeID) (int, bool) {
	return slices.BinarySearchFunc(nodes, id, func(n Node, id NodeID) int {
		return strings.Compare(string(n.ID), string(id))
	})
}
