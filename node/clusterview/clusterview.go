// Package clusterview shows the cluster to clients in the terms of Redis Cluster and of Redis
// replication.
//
// Redis Cluster knows masters with slots and replicas with one master each, but here a node may
// lead some shards and follow others. The replies keep the forms that client libraries and tools
// can read, and the slots in them are exact: each range is shown at its leader. All data comes from
// the meta group's view and from what the nodes tell each other about leaders (package member).
package clusterview

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"

	"lockstep/cluster/meta"
	"lockstep/cluster/shard"
	"lockstep/engine/hashslot"
	"lockstep/node/config"
	"lockstep/node/member"
	"lockstep/proto/admin"
	"lockstep/proto/client"
)

// View is the cluster as this node shows it to clients.
type View struct{ *member.Member }

// SplitAddr splits host:port.
func SplitAddr(addr string) (host string, port int) {
	h, p, err := net.SplitHostPort(addr)
	if err != nil {
		return addr, 0
	}
	port, _ = strconv.Atoi(p)
	return h, port
}

// KnowsCluster implements admin.ClusterView.
func (v *View) KnowsCluster() bool { return v.Machine.View().Created() }

// slotNode describes a node for clients.
func (v *View) slotNode(node *meta.Node) admin.SlotNode {
	host, port := SplitAddr(node.ClientAddr)
	if port == node.TLSPort {
		port = 0
	}
	return admin.SlotNode{
		ID: HexID(node.Incarnation), IP: host, Hostname: node.Hostname, Port: port, TLSPort: node.TLSPort,
		Healthy: node.ID == v.Self.ID() || !v.Transport.Lost(node.PeerAddr),
	}
}

// SlotOwners implements admin.ClusterView: it returns a range per shard, its leader first. It
// leaves out a shard if its leader is not known yet.
func (v *View) SlotOwners() []admin.SlotOwner {
	view := v.Machine.View()
	owners := make([]admin.SlotOwner, 0, len(view.Shards))
	for i, s := range view.Shards {
		o := admin.SlotOwner{First: int(s.FirstSlot), Last: int(s.LastSlot)}
		offset := v.shardOffset(i)
		leader, known := v.LeaderOf(i)
		if !known {
			continue
		}
		sn := v.slotNode(&leader)
		sn.Leads, sn.Offset = true, offset
		o.Nodes = append(o.Nodes, sn)
		for _, id := range s.Replicas {
			if node, ok := view.Node(id); ok && node.State.Live() && id != leader.ID {
				sn := v.slotNode(&node)
				sn.Offset = offset
				o.Nodes = append(o.Nodes, sn)
			}
		}
		owners = append(owners, o)
	}
	return owners
}

// ClusterNodes implements admin.ClusterView. Redis Cluster knows masters with slots and replicas
// with one master each, but here a node may lead some shards and follow others. A node that leads
// is shown as a master with the slots that it leads, and the shards that it follows are left out. A
// node that leads nothing is shown as a replica of the leader of its lowest-numbered shard. A node
// without any shard is shown as a master without slots, like a new node in Redis Cluster. So every
// line has a form that tools know, and the slots are exact. CLUSTER SLOTS and SHARDS show all
// replicas of all slots.
func (v *View) ClusterNodes() []admin.ClusterNode {
	view := v.Machine.View()
	leads := v.leaderIDs(view)
	epochs := map[meta.NodeID]uint64{}
	for i, id := range leads {
		epochs[id] = max(epochs[id], v.Leaders.Of(i).Term)
	}
	var nodes []admin.ClusterNode
	for _, node := range v.shownNodes(view, leads) {
		_, bus := SplitAddr(node.PeerAddr)
		c := admin.ClusterNode{SlotNode: v.slotNode(&node), BusPort: bus, Myself: node.ID == v.Self.ID()}
		master := node.ID
		for i, s := range view.Shards {
			switch {
			case leads[i] == node.ID:
				c.Slots = appendRange(c.Slots, int(s.FirstSlot), int(s.LastSlot))
			case master == node.ID && leads[i] != "" && slices.Contains(s.Replicas, node.ID):
				master = leads[i]
			}
		}
		if len(c.Slots) > 0 {
			master = node.ID
		}
		c.Leads = master == node.ID
		if m, ok := view.Node(master); ok && !c.Leads {
			c.Master = HexID(m.Incarnation)
		}
		c.Epoch = epochs[master]
		nodes = append(nodes, c)
	}
	return nodes
}

// leaderIDs are the leaders of the shards, empty where a leader is unknown.
func (v *View) leaderIDs(view *meta.View) []meta.NodeID {
	leads := make([]meta.NodeID, len(view.Shards))
	for i := range leads {
		leader, _ := v.LeaderOf(i)
		leads[i] = leader.ID
	}
	return leads
}

// shownNodes are the nodes that clients see. A leaving node is among them while it leads a shard,
// because no other node serves its slots. This node always shows itself.
func (v *View) shownNodes(view *meta.View, leads []meta.NodeID) []meta.Node {
	return slices.DeleteFunc(slices.Clone(view.Nodes), func(node meta.Node) bool {
		return !node.State.Live() && node.ID != v.Self.ID() && !slices.Contains(leads, node.ID)
	})
}

// KnownNodes is the number of nodes that clients see.
func (v *View) KnownNodes() int {
	view := v.Machine.View()
	return len(v.shownNodes(view, v.leaderIDs(view)))
}

// ClusterLinks implements admin.ClusterView.
func (v *View) ClusterLinks() []admin.ClusterLink {
	view := v.Machine.View()
	var all []admin.ClusterLink
	for _, l := range v.Transport.Links() {
		node, ok := view.Node(meta.NodeID(l.NodeID))
		if l.Outgoing {
			node, ok = view.ByPeerAddr(l.Addr)
		}
		if ok && node.ID != v.Self.ID() {
			all = append(all, admin.ClusterLink{Node: HexID(node.Incarnation), Outgoing: l.Outgoing, SinceMs: l.Since.UnixMilli(), QueuedBytes: int64(l.QueuedBytes)})
		}
	}
	slices.SortStableFunc(all, func(a, b admin.ClusterLink) int { return cmp.Compare(a.Node, b.Node) })
	return all
}

// ShardID implements admin.Identity. A shard's id is the same on all nodes and never changes. A
// node is shown in the first shard that it leads. If it leads none, it is shown in the first shard
// of which it has a replica, as in CLUSTER NODES.
func (v *View) ShardID() string {
	shard := firstOf(v.Machine.View(), v.Self.ID())
	for i := range v.ShardCount() {
		if leader, known := v.LeaderOf(i); known && leader.ID == v.Self.ID() {
			shard = i
			break
		}
	}
	return shardID(v.Self.ClusterID, shard)
}

func shardID(cluster string, shard int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", cluster, shard))
	return hex.EncodeToString(sum[:20])
}

// firstOf is the first shard of which a node has a replica, or shard 0 if it has none.
func firstOf(view *meta.View, id meta.NodeID) int {
	return max(0, slices.IndexFunc(view.Shards, func(s meta.Shard) bool { return s.Has(id) }))
}

// appendRange adds a range of hash slots. It extends the last range if the new one follows it
// directly.
func appendRange(ranges [][2]int, first, last int) [][2]int {
	if end := len(ranges) - 1; end >= 0 && ranges[end][1]+1 == first {
		ranges[end][1] = last
		return ranges
	}
	return append(ranges, [2]int{first, last})
}

// epoch is Redis Cluster's current epoch. Of two views of this cluster, the newer has the greater
// epoch.
func (v *View) epoch() uint64 { return v.Leaders.Epoch() + v.Machine.View().Epoch }

// ClusterInfo implements admin.ClusterView.
func (v *View) ClusterInfo() string {
	view := v.Machine.View()
	served, masters, own := 0, map[meta.NodeID]bool{}, uint64(0)
	for i, s := range view.Shards {
		leader, known := v.LeaderOf(i)
		if !known {
			continue
		}
		if !v.orphaned(i, &leader) {
			served += int(s.LastSlot) - int(s.FirstSlot) + 1
		}
		masters[leader.ID] = true
		if leader.ID == v.Self.ID() {
			own = max(own, v.Leaders.Of(i).Term)
		}
	}
	state := "ok"
	if served < hashslot.Count {
		state = "fail"
	}
	var t text
	t.add("cluster_enabled", 1)
	t.add("cluster_state", state)
	t.add("cluster_slots_assigned", hashslot.Count)
	t.add("cluster_slots_ok", served)
	t.add("cluster_slots_pfail", 0)
	t.add("cluster_slots_fail", hashslot.Count-served)
	t.add("cluster_known_nodes", v.KnownNodes())
	t.add("cluster_size", len(masters))
	t.add("cluster_current_epoch", v.epoch())
	t.add("cluster_my_epoch", own)
	t.add("cluster_stats_messages_sent", 0)
	t.add("cluster_stats_messages_received", 0)
	t.add("total_cluster_links_buffer_limit_exceeded", 0)
	return t.b.String()
}

// orphaned reports whether the last known leader of a shard no longer leads it: this node cannot
// reach it, or this node's replica does not hear from it.
func (v *View) orphaned(i int, leader *meta.Node) bool {
	own := v.Replica(i)
	if leader.ID == v.Self.ID() {
		return own == nil || !own.Leader().Self
	}
	return own != nil && own.Leader().Addr == "" || v.Transport.Lost(leader.PeerAddr)
}

// MyID implements admin.Identity.
func (v *View) MyID() string { return HexID(v.Self.Incarnation) }

// Moved implements admin.ClusterView. No client is sent to a leader that is gone: until there is a
// new one, this node forwards, and the client sees a pause.
func (v *View) Moved(shard int, stale, secured bool) string {
	leader, known := v.LeaderOf(shard)
	if stale && v.Replica(shard) != nil || !known || leader.ID == v.Self.ID() || v.orphaned(shard, &leader) {
		return ""
	}
	sn := v.slotNode(&leader)
	port := sn.Port
	if secured {
		port = sn.TLSPort
	}
	if port == 0 {
		return "" // the node has no port for this kind of connection
	}
	endpoint, _ := sn.Endpoint(EndpointKind(v.Config.Current()))
	return endpoint + ":" + strconv.Itoa(port)
}

// EndpointKind is the kind of name by which clients are told of nodes.
func EndpointKind(s *config.Settings) client.EndpointKind {
	switch s.ClusterPreferredEndpoint {
	case config.EndpointHostname:
		return client.EndpointHostname
	case config.EndpointUnknown:
		return client.EndpointUnknown
	}
	return client.EndpointIP
}

// Replicas implements admin.Replication: it returns the other nodes, or only the leader of shard 0
// if this node shows itself as a slave.
func (v *View) Replicas() [][3]string {
	var all [][3]string
	offset := strconv.FormatInt(v.Offset(), 10)
	slave := v.Role() == "slave"
	leader, _ := v.LeaderOf(0)
	for _, node := range v.Machine.View().Live() {
		if (slave && node.ID != leader.ID) || (!slave && node.ID == v.Self.ID()) {
			continue
		}
		host, port := SplitAddr(node.ClientAddr)
		all = append(all, [3]string{host, strconv.Itoa(port), offset})
	}
	return all
}

// Offset implements admin.Replication. The log index of this node's first replica takes the place
// of an offset.
func (v *View) Offset() int64 {
	if all := v.Shards(); len(all) > 0 {
		return v.shardOffset(int(all[0].ID()))
	}
	return 0
}

// shardOffset is the log index of this node's replica of a shard, or 0 if it has none.
func (v *View) shardOffset(shard int) int64 {
	if s := v.Replica(shard); s != nil {
		return int64(s.Group().Stats().CommitIndex)
	}
	return 0
}

// Synced implements admin.Replication: a quorum of any shard, minus one.
func (v *View) Synced() int {
	synced, view := math.MaxInt, v.Machine.View()
	for i, s := range view.Shards {
		voters := votersOf(&s, view.Replicas)
		if own := v.Replica(i); own != nil {
			voters = own.Group().VotersCertain()
		}
		synced = min(synced, voters/2)
	}
	if synced == math.MaxInt {
		return 0
	}
	return synced
}

// votersOf is the minimum number of voters of a shard of which this node has no replica. wanted is
// the number of replicas that each shard is to have; 0 means one on every node. A replica that is
// being added does not vote yet: while a replica is being moved that is the one beyond wanted, and
// while some are missing the last one.
func votersOf(s *meta.Shard, wanted int) int {
	switch has := len(s.Replicas); {
	case wanted == 0:
		return 0 // this node's own replica is still to be added
	case has < wanted:
		return has - 1
	}
	return wanted
}

// HexID is the node's id in the form of Redis: 40 hex digits.
func HexID(incarnation uint64) string { return fmt.Sprintf("%016x%024x", incarnation, 0) }

// Role implements admin.Replication: it is the role that this node shows to clients. A node that
// forwards writes calls itself a master, because some clients would refuse to write to it
// otherwise.
func (v *View) Role() string {
	switch v.Config.Current().ClientRole {
	case config.RoleRaft:
		if !slices.ContainsFunc(v.Shards(), func(s *shard.Shard) bool { return s.Group().IsLeader() }) {
			return "slave"
		}
	}
	return "master"
}

// text collects lines of a name and a value, as in INFO.
type text struct{ b strings.Builder }

func (t *text) add(name string, value any) { fmt.Fprintf(&t.b, "%s:%v\r\n", name, value) }
