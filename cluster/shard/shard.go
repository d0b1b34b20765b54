// Package shard runs one Raft group on this node (Group), and on top of the
// group this node's replica of one shard of the data (Shard). A Shard proposes
// bundles and returns their replies, answers reads behind the read gate, expires
// keys, and evicts keys when memory is short.
//
// A write takes this way. Propose admits a bundle into the proposer's queue. The
// bundles that arrive while an entry is under way become the next entry. Every
// replica applies the entry. On the replica that proposed it, the state machine
// delivers each reply to the entry's pending calls.
//
// Invariants:
//   - A write is acknowledged only after it has executed on the replica that
//     answers. By then a quorum has the write on disk.
//   - No read runs on a proof of leadership that is older than the read's
//     arrival, nor before this leader's first entry of its term has executed.
//   - Everything that can wait is bounded (admission.go).
//   - A caller may repeat a call that failed with cluster.ErrUnknown under the
//     same identity: the state machine does not run it twice.
//
// While all goes well a Shard does not wait for the future that Raft returns for
// each entry. The state machine delivers the replies earlier, and it applies only
// committed entries, so a reply proves that its entry is committed.
package shard

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster"
	"lockstep/cluster/clock"
	"lockstep/cluster/raftio"
	"lockstep/engine/command"
	"lockstep/engine/rdb"
	"lockstep/fsm"
	"lockstep/ground/background"
)

// Config is the parameters of a shard.
type Config struct {
	Group GroupConfig
	// Machine is the shard's state machine. Open sets its sink, and puts an observer of
	// its own before the given one.
	Machine fsm.Config
	// Node and Boot are this node's incarnation and the number of its start.
	Node, Boot uint64
	// ReadMode is the mode of the read gate. It may change at run time.
	ReadMode func() ReadMode
	// EntryBytesMax is the size up to which bundles are put into one entry.
	EntryBytesMax int
	// OutstandingBytesMax and OutstandingTxnsMax bound the work that was admitted and has
	// not been answered.
	OutstandingBytesMax int64
	OutstandingTxnsMax  int64
	// Settings are the wanted values of the limits that replicas must agree on. The
	// leader puts them into the log.
	Settings func() command.Settings
	// Settle returns when Settings are at least as new as those that the cluster wanted
	// at the time of the call: until then a new leader's may be older than those in the
	// log. If Settle is nil, the leader does not wait.
	Settle func(ctx context.Context) error
	// ScriptTimeout is how long a read-only script may run. If it is nil or returns 0,
	// the script's budget is the only limit.
	ScriptTimeout func() time.Duration
	// Memory is the memory of all shards of this node, which maxmemory limits. It is nil
	// if this shard is alone.
	Memory *Memory
	// Clocks returns the time that a majority of some nodes agree on (clock.Exchange). It
	// is nil if this node's clock is the only one.
	Clocks func(nodes []string) clock.Now
	// ClockLimit is how far the time of day may be from the time that a majority reports
	// before the leader sets it. If it is nil, the limit is half a second.
	ClockLimit func() time.Duration
	// OnLead is called when this node starts to lead. It may be nil.
	OnLead func()
	// SendList sends a list of waiting clients to another node's replica (TakeList). It
	// is nil if their order may change with the leader.
	SendList func(ctx context.Context, addr string, list []byte) error
	Log      *slog.Logger
}

// idleEvery is the pause of loops that have nothing to do because this replica does not
// lead. When it starts to lead, the loops are woken.
const idleEvery = time.Second

// Shard is this node's replica of one shard.
type Shard struct {
	cfg      Config
	group    *Group
	machine  *fsm.Machine
	pending  pending
	admit    admission
	throttle throttle
	proposer proposer
	reads    reads
	clock    Clock
	waiters  waiters
	evictor  evictor
	expirer  expirer
	settings settingsSync

	// readyTerm is the term whose first entry, made by this leader, has executed here. It
	// is 0 while this node does not lead.
	readyTerm atomic.Uint64

	// opened is closed when group is set: this node may gain the lead earlier.
	opened chan struct{}
	// working are the shard's own goroutines; they end with ctx.
	working background.Group
	ctx     context.Context
	cancel  context.CancelFunc
}

// Open opens the replica and its Raft group.
func Open(cfg Config) (*Shard, error) {
	s := &Shard{cfg: cfg, opened: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.clock.init(s)
	s.admit.init(cfg.OutstandingBytesMax, cfg.OutstandingTxnsMax)
	s.pending.init()
	cfg.Machine.Sink = &s.pending
	s.waiters.init(s)
	cfg.Machine.Observer = &observer{&s.waiters, cfg.Machine.Observer}
	cfg.Machine.Group = cfg.Group.ID
	cfg.Machine.TakeBack = s.throttle.takeBackPrograms
	cfg.Machine.OpenBytesMax = openBytesMax(&cfg)
	s.machine = fsm.New(cfg.Machine)
	gcfg := cfg.Group
	gcfg.SM = machineAdapter{s.machine}
	gcfg.Worked = func() time.Duration { return time.Duration(s.machine.Counters().Work.Load()) }
	gcfg.OnLeader = s.lead
	gcfg.OnLost = s.lost
	gcfg.Arriving = func() raftio.Arrival { return new(rdb.Whole) }
	gcfg.HandOver = s.waiters.handOver
	gcfg.Verify = func(data []byte) error { return fsm.CheckEntry(cfg.Group.ID, data) }
	s.proposer.init(s)
	s.evictor.init(s)
	s.throttle.init(s)
	if cfg.Memory == nil {
		s.cfg.Memory = &Memory{}
	}
	s.reads.init(s)
	s.expirer.init(s)
	s.settings.shard = s
	group, err := OpenGroup(gcfg)
	if err != nil {
		s.cancel()
		s.machine.Close()
		return nil, err
	}
	s.group = group
	s.cfg.Memory.add(s)
	close(s.opened)
	s.working.Go(s.evictor.loop)
	s.working.Go(s.throttle.loop)
	s.working.Go(s.expirer.loop)
	s.working.Go(s.clock.loop)
	s.working.Go(s.waiters.loop)
	return s, nil
}

// openBytesMax bounds the entries that a replica has accepted from the log and not run.
// On a leader admission is the bound, and a log that waits for memory delays all callers.
// So this is more than admission ever lets in, with room for the heads of entries and for
// the leaders' own txns.
func openBytesMax(cfg *Config) int64 {
	const roomBytes = 64 << 20
	return cfg.OutstandingBytesMax + cfg.OutstandingTxnsMax*fsm.OpenTxnBytes + roomBytes
}

// ID is the number of the shard, and of its group.
func (s *Shard) ID() uint32 { return s.cfg.Group.ID }

// Group is the shard's Raft group.
func (s *Shard) Group() *Group { return s.group }

// Machine is the shard's state machine.
func (s *Shard) Machine() *fsm.Machine { return s.machine }

// Leads reports whether this replica leads the shard and may serve.
func (s *Shard) Leads() bool { return s.readyTerm.Load() != 0 && s.group.IsLeader() }

// Outstanding is the work that was admitted and has not been answered.
func (s *Shard) Outstanding() (txns, bytes int64) { return s.admit.outstanding() }

// Close stops the replica. It returns when none of its goroutines runs. Calls that still
// wait are answered with ErrUnknown.
func (s *Shard) Close(ctx context.Context) error {
	s.cancel()
	err := s.group.Shutdown(ctx)
	s.proposer.stop()
	s.evictor.stop()
	s.pending.failAll(cluster.ErrUnknown)
	s.working.End()
	s.cfg.Memory.remove(s)
	s.reads.close()
	s.machine.Close()
	return err
}

// work runs do, which may wait, on a goroutine of its own. It does nothing once the
// replica is being closed.
func (s *Shard) work(do func()) {
	if s.ctx.Err() == nil {
		s.working.Go(do)
	}
}

// lead is called when this node starts to lead: it proposes the term's first entry. Reads
// are served once that entry has executed.
func (s *Shard) lead(term uint64) {
	if s.cfg.OnLead != nil {
		s.cfg.OnLead()
	}
	if s.ctx.Err() != nil {
		return
	}
	s.working.Go(func() {
		select {
		case <-s.opened:
		case <-s.ctx.Done():
			return
		}
		for s.group.IsLeader() && s.group.Term() == term && s.ctx.Err() == nil {
			if s.proposer.tick(s.ctx) == nil && s.clock.awaitKnown(term) {
				s.waiters.inherit()
				s.waiters.beginTerm(term)
				raise(&s.readyTerm, term)
				if !s.group.IsLeader() || s.group.Term() != term {
					s.readyTerm.CompareAndSwap(term, 0)
					return
				}
				s.expirer.Kick()
				s.clock.following.Kick()
				s.settings.sync(term)
				return
			}
			pause(s.ctx, 10*time.Millisecond)
		}
	})
}

// raise records that this node is ready for a term. It never lowers the value: the caller
// may have been delayed until a later term.
func raise(may *atomic.Uint64, term uint64) {
	for was := may.Load(); was < term; was = may.Load() {
		if may.CompareAndSwap(was, term) {
			return
		}
	}
}

// lost is called when this node no longer leads.
func (s *Shard) lost(uint64) {
	s.readyTerm.Store(0)
	s.waiters.dismiss()
	s.evictor.Kick()
	s.throttle.Kick()
}

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

// Leader is the leader of a shard, as a node knows it.
type Leader struct {
	// ID and Addr are the node's id and peer address. Both are empty if no leader is
	// known.
	ID, Addr string
	// Term is the term that it leads, or the newest that is known.
	Term uint64
	// Self is true if it is this node.
	Self bool
}

// Leader is the shard's leader as this replica knows it.
func (s *Shard) Leader() Leader {
	for {
		term := s.group.Term()
		id, addr := s.group.Leader()
		l := Leader{ID: string(id), Addr: string(addr), Term: term, Self: id == s.cfg.Group.LocalID && s.group.IsLeader()}
		if s.group.Term() == term {
			return l
		}
	}
}

// Votes reports whether this replica is a voter of its group, and so has caught up with
// it once.
func (s *Shard) Votes() bool { return s.group.Votes() }

// Transfer gives the leadership to a server, or, if id is empty, to the most advanced
// one.
func (s *Shard) Transfer(ctx context.Context, id string) error {
	return s.group.TransferTo(ctx, raft.ServerID(id))
}

// Reload writes this replica's state to a file and loads it again, between two entries
// (DEBUG RELOAD). It changes nothing if snapshots are correct.
func (s *Shard) Reload() error { return s.group.reload() }
