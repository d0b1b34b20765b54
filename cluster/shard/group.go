package shard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/raftio"
	"lockstep/cluster/transport"
)

// GroupConfig is the parameters of a group.
type GroupConfig struct {
	ID       uint32
	Dir      string
	LogStore string
	// Journal is the log that the node's groups share. It is nil if each has its own.
	Journal   *raftio.Journal
	LocalID   raft.ServerID
	LocalAddr raft.ServerAddress
	Transport *transport.Transport
	SM        StateMachine
	// HeartbeatMs and ElectionMs are Raft's timeouts, equal on all nodes.
	HeartbeatMs, ElectionMs int
	// A snapshot is taken after SnapshotEntries entries, or after SnapshotBytes bytes of
	// them. TrailingEntries entries are kept behind a snapshot, if they have no more than
	// SnapshotBytes. If the newest snapshot is longer than SnapshotBytes, all three grow
	// in proportion, until SnapshotBytes is SnapshotBytesMax (logMax). If one of the
	// bytes is 0, its default is used.
	SnapshotEntries, TrailingEntries int
	SnapshotBytes, SnapshotBytesMax  uint64
	// Worked is how much work the state machine has done since the group was opened. If
	// it is nil, work does not lead to snapshots.
	Worked func() time.Duration
	// ProbeEvery is how often a leader without anything to write writes a little, to find
	// out whether its disk hangs before a caller has to wait for it. If it is 0, the
	// leader never does.
	ProbeEvery time.Duration
	// Verify checks an entry's bytes when they are written and read. It may be nil.
	Verify func(data []byte) error
	// Arriving returns the check of a snapshot that a leader sends. It is nil if none is
	// checked.
	Arriving func() raftio.Arrival
	// OnLeader and OnLost are called when this node gains or loses the lead, in order:
	// each OnLeader is followed by the OnLost of the same term. They must not block.
	OnLeader, OnLost func(term uint64)
	// HandOver is called just before the leadership is given away and entries are
	// refused. It may be nil.
	HandOver func() Handover
	// VotersLeast is how many voters the group must have before it accepts writes, or may
	// be led by another node. If it is nil, any number will do.
	VotersLeast func() int
	// StandsBack returns why this node should not lead as long as another one can, or nil if it may lead. If
	// StandsBack is nil this node may always lead.
	StandsBack func() error
	// Pledge is the promise of a replica of this group that this node had before.
	Pledge raftio.Pledge
	// Made is called when the group's files are on disk, before the group takes part in
	// anything. Its error ends the opening. It may be nil.
	Made func() error
	// Fatal is called with the reason why the node must stop.
	Fatal func(error)
	// Synced is called with the duration of each log write. It may be nil.
	Synced func(time.Duration)
	// Took is called with the duration of each Work of a group or a shard. It may be nil.
	Took func(what Work, took time.Duration)
	// Writing is called with 1 when the writing of a snapshot starts and with -1 when it
	// ends. It may be nil.
	Writing func(n int)
	Log     *slog.Logger
}

// Work is a kind of work that is reported to GroupConfig.Took.
type Work uint8

// Commit is the time from a proposal to its commit, Snapshotting the writing of a
// snapshot, and Expire the deletion of keys that are due.
const (
	Commit Work = iota
	Snapshotting
	Expire
)

// took reports work that started at began.
func (c *GroupConfig) took(what Work, began time.Time) {
	if c.Took != nil {
		c.Took(what, time.Since(began))
	}
}

// writing reports that a snapshot is being written, until end is called.
func (c *GroupConfig) writing() (end func()) {
	began := time.Now()
	if c.Writing != nil {
		c.Writing(1)
	}
	return func() {
		if c.Writing != nil {
			c.Writing(-1)
		}
		c.took(Snapshotting, began)
	}
}

// Group is this node's replica of one Raft group: hashicorp/raft, made safe against
// failures that the library does not handle (package raftio).
//
// Group opens a raft.Raft, and later perhaps another one: the library cannot go on after
// a snapshot arrives that contradicts the log. Then the group is opened again without
// that log (contradicted).
type Group struct {
	cfg       GroupConfig
	acks      *raftio.Acks
	lease     *raftio.Lease
	rounds    quorumRounds
	proposals proposals
	counts    GroupCounts
	latest    roster
	candidacy candidacy
	tuning    tuning
	transfer  transfer

	raft atomic.Pointer[raft.Raft]
	// mu is held while the group is opened or closed. It guards parts, closed, left.
	mu     sync.Mutex
	parts  *groupParts
	closed bool
	// left is the promise of this replica, once it is closed.
	left raftio.Pledge
}

// groupParts are the parts that live as long as one raft.Raft.
type groupParts struct {
	raft   *raft.Raft
	fsm    *machineFSM
	stores *raftio.Stores
	stream raft.StreamLayer
	trans  *raftio.Transport
	notify chan bool
	// stop ends the goroutines in running.
	stop    chan struct{}
	running sync.WaitGroup
	once    sync.Once
}

// OpenGroup opens the replica from its folder, or an empty one if the folder has none.
func OpenGroup(cfg GroupConfig) (*Group, error) {
	if cfg.SnapshotBytes == 0 {
		cfg.SnapshotBytes = snapshotBytesUsual
	}
	if cfg.SnapshotBytesMax == 0 {
		cfg.SnapshotBytesMax = snapshotBytesMaxUsual
	}
	fatal := cfg.Fatal
	cfg.Fatal = func(err error) { fatal(fmt.Errorf("group %d: %w", cfg.ID, err)) }
	g := &Group{cfg: cfg, acks: raftio.NewAcks()}
	g.latest.init(cfg.LocalID)
	g.candidacy = candidacy{cfg: &g.cfg, latest: &g.latest, tuning: &g.tuning}
	g.transfer.group = g
	g.lease = raftio.NewLease(cfg.LocalID, ms(cfg.HeartbeatMs), g.acks)
	g.rounds.ask = g.askQuorum
	g.proposals.init()
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.openLocked(); err != nil {
		return nil, fmt.Errorf("group %d: %w", cfg.ID, err)
	}
	return g, nil
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

const (
	// rpcTimeout is how long a request between two nodes may make no progress, and how
	// long the answer may take for each bytesPerTimeout of the request, at least once
	// (Paced). It must be enough for a busy network that other copies share: a request
	// that is cut short starts again, and would be cut short again. Package transport
	// detects lost peers in another way.
	rpcTimeout      = 10 * time.Second
	bytesPerTimeout = 1 << 20
	// idleConns is how many connections to a peer are kept for requests that do
	// not go through the pipeline.
	idleConns = 3
	// stallMin is the least time that a disk may hang before the process ends. After a
	// sixth of it, another node is asked to lead.
	stallMin = 30 * time.Second
	// ProbeUsual is GroupConfig.ProbeEvery of a group that seldom writes.
	ProbeUsual = stallMin / 6
)

func (g *Group) openLocked() error {
	hadState := raftio.HasState(g.cfg.Dir)
	log := raftio.NewLogger(g.cfg.Log, fmt.Sprintf("raft.%d", g.cfg.ID))
	stores, err := raftio.OpenStores(&raftio.StoresConfig{
		Dir: g.cfg.Dir, Kind: g.cfg.LogStore, Journal: g.cfg.Journal, Group: g.cfg.ID,
		Guards: raftio.Guards{
			Verify: g.cfg.verify, StallLimit: max(stallMin, 12*ms(g.cfg.HeartbeatMs)), Fatal: g.cfg.Fatal, Synced: g.cfg.Synced,
		},
		Changed: g.configured, Log: log,
	})
	if err != nil {
		return err
	}
	if g.cfg.Made != nil {
		err = g.cfg.Made()
	}
	if err = errors.Join(err, stores.Honour(g.cfg.Pledge)); err != nil {
		return errors.Join(err, stores.Close())
	}
	p := &groupParts{stores: stores, notify: make(chan bool, 64), stop: make(chan struct{})}
	stores.Snapshots.Arriving = g.cfg.Arriving
	stores.Snapshots.Contradicted = func(index uint64) { go g.contradicted(p, index) }
	p.stream = raftio.Members{StreamLayer: g.cfg.Transport.StreamLayer(g.cfg.ID), Has: g.latest.has}
	if hadState {
		p.stream = raftio.NewHush(p.stream, raftio.Length(ms(g.cfg.HeartbeatMs)))
	}
	p.stream = raftio.Paced{StreamLayer: p.stream, Gap: rpcTimeout, AnswerStep: bytesPerTimeout}
	nt := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: p.stream, MaxPool: idleConns, Timeout: rpcTimeout, Logger: log,
	})
	nt.TimeoutScale = bytesPerTimeout
	p.trans = raftio.NewTransport(nt, raftio.TransportConfig{
		Acks: g.acks, Hangs: stores.Hangs, TurnOff: g.lease.TurnOff, LastIndex: stores.Log.LastIndex, Covered: stores.Covered,
		Heartbeat: ms(g.cfg.HeartbeatMs), Election: ms(g.cfg.ElectionMs), StandsBack: g.cfg.StandsBack, Pledge: g.cfg.Pledge, Entry: stores.Examine,
	})
	p.fsm = &machineFSM{sm: g.cfg.SM, fatal: g.cfg.Fatal, writing: g.cfg.writing, counts: &g.counts, own: stores.Snapshots.Own, ownEnded: stores.Snapshots.OwnEnded}
	p.fsm.tail.worked = g.cfg.Worked
	rc := raftConfig(&g.cfg, p.notify, log)
	short, err := g.candidacy.fallsShort(p)
	if err != nil {
		return errors.Join(err, p.trans.Close(), stores.Close())
	}
	if short {
		rc.HeartbeatTimeout, rc.ElectionTimeout = neverStands, neverStands
	}
	raftLog, raftStable := stores.ForRaft()
	err = stores.StartRaft(func() (err error) {
		p.raft, err = raft.NewRaft(rc, p.fsm, raftLog, raftStable, stores.Snapshots, p.trans)
		return err
	})
	if err == nil && p.fsm.broken.Load() {
		// Raft went back to an older snapshot, so the node has lost entries.
		err = errBroken
		_ = p.raft.Shutdown().Error()
	}
	if err != nil {
		return errors.Join(err, p.trans.Close(), stores.Close())
	}
	stores.Begun()
	p.trans.Begin(p.raft)
	g.counts.observe(p.raft)
	g.raft.Store(p.raft)
	g.parts = p
	p.running.Go(func() { g.watchLeadership(p) })
	bound := logBound{cfg: &g.cfg, parts: p, acks: g.acks, tuning: &g.tuning}
	p.running.Go(bound.loop)
	if g.cfg.ProbeEvery > 0 {
		p.running.Go(func() { p.probeDisk(g.cfg.ProbeEvery) })
	}
	if short {
		p.running.Go(func() { g.candidacy.catchUpWithPledge(p) })
		return nil
	}
	if err := g.candidacy.standAlone(p); err != nil {
		g.cfg.Log.Warn("this start waits for an election", "group", g.cfg.ID, "err", err)
	}
	return nil
}

func (c *GroupConfig) verify(l *raft.Log) error {
	if c.Verify == nil {
		return nil
	}
	return c.Verify(l.Data)
}

// configured records the latest configuration.
func (g *Group) configured(c raftio.Configuration) {
	g.latest.Store(&c)
	g.lease.SetVoters(c.Voters())
}

// watchLeadership reports each change of leadership to the owner, with its term.
func (g *Group) watchLeadership(p *groupParts) {
	led := uint64(0)
	lose := func() {
		if led != 0 {
			g.cfg.OnLost(led)
			led = 0
		}
	}
	for {
		select {
		case <-p.notify:
			// Entries that were proposed before may never be applied here.
			g.proposals.listen(0)
		case <-p.stop:
			lose()
			return
		}
		term, leads := leadership(p.raft)
		if !leads || term != led {
			lose()
		}
		if leads && led == 0 {
			led = term
			g.cfg.OnLeader(term)
			if err := g.candidacy.noteAlone(p); err != nil {
				g.cfg.Log.Warn("the next start waits for an election", "group", g.cfg.ID, "err", err)
			}
		}
		g.acks.Wake()
	}
}

// leadership reads the term and whether this node leads it, both at one moment. A term
// never starts while this node leads, so if it is the same before and after the state was
// read, the state belongs to that term.
func leadership(r *raft.Raft) (term uint64, leads bool) {
	for {
		term = r.CurrentTerm()
		leads = r.State() == raft.Leader
		if r.CurrentTerm() == term {
			return term, leads
		}
	}
}

// contradicted empties a log that a snapshot contradicts, and opens the group
// again from the snapshot.
func (g *Group) contradicted(p *groupParts, index uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.parts != p {
		return
	}
	g.cfg.Log.Warn("the log contradicts an installed snapshot and is emptied", "group", g.cfg.ID, "index", index)
	p.shutdown()
	g.proposals.close()
	err := errors.Join(p.stores.EmptyLog(), p.stores.Close())
	if err == nil {
		err = g.openLocked()
	}
	if err != nil {
		g.cfg.Fatal(err)
		return
	}
	g.proposals.reopen()
}

// shutdown ends Raft and everything that works for it. The stores stay open.
func (p *groupParts) shutdown() {
	p.once.Do(func() {
		p.fsm.closing.Store(true)
		ended := p.raft.Shutdown()
		// Open requests would delay the shutdown.
		_ = p.trans.Close()
		_ = ended.Error()
		close(p.stop)
		p.running.Wait()
	})
}

// ID is the group's number.
func (g *Group) ID() uint32 { return g.cfg.ID }

// HasState reports whether the replica has anything of its group.
func (g *Group) HasState() bool { return g.raft.Load().LastIndex() > 0 }

// Bootstrap makes this the first state of a new group. A group that has state keeps it. A
// node that starts a group alone leads it at once: without state it has never known a
// leader, so there is none to wait for.
func (g *Group) Bootstrap(servers []raft.Server) error {
	r := g.raft.Load()
	err := r.BootstrapCluster(raft.Configuration{Servers: servers}).Error()
	switch {
	case errors.Is(err, raft.ErrCantBootstrap):
		return nil
	case err != nil || len(servers) > 1:
		return err
	}
	return g.candidacy.stand(r)
}

// IsLeader reports whether this node believes that it leads.
func (g *Group) IsLeader() bool { return g.raft.Load().State() == raft.Leader }

// Term is the current term.
func (g *Group) Term() uint64 { return g.raft.Load().CurrentTerm() }

// Leadership is the current term and whether this node believes that it leads it, both at
// one moment.
func (g *Group) Leadership() (term uint64, leads bool) { return leadership(g.raft.Load()) }

// Leader is the leader that this node knows of. Both results are empty if it knows of
// none.
func (g *Group) Leader() (raft.ServerID, raft.ServerAddress) {
	addr, id := g.raft.Load().LeaderWithID()
	return id, addr
}

// Shutdown closes the replica. If ctx ends first, the shutdown continues in the
// background.
func (g *Group) Shutdown(ctx context.Context) error { return within(ctx, g.shutdown) }

func (g *Group) shutdown() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	g.parts.shutdown()
	g.proposals.close()
	left, err := g.parts.stores.Pledge()
	g.left = left.And(g.cfg.Pledge)
	return errors.Join(err, g.parts.stores.Close())
}
