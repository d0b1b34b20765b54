// Package fsm is one shard's replicated state machine. Given the same log it goes
// through the same states and gives the same replies on every replica, however many
// workers run its commands and wherever a snapshot is taken or loaded. It uses no
// Raft, no network, no clock and no randomness.
//
// Apply decodes an entry, asks the duplicate table about each txn, and takes
// the tickets of those that are new, in log order, on one goroutine; package
// sched then runs each as soon as its lock slots allow. So Apply never waits
// for a slow command (except as run.watchesHold says), and two txns that share a lock
// slot run in log order.
//
// Invariants:
//   - What a txn does and replies depends only on the state under its lock slots,
//     its arguments, its entry's time, and its number. The number counts all
//     txns that ran, and is the version of the keys the txn changes.
//   - Time never runs backwards: an entry stamped earlier than the one before
//     it gets that one's stamp.
//   - executed moves by whole entries, in log order.
//   - A txn with a known identity never runs twice.
//
// Running txns one after the other on the applying goroutine would need no
// tickets; it would also let one slow script hold up every key of the shard.
package fsm

import (
	"context"
	"fmt"
	"sync/atomic"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/sched"
)

// Outcome says what a delivered reply means.
type Outcome uint8

const (
	// OutcomeDone means that the txn ran, now or earlier, and that this is its
	// reply.
	OutcomeDone Outcome = iota
	// OutcomeReplyLost means that the txn ran earlier, and that its reply was too
	// long to keep.
	OutcomeReplyLost
	// OutcomeStale means that the gateway had given the txn up before it came here:
	// it may have run earlier, and has not run now. It is also the outcome if the
	// txn's numbers contradict those that the shard knows of its gateway. The reply
	// is for StaleBoot.
	OutcomeStale
	// OutcomeScriptGone means that the txn names a script by its SHA1 that was in the cache when
	// the txn was sent and no longer is, or that it follows such a txn in its bundle. It has not
	// run and never will. It can be sent again with the script's text, under another identity.
	OutcomeScriptGone
	// OutcomeUnserved means that a KindServe found nothing, and has changed nothing
	// that commands see.
	OutcomeUnserved
	// OutcomeRefused means that more than outstanding-work-max-ms of work was
	// outstanding before the txn. It has not run and never will.
	OutcomeRefused
)

// Receiver takes the replies to one entry's txns. Deliver is called once for each txn, from any
// goroutine. It must not block, and may keep reply, which is never changed. work is what the txn
// has done just now, in units of work (command.WorkSecond), or 0 if it did not run now.
type Receiver interface {
	Deliver(txn int, reply []byte, outcome Outcome, work int64)
}

// Sink returns the receiver of an entry's replies: the leader that proposed the
// entry, if its calls are still open, else nil.
type Sink interface {
	Receiver(EntryID) Receiver
}

// NoSink is the Sink of a replica whose replies nobody waits for.
type NoSink struct{}

// Receiver implements Sink.
func (NoSink) Receiver(EntryID) Receiver { return nil }

// Tracker is called with the keys that txns change, on every replica, while the txn
// holds the keys' slots. It must not block, nor keep the names, nor call the
// machine.
type Tracker interface {
	// Tracking reports whether Changed is to be called at all. It is called when a
	// txn starts to run; its entry is then counted in Queued.
	Tracking() bool
	// Changed is called once at the end of a txn that changed something. A nil name
	// stands for all keys. A snapshot that replaces the state changes all keys, and
	// has no identity.
	Changed(by TxnID, keys [][]byte)
}

// Config holds the parameters of a machine.
type Config struct {
	// Group is the shard's number; entries of another group are refused.
	Group uint32
	// Engine is the state a shard starts with. It is part of the replicated state:
	// a snapshot brings its own.
	Engine engine.Config
	// Sched sizes the lock table's parallelism. Slots is set from Engine, and Moment is the time of
	// the log.
	Sched sched.Config
	// Sink receives replies. It may be nil.
	Sink Sink
	// Observer is told what logged txns do to keys. It may be nil.
	Observer command.Observer
	// Witness is told what scripts do that run here for a client. It may be nil.
	Witness command.Witness
	// Owns reports which hash slots the shard has; nil means all. It must be the
	// same on every replica, for ever.
	Owns func(hashSlot int) bool
	// Tracker is told which keys change. It may be nil.
	Tracker Tracker
	// UseTick reads this replica's clock of key usage. It is not part of the state,
	// and may be nil.
	UseTick func() uint32
	// Rest is called by long commands every few tenths of a millisecond. It may be nil.
	Rest func()
	// TakeBack withdraws programs of a kind that have not entered the log yet, for SCRIPT KILL, and
	// returns how many there were. It may be nil.
	TakeBack func(command.ProgramKind) int
	// OpenBytesMax bounds the memory of entries with a txn that has not run: their
	// bytes, plus OpenTxnBytes for each of their txns. 0 means no bound.
	OpenBytesMax int64
}

// OpenTxnBytes is about the memory that a txn takes until it has run, beside its
// bytes in the entry.
const OpenTxnBytes = 768

// Machine is one replica of a shard's state machine. Apply, Snapshot and
// Restore are called by one goroutine, as Raft does; everything else may be
// called by any.
type Machine struct {
	cfg   Config
	sink  Sink
	state atomic.Pointer[state]
	// progress tracks which entries have run.
	progress progress
	// stampMs is the time of the last entry whose tickets were taken. stampMs + dayOffsetMs is the time of day.
	stampMs, dayOffsetMs atomic.Int64
	// txnNo is the number of the last txn whose ticket was taken.
	txnNo atomic.Uint64
	// executions pools the state that running a txn needs.
	executions executionPool
	applying   applying
	// settings are those after the last entry, for other goroutines to read.
	settings atomic.Pointer[command.Settings]
	counters Counters
	users    userCache
	// keptBytes is the result of KeptBytes, and keptAsked means that it is to be
	// measured again.
	keptBytes atomic.Int64
	keptAsked atomic.Bool
}

// state is everything that a snapshot replaces.
type state struct {
	ks       *engine.Keyspace
	sched    *sched.Scheduler
	dup      *dupTable
	programs *command.Programs
	// settings is replaced, never changed, so that running txns keep theirs.
	settings *command.Settings
	backlog  *backlog
}

// Counters are this replica's own. They are not part of the state.
type Counters struct {
	Entries, Txns, Duplicates, Stale, Panics atomic.Uint64
	// ScriptsGone are txns that did not run, for OutcomeScriptGone.
	ScriptsGone atomic.Uint64
	// Refused are txns that did not run, for OutcomeRefused.
	Refused atomic.Uint64
	// Work is what the txns have done, in units of work (command.WorkSecond).
	Work atomic.Int64
}

// New returns a machine with an empty keyspace.
func New(cfg Config) *Machine {
	m := &Machine{cfg: cfg, sink: cfg.Sink}
	if m.sink == nil {
		m.sink = NoSink{}
	}
	settings := command.DefaultSettings
	m.settings.Store(&settings)
	m.state.Store(m.newState(cfg.Engine, &settings))
	return m
}

func (m *Machine) newState(ecfg engine.Config, settings *command.Settings) *state {
	scfg := m.cfg.Sched
	scfg.Slots, scfg.Moment = ecfg.LockSlots+1, m.stampMs.Load // one more for the lane
	ks := engine.New(ecfg)
	if m.cfg.Observer != nil {
		ks.TellGone(m.cfg.Observer.Gone)
	}
	return &state{
		ks:       ks,
		sched:    sched.New(scfg),
		dup:      newDupTable(),
		settings: settings,
		programs: &command.Programs{},
		backlog:  newBacklog(),
	}
}

// Close waits for running txns and stops the workers.
func (m *Machine) Close() { m.state.Load().sched.Close() }

// Keyspace gives access for INFO and expiry. Its rules about lock slots apply.
func (m *Machine) Keyspace() *engine.Keyspace { return m.state.Load().ks }

// MemoryBytes is about the memory that the state takes: keys, values and the index of their
// expiries, scripts and function libraries. The duplicate table is not included (KeptBytes): it has
// its own bounds, and evicting keys does not make it smaller. With a low memory limit the table
// alone could reach it, and then the writes that let it forget records would be refused.
func (m *Machine) MemoryBytes() int64 {
	st := m.state.Load()
	return st.ks.MemoryBytes() + st.ks.IndexBytes() + st.programs.MemoryBytes()
}

// Programs are the scripts and functions, and the programs that are running.
func (m *Machine) Programs() *command.Programs { return m.state.Load().programs }

// Sched gives access to the lock table's statistics.
func (m *Machine) Sched() *sched.Scheduler { return m.state.Load().sched }

// Settings are the replicated limits in force for the next entry. They come only
// from entries and snapshots.
func (m *Machine) Settings() command.Settings { return *m.settings.Load() }

// Counters returns this replica's counters.
func (m *Machine) Counters() *Counters { return &m.counters }

// StampMs is the time of the last entry whose tickets were taken.
func (m *Machine) StampMs() int64 { return m.stampMs.Load() }

// TxnNo is the number of the last txn whose ticket was taken.
func (m *Machine) TxnNo() uint64 { return m.txnNo.Load() }

// Untold is the work that this replica has seen done and the log does not report yet. The leader
// writes it into the entry that it is making (EntryBuilder.Tell).
func (m *Machine) Untold() []Told { return m.state.Load().backlog.untoldNow() }

// Queued is the index of the last entry whose tickets were taken.
func (m *Machine) Queued() uint64 { return m.progress.queued.Load() }

// Executed is the index up to which every txn of every entry has run.
func (m *Machine) Executed() uint64 { return m.progress.executed.Load() }

// Taken is the index of the last entry whose tickets are all taken.
func (m *Machine) Taken() uint64 { return m.progress.taken.Load() }

// WaitTaken waits until the tickets of every entry up to index are taken. A read
// that comes after that sees the effects of those entries.
func (m *Machine) WaitTaken(ctx context.Context, index uint64) error {
	return m.progress.waitTaken(ctx, index)
}

// Apply takes the tickets of an entry's txns, and runs those at once that are cheap and find their
// locks free. After an error the node must stop: this replica cannot follow the log.
//
// Apply waits only for memory, and for watched keys where a transaction with a WATCH changes the
// script cache. The leader bounds the work it accepts before it enters the log. But a follower that
// runs txns more slowly than its leader, or a node that replays its log, would otherwise take
// tickets until it runs out of memory.
func (m *Machine) Apply(index uint64, data []byte) error {
	if m.cfg.OpenBytesMax > 0 {
		m.progress.awaitRoom(m.cfg.OpenBytesMax)
	}
	e, err := m.applying.decoder.decode(m.cfg.Group, data)
	if err != nil {
		return fmt.Errorf("index %d: %w", index, err)
	}
	if err := checkCommands(&e); err != nil {
		return fmt.Errorf("index %d: %w", index, err)
	}
	m.counters.Entries.Add(1)
	stampMs := max(m.stampMs.Load(), e.StampMs)
	m.stampMs.Store(stampMs)
	r := m.applying.nextRun()
	*r = run{
		m: m, st: m.state.Load(), index: index, stampMs: stampMs,
		receiver: m.sink.Receiver(e.ID),
		entry:    m.progress.openEntry(index, int64(len(data))+int64(e.Txns)*OpenTxnBytes),
	}
	m.applying.end(r.apply(&e, &m.applying), len(data))
	m.measureKept()
	return nil
}
