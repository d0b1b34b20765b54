// Package node puts a Lockstep node together out of the packages below it, and
// takes it apart again.
//
// Start, in order: lock and read the data folder (who am I), listen on the peer
// port, find or join the cluster, open the meta group, open the shards, begin
// to reconcile memberships, listen for clients. Stop is the reverse: take no
// new clients, hand leaderships over, finish what is under way, close.
//
// The package holds no rules of its own beyond that order; what INFO, CLUSTER,
// CONFIG and LOCKSTEP answer is read from the parts.
package node

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"lockstep/cluster/membership"
	"lockstep/cluster/meta"
	"lockstep/cluster/meta/courier"
	"lockstep/cluster/meta/identity"
	"lockstep/cluster/router"
	"lockstep/cluster/shard"
	"lockstep/cluster/transport"
	"lockstep/node/config"
)

// Node is one running node.
type Node struct {
	cfg     *config.Config
	log     *slog.Logger
	started time.Time

	folder    *identity.Folder
	self      *identity.Identity
	transport *transport.Transport
	courier   *courier.Courier
	machine   *meta.Machine
	metaGroup *shard.Group
	meta      *meta.Client
	manager   atomic.Pointer[membership.Manager]
	boot      uint64
	// accessSec is the access clock of keys, in seconds.
	accessSec atomic.Uint32
	// lastLeader remembers, per shard, who led last.
	lastLeader leaderNames
	// lastSnapshot is when SAVE or BGSAVE last succeeded, in Unix time.
	lastSnapshot atomic.Int64
	shards       []*shard.Shard
	// serving is set once shards is complete: peers may ask earlier.
	serving  atomic.Bool
	draining atomic.Bool
	// ready is set once clients are served.
	ready  atomic.Bool
	admin  *adminServer
	router *router.Router
	front  *front

	fatal chan error
	ctx   context.Context
	stop  context.CancelFunc
}

// startTimeout bounds how long a node that is not joining may take to open.
const startTimeout = 60 * time.Second

// Start starts a node. When it returns without an error, clients are served.
func Start(ctx context.Context, cfg *config.Config, log *slog.Logger) (*Node, error) {
	n := &Node{cfg: cfg, log: log, started: time.Now(), fatal: make(chan error, 1)}
	n.ctx, n.stop = context.WithCancel(context.Background())
	n.lastSnapshot.Store(n.started.Unix())
	if err := n.start(ctx); err != nil {
		n.abort()
		return nil, err
	}
	return n, nil
}

func (n *Node) start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		n.openAdmin, n.openFolder, n.listenPeers, n.join, n.openMeta, n.openShards, n.reconcile, n.found, n.openFront,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	n.ready.Store(true)
	go paceMemory(n.ctx)
	return nil
}

// ErrShutdown ends a node that was told to by SHUTDOWN.
var ErrShutdown = errors.New("told to shut down")

// Fatal delivers the reason when the node cannot go on: a damaged log, a disk
// that fails. The process must end.
func (n *Node) Fatal() <-chan error { return n.fatal }

func (n *Node) die(err error) {
	select {
	case n.fatal <- err:
	default:
	}
}

// Stop drains the node and closes it: it takes no new clients, hands its
// leaderships over, lets what is under way finish, and exits.
func (n *Node) Stop(ctx context.Context) error {
	n.log.Info("stopping", "reason", "asked to")
	n.draining.Store(true)
	if n.front != nil {
		n.front.stopAccepting()
	}
	if m := n.manager.Load(); m != nil {
		if err := m.Drain(ctx); err != nil {
			n.log.Warn("not every leadership was handed over", "reason", err)
		}
	}
	if n.front != nil {
		n.front.close(ctx)
	}
	n.abort()
	return nil
}

// abort closes whatever is open, without ceremony.
func (n *Node) abort() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	n.stop()
	if n.front != nil {
		n.front.close(ctx)
	}
	if n.admin != nil {
		n.admin.close(ctx)
	}
	if m := n.manager.Load(); m != nil {
		m.Close()
	}
	if n.courier != nil {
		n.courier.Close()
	}
	for _, s := range n.shards {
		_ = s.Close(ctx)
	}
	if n.metaGroup != nil {
		_ = n.metaGroup.Shutdown(ctx)
	}
	if n.transport != nil {
		_ = n.transport.Close()
	}
	if n.folder != nil {
		_ = n.folder.Close()
	}
}

// openFolder finds out who this node is, or makes it somebody.
func (n *Node) openFolder(context.Context) error {
	s := n.cfg.Current()
	folder, err := identity.Open(s.Dir)
	if err != nil {
		return err
	}
	n.folder = folder
	switch {
	case folder.Identity() != nil:
		err = folder.CheckName(s.NodeName)
	case len(s.Join) > 0 && !s.Bootstrap:
		err = folder.BeginJoin(s.NodeName)
	case len(s.Join) > 0:
		err = errors.New("both --bootstrap and --join are given; a node begins a new cluster or joins one")
	default:
		err = folder.Found(s.NodeName, n.creation(s))
	}
	if err != nil {
		return err
	}
	n.self = folder.Identity()
	return nil
}

func (n *Node) creation(s *config.Settings) meta.Creation {
	return meta.Creation{
		CreatedMs: time.Now().UnixMilli(), LockSlots: s.LockSlots,
		HeartbeatMs: s.RaftHeartbeatMs, ElectionMs: s.RaftElectionMs,
		Seeds: identity.NewSeeds(s.Shards),
	}
}

// me is this node as the cluster should know it.
func (n *Node) me() meta.Node {
	s := n.cfg.Current()
	return meta.Node{
		ID: n.self.ID(), Name: n.self.Name, Incarnation: n.self.Incarnation,
		PeerAddr: s.PeerAddress, ClientAddr: clientAddress(s), AdminAddr: adminAddress(s), Version: Version,
	}
}
