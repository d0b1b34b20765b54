package membership

import (
	"context"
	"log/slog"
	"sync"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/courier"
)

// Config is what a manager is made with.
type Config struct {
	Self      meta.NodeID
	ClusterID string
	Machine   *meta.Machine
	Meta      Meta
	Courier   *courier.Courier
	Caller    Caller
	// Groups are this node's replicas, the meta group's among them, by number.
	Groups map[uint32]Group
	// HearsLeader tells whether this node leads the meta group or knows who does.
	HearsLeader func() bool
	// Also are addresses of other nodes beside those that PeerAddrs finds, such
	// as those that the node was told to join.
	Also []string
	// OnRemoved is called at most once, with the reason in words, when this node
	// is no longer part of the cluster: it must stop, and MarkRemoved its folder.
	OnRemoved func(why string)
	Log       *slog.Logger
}

// Manager is all of this package at work on one node: the door, a reconciler
// per group, the vigil, and the operator's verbs.
type Manager struct {
	*Registrar
	*Transfers

	self        meta.NodeID
	door        *Door
	groups      map[uint32]Group
	reconcilers map[uint32]*Reconciler
	stop        context.CancelFunc
	working     sync.WaitGroup
}

// Start sets everything to work, until Close.
func Start(cfg Config) *Manager {
	ctx, stop := context.WithCancel(context.Background())
	m := &Manager{
		self: cfg.Self, groups: cfg.Groups, reconcilers: map[uint32]*Reconciler{}, stop: stop,
		door:      NewDoor(cfg.Meta, cfg.Courier),
		Registrar: NewRegistrar(RegistrarConfig{Self: cfg.Self, Meta: cfg.Meta, Group: cfg.Groups[meta.GroupID], Courier: cfg.Courier}),
		Transfers: NewTransfers(TransfersConfig{
			Self: cfg.Self, View: cfg.Meta.View, Courier: cfg.Courier,
			Group: func(g uint32) Group { return cfg.Groups[g] },
		}),
	}
	for id, g := range cfg.Groups {
		r := NewReconciler(ReconcilerConfig{GroupID: id, Group: g, Self: cfg.Self, Meta: cfg.Meta, Log: cfg.Log})
		m.reconcilers[id] = r
		m.working.Go(func() { r.Run(ctx) })
	}
	cfg.Machine.OnChange(func(*meta.View) { m.kickAll() })
	v := NewVigil(VigilConfig{
		Self: cfg.Self, ClusterID: cfg.ClusterID, View: cfg.Meta.View, HearsLeader: cfg.HearsLeader,
		Caller:    cfg.Caller,
		Peers:     func() []string { return PeerAddrs(cfg.Self, cfg.Meta.View(), cfg.Groups[meta.GroupID], cfg.Also) },
		OnRemoved: cfg.OnRemoved, Log: cfg.Log,
	})
	m.working.Go(func() { v.Run(ctx) })
	return m
}

// ServeKnock answers a request of KindKnock.
func (m *Manager) ServeKnock(payload []byte, reply func([]byte)) { m.door.Serve(payload, reply) }

// Kick makes a group's reconciler look at once, for this node has begun to
// lead the group.
func (m *Manager) Kick(group uint32) {
	if r := m.reconcilers[group]; r != nil {
		r.Kick()
	}
}

func (m *Manager) kickAll() {
	for _, r := range m.reconcilers {
		r.Kick()
	}
}

// Waits says in words what a group that this node leads is waiting for before
// it changes its members; empty if nothing.
func (m *Manager) Waits(group uint32) string {
	if r := m.reconcilers[group]; r != nil {
		return r.Waits()
	}
	return ""
}

// Drain hands over every group that this node leads, before it stops; all at
// one time, for clients wait for each.
func (m *Manager) Drain(ctx context.Context) error {
	var groups []Group
	for _, g := range m.groups {
		groups = append(groups, g)
	}
	return Drain(ctx, m.self, groups)
}

// Close ends all work and waits for it. It does not close the groups. It must
// not be called from OnRemoved.
func (m *Manager) Close() {
	m.stop()
	m.working.Wait()
	m.door.Close()
}
