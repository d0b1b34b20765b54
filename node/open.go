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
	"lockstep/cluster/meta/identity"
	"lockstep/cluster/meta/leaderrpc"
	"lockstep/cluster/raftio"
	"lockstep/cluster/router"
	"lockstep/cluster/shard"
	"lockstep/cluster/transport"
	"lockstep/engine/sched"
	"lockstep/fsm"
	"lockstep/node/backup"
	"lockstep/node/config"
	"lockstep/node/member"
	"lockstep/node/process"
	"lockstep/node/relay"
	"lockstep/node/secrets"
	"lockstep/node/survey"
	"lockstep/node/users"
	"lockstep/proto/stats"
)

// listenPeers opens the peer port. Handlers are set before it serves, because the first request may
// arrive at once.
func (n *Node) listenPeers(context.Context) error {
	s := n.Config.Current()
	t, err := transport.Listen(n.peerPort(s))
	if err != nil {
		return inWords(err, "peer-port", s.PeerPort)
	}
	n.Transport = t
	n.secrets.UsePort(t)
	n.LeaderRPC = leaderrpc.New(leaderrpc.Config{Caller: t, Leader: n.GroupLeader, Peers: n.PeerAddrs, Seen: func() uint64 { return n.Machine.View().Index }, Panics: n.panics.Peers})
	n.handleCalls(t)
	n.clocks.open()
	t.Handle(clock.Kind, func(_ transport.Peer, _ []byte, reply func([]byte)) { n.clocks.Exchange.Serve(reply) })
	t.HandleAside(survey.KindExamine, func(_ transport.Peer, payload []byte, reply func([]byte)) { n.survey.ServeExamine(payload, reply) })
	t.HandleAside(kindLed, func(_ transport.Peer, _ []byte, reply func([]byte)) {
		if n.Serving.Load() {
			n.replicas.serveLed(reply)
		} else {
			reply(nil)
		}
	})
	t.HandleAside(survey.KindStatus, func(_ transport.Peer, _ []byte, reply func([]byte)) { n.survey.ServeStatus(reply) })
	t.HandleAside(survey.KindPageData, func(_ transport.Peer, payload []byte, reply func([]byte)) { n.survey.ServePageData(payload, reply) })
	t.HandleAside(secrets.Kind, func(_ transport.Peer, payload []byte, reply func([]byte)) { n.secrets.Serve(payload, reply) })
	t.HandleAside(backup.Kind, func(_ transport.Peer, payload []byte, reply func([]byte)) { n.backups.Serve(payload, reply) })
	n.messages = relay.NewMessages(n.Member)
	n.events = relay.NewEvents(n.messages.Hub(), n.Config, func() { n.kickFeeds(n.Member) })
	t.Handle(relay.KindPublish, func(_ transport.Peer, payload []byte, reply func([]byte)) { n.messages.Serve(payload, reply) })
	n.notices = relay.NewNotices(n.Member, n.witness.Hear)
	t.Handle(relay.KindNotices, func(_ transport.Peer, payload []byte, reply func([]byte)) { n.notices.Serve(payload); reply(nil) })
	t.Handle(feed.Kind, func(_ transport.Peer, payload []byte, reply func([]byte)) {
		if n.Serving.Load() {
			n.feeds.Serve(payload, reply)
		} else {
			reply(feed.NotReady())
		}
	})
	t.Handle(leaderrpc.Kind, func(_ transport.Peer, payload []byte, reply func([]byte)) { n.LeaderRPC.Serve(payload, reply) })
	t.Handle(membership.KindKnock, func(from transport.Peer, payload []byte, reply func([]byte)) {
		if m := n.Manager.Load(); m != nil {
			m.ServeKnock(visitor(from), payload, reply)
		} else {
			reply(nil)
		}
	})
	return nil
}

// handleCalls serves the requests of other gateways to this node's replicas, once they are open.
func (n *Node) handleCalls(t *transport.Transport) {
	own := func(serve func(from transport.Peer, payload []byte, reply func([]byte))) transport.Handler {
		return func(from transport.Peer, payload []byte, reply func([]byte)) {
			if n.Serving.Load() {
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
		n.Router.Server().ServePropose(incarnation(from), payload, reply)
	}))
	t.HandleAside(router.KindRead, served(func(payload []byte, reply func([]byte)) { n.Router.Server().ServeRead(n.ctx, payload, reply) }))
	t.HandleAside(router.KindStale, served(func(payload []byte, reply func([]byte)) { n.Router.Server().ServeStale(n.ctx, payload, reply) }))
	t.HandleAside(router.KindIndex, served(func(payload []byte, reply func([]byte)) { n.Router.Server().ServeIndex(n.ctx, payload, reply) }))
	t.Handle(leaders.Kind, served(func(payload []byte, reply func([]byte)) { n.exchange.Serve(payload, reply) }))
	t.Handle(router.KindWait, own(func(from transport.Peer, payload []byte, reply func([]byte)) {
		n.Router.Server().ServeWait(incarnation(from), from, payload, reply)
	}))
	t.Handle(router.KindWaitList, served(func(payload []byte, reply func([]byte)) { n.Router.Server().ServeWaitList(payload, reply) }))
	t.Handle(router.KindTakeBack, own(func(from transport.Peer, payload []byte, reply func([]byte)) {
		n.Router.Server().ServeTakeBack(incarnation(from), payload, reply)
	}))
	t.HandleAside(router.KindRelay, own(func(from transport.Peer, payload []byte, reply func([]byte)) {
		n.Router.Server().ServeRelay(n.ctx, incarnation(from), from, payload, reply)
	}))
	t.HandleAside(router.KindRelayed, own(func(from transport.Peer, payload []byte, reply func([]byte)) {
		n.Router.Server().ServeRelayed(n.ctx, from, payload, reply)
	}))
	t.Handle(router.KindBusy, served(func(payload []byte, reply func([]byte)) { n.Router.Server().ServeBusy(payload, reply) }))
	t.Handle(router.KindLeader, served(func(payload []byte, reply func([]byte)) { n.Router.Server().ServeLeader(payload, reply) }))
}

// incarnation is the number by which a peer's gateway names itself in the log.
func incarnation(from transport.Peer) uint64 { return meta.NodeID(from.NodeID).Incarnation() }

// inWords explains why a port could not be opened.
func inWords(err error, what string, port int) error {
	if strings.Contains(err.Error(), "address already in use") {
		return fmt.Errorf("%s %d is taken by another program; choose another with --%s", what, port, what)
	}
	return fmt.Errorf("cannot listen on %s %d: %w", what, port, err)
}

// listenAddresses returns the addresses of bind with a port. An address with a leading "-" is left
// out if this machine does not have it. In package net, listening on all addresses of one kind
// (IPv4 or IPv6) also listens on those of the other if the machine has both.
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

// available reports whether this machine has the address.
func available(host string) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// join asks a cluster to take this node in, if it has no cluster yet.
func (n *Node) join(ctx context.Context) error {
	if n.Self.Phase == identity.Joining {
		s := n.Config.Current()
		if len(s.Join) == 0 {
			return errors.New("this node began to join a cluster and was not taken in; start it with --join again, or empty its folder")
		}
		n.supervisor.tellReady("looks for its cluster")
		w, err := membership.Join(ctx, n.Transport, s.Join, membership.JoinRequest{Node: joining(n.Member, s), Replace: s.Replace}, n.Log)
		if err != nil {
			return err
		}
		return n.recordJoined(&w)
	}
	return nil
}

// openMeta opens the meta group. A founder creates it.
func (n *Node) openMeta(context.Context) error {
	boot, err := n.Folder.Started()
	if err != nil {
		return err
	}
	n.Boot = boot
	n.Self = n.Folder.Identity()
	n.Awaited.Store(int32(n.Awaits()))
	n.Log.Info("this is node", "id", string(n.Self.ID()), "boot", boot, "cluster", n.Self.ClusterID, "dir", n.Folder.Dir())
	n.secrets.Say()
	sayWhatHolds(n.Member, n.Config.Current())
	cfg := n.groupConfig(meta.GroupID)
	cfg.SM = member.MetaMachine{Machine: n.Machine}
	cfg.Verify = meta.VerifyCommand
	cfg.Arriving = func() raftio.Arrival { return new(meta.Arrival) }
	cfg.ProbeEvery = shard.ProbeUsual
	cfg.OnLeader = func(uint64) { n.Kick(meta.GroupID) }
	cfg.OnLost = func(uint64) {}
	if n.MetaGroup, err = shard.OpenGroup(cfg); err != nil {
		return err
	}
	n.Meta = meta.NewClient(n.Machine, n.MetaGroup, n.LeaderRPC, n.MetaGroup.Short)
	n.LeaderRPC.Handle(users.Verb, users.Serve(n.Member))
	n.Machine.OnChange(func(*meta.View) { n.clocks.Exchange.Kick() })
	n.background.Go(func() { n.clocks.Exchange.Run(n.ctx) })
	n.background.Go(n.clocks.watch)
	return n.Bootstrap(n.MetaGroup)
}

// groupConfig is the configuration that all groups of this node have in common.
func (n *Node) groupConfig(group uint32) shard.GroupConfig {
	s := n.Config.Current()
	c := n.Self.Creation
	return shard.GroupConfig{
		ID: group, Dir: n.Folder.GroupDir(group), LogStore: n.Self.LogStore, Journal: journalOf(n.journal, group),
		LocalID: raft.ServerID(n.Self.ID()), LocalAddr: raft.ServerAddress(s.PeerAddress), Transport: n.Transport,
		HeartbeatMs: c.HeartbeatMs, ElectionMs: c.ElectionMs,
		SnapshotEntries: s.RaftSnapshotEntries, TrailingEntries: s.RaftTrailingEntries,
		SnapshotBytes: uint64(s.RaftSnapshotBytes), SnapshotBytesMax: uint64(s.RaftSnapshotBytesMax),
		VotersLeast: func() int { return n.VotersLeast(group) },
		Pledge:      raftio.Pledge(n.Folder.Pledged(group)),
		Made:        func() error { return n.Folder.Opened(group) },
		Fatal:       n.die, Log: n.Log,
		Synced: func(took time.Duration) {
			n.stats.Latency.Took(stats.EventSync, took)
			n.survey.Timings.Sync.Observe(took)
		},
		Took: func(what shard.Work, took time.Duration) { noteWork(n.stats, &n.survey.Timings, what, took) }, Writing: n.process.Saves.Writing,
	}
}

// latencyEvents are the names in LATENCY for the work of groups and shards.
var latencyEvents = [...]string{shard.Commit: stats.EventCommit, shard.Snapshotting: stats.EventSnapshot, shard.Expire: stats.EventExpire}

func (n *Node) shardConfig(group uint32) shard.Config {
	s := n.Config.Current()
	gcfg := n.groupConfig(group)
	gcfg.StandsBack = n.clocks.standsBack
	machine := member.MachineConfig(n.Self.Creation, group)
	machine.Sched = sched.Config{Permits: s.Permits, NowNs: func() int64 { return int64(time.Since(n.Started)) }}
	machine.UseTick = func() uint32 { return n.uses.tick.Load() }
	machine.Rest = process.Rest
	machine.Observer = n.feeds.Teller(int(group))
	machine.Witness = n.witness
	machine.Tracker = n.feeds.Teller(int(group))
	return shard.Config{
		Group: gcfg, Node: n.Self.Incarnation, Boot: n.Boot,
		Machine: machine,
		ReadMode: func() shard.ReadMode {
			if !n.settings.settled.Load() || n.Config.Current().ReadMode == config.ReadQuorum {
				return shard.ReadQuorum
			}
			return shard.ReadLease
		},
		EntryBytesMax: int(s.RaftEntryBytesMax), OutstandingBytesMax: s.OutstandingBytesMax, OutstandingTxnsMax: int64(s.OutstandingTxnsMax),
		ScriptTimeout: func() time.Duration {
			return time.Duration(min(n.Config.Current().ScriptTimeoutMs, 1<<40)) * time.Millisecond
		},
		Settings: n.settings.engineSettings, Settle: n.settings.catchUpAsLeader, Memory: &n.memory,
		Clocks: n.clocks.Exchange.Now, ClockLimit: n.clocks.Limit,
		OnLead: func() { n.replicas.led(group); n.Kick(group) }, Log: n.Log,
		SendList: func(ctx context.Context, addr string, list []byte) error {
			return router.SendWaitList(ctx, n.Transport, addr, group, list)
		},
	}
}

// reconcile starts to answer for shards and to keep the members of every group as the view wants
// them.
func (n *Node) reconcile(context.Context) error {
	n.Router = router.New(router.Config{
		Node: n.Self.Incarnation, Boot: n.Boot, Layout: n.Self.Creation.Layout(),
		Replica: func(i int) router.Shard {
			if s := n.Replica(i); s != nil {
				return s
			}
			return nil
		},
		Replicas:  n.ReplicaAddrs,
		Known:     n.KnownLeader,
		Learn:     n.LearnLeader,
		Disprove:  n.DisproveLeader,
		Reboot:    n.raiseBoot,
		SilentFor: n.Transport.SilentFor,
		Member: func(node uint64) bool {
			_, known := n.Machine.View().ByIncarnation(node)
			return known
		},
		Heard:   n.feeds.Consumer.Heard,
		Scripts: n.KnownScripts,
		Panics:  n.panics.Clients,
		Numbered: func(index int, first fsm.TxnID, calls []*cluster.Call) {
			for i, c := range calls {
				if c.Client != 0 {
					n.tracking.Sent(index, fsm.TxnID{Origin: first.Origin, Seq: first.Seq + uint64(i)}, c.Client)
				}
			}
		},
		Peers: n.Transport, TimeoutMs: func() int { return n.Config.Current().WriteTimeoutMs },
	})
	n.settings.open()
	n.background.Go(n.settings.learnSettings)
	n.openLeaders()
	n.background.Go(func() { n.uses.run(n.ctx, n.Started) })
	n.Serving.Store(true)
	n.background.Go(func() { n.exchange.Run(n.ctx) })
	n.Manager.Store(membership.Start(membership.Config{
		Self: n.Self.ID(), PeerAddr: n.Config.Current().PeerAddress, ClusterID: n.Self.ClusterID,
		Machine: n.Machine, Meta: n.Meta, LeaderRPC: n.LeaderRPC, Caller: n.Transport,
		Group: membership.NewReplica(n.MetaGroup), LostAfter: func() time.Duration { return repairAfter(n.Member) }, KnowsLeader: func() bool { addr, self := n.GroupLeader(meta.GroupID); return self || addr != "" },
		Also: n.Config.Current().Join, LearnAddress: func(id meta.NodeID, addr string) { n.Transport.LearnAddress(string(id), addr) },
		OnRemoved: n.removed, Secret: n.secrets.ToHand, Panics: n.panics.Peers, ClockOff: n.clocks.Wrong, Log: n.Log,
	}))
	n.background.Go(n.orders.WatchVersion)
	for _, s := range n.Shards() {
		n.Manager.Load().Attach(s.ID(), membership.NewReplica(s.Group()))
	}
	n.place()
	n.Machine.OnChange(func(*meta.View) { n.replicas.Kick(); n.announcer.soon() })
	n.background.Go(func() { n.replicas.keep(n.ctx) })
	n.background.Go(func() { n.feeds.Consumer.Run(n.ctx) })
	return nil
}

// raiseBoot gives this gateway a boot number higher than the one that a shard has recorded for it.
// The shard took this gateway's writes for those of an earlier process.
func (n *Node) raiseBoot(index int, behind uint64) (uint64, error) {
	boot, err := n.Folder.StartedBehind(behind)
	if err != nil {
		n.Log.Error("this node's writes are taken for those of an earlier start, and it cannot begin anew", "shard", index, "err", err)
		return 0, err
	}
	n.Log.Warn("this node's writes were taken for those of an earlier start: somebody has spoken in its name, or it runs twice. It begins anew",
		"shard", index, "known", behind, "boot", boot)
	return boot, nil
}

// meetPeers starts to serve peers, as far as there is something to serve, and asks them whether
// this node still belongs to the cluster. It does so before it opens its groups: together with
// other nodes that were given up, this node could otherwise form a quorum with outdated data.
func (n *Node) meetPeers(ctx context.Context) error {
	n.Transport.Serve()
	if n.Self.Phase != identity.Settled {
		return nil
	}
	why := membership.NewRemovalWatch(membership.RemovalWatchConfig{
		Self: n.Self.ID(), ClusterID: n.Self.ClusterID, Caller: n.Transport, Peers: n.PeerAddrs, View: n.Machine.View, Log: n.Log,
	}).Ask(ctx)
	if why == "" {
		return nil
	}
	if err := n.Folder.MarkRemoved(why); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s; move the folder %s away to join as a new node", ErrRemoved, why, n.Folder.Dir())
}

// removed ends the node after the cluster has removed it.
func (n *Node) removed(why string) {
	if err := n.Folder.MarkRemoved(why); err != nil {
		n.Log.Error("the folder could not be marked as removed", "err", err)
	}
	n.depart()
	n.die(fmt.Errorf("%w: %s", ErrRemoved, why))
}

// ErrRemoved ends a node that is no longer part of its cluster.
var ErrRemoved = errors.New("this node was removed from the cluster")

// found creates the cluster in the meta group, if this node founds it. Then the node starts to
// announce its addresses.
func (n *Node) found(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if n.Self.Phase == identity.Founding {
		if err := membership.Found(ctx, n.Meta, n.Folder, me(n.Member)); err != nil {
			return err
		}
	}
	n.background.Go(n.announcer.run)
	return nil
}

// visitor describes the peer that knocks at the peer port.
func visitor(from transport.Peer) membership.Visitor {
	v := membership.Visitor{Unproved: from.Unproved}
	if !from.Stranger {
		v.Member = meta.NodeID(from.NodeID)
	}
	return v
}

// noteWork records how long a piece of work of a group or a shard took.
func noteWork(stats *stats.Stats, timings *survey.Timings, what shard.Work, took time.Duration) {
	stats.Latency.Took(latencyEvents[what], took)
	timings.Took(what, took)
}
