package membership

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/leaderrpc"
	"lockstep/ground/background"
	"lockstep/ground/caught"
)

// Config is the configuration of a Manager.
type Config struct {
	Self      meta.NodeID
	ClusterID string
	// PeerAddr is the address at which other nodes reach this node now.
	PeerAddr  string
	Machine   *meta.Machine
	Meta      Meta
	LeaderRPC *leaderrpc.Client
	Caller    Caller
	// Group is this node's replica of the meta group. Attach and Release add and remove replicas of
	// shards.
	Group Group
	// LostAfter returns how long a voter of the meta group must have been silent to lose its vote;
	// 0 is for ever. It may be nil, which means 0.
	LostAfter func() time.Duration
	// ClockOff returns how far a node's clock is ahead of the others', or 0 if the difference is
	// allowed. If ClockOff is nil, all clocks are right.
	ClockOff func(id meta.NodeID) time.Duration
	// KnowsLeader reports whether this node leads the meta group or knows its leader.
	KnowsLeader func() bool
	// Also are addresses of other nodes in addition to those that PeerAddrs finds, for example
	// those that the node was told to join.
	Also []string
	// LearnAddress is called with the address of another node of the cluster; it may be nil.
	LearnAddress func(id meta.NodeID, addr string)
	// Secret returns the cluster's secret for a node that has none. If it is nil or returns "",
	// such a node is not let in.
	Secret func() string
	// OnRemoved is called at most once, with the reason in words, when this node no longer belongs
	// to the cluster. The node must then stop, and call MarkRemoved on its folder.
	OnRemoved func(why string)
	// Panics catches the panics of requests from other nodes; it may be nil.
	Panics *caught.Panics
	Log    *slog.Logger
}

// Manager runs this package on one node: the admission of nodes, a reconciler for each group, the
// removal watch, and the orders of operators.
type Manager struct {
	*Registrar
	*Transfers

	cfg       Config
	admission *Admission
	ctx       context.Context
	stop      context.CancelFunc
	working   background.Group

	mu sync.RWMutex // guards groups
	// groups are this node's replicas, by number.
	groups map[uint32]*attached
}

// attached is a replica and its reconciler.
type attached struct {
	Group
	*Reconciler
	stop  context.CancelFunc
	ended chan struct{}
}

// Start starts a manager. Close ends it.
func Start(cfg Config) *Manager {
	ctx, stop := context.WithCancel(context.Background())
	m := &Manager{
		cfg: cfg, groups: map[uint32]*attached{}, ctx: ctx, stop: stop,
		admission: NewAdmission(AdmissionConfig{Self: cfg.Self, ClusterID: cfg.ClusterID, Meta: cfg.Meta, LeaderRPC: cfg.LeaderRPC, LearnAddress: cfg.LearnAddress, Secret: cfg.Secret, Panics: cfg.Panics}),
		Registrar: NewRegistrar(RegistrarConfig{Self: cfg.Self, Meta: cfg.Meta, Group: cfg.Group, LeaderRPC: cfg.LeaderRPC}),
	}
	m.Transfers = NewTransfers(TransfersConfig{Self: cfg.Self, View: cfg.Meta.View, LeaderRPC: cfg.LeaderRPC, Group: m.group, ClockOff: cfg.ClockOff})
	m.Attach(meta.GroupID, cfg.Group)
	cfg.Machine.OnChange(func(*meta.View) { m.kickAll() })
	w := NewRemovalWatch(RemovalWatchConfig{
		Self: cfg.Self, PeerAddr: cfg.PeerAddr, ClusterID: cfg.ClusterID, View: cfg.Meta.View, KnowsLeader: cfg.KnowsLeader,
		Caller: cfg.Caller, LearnAddress: cfg.LearnAddress,
		Peers:     func() []string { return PeerAddrs(cfg.Self, cfg.PeerAddr, cfg.Meta.View(), cfg.Group, cfg.Also) },
		OnRemoved: cfg.OnRemoved, Log: cfg.Log,
	})
	m.working.Go(func() { w.Run(ctx) })
	return m
}

// Attach starts a reconciler for a replica of a group.
func (m *Manager) Attach(group uint32, g Group) {
	ctx, stop := context.WithCancel(m.ctx)
	a := &attached{Group: g, stop: stop, ended: make(chan struct{}), Reconciler: NewReconciler(ReconcilerConfig{
		GroupID: group, Group: g, Self: m.cfg.Self, Meta: m.cfg.Meta, LostAfter: m.cfg.LostAfter, Log: m.cfg.Log,
	})}
	m.mu.Lock()
	m.groups[group] = a
	m.mu.Unlock()
	if !m.working.Go(func() {
		defer close(a.ended)
		a.Run(ctx)
	}) {
		close(a.ended)
	}
}

// Release ends the reconciler of a replica, and returns when the manager no longer uses the
// replica. The replica must have been attached.
func (m *Manager) Release(group uint32) {
	m.mu.Lock()
	a := m.groups[group]
	delete(m.groups, group)
	m.mu.Unlock()
	a.stop()
	<-a.ended
}

func (m *Manager) attached(group uint32) *attached {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.groups[group]
}

// group returns this node's replica of a group, or nil.
func (m *Manager) group(group uint32) Group {
	if a := m.attached(group); a != nil {
		return a.Group
	}
	return nil
}

// ServeKnock answers a request of KindKnock.
func (m *Manager) ServeKnock(from Visitor, payload []byte, reply func([]byte)) {
	m.admission.Serve(from, payload, reply)
}

// Kick makes a group's reconciler look at once. The node calls it when it has become the group's
// leader.
func (m *Manager) Kick(group uint32) {
	if a := m.attached(group); a != nil {
		a.Kick()
	}
}

func (m *Manager) kickAll() {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, a := range m.groups {
		a.Kick()
	}
}

// Waits returns, in words, why a group that this node leads does not change its members yet. It is
// empty if no change is wanted.
func (m *Manager) Waits(group uint32) string {
	if a := m.attached(group); a != nil {
		return a.Waits()
	}
	return ""
}

// Drain hands over all groups that this node leads, before the node stops. It hands them over in
// parallel, because clients wait for each.
func (m *Manager) Drain(ctx context.Context) error {
	m.mu.RLock()
	var groups []Group
	for _, a := range m.groups {
		groups = append(groups, a.Group)
	}
	m.mu.RUnlock()
	return m.drain(ctx, groups)
}

// Close ends all work and waits for its end. It does not close the groups. OnRemoved must not call
// it.
func (m *Manager) Close() {
	m.stop()
	m.working.End()
	m.admission.Close()
}
