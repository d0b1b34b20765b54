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

// GroupID is the number of the meta group among the Raft groups. Shards count from 0.
const GroupID uint32 = 1<<32 - 1

// NodeID identifies one node for ever: its name, a dot, and its incarnation in hex.
type NodeID string

// MakeNodeID makes a node id from its parts.
func MakeNodeID(name string, incarnation uint64) NodeID {
	const width = 16
	id := append(make([]byte, 0, len(name)+1+width), name...)
	id = append(id, '.')
	id = hex.AppendEncode(id, binary.BigEndian.AppendUint64(make([]byte, 0, 8), incarnation))
	return NodeID(id)
}

// Incarnation returns the incarnation in the id, or 0 if the id is not valid.
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

// NodeState is the state of a node's membership.
type NodeState string

const (
	// Joining: the cluster knows the node, but the node has not caught up with the meta group yet.
	Joining NodeState = "joining"
	// Member: the node follows the meta group, as a voter or, if there are enough voters, as a
	// non-voter.
	Member NodeState = "member"
	// Leaving: the cluster is removing the node's replicas, shard by shard.
	Leaving NodeState = "leaving"
	// Removed: the node is gone. The cluster remembers its id for a while, so that the node can
	// learn of its removal.
	Removed NodeState = "removed"
)

// Live reports whether the node should hold replicas.
func (s NodeState) Live() bool { return s == Joining || s == Member }

// Node is a current or former node of the cluster.
type Node struct {
	ID          NodeID `json:"id"`
	Name        string `json:"name"`
	Incarnation uint64 `json:"incarnation"`
	// PeerAddr is where other nodes reach the node, "host:port". The host is an IP, or a name that
	// is resolved at each dial.
	PeerAddr string `json:"peer_addr"`
	// ClientAddr is the address that clients are told to dial. Hostname, if announced, is a name
	// that may replace its host.
	ClientAddr string `json:"client_addr"`
	Hostname   string `json:"hostname,omitempty"`
	AdminAddr  string `json:"admin_addr,omitempty"`
	// TLSPort is the port for clients under TLS on the same host, or 0 if there is none. If it
	// equals the port of ClientAddr, there is no port without TLS.
	TLSPort int       `json:"tls_port,omitempty"`
	Version string    `json:"version,omitempty"`
	State   NodeState `json:"state"`
	// Drained is true if the node should have no replicas and lead nothing; see MarkDrained.
	Drained bool `json:"drained,omitempty"`
	// Learner is true if the node follows every group and votes in none, until it is promoted.
	Learner bool `json:"learner,omitempty"`
	// Forced is true if its removal was ordered even if it costs a quorum.
	Forced bool `json:"forced,omitempty"`
	// DetachedFrom lists the groups that a leaving node has left, in order: the shards, and last
	// the meta group.
	DetachedFrom []uint32 `json:"detached_from,omitempty"`
	// ReplacedBy is the node that took this one's place, if there is one.
	ReplacedBy NodeID `json:"replaced_by,omitempty"`
}

// HashSeed is the key of the hash tables of one shard's engines. It is the same on all replicas.
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

// Creation holds the choices made when the cluster was created. They never change.
type Creation struct {
	// CreatedMs is the time of creation, in Unix milliseconds. It is only shown to people.
	CreatedMs int64 `json:"created_ms"`
	// LockSlots is the size of every engine's lock table.
	LockSlots int `json:"lock_slots"`
	// HeartbeatMs and ElectionMs must be equal on all nodes, because the read lease depends on
	// them.
	HeartbeatMs int `json:"heartbeat_ms"`
	ElectionMs  int `json:"election_ms"`
	// Replicas is how many replicas each shard was to have at creation; 0 means one on every node
	// (View.Placed).
	Replicas int `json:"replicas,omitempty"`
	// Seeds has one hash seed per shard, so its length is the number of shards.
	Seeds []HashSeed `json:"seeds"`
}

// Shards is the number of shards.
func (c *Creation) Shards() int { return len(c.Seeds) }

// Shard is one shard: its hash slots, and the nodes that replicate it.
type Shard struct {
	ID        uint32 `json:"id"`
	FirstSlot uint16 `json:"first_slot"`
	LastSlot  uint16 `json:"last_slot"`
	// Replicas are the nodes that should have a replica, ordered by id.
	Replicas []NodeID `json:"replicas"`
	// Going are replicas that should no longer exist and have not been deleted yet.
	Going []Going `json:"going,omitempty"`
}

// View is the meta group's state at one moment. It never changes.
type View struct {
	// ClusterID is empty until the cluster is created.
	ClusterID string `json:"cluster_id"`
	// ClusterVersion decides what nodes may write (package version).
	ClusterVersion int `json:"cluster_version"`
	// Epoch grows by one with every change.
	Epoch uint64 `json:"epoch"`
	// Index is the log index of the last applied command.
	Index    uint64   `json:"index"`
	Creation Creation `json:"creation"`
	// Replicas is how many replicas each shard should have; 0 means one on every node (Placed).
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
	// Done are the newest commands, oldest first. Forgotten is the index of the last command before
	// them that is no longer remembered.
	Done      []Done `json:"done,omitempty"`
	Forgotten uint64 `json:"forgotten,omitempty"`

	// shardOfSlot is shared by all views: the slots of a shard never change.
	shardOfSlot *[hashslot.Count]uint16
}

// ShardOfSlot returns the number of the shard that owns a hash slot. Before the cluster is created
// it returns 0.
func (v *View) ShardOfSlot(slot uint16) int { return int(v.shardOfSlot[slot]) }

// Created reports whether the cluster exists yet.
func (v *View) Created() bool { return v.ClusterID != "" }

// Node finds a node by id. It also finds a removed node that is still remembered.
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

// ByIncarnation finds a node by its incarnation, unless it has been removed.
func (v *View) ByIncarnation(incarnation uint64) (Node, bool) {
	for i := range v.Nodes {
		if v.Nodes[i].Incarnation == incarnation {
			return v.Nodes[i], true
		}
	}
	return Node{}, false
}

// Lookup finds a node by its id or its name, unless it has been removed. If two nodes have the
// name, it prefers the live one.
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

// ByPeerAddr finds the node with a peer address. If a leaving node has the same address as a live
// one, it returns the live one.
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

// HasLeftShards reports whether every shard has removed a node.
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

// clone copies the parts that a command may change.
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

// derive computes the fields that are derived from the others.
func (v *View) derive() {
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

// placeEverywhere sets every live node as a replica of every shard.
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
