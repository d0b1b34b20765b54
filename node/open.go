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

	"lockstep/cluster"
	"lockstep/cluster/clock"
	"lockstep/cluster/feed"
	"lockstep/cluster/leaders"
	"lockstep/cluster/membership"
	"lockstep/cluster/meta"
	"lockstep/cluster/meta/courier"
	"lockstep/cluster/meta/identity"
	"lockstep/cluster/raftio"
	"lockstep/cluster/router"
	"lockstep/cluster/shard"
	"lockstep/cluster/transport"
	"lockstep/engine"
	"lockstep/engine/sched"
	"lockstep/fsm"
	"lockstep/node/config"
	"lockstep/proto/client"
)

// listenPeers opens the peer port. Handlers are set before it serves, for the
// first request may come at once.
func (n *Node) listenPeers(context.Context) error {
	s := n.cfg.Current()
	t, err := transport.Listen(n.peerPort(s))
	if err != nil {
		return inWords(err, "peer-port", s.PeerPort)
	}
	n.transport = t
	n.secrets.port.Store(t)
	n.courier = courier.New(courier.Config{Caller: t, Leader: n.groupLeader, Peers: n.peerAddrs, Seen: func() uint64 { return n.machine.View().Index }, Panics: n.panics.peers})
	n.handleCalls(t)
	n.openClocks()
	t.Handle(clock.Kind, func(_ transport.Peer, _ []byte, reply func([]byte)) { n.clocks.Serve(reply) })
	t.HandleAside(kindExamine, func(_ transport.Peer, payload []byte, reply func([]byte)) { n.serveExamine(payload, reply) })
	t.HandleAside(kindLed, func(_ transport.Peer, _ []byte, reply func([]byte)) { n.serveLed(reply) })
	t.HandleAside(kindStatus, func(_ transport.Peer, _ []byte, reply func([]byte)) { n.serveStatus(reply) })
	t.HandleAside(kindSight, func(_ transport.Peer, payload []byte, reply func([]byte)) { n.serveSight(payload, reply) })
	t.HandleAside(kindSecret, n.serveSecret)
	t.HandleAside(kindBackup, func(_ transport.Peer, payload []byte, reply func([]byte)) { n.serveBackup(payload, reply) })
	n.messages = newMessages(n)
	n.events.init(n)
	t.Handle(kindPublish, func(_ transport.Peer, payload []byte, reply func([]byte)) { n.messages.serve(payload, reply) })
	n.notices = newNotices(n)
	t.Handle(kindNotices, func(_ transport.Peer, payload []byte, reply func([]byte)) { n.notices.serve(payload); reply(nil) })
	t.Handle(feed.Kind, func(_ transport.Peer, payload []byte, reply func([]byte)) {
		if n.serving.Load() {
			n.feeds.serve(payload, reply)
		} else {
			reply(feed.NotReady())
		}
	})
	t.Handle(courier.Kind, func(_ transport.Peer, payload []byte, reply func([]byte)) { n.courier.Serve(payload, reply) })
	t.Handle(membership.KindKnock, func(from transport.Peer, payload []byte, reply func([]byte)) {
		if m := n.manager.Load(); m != nil {
			m.ServeKnock(visitor(from), payload, reply)
		} else {
			reply(nil)
		}
	})
	return nil
}

// handleCalls serves what other gateways ask of this node's replicas, once they
// are open.
func (n *Node) handleCalls(t *transport.Transport) {
	own := func(serve func(from transport.Peer, payload []byte, reply func([]byte))) transport.Handler {
		return func(from transport.Peer, payload []byte, reply func([]byte)) {
			if n.serving.Load() {
				serve(from, payload, reply)
			} else {
				reply(router.NotReady())
			}
		}
	}
	served := func(serve func(payload []byte, reply func([]byte))) transport.Handler {
		return own(func(_ transport.Peer, payload []byte, reply func([]byte)) { serve(payload, reply) })
	}
	t.Handle(router.KindPropose, own(func(from transport.Peer, payload []byte, reply func([]byte)) {
		n.router.ServePropose(incarnation(from), payload, reply)
	}))
	t.HandleAside(router.KindRead, served(func(payload []byte, reply func([]byte)) { n.router.ServeRead(n.ctx, payload, reply) }))
	t.HandleAside(router.KindStale, served(func(payload []byte, reply func([]byte)) { n.router.ServeStale(n.ctx, payload, reply) }))
	t.HandleAside(router.KindIndex, served(func(payload []byte, reply func([]byte)) { n.router.ServeIndex(n.ctx, payload, reply) }))
	t.Handle(leaders.Kind, served(func(payload []byte, reply func([]byte)) { n.exchange.Serve(payload, reply) }))
	t.Handle(router.KindWait, own(func(from transport.Peer, payload []byte, reply func([]byte)) {
		n.router.ServeWait(incarnation(from), from, payload, reply)
	}))
	t.Handle(router.KindWaitList, served(func(payload []byte, reply func([]byte)) { n.router.ServeWaitList(payload, reply) }))
	t.Handle(router.KindTakeBack, own(func(from transport.Peer, payload []byte, reply func([]byte)) {
		n.router.ServeTakeBack(incarnation(from), payload, reply)
	}))
	t.HandleAside(router.KindRelay, own(func(from transport.Peer, payload []byte, reply func([]byte)) {
		n.router.ServeRelay(n.ctx, incarnation(from), from, payload, reply)
	}))
	t.HandleAside(router.KindRelayed, own(func(from transport.Peer, payload []byte, reply func([]byte)) {
		n.router.ServeRelayed(n.ctx, from, payload, reply)
	}))
	t.Handle(router.KindBusy, served(func(payload []byte, reply func([]byte)) { n.router.ServeBusy(payload, reply) }))
	t.Handle(router.KindLeader, served(func(payload []byte, reply func([]byte)) { n.router.ServeLeader(payload, reply) }))
}

// incarnation is the number of a peer by which gateways name themselves in the log.
func incarnation(from transport.Peer) uint64 { return meta.NodeID(from.NodeID).Incarnation() }

// inWords explains why a port could not be opened.
func inWords(err error, what string, port int) error {
	if strings.Contains(err.Error(), "address already in use") {
		return fmt.Errorf("%s %d is taken by another program; choose another with --%s", what, port, what)
	}
	return fmt.Errorf("cannot listen on %s %d: %w", what, port, err)
}

// listenAddresses are the addresses of bind with a port. A leading "-" lets an
// address be missing on this machine. To listen on all addresses of one kind is to
// listen on those of the other, too, where the machine has both (package net).
func listenAddresses(bind []string, port int) []string {
	var addrs []string
	all := false
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
		if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
			if all {
				continue
			}
			all = true
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
	if group == meta.GroupID {
		if n.metaGroup == nil {
			return "", false
		}
		id, a := n.metaGroup.Leader()
		return string(a), string(id) == string(n.self.ID()) && n.metaGroup.IsLeader()
	}
	if !n.serving.Load() || uint64(group) >= uint64(n.shardCount()) {
		return "", false
	}
	l := n.leader(int(group))
	return l.Addr, l.Self
}

// peerAddrs are the addresses at which other nodes may answer.
func (n *Node) peerAddrs() []string {
	s := n.cfg.Current()
	return membership.PeerAddrs(n.self.ID(), s.PeerAddress, n.machine.View(), membership.NewReplica(n.metaGroup), s.Join)
}

// join asks to be taken in, if this node has no cluster yet.
func (n *Node) join(ctx context.Context) error {
	if n.self.Phase == identity.Joining {
		s := n.cfg.Current()
		if len(s.Join) == 0 {
			return errors.New("this node began to join a cluster and was not taken in; start it with --join again, or empty its folder")
		}
		n.tellReady("looks for its cluster")
		w, err := membership.Join(ctx, n.transport, s.Join, membership.JoinRequest{Node: n.joining(s), Replace: s.Replace}, n.log)
		if err != nil {
			return err
		}
		return n.takenIn(&w)
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
	n.awaited.Store(int32(n.awaits()))
	n.log.Info("this is node", "id", string(n.self.ID()), "boot", boot, "cluster", n.self.ClusterID, "dir", n.folder.Dir())
	n.secrets.say()
	n.sayWhatHolds(n.cfg.Current())
	cfg := n.groupConfig(meta.GroupID)
	cfg.SM = metaAdapter{n.machine}
	cfg.Verify = meta.VerifyCommand
	cfg.Arriving = func() raftio.Arrival { return new(meta.Arrival) }
	cfg.ProbeEvery = shard.ProbeUsual
	cfg.OnLeader = func(uint64) { n.kick(meta.GroupID) }
	cfg.OnLost = func(uint64) {}
	if n.metaGroup, err = shard.OpenGroup(cfg); err != nil {
		return err
	}
	n.meta = meta.NewClient(n.machine, n.metaGroup, n.courier, n.metaGroup.Short)
	n.courier.Handle(verbUsers, n.serveUsers)
	n.machine.OnChange(func(*meta.View) { n.clocks.Kick() })
	n.background.run(func() { n.clocks.Run(n.ctx) })
	n.background.run(n.watchClock)
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
		ID: group, Dir: n.folder.GroupDir(group), LogStore: n.self.LogStore, Journal: n.journalOf(group),
		LocalID: raft.ServerID(n.self.ID()), LocalAddr: raft.ServerAddress(s.PeerAddress), Transport: n.transport,
		HeartbeatMs: c.HeartbeatMs, ElectionMs: c.ElectionMs,
		SnapshotEntries: s.RaftSnapshotEntries, TrailingEntries: s.RaftTrailingEntries,
		SnapshotBytes: uint64(s.RaftSnapshotBytes), SnapshotBytesMax: uint64(s.RaftSnapshotBytesMax),
		VotersLeast: func() int { return n.votersLeast(group) },
		Pledge:      raftio.Pledge(n.folder.Pledged(group)),
		Made:        func() error { return n.folder.Opened(group) },
		Fatal:       n.die, Log: n.log,
		Synced: func(took time.Duration) {
			n.stats.Latency.Took(client.EventSync, took)
			n.timings.sync.Observe(took)
		},
		Took: n.took, Writing: n.saves.writing,
	}
}

// latencyEvents are what LATENCY calls the work of groups and shards.
var latencyEvents = [...]string{shard.Commit: client.EventCommit, shard.Snapshotting: client.EventSnapshot, shard.Expire: client.EventExpire}

func (n *Node) took(what shard.Work, took time.Duration) {
	n.stats.Latency.Took(latencyEvents[what], took)
	n.timings.took(what, took)
}

// kick tells who cares for a group that this node leads it.
func (n *Node) kick(group uint32) {
	if m := n.manager.Load(); m != nil {
		m.Kick(group)
	}
}

func (n *Node) shardConfig(group uint32) shard.Config {
	s := n.cfg.Current()
	gcfg := n.groupConfig(group)
	gcfg.StandsBack = n.standsBack
	machine := machineConfig(n.self.Creation, group)
	machine.Sched = sched.Config{Permits: s.Permits, NowNs: func() int64 { return int64(time.Since(n.started)) }}
	machine.UseTick = func() uint32 { return n.useTick.Load() }
	machine.Rest = rest
	machine.Observer = &n.feeds.shards[group]
	machine.Witness = n.witness
	machine.Tracker = &n.feeds.shards[group]
	return shard.Config{
		Group: gcfg, Node: n.self.Incarnation, Boot: n.boot,
		Machine: machine,
		ReadMode: func() shard.ReadMode {
			if !n.settled.Load() || n.cfg.Current().ReadMode == config.ReadQuorum {
				return shard.ReadQuorum
			}
			return shard.ReadLease
		},
		EntryBytesMax: int(s.RaftEntryBytesMax), OutstandingBytesMax: s.OutstandingBytesMax, OutstandingTxnsMax: int64(s.OutstandingTxnsMax),
		ScriptTimeout: func() time.Duration {
			return time.Duration(min(n.cfg.Current().ScriptTimeoutMs, 1<<40)) * time.Millisecond
		},
		Settings: n.engineSettings, Settle: n.settle, Memory: &n.memory,
		Clocks: n.clocks.Now, ClockLimit: n.clockLimit,
		OnLead: func() { n.replicas.led(group); n.kick(group) }, Log: n.log,
		SendList: func(ctx context.Context, addr string, list []byte) error {
			return router.SendWaitList(ctx, n.transport, addr, group, list)
		},
	}
}

// machineConfig is what every machine of a shard must have in common, whoever reads
// its log.
func machineConfig(c *meta.Creation, group uint32) fsm.Config {
	return fsm.Config{Group: group, Engine: engine.Config{LockSlots: c.LockSlots, Seed: c.Seeds[group]}, Owns: owns(c, group)}
}

// owns tells which hash slots a shard has, nil: all.
func owns(c *meta.Creation, group uint32) func(hashSlot int) bool {
	layout := c.Layout()
	if layout.Shards() == 1 {
		return nil
	}
	return func(hashSlot int) bool { return layout.ShardOfSlot(uint16(hashSlot)) == int(group) }
}

// reconcile begins to answer for shards and to keep every group's members as the
// view wants them.
func (n *Node) reconcile(context.Context) error {
	n.router = router.New(router.Config{
		Node: n.self.Incarnation, Boot: n.boot, Layout: n.self.Creation.Layout(),
		Replica: func(i int) router.Shard {
			if s := n.replica(i); s != nil {
				return s
			}
			return nil
		},
		Replicas: n.replicaAddrs,
		Known:    n.knownLeader,
		Learn:    n.learnLeader,
		Disprove: n.disproveLeader,
		Reboot:   n.beginAnew,
		Quiet:    n.transport.Quiet,
		Member: func(node uint64) bool {
			_, known := n.machine.View().ByIncarnation(node)
			return known
		},
		Heard:   n.feeds.intake.Heard,
		Scripts: n.knownScripts,
		Panics:  n.panics.clients,
		Numbered: func(index int, first fsm.TxnID, calls []*cluster.Call) {
			for i, c := range calls {
				if c.Client != 0 {
					n.tracking.Sent(index, fsm.TxnID{Origin: first.Origin, Seq: first.Seq + uint64(i)}, c.Client)
				}
			}
		},
		Peers: n.transport, TimeoutMs: func() int { return n.cfg.Current().WriteTimeoutMs },
	})
	n.replicatedSettings()
	n.background.run(n.learnSettings)
	n.openLeaders()
	n.background.run(n.tickUse)
	n.serving.Store(true)
	n.background.run(func() { n.exchange.Run(n.ctx) })
	n.manager.Store(membership.Start(membership.Config{
		Self: n.self.ID(), PeerAddr: n.cfg.Current().PeerAddress, ClusterID: n.self.ClusterID,
		Machine: n.machine, Meta: n.meta, Courier: n.courier, Caller: n.transport,
		Group: membership.NewReplica(n.metaGroup), LostAfter: n.repairAfter, HearsLeader: func() bool { addr, self := n.groupLeader(meta.GroupID); return self || addr != "" },
		Also: n.cfg.Current().Join, Met: func(id meta.NodeID, addr string) { n.transport.Met(string(id), addr) },
		OnRemoved: n.removed, Secret: n.secrets.toHand, Panics: n.panics.peers, ClockOff: n.clockWrong, Log: n.log,
	}))
	n.background.run(n.watchVersion)
	for _, s := range n.shards() {
		n.manager.Load().Attach(s.ID(), membership.NewReplica(s.Group()))
	}
	n.place()
	n.machine.OnChange(func(*meta.View) { n.replicas.Kick(); n.announceSoon() })
	n.background.run(func() { n.replicas.keep(n.ctx) })
	n.background.run(func() { n.feeds.intake.Run(n.ctx) })
	return nil
}

// beginAnew gives this gateway a boot number behind one that a shard knows of it: what it
// sends to that shard was taken for an earlier process's.
func (n *Node) beginAnew(index int, behind uint64) (uint64, error) {
	boot, err := n.folder.StartedBehind(behind)
	if err != nil {
		n.log.Error("this node's writes are taken for those of an earlier start, and it cannot begin anew", "shard", index, "err", err)
		return 0, err
	}
	n.log.Warn("this node's writes were taken for those of an earlier start: somebody has spoken in its name, or it runs twice. It begins anew",
		"shard", index, "known", behind, "boot", boot)
	return boot, nil
}

// meetPeers begins to serve peers, as far as there is something to serve, and
// asks them whether this node still belongs to them, before it opens what it
// might answer from: together with others that were given up it could make up a
// quorum of the past.
func (n *Node) meetPeers(ctx context.Context) error {
	n.transport.Serve()
	if n.self.Phase != identity.Settled {
		return nil
	}
	why := membership.NewVigil(membership.VigilConfig{
		Self: n.self.ID(), ClusterID: n.self.ClusterID, Caller: n.transport, Peers: n.peerAddrs, View: n.machine.View, Log: n.log,
	}).Ask(ctx)
	if why == "" {
		return nil
	}
	if err := n.folder.MarkRemoved(why); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s; move the folder %s away to join as a new node", ErrRemoved, why, n.folder.Dir())
}

// removed ends the node: the cluster has let go of it.
func (n *Node) removed(why string) {
	if err := n.folder.MarkRemoved(why); err != nil {
		n.log.Error("the folder could not be marked as removed", "err", err)
	}
	n.depart()
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
		if err := membership.Found(ctx, n.meta, n.folder, n.me()); err != nil {
			return err
		}
	}
	n.background.run(n.tellAddresses)
	return nil
}

// tickUse keeps the clock of uses of keys.
func (n *Node) tickUse() {
	const tick = time.Second / engine.UseTicks
	// The clock does not begin at 0: RESTORE IDLETIME records uses of before the start.
	const begin = 1 << 31
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		n.useTick.Store(begin + uint32(time.Since(n.started)/tick))
		select {
		case <-t.C:
		case <-n.ctx.Done():
			return
		}
	}
}
