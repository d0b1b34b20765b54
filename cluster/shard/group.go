package shard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/raftio"
	"lockstep/cluster/transport"
)

// StateMachine is what a group replicates. Its methods are called by one
// goroutine, but for Snapshot.Persist.
type StateMachine interface {
	// Apply takes a committed entry over; it must not wait for slow work. After
	// an error the node must stop.
	Apply(index uint64, data []byte) error
	// Snapshot captures the state after the last applied entry.
	Snapshot() (Snapshot, error)
	// Restore replaces the state by a snapshot's.
	Restore(r io.Reader) error
}

// Snapshot is a captured state; Persist may run beside later Applies.
type Snapshot interface {
	Persist(w io.Writer) error
	Release()
}

// ReadMode is how a leader proves that it still leads.
type ReadMode uint8

const (
	// ReadLease trusts the leader's lease and asks a quorum where it has none.
	ReadLease ReadMode = iota
	// ReadQuorum asks a quorum for every batch of reads.
	ReadQuorum
)

// Errors of proposals.
var (
	// ErrNotProposed: the entry never entered the log.
	ErrNotProposed = errors.New("shard: not proposed")
	// ErrOutcomeUnknown: the entry may be committed yet.
	ErrOutcomeUnknown = errors.New("shard: outcome unknown")
	// ErrNotLeading: this node does not lead, or cannot prove that it does.
	ErrNotLeading = errors.New("shard: not leading")
)

// GroupConfig is what a group is opened with.
type GroupConfig struct {
	ID        uint32
	Dir       string
	LogStore  string
	LocalID   raft.ServerID
	LocalAddr raft.ServerAddress
	Transport *transport.Transport
	SM        StateMachine
	// HeartbeatMs and ElectionMs are Raft's timeouts, equal on all nodes.
	HeartbeatMs, ElectionMs int
	// SnapshotEntries is after how many entries a snapshot is taken,
	// TrailingEntries how many stay behind one.
	SnapshotEntries, TrailingEntries int
	// Verify checks an entry's bytes where they are written and read.
	Verify func(data []byte) error
	// OnLeader and OnLost are told of this node's leadership, in order.
	OnLeader, OnLost func(term uint64)
	// Fatal is told why the node must stop.
	Fatal func(error)
	// Synced is told how long log writes take; may be nil.
	Synced func(time.Duration)
	Log    *slog.Logger
}

// Group is this node's replica of one Raft group: hashicorp/raft with its
// edges hardened (package raftio).
type Group struct {
	cfg    GroupConfig
	acks   *raftio.Acks
	lease  *raftio.Lease
	rounds quorumRounds
	voters atomic.Int32
	fresh  bool

	raft    atomic.Pointer[raft.Raft]
	adapter atomic.Pointer[adapter]
	// mu guards opening and closing.
	mu     sync.Mutex
	parts  *groupParts
	closed bool
}

// groupParts are what lives as long as one raft.Raft.
type groupParts struct {
	stores *raftio.Stores
	snaps  *raftio.Snapshots
	trans  *raftio.Transport
	notify chan bool
	done   chan struct{}
}

// OpenGroup opens the replica from its folder, or an empty one.
func OpenGroup(cfg GroupConfig) (*Group, error) {
	g := &Group{cfg: cfg, acks: raftio.NewAcks()}
	g.lease = raftio.NewLease(cfg.LocalID, ms(cfg.HeartbeatMs), g.acks)
	g.rounds.group = g
	_, err := os.Stat(filepath.Join(cfg.Dir, "stable.db"))
	g.fresh = os.IsNotExist(err)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.openLocked(!g.fresh); err != nil {
		return nil, fmt.Errorf("group %d: %w", cfg.ID, err)
	}
	return g, nil
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// stallLimit is how long one log write may take before the disk counts as dead.
func (g *Group) stallLimit() time.Duration { return max(5*time.Second, 2*ms(g.cfg.HeartbeatMs)) }

func (g *Group) openLocked(waitLease bool) error {
	p := &groupParts{notify: make(chan bool, 64), done: make(chan struct{})}
	log := raftio.NewLogger(g.cfg.Log, fmt.Sprintf("raft.%d", g.cfg.ID))
	var err error
	if p.snaps, err = raftio.OpenSnapshots(g.cfg.Dir, log); err != nil {
		return err
	}
	p.stores, err = raftio.OpenStores(g.cfg.Dir, g.cfg.LogStore, raftio.Guards{
		Verify:     g.verify,
		StallLimit: g.stallLimit(), Fatal: g.cfg.Fatal, Synced: g.cfg.Synced,
	})
	if err != nil {
		return err
	}
	p.snaps.Stored = func(index, term uint64) { go g.checkLog(p, index, term) }
	if waitLease {
		// This node may have promised a leader, before it restarted, not to vote
		// for another; the leader's lease rests on that.
		<-time.After(raftio.Length(ms(g.cfg.HeartbeatMs)))
	}
	nt := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: g.cfg.Transport.StreamLayer(g.cfg.ID), MaxPool: 3, Timeout: 10 * time.Second, Logger: log,
	})
	nt.TimeoutScale = snapshotBytesPerTimeout
	p.trans = raftio.NewTransport(nt, g.acks)
	a := &adapter{g: g}
	g.adapter.Store(a)
	r, err := raft.NewRaft(g.raftConfig(p, log), a, p.stores.Log, p.stores.Stable, p.snaps, p.trans)
	if err != nil {
		_ = nt.Close()
		_ = p.stores.Close()
		return err
	}
	g.raft.Store(r)
	g.parts = p
	g.refreshVoters()
	go g.watchLeadership(r, p)
	return nil
}

// snapshotBytesPerTimeout lets an install take the transport's timeout per so
// many bytes: 10 MB/s.
const snapshotBytesPerTimeout = 100 << 20

func (g *Group) verify(l *raft.Log) error {
	if g.cfg.Verify == nil {
		return nil
	}
	return g.cfg.Verify(l.Data)
}

func (g *Group) raftConfig(p *groupParts, log hclogLogger) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = g.cfg.LocalID
	c.HeartbeatTimeout = ms(g.cfg.HeartbeatMs)
	c.ElectionTimeout = ms(g.cfg.ElectionMs)
	c.LeaderLeaseTimeout = ms(g.cfg.HeartbeatMs) / 2
	c.MaxAppendEntries = 64
	c.BatchApplyCh = true
	c.SnapshotThreshold = uint64(g.cfg.SnapshotEntries)
	c.TrailingLogs = uint64(g.cfg.TrailingEntries)
	c.SnapshotInterval = 5 * time.Second
	c.NotifyCh = p.notify
	c.Logger = log
	c.NoLegacyTelemetry = true
	return c
}

// watchLeadership tells the owner of each change, keyed by term.
func (g *Group) watchLeadership(r *raft.Raft, p *groupParts) {
	for {
		select {
		case leads := <-p.notify:
			term := r.CurrentTerm()
			g.refreshVoters()
			if leads {
				g.cfg.OnLeader(term)
			} else {
				g.cfg.OnLost(term)
			}
		case <-p.done:
			return
		}
	}
}

// checkLog looks, after a snapshot was stored, whether the log contradicts it.
// Raft cannot get out of that by itself: the group is closed, its log emptied,
// and opened again from the snapshot.
func (g *Group) checkLog(p *groupParts, index, term uint64) {
	if !raftio.Contradicts(p.stores.Log, index, term) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.parts != p {
		return
	}
	g.cfg.Log.Warn("the log contradicts an installed snapshot; it is emptied", "group", g.cfg.ID, "index", index)
	g.raft.Load().Shutdown().Error()
	close(p.done)
	err := emptyLog(p.stores.Log)
	_ = p.stores.Close()
	if err == nil {
		err = g.openLocked(true)
	}
	if err != nil {
		g.cfg.Fatal(fmt.Errorf("group %d: %w", g.cfg.ID, err))
	}
}

func emptyLog(log raft.LogStore) error {
	first, err := log.FirstIndex()
	if err != nil {
		return err
	}
	last, err := log.LastIndex()
	if err != nil || last == 0 {
		return err
	}
	return log.DeleteRange(first, last)
}

// HasState tells whether the group had a folder when it was opened.
func (g *Group) HasState() bool {
	r := g.raft.Load()
	return !g.fresh && r.LastIndex() > 0
}

// Bootstrap makes this the first state of a new group.
func (g *Group) Bootstrap(servers []raft.Server) error {
	err := g.raft.Load().BootstrapCluster(raft.Configuration{Servers: servers}).Error()
	if errors.Is(err, raft.ErrCantBootstrap) {
		return nil
	}
	g.refreshVoters()
	return err
}

// Propose gives an entry to Raft. done is called once, from another goroutine:
// with nil when the entry is committed, else with ErrNotProposed or
// ErrOutcomeUnknown.
func (g *Group) Propose(data []byte, done func(error)) {
	f := g.raft.Load().Apply(data, proposeTimeout)
	go func() { done(classify(f.Error())) }()
}

// proposeTimeout bounds the wait for room in Raft's queue.
const proposeTimeout = 5 * time.Second

func classify(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrEnqueueTimeout), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return fmt.Errorf("%w: %w", ErrNotProposed, err)
	default:
		// ErrLeadershipLost, a failed store, a shutdown: it may be in a log.
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
}

// Append proposes an entry and waits until it is committed.
func (g *Group) Append(ctx context.Context, data []byte) error {
	c := make(chan error, 1)
	g.Propose(data, func(err error) { c <- err })
	select {
	case err := <-c:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, ctx.Err())
	}
}

// IsLeader tells whether this node believes that it leads.
func (g *Group) IsLeader() bool { return g.raft.Load().State() == raft.Leader }

// Term is the current term.
func (g *Group) Term() uint64 { return g.raft.Load().CurrentTerm() }

// Leader is the leader this node knows of; empty: none.
func (g *Group) Leader() (raft.ServerID, raft.ServerAddress) {
	addr, id := g.raft.Load().LeaderWithID()
	return id, addr
}

// Voters is the number of voters of the latest configuration.
func (g *Group) Voters() int { return int(g.voters.Load()) }

// Shutdown closes the replica.
func (g *Group) Shutdown(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	done := make(chan error, 1)
	go func() { done <- g.raft.Load().Shutdown().Error() }()
	select {
	case err := <-done:
		close(g.parts.done)
		return errors.Join(err, g.parts.trans.Close(), g.parts.stores.Close())
	case <-ctx.Done():
		close(g.parts.done)
		return ctx.Err()
	}
}
