package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/membership"
	"lockstep/cluster/meta"
	"lockstep/cluster/meta/courier"
	"lockstep/cluster/meta/identity"
	"lockstep/cluster/router"
	"lockstep/cluster/shard"
	"lockstep/cluster/transport"
	"lockstep/engine"
	"lockstep/engine/sched"
	"lockstep/fsm"
	"lockstep/node/config"
)

// listenPeers opens the peer port. Handlers are set before it serves, for the
// first request may come at once.
func (n *Node) listenPeers(context.Context) error {
	s := n.cfg.Current()
	t, err := transport.Listen(transport.Config{
		Listen: listenAddresses(s.Bind, s.PeerPort), Advertise: s.PeerAddress, NodeID: string(n.self.ID()),
		ClusterID: func() string { return n.folder.Identity().ClusterID },
		OpenKinds: []uint8{membership.KindKnock}, Log: n.log,
	})
	if err != nil {
		return inWords(err, "peer-port", s.PeerPort)
	}
	n.transport = t
	n.courier = courier.New(courier.Config{Caller: t, Leader: n.groupLeader, Peers: n.peerAddrs})
	t.Handle(router.KindPropose, func(_ transport.Peer, payload []byte, reply func([]byte)) {
		if n.serving.Load() {
			n.router.ServePropose(payload, reply)
		} else {
			reply(router.NotReady())
		}
	})
	t.Handle(router.KindRead, func(_ transport.Peer, payload []byte, reply func([]byte)) {
		if n.serving.Load() {
			go n.router.ServeRead(n.ctx, payload, reply)
		} else {
			reply(router.NotReady())
		}
	})
	t.Handle(kindStatus, func(_ transport.Peer, _ []byte, reply func([]byte)) { go n.serveStatus(reply) })
	t.Handle(courier.Kind, func(_ transport.Peer, payload []byte, reply func([]byte)) { n.courier.Serve(payload, reply) })
	t.Handle(membership.KindKnock, func(_ transport.Peer, payload []byte, reply func([]byte)) {
		if m := n.manager.Load(); m != nil {
			m.ServeKnock(payload, reply)
		} else {
			reply(nil)
		}
	})
	return nil
}

// inWords explains why a port could not be opened.
func inWords(err error, what string, port int) error {
	if strings.Contains(err.Error(), "address already in use") {
		return fmt.Errorf("%s %d is taken by another program; choose another with --%s", what, port, what)
	}
	return fmt.Errorf("cannot listen on %s %d: %w", what, port, err)
}

// listenAddresses are the addresses of bind with a port. A leading "-" lets an
// address be missing on this machine.
func listenAddresses(bind []string, port int) []string {
	var addrs []string
	for _, b := range bind {
		host, optional := strings.CutPrefix(b, "-")
		switch host {
		case "*":
			host = "0.0.0.0"
		case "::*":
			host = "::"
		}
		addr := net.JoinHostPort(host, strconv.Itoa(port))
		if optional && !available(host) {
			continue
		}
		addrs = append(addrs, addr)
	}
	return addrs
}

// available tells whether this machine has the address.
func available(host string) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// groupLeader is a group's leader as this node knows it.
func (n *Node) groupLeader(group uint32) (addr string, self bool) {
	g := n.group(group)
	if g == nil {
		return "", false
	}
	id, a := g.Leader()
	return string(a), string(id) == string(n.self.ID()) && g.IsLeader()
}

func (n *Node) group(group uint32) *shard.Group {
	if group == meta.GroupID {
		return n.metaGroup
	}
	if !n.serving.Load() || group >= uint32(len(n.shards)) {
		return nil
	}
	return n.shards[group].Group()
}

// peerAddrs are the other nodes' peer addresses.
func (n *Node) peerAddrs() []string {
	var addrs []string
	for _, p := range n.machine.View().Live() {
		if p.ID != n.self.ID() {
			addrs = append(addrs, p.PeerAddr)
		}
	}
	return addrs
}

// join asks to be taken in, if this node has no cluster yet.
func (n *Node) join(ctx context.Context) error {
	n.machine = meta.NewMachine()
	if n.self.Phase == identity.Joining {
		s := n.cfg.Current()
		if len(s.Join) == 0 {
			return errors.New("this node began to join a cluster and was not taken in; start it with --join again, or empty its folder")
		}
		w, err := membership.Join(ctx, n.transport, s.Join, membership.JoinRequest{Node: n.me(), Replace: s.Replace}, n.log)
		if err != nil {
			return err
		}
		if err := n.folder.Joined(w.ClusterID, w.Creation); err != nil {
			return err
		}
		n.self = n.folder.Identity()
		n.log.Info("taken in", "cluster", w.ClusterID)
	}
	return nil
}

// openMeta opens the meta group; a founder makes it.
func (n *Node) openMeta(context.Context) error {
	boot, err := n.folder.Started()
	if err != nil {
		return err
	}
	n.boot = boot
	n.self = n.folder.Identity()
	n.log.Info("this is node", "id", string(n.self.ID()), "boot", boot, "cluster", n.self.ClusterID, "dir", n.folder.Dir())
	cfg := n.groupConfig(meta.GroupID)
	cfg.SM = metaAdapter{n.machine}
	cfg.Verify = meta.VerifyCommand
	cfg.OnLeader = func(uint64) { n.kick(meta.GroupID) }
	cfg.OnLost = func(uint64) {}
	if n.metaGroup, err = shard.OpenGroup(cfg); err != nil {
		return err
	}
	n.meta = meta.NewClient(n.machine, n.metaGroup, n.courier)
	return n.bootstrap(n.metaGroup)
}

// metaAdapter is the shard.StateMachine in front of a meta.Machine.
type metaAdapter struct{ *meta.Machine }

// Snapshot implements shard.StateMachine.
func (a metaAdapter) Snapshot() (shard.Snapshot, error) { return a.Machine.Snapshot() }

// bootstrap makes this node the first voter of a group it founds.
func (n *Node) bootstrap(g *shard.Group) error {
	if n.self.Phase != identity.Founding {
		return nil
	}
	return g.Bootstrap([]raft.Server{{ID: raft.ServerID(n.self.ID()), Address: raft.ServerAddress(n.cfg.Current().PeerAddress)}})
}

// groupConfig is what all groups of this node have in common.
func (n *Node) groupConfig(group uint32) shard.GroupConfig {
	s := n.cfg.Current()
	c := n.self.Creation
	return shard.GroupConfig{
		ID: group, Dir: n.folder.GroupDir(group), LogStore: string(s.LogStore),
		LocalID: raft.ServerID(n.self.ID()), LocalAddr: raft.ServerAddress(s.PeerAddress), Transport: n.transport,
		HeartbeatMs: c.HeartbeatMs, ElectionMs: c.ElectionMs,
		SnapshotEntries: s.RaftSnapshotEntries, TrailingEntries: s.RaftTrailingEntries,
		Fatal: n.die, Log: n.log,
	}
}

func (n *Node) kick(group uint32) {
	if m := n.manager.Load(); m != nil {
		m.Kick(group)
	}
}

// openShards opens this node's replicas, all shards', at one time: each waits
// out its lease after a restart.
func (n *Node) openShards(context.Context) error {
	count := n.self.Creation.Shards()
	shards := make([]*shard.Shard, count)
	errs := make(chan error, count)
	for i := range shards {
		go func() {
			s, err := shard.Open(n.shardConfig(uint32(i)))
			shards[i] = s
			errs <- err
		}()
	}
	var failed error
	for range shards {
		failed = errors.Join(failed, <-errs)
	}
	for _, s := range shards {
		if s != nil {
			n.shards = append(n.shards, s)
		}
	}
	if failed != nil {
		return failed
	}
	n.lastLeader = make(leaderNames, len(n.shards))
	groups := []uint32{meta.GroupID}
	for _, s := range n.shards {
		if err := n.bootstrap(s.Group()); err != nil {
			return err
		}
		groups = append(groups, s.ID())
	}
	return n.folder.Opened(groups)
}

func (n *Node) shardConfig(group uint32) shard.Config {
	s := n.cfg.Current()
	gcfg := n.groupConfig(group)
	return shard.Config{
		Group: gcfg, Node: n.self.Incarnation, Boot: n.boot,
		Machine: fsm.Config{
			Engine:    engine.Config{LockSlots: n.self.Creation.LockSlots, Seed: n.self.Creation.Seeds[group]},
			Sched:     sched.Config{Permits: s.Permits, NowNs: func() int64 { return int64(time.Since(n.started)) }},
			AccessSec: func() uint32 { return n.accessSec.Load() },
		},
		ReadMode: func() shard.ReadMode {
			if n.cfg.Current().ReadMode == config.ReadQuorum {
				return shard.ReadQuorum
			}
			return shard.ReadLease
		},
		EntryBytesMax: int(s.RaftEntryBytesMax), OutstandingBytesMax: s.OutstandingBytesMax, OutstandingTxnsMax: int64(s.OutstandingTxnsMax),
		ValueBytesMax: func() int64 { return n.cfg.Current().ProtoMaxBulkLen },
		OnLead:        func() { n.kick(group) }, Log: n.log,
	}
}

// reconcile begins to serve peers and to keep every group's members as the
// view wants them.
func (n *Node) reconcile(context.Context) error {
	n.router = router.New(router.Config{
		Node: n.self.Incarnation, Boot: n.boot, Layout: n.self.Creation.Layout(),
		Replica: func(i int) router.Shard { return n.shards[i] },
		Peers:   n.transport, TimeoutMs: func() int { return n.cfg.Current().WriteTimeoutMs },
	})
	groups := map[uint32]membership.Group{meta.GroupID: membership.NewReplica(n.metaGroup)}
	for _, s := range n.shards {
		groups[s.ID()] = membership.NewReplica(s.Group())
	}
	n.replicatedSettings()
	go n.tickAccess()
	n.serving.Store(true)
	n.manager.Store(membership.Start(membership.Config{
		Self: n.self.ID(), ClusterID: n.self.ClusterID, Machine: n.machine, Meta: n.meta, Courier: n.courier, Caller: n.transport,
		Groups: groups, HearsLeader: func() bool { addr, self := n.groupLeader(meta.GroupID); return self || addr != "" },
		Also: n.cfg.Current().Join, OnRemoved: n.removed, Log: n.log,
	}))
	n.transport.Serve()
	return nil
}

// removed ends the node: the cluster has let go of it.
func (n *Node) removed(why string) {
	if err := n.folder.MarkRemoved(why); err != nil {
		n.log.Error("the folder could not be marked as removed", "err", err)
	}
	n.die(fmt.Errorf("%w: %s", ErrRemoved, why))
}

// ErrRemoved ends a node that is no longer part of its cluster.
var ErrRemoved = errors.New("this node was removed from the cluster")

// found creates the cluster in the meta group, or tells it where this node is
// now.
func (n *Node) found(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if n.self.Phase == identity.Founding {
		return membership.Found(ctx, n.meta, n.folder, n.me())
	}
	go func() {
		if err := membership.Announce(n.ctx, n.meta, n.me()); err != nil && n.ctx.Err() == nil {
			n.log.Warn("the cluster was not told of this node's addresses", "err", err)
		}
	}()
	return nil
}

// tickAccess keeps the access clock of keys, in seconds.
func (n *Node) tickAccess() {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		n.accessSec.Store(uint32(time.Since(n.started)/time.Second) + 1)
		select {
		case <-t.C:
		case <-n.ctx.Done():
			return
		}
	}
}
