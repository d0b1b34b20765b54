package node

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"lockstep/cluster/meta"
	"lockstep/node/config"
	"lockstep/proto/client"
)

// splitAddr takes host:port apart.
func splitAddr(addr string) (host string, port int) {
	h, p, err := net.SplitHostPort(addr)
	if err != nil {
		return addr, 0
	}
	port, _ = strconv.Atoi(p)
	return h, port
}

// leaderOf is the id of the node that leads a shard, as this node knows it; of
// an election in progress, who led last.
func (n *Node) leaderOf(shard int) meta.NodeID {
	id, _ := n.shards[shard].Group().Leader()
	if id != "" {
		n.lastLeader[shard].Store(string(id))
		return meta.NodeID(id)
	}
	last, _ := n.lastLeader[shard].Load().(string)
	return meta.NodeID(last)
}

// leaderNames remembers who led each shard last.
type leaderNames []atomic.Value

// SlotOwners implements client.ClusterView.
func (n *Node) SlotOwners() []client.SlotOwner {
	view := n.machine.View()
	owners := make([]client.SlotOwner, 0, len(view.Shards))
	for i, s := range view.Shards {
		o := client.SlotOwner{First: int(s.FirstSlot), Last: int(s.LastSlot)}
		leader := n.leaderOf(i)
		for _, node := range view.Live() {
			host, port := splitAddr(node.ClientAddr)
			if n.cfg.Current().ClusterPreferredEndpoint == config.EndpointUnknown {
				// Clients then keep the address they know.
				host = ""
			}
			sn := client.SlotNode{ID: hexID(node.Incarnation), Host: host, IP: host, Port: port, Leads: node.ID == leader, Healthy: true, Offset: n.Offset()}
			if sn.Leads {
				o.Nodes = append([]client.SlotNode{sn}, o.Nodes...)
			} else {
				o.Nodes = append(o.Nodes, sn)
			}
		}
		owners = append(owners, o)
	}
	return owners
}

// ClusterNodes implements client.ClusterView, in the line format of Redis
// Cluster: every line ends with a newline, ids have 40 hex digits, and a master
// lists its slots.
func (n *Node) ClusterNodes() string {
	var b strings.Builder
	view := n.machine.View()
	for _, node := range view.Live() {
		host, port := splitAddr(node.ClientAddr)
		_, bus := splitAddr(node.PeerAddr)
		flags, master, slots := "slave", "-", ""
		for i, s := range view.Shards {
			if n.leaderOf(i) == node.ID {
				flags = "master"
				slots += fmt.Sprintf(" %d-%d", s.FirstSlot, s.LastSlot)
			}
		}
		if flags == "slave" {
			if l, ok := view.Node(n.leaderOf(0)); ok {
				master = hexID(l.Incarnation)
			}
		}
		if node.ID == n.self.ID() {
			flags = "myself," + flags
		}
		fmt.Fprintf(&b, "%s %s:%d@%d %s %s 0 0 %d connected%s\n", hexID(node.Incarnation), host, port, bus, flags, master, n.epoch(), slots)
	}
	return b.String()
}

// epoch is the config epoch of Redis Cluster: the greatest term, which all
// nodes agree on once they have heard of it.
func (n *Node) epoch() uint64 {
	var e uint64
	for _, s := range n.shards {
		e = max(e, s.Group().Term())
	}
	return e
}

// ClusterInfo implements client.ClusterView.
func (n *Node) ClusterInfo() string {
	view := n.machine.View()
	served, leaders := 0, map[meta.NodeID]bool{}
	for i, s := range view.Shards {
		if id, _ := n.shards[i].Group().Leader(); id != "" {
			served += int(s.LastSlot) - int(s.FirstSlot) + 1
			leaders[meta.NodeID(id)] = true
		}
	}
	state := "ok"
	if served < 16384 {
		state = "fail"
	}
	var t infoText
	t.add("cluster_enabled", 1)
	t.add("cluster_state", state)
	t.add("cluster_slots_assigned", 16384)
	t.add("cluster_slots_ok", served)
	t.add("cluster_slots_pfail", 0)
	t.add("cluster_slots_fail", 16384-served)
	t.add("cluster_known_nodes", len(view.Live()))
	t.add("cluster_size", len(leaders))
	t.add("cluster_current_epoch", n.epoch())
	t.add("cluster_my_epoch", n.epoch())
	t.add("cluster_stats_messages_sent", 0)
	t.add("cluster_stats_messages_received", 0)
	t.add("total_cluster_links_buffer_limit_exceeded", 0)
	return t.b.String()
}

// MyID implements client.ClusterView.
func (n *Node) MyID() string { return hexID(n.self.Incarnation) }

// Moved implements client.ClusterView.
func (n *Node) Moved(slot int) string {
	leader := n.leaderOf(n.self.Creation.Layout().ShardOfSlot(uint16(slot)))
	if leader == "" || leader == n.self.ID() {
		return ""
	}
	node, ok := n.machine.View().Node(leader)
	if !ok {
		return ""
	}
	return node.ClientAddr
}

// Replicas implements client.Facts: the other nodes; for a node that shows
// itself as a slave, the leader of shard 0 alone.
func (n *Node) Replicas() [][3]string {
	var all [][3]string
	offset := strconv.FormatInt(n.Offset(), 10)
	slave := n.Role() == "slave"
	for _, node := range n.machine.View().Live() {
		if (slave && node.ID != n.leaderOf(0)) || (!slave && node.ID == n.self.ID()) {
			continue
		}
		host, port := splitAddr(node.ClientAddr)
		all = append(all, [3]string{host, strconv.Itoa(port), offset})
	}
	return all
}

// Offset implements client.Facts: the log index stands in for an offset.
func (n *Node) Offset() int64 { return int64(n.shards[0].Group().Stats().CommitIndex) }

// Synced implements client.Facts: a quorum, less this node.
func (n *Node) Synced() int { return n.shards[0].Group().Voters() / 2 }

// StatusJSON implements client.Operator.
func (n *Node) StatusJSON(ctx context.Context) ([]byte, error) { return json.Marshal(n.Status(ctx)) }

// LockSlots implements client.Operator.
func (n *Node) LockSlots() []client.LockSlot {
	var all []client.LockSlot
	for i, s := range n.shards {
		for _, l := range s.Machine().Sched().Slots() {
			mode := "shared"
			if l.Exclusive {
				mode = "exclusive"
			}
			all = append(all, client.LockSlot{Shard: i, Slot: int(l.Slot), Mode: mode, Holders: l.Holders, Readers: l.WaitingShared, Writers: l.WaitingExclusive, Labels: l.Labels})
		}
	}
	return all
}

// SetActiveExpire implements client.Operator.
func (n *Node) SetActiveExpire(on bool) {
	for _, s := range n.shards {
		s.SetActiveExpire(on)
	}
}

// Reload implements client.Operator.
func (n *Node) Reload(ctx context.Context) error {
	for _, s := range n.shards {
		if err := s.Reload(ctx); err != nil {
			return fmt.Errorf("shard %d: %w", s.ID(), err)
		}
	}
	return nil
}

// Snapshot implements client.Operator.
func (n *Node) Snapshot() error {
	if _, err := n.snapshotOrder(); err != nil {
		return err
	}
	n.lastSnapshot.Store(time.Now().Unix())
	return nil
}

// LastSnapshotUnix implements client.Operator.
func (n *Node) LastSnapshotUnix() int64 { return n.lastSnapshot.Load() }

// Shutdown implements client.Operator: the node drains and ends.
func (n *Node) Shutdown() { n.die(ErrShutdown) }
