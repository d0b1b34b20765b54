package node

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"time"

	"lockstep/cluster/leaders"
	"lockstep/cluster/meta"
	"lockstep/cluster/stepper"
	"lockstep/engine/hashslot"
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

// openLeaders begins to know who leads each shard.
func (n *Node) openLeaders() {
	n.Leaders = leaders.NewTable(n.ShardCount())
	n.Leaders.OnNews(n.seeLeader)
	n.exchange = &leaders.Exchange{Stepper: stepper.New(), Table: n.Leaders, Peers: n.Transport, Addrs: n.PeerAddrs, Heard: n.HeardLeader, May: n.MayLead}
	n.exchange.Look()
}

// knowWait is how long a node that starts waits until it knows the cluster before
// it takes clients. One that has no quorum takes them all the same.
const knowWait = 3 * time.Second

// awaitLeaders waits until this node can tell clients where every hash slot is, and
// goes by the cluster's settings.
// One that told them less would lead astray those that ask it first after its
// start, for many clients ask again only when something has failed.
func (n *Node) awaitLeaders(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(knowWait); time.Now().Before(deadline) && !(n.KnowsLeaders() && n.knowsSettings()); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// KnowsCluster implements client.ClusterView.
func (n *Node) KnowsCluster() bool { return n.Machine.View().Created() }

// slotNode is a node as clients are told of it.
func (n *Node) slotNode(node *meta.Node) client.SlotNode {
	host, port := splitAddr(node.ClientAddr)
	if port == node.TLSPort {
		port = 0
	}
	return client.SlotNode{
		ID: hexID(node.Incarnation), IP: host, Hostname: node.Hostname, Port: port, TLSPort: node.TLSPort,
		Healthy: node.ID == n.Self.ID() || !n.Transport.Lost(node.PeerAddr),
	}
}

// SlotOwners implements client.ClusterView: a range per shard, its leader first. A
// shard of which no leader has been heard yet is left out.
func (n *Node) SlotOwners() []client.SlotOwner {
	view := n.Machine.View()
	owners := make([]client.SlotOwner, 0, len(view.Shards))
	for i, s := range view.Shards {
		o := client.SlotOwner{First: int(s.FirstSlot), Last: int(s.LastSlot)}
		offset := n.shardOffset(i)
		leader, known := n.LeaderOf(i)
		if !known {
			continue
		}
		sn := n.slotNode(&leader)
		sn.Leads, sn.Offset = true, offset
		o.Nodes = append(o.Nodes, sn)
		for _, id := range s.Replicas {
			if node, ok := view.Node(id); ok && node.State.Live() && id != leader.ID {
				sn := n.slotNode(&node)
				sn.Offset = offset
				o.Nodes = append(o.Nodes, sn)
			}
		}
		owners = append(owners, o)
	}
	return owners
}

// ClusterNodes implements client.ClusterView. Redis Cluster knows masters with
// slots and replicas with one master each; here a node may lead some shards and
// follow others. A node that leads is a master with the slots it leads, and what
// it follows is not said. One that leads nothing is a replica of the node that
// leads the shard of the lowest number among its own; one without any shard is a
// master without slots, as a node is in Redis Cluster that has just come. So
// every line is of a form that tools know, and the slots are the truth. Which
// nodes have replicas of which slots, CLUSTER SLOTS and SHARDS tell in full.
func (n *Node) ClusterNodes() []client.ClusterNode {
	view := n.Machine.View()
	leads := n.leaderIDs(view)
	epochs := map[meta.NodeID]uint64{}
	for i, id := range leads {
		epochs[id] = max(epochs[id], n.Leaders.Of(i).Term)
	}
	var nodes []client.ClusterNode
	for _, node := range n.shownNodes(view, leads) {
		_, bus := splitAddr(node.PeerAddr)
		c := client.ClusterNode{SlotNode: n.slotNode(&node), BusPort: bus, Myself: node.ID == n.Self.ID()}
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
			c.Master = hexID(m.Incarnation)
		}
		c.Epoch = epochs[master]
		nodes = append(nodes, c)
	}
	return nodes
}

// leaderIDs are the nodes that lead each shard; empty: nobody is known.
func (n *Node) leaderIDs(view *meta.View) []meta.NodeID {
	leads := make([]meta.NodeID, len(view.Shards))
	for i := range leads {
		leader, _ := n.LeaderOf(i)
		leads[i] = leader.ID
	}
	return leads
}

// shownNodes are the nodes that clients are told of. One that is leaving is among
// them as long as it leads a shard, for its slots are nobody else's, and it tells
// of itself to the end.
func (n *Node) shownNodes(view *meta.View, leads []meta.NodeID) []meta.Node {
	return slices.DeleteFunc(slices.Clone(view.Nodes), func(node meta.Node) bool {
		return !node.State.Live() && node.ID != n.Self.ID() && !slices.Contains(leads, node.ID)
	})
}

// knownNodes counts them.
func (n *Node) knownNodes() int {
	view := n.Machine.View()
	return len(n.shownNodes(view, n.leaderIDs(view)))
}

// ClusterLinks implements client.ClusterView.
func (n *Node) ClusterLinks() []client.ClusterLink {
	view := n.Machine.View()
	var all []client.ClusterLink
	for _, l := range n.Transport.Links() {
		node, ok := view.Node(meta.NodeID(l.NodeID))
		if l.Outgoing {
			node, ok = view.ByPeerAddr(l.Addr)
		}
		if ok && node.ID != n.Self.ID() {
			all = append(all, client.ClusterLink{Node: hexID(node.Incarnation), Outgoing: l.Outgoing, SinceMs: l.Since.UnixMilli(), QueuedBytes: int64(l.QueuedBytes)})
		}
	}
	slices.SortStableFunc(all, func(a, b client.ClusterLink) int { return cmp.Compare(a.Node, b.Node) })
	return all
}

// ShardID implements client.Identity. A shard's id is the same on all nodes
// and for ever. A node is shown in the first shard it leads or, as the replica
// that CLUSTER NODES shows it as, in the first of which it has one.
func (n *Node) ShardID() string {
	shard := firstOf(n.Machine.View(), n.Self.ID())
	for i := range n.ShardCount() {
		if leader, known := n.LeaderOf(i); known && leader.ID == n.Self.ID() {
			shard = i
			break
		}
	}
	return shardID(n.Self.ClusterID, shard)
}

func shardID(cluster string, shard int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", cluster, shard))
	return hex.EncodeToString(sum[:20])
}

// firstOf is the first shard of which a node has a replica, or the first of all.
func firstOf(view *meta.View, id meta.NodeID) int {
	return max(0, slices.IndexFunc(view.Shards, func(s meta.Shard) bool { return s.Has(id) }))
}

// appendRange adds a range of hash slots, to the last one if it follows that.
func appendRange(ranges [][2]int, first, last int) [][2]int {
	if n := len(ranges); n > 0 && ranges[n-1][1]+1 == first {
		ranges[n-1][1] = last
		return ranges
	}
	return append(ranges, [2]int{first, last})
}

// epoch is Redis Cluster's current epoch: of two views of this cluster, the
// newer has the greater.
func (n *Node) epoch() uint64 { return n.Leaders.Epoch() + n.Machine.View().Epoch }

// ClusterInfo implements client.ClusterView.
func (n *Node) ClusterInfo() string {
	view := n.Machine.View()
	served, masters, own := 0, map[meta.NodeID]bool{}, uint64(0)
	for i, s := range view.Shards {
		leader, known := n.LeaderOf(i)
		if !known {
			continue
		}
		if !n.orphaned(i, &leader) {
			served += int(s.LastSlot) - int(s.FirstSlot) + 1
		}
		masters[leader.ID] = true
		if leader.ID == n.Self.ID() {
			own = max(own, n.Leaders.Of(i).Term)
		}
	}
	state := "ok"
	if served < hashslot.Count {
		state = "fail"
	}
	var t infoText
	t.add("cluster_enabled", 1)
	t.add("cluster_state", state)
	t.add("cluster_slots_assigned", hashslot.Count)
	t.add("cluster_slots_ok", served)
	t.add("cluster_slots_pfail", 0)
	t.add("cluster_slots_fail", hashslot.Count-served)
	t.add("cluster_known_nodes", n.knownNodes())
	t.add("cluster_size", len(masters))
	t.add("cluster_current_epoch", n.epoch())
	t.add("cluster_my_epoch", own)
	t.add("cluster_stats_messages_sent", 0)
	t.add("cluster_stats_messages_received", 0)
	t.add("total_cluster_links_buffer_limit_exceeded", 0)
	return t.b.String()
}

// orphaned tells whether the node that leads a shard, as far as is known, does
// so no more: it cannot be reached, or this node's replica hears nothing of it.
func (n *Node) orphaned(i int, leader *meta.Node) bool {
	own := n.Replica(i)
	if leader.ID == n.Self.ID() {
		return own == nil || !own.Leader().Self
	}
	return own != nil && own.Leader().Addr == "" || n.Transport.Lost(leader.PeerAddr)
}

// MyID implements client.Identity.
func (n *Node) MyID() string { return hexID(n.Self.Incarnation) }

// Moved implements client.ClusterView. Nobody is sent to a leader that is gone:
// until there is a new one, this node forwards, and the client sees a pause.
func (n *Node) Moved(shard int, stale, secured bool) string {
	leader, known := n.LeaderOf(shard)
	if stale && n.Replica(shard) != nil || !known || leader.ID == n.Self.ID() || n.orphaned(shard, &leader) {
		return ""
	}
	sn := n.slotNode(&leader)
	port := sn.Port
	if secured {
		port = sn.TLSPort
	}
	if port == 0 {
		return "" // it does not speak as this client does
	}
	endpoint, _ := sn.Endpoint(endpointKind(n.cfg.Current()))
	return endpoint + ":" + strconv.Itoa(port)
}

// endpointKind is what clients are told to name nodes by.
func endpointKind(s *config.Settings) client.EndpointKind {
	switch s.ClusterPreferredEndpoint {
	case config.EndpointHostname:
		return client.EndpointHostname
	case config.EndpointUnknown:
		return client.EndpointUnknown
	}
	return client.EndpointIP
}

// Replicas implements client.Replication: the other nodes; for a node that shows
// itself as a slave, the leader of shard 0 alone.
func (n *Node) Replicas() [][3]string {
	var all [][3]string
	offset := strconv.FormatInt(n.Offset(), 10)
	slave := n.Role() == "slave"
	leader, _ := n.LeaderOf(0)
	for _, node := range n.Machine.View().Live() {
		if (slave && node.ID != leader.ID) || (!slave && node.ID == n.Self.ID()) {
			continue
		}
		host, port := splitAddr(node.ClientAddr)
		all = append(all, [3]string{host, strconv.Itoa(port), offset})
	}
	return all
}

// Offset implements client.Replication: the log index of this node's first replica
// stands in for an offset.
func (n *Node) Offset() int64 {
	if all := n.Shards(); len(all) > 0 {
		return n.shardOffset(int(all[0].ID()))
	}
	return 0
}

// shardOffset is the same for a shard; 0 where this node has no replica of it.
func (n *Node) shardOffset(shard int) int64 {
	if s := n.Replica(shard); s != nil {
		return int64(s.Group().Stats().CommitIndex)
	}
	return 0
}

// Synced implements client.Replication: a quorum of any shard, less one.
func (n *Node) Synced() int {
	synced, view := math.MaxInt, n.Machine.View()
	for i, s := range view.Shards {
		voters := votersOf(&s, view.Replicas)
		if own := n.Replica(i); own != nil {
			voters = own.Group().VotersCertain()
		}
		synced = min(synced, voters/2)
	}
	if synced == math.MaxInt {
		return 0
	}
	return synced
}

// votersOf is how many replicas of a shard vote, at least, where this node has none and
// so many are wanted; 0: one on every node. One that is on its way does not vote yet:
// beyond those that are wanted while one moves, or the last where some are missing.
func votersOf(s *meta.Shard, wanted int) int {
	switch has := len(s.Replicas); {
	case wanted == 0:
		return 0 // this node's has yet to come
	case has < wanted:
		return has - 1
	}
	return wanted
}

// StatusJSON implements client.Operator.
func (n *Node) StatusJSON(ctx context.Context) ([]byte, error) { return json.Marshal(n.Status(ctx)) }

// LockSlots implements client.Operator.
func (n *Node) LockSlots() []client.LockSlot {
	var all []client.LockSlot
	for _, s := range n.Shards() {
		i := int(s.ID())
		for _, l := range s.Machine().Sched().Slots() {
			mode := "shared"
			if l.Exclusive {
				mode = "exclusive"
			}
			all = append(all, client.LockSlot{Shard: i, Slot: int(l.Slot), Mode: mode, Holders: l.Holders, Readers: l.WaitingShared, Writers: l.WaitingExclusive, Labels: l.Labels, HeldMs: l.RanNs / 1e6, Queue: l.Queue})
		}
	}
	return all
}

// SetActiveExpire implements client.Process.
func (n *Node) SetActiveExpire(on bool) {
	for _, s := range n.Shards() {
		s.SetActiveExpire(on)
	}
}

// Reload implements client.Process.
func (n *Node) Reload() error {
	for _, s := range n.Shards() {
		if err := s.Reload(); err != nil {
			return fmt.Errorf("shard %d: %w", s.ID(), err)
		}
	}
	return nil
}

// BeginSnapshot implements client.Process.
func (n *Node) BeginSnapshot(background bool) (write func() error, err error) {
	done, err := n.saves.begin(n.loggedTxns(), background)
	if err != nil {
		return nil, err
	}
	return func() error {
		_, err := n.snapshotOrder()
		done(err)
		if err == nil {
			n.lastSnapshot.Store(time.Now().Unix())
		}
		return err
	}, nil
}

// LastSnapshotUnix implements client.Process.
func (n *Node) LastSnapshotUnix() int64 { return n.lastSnapshot.Load() }

// Shutdown implements client.Process: the node drains and ends.
func (n *Node) Shutdown() { n.die(ErrShutdown) }
