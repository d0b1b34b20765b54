// Package shard runs one Raft group on this node (Group), and on top of it one
// shard of the data (Shard): it proposes bundles, gives their replies back,
// answers reads behind the read gate, and makes keys expire.
//
// The way of a write: Propose admits a bundle into the proposer's queue;
// bundles that arrive while an entry is on its way become the next entry;
// every replica applies it, and on the replica that proposed it the state
// machine delivers each reply to the entry's pending calls.
//
// Invariants:
//   - A write is acknowledged only after it has executed on the replica that
//     answers, which is after a quorum has it on disk.
//   - No read runs on proof of leadership older than its arrival, nor before
//     this leader's first entry of its term has executed.
//   - Everything that waits is bounded (admission.go).
//   - A call that fails with ErrUnknown may be made again under the same
//     identity; the state machine will not run it twice.
package shard

import (
	"context"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster"
	"lockstep/fsm"
)

// Config is what a shard is opened with.
type Config struct {
	Group GroupConfig
	// Machine is the shard's state machine; Open sets its sink.
	Machine fsm.Config
	// Node and Boot are this node's incarnation and start counter.
	Node, Boot uint64
	// ReadMode is the read gate's; it may be changed at run time.
	ReadMode func() ReadMode
	// EntryBytesMax is the size up to which bundles are put into one entry.
	EntryBytesMax int
	// OutstandingBytesMax and OutstandingTxnsMax bound what was admitted and has
	// not been answered.
	OutstandingBytesMax int64
	OutstandingTxnsMax  int64
	// ValueBytesMax is how long a string may become (proto-max-bulk-len). The
	// leader brings it into the log, for replicas must agree on it.
	ValueBytesMax func() int64
	// OnLead is told when this node begins to lead; may be nil.
	OnLead func()
	Log    *slog.Logger
}

// Shard is this node's replica of one shard.
type Shard struct {
	cfg     Config
	group   *Group
	machine *fsm.Machine
	pending pending
	admit   admission
	propose proposer
	clock   clock
	ticks   ticker

	// readyTerm is the term whose first entry, made by this leader, has executed
	// here; 0 while this node does not lead.
	readyTerm atomic.Uint64
	// expireOff stops the leader from looking for due keys (DEBUG
	// SET-ACTIVE-EXPIRE).
	expireOff atomic.Bool

	// opened is closed when group is set: leadership may come earlier.
	opened chan struct{}
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
}

// Open opens the replica and its Raft group.
func Open(cfg Config) (*Shard, error) {
	s := &Shard{cfg: cfg, opened: make(chan struct{}), done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.admit.init(cfg.OutstandingBytesMax, cfg.OutstandingTxnsMax)
	s.pending.init()
	s.clock.anchor(0)
	cfg.Machine.Sink = &s.pending
	cfg.Machine.Group = cfg.Group.ID
	s.machine = fsm.New(cfg.Machine)
	gcfg := cfg.Group
	gcfg.SM = machineAdapter{s.machine}
	gcfg.OnLeader = s.lead
	gcfg.OnLost = s.lost
	gcfg.Verify = func(data []byte) error { return fsm.CheckEntry(cfg.Group.ID, data) }
	s.propose.init(s)
	s.ticks.init(s)
	group, err := OpenGroup(gcfg)
	if err != nil {
		s.cancel()
		s.machine.Close()
		return nil, err
	}
	s.group = group
	close(s.opened)
	go s.propose.loop()
	go s.expireLoop()
	return s, nil
}

// ID is the shard's number, which is its group's.
func (s *Shard) ID() uint32 { return s.cfg.Group.ID }

// Group is the shard's Raft group.
func (s *Shard) Group() *Group { return s.group }

// Machine is the shard's state machine.
func (s *Shard) Machine() *fsm.Machine { return s.machine }

// Leads tells whether this replica leads the shard and may serve.
func (s *Shard) Leads() bool { return s.readyTerm.Load() != 0 && s.group.IsLeader() }

// SetActiveExpire turns the leader's search for due keys on or off.
func (s *Shard) SetActiveExpire(on bool) { s.expireOff.Store(!on) }

// Outstanding is what was admitted and has not been answered.
func (s *Shard) Outstanding() (txns, bytes int64) { return s.admit.outstanding() }

// Close stops the replica. What is still waiting is answered ErrUnknown.
func (s *Shard) Close(ctx context.Context) error {
	s.cancel()
	err := s.group.Shutdown(ctx)
	s.propose.stop()
	s.pending.failAll(cluster.ErrUnknown)
	s.machine.Close()
	return err
}

// lead is called when this node begins to lead: it anchors the clock and
// proposes the term's first entry. Reads are served once that has executed.
func (s *Shard) lead(term uint64) {
	s.clock.anchor(s.machine.StampMs())
	if s.cfg.OnLead != nil {
		s.cfg.OnLead()
	}
	go func() {
		select {
		case <-s.opened:
		case <-s.ctx.Done():
			return
		}
		for s.group.IsLeader() && s.group.Term() == term && s.ctx.Err() == nil {
			if s.proposeTick(s.ctx) == nil {
				s.readyTerm.Store(term)
				s.SyncSettings(s.ctx)
				if !s.group.IsLeader() || s.group.Term() != term {
					s.readyTerm.CompareAndSwap(term, 0)
				}
				return
			}
			pause(s.ctx, 10*time.Millisecond)
		}
	}()
}

// SyncSettings brings the settings that apply looks at into the log, if this
// node leads and they differ.
func (s *Shard) SyncSettings(ctx context.Context) {
	want := s.cfg.ValueBytesMax()
	if !s.Leads() || s.machine.Settings().ValueBytesMax == want {
		return
	}
	args := [][]byte{[]byte("lockstep.set"), []byte("proto-max-bulk-len"), strconv.AppendInt(nil, want, 10)}
	if err := s.proposeOwn(ctx, fsm.Txn{Kind: fsm.KindSetting, Ops: []fsm.Op{{Args: args}}}); err != nil {
		s.cfg.Log.Warn("a setting has not reached the log yet", "setting", string(args[1]), "reason", err)
	}
}

// lost is called when this node no longer leads.
func (s *Shard) lost(uint64) { s.readyTerm.Store(0) }

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// machineAdapter is the StateMachine in front of an fsm.Machine.
type machineAdapter struct{ *fsm.Machine }

// Snapshot implements StateMachine.
func (a machineAdapter) Snapshot() (Snapshot, error) { return a.Machine.Snapshot() }

// Leader implements router.Shard: the leader's peer address as this node knows
// it, and whether this node is it.
func (s *Shard) Leader() (addr string, self bool) {
	id, a := s.group.Leader()
	return string(a), id == s.cfg.Group.LocalID && s.group.IsLeader()
}

// Transfer gives the leadership to a server, or, with an empty id, to the one
// that is furthest.
func (s *Shard) Transfer(ctx context.Context, id string) error {
	return s.group.TransferTo(ctx, raft.ServerID(id))
}

// Reload writes this replica's state out and loads it again, between two
// entries (DEBUG RELOAD). It changes nothing if snapshots are right.
func (s *Shard) Reload(ctx context.Context) error { return s.group.reload(ctx) }
