package shard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"lockstep/cluster"
	"lockstep/cluster/raftio"
)

// StateMachine is the state that a group replicates. One goroutine calls its methods,
// except for Snapshot.Persist.
type StateMachine interface {
	// Apply accepts a committed entry. It must not wait for slow work, unless so much
	// work is open that memory would run out. It must not keep or change data, which Raft
	// still sends to followers. After an error the node must stop.
	Apply(index uint64, data []byte) error
	// Snapshot captures the state after the last applied entry; it is cheap.
	Snapshot() (Snapshot, error)
	// Restore replaces the state by a snapshot's. After an error the node must
	// stop: the state may be half of each.
	Restore(r io.Reader) error
}

// Snapshot is a captured state. Persist may run during later Applies.
type Snapshot interface {
	Persist(w io.Writer) error
	Release()
}

// machineFSM is the raft.FSM in front of a StateMachine. It passes on commands only:
// Raft's own entries do not concern the state machine, and the group learns of
// configurations when they are written.
type machineFSM struct {
	sm StateMachine
	// fatal is called with the reason why the node must stop.
	fatal func(error)
	// writing reports that a snapshot is being written, until end is called.
	writing func() (end func())
	counts  *GroupCounts
	// broken is true if the state machine has failed. No entry after the one at which it
	// failed may be applied, and its state may not become a snapshot.
	broken atomic.Bool
	// own is called with the index of a snapshot when it starts, and ownEnded when Raft
	// has finished with it. own may be nil.
	own      func(index uint64)
	ownEnded func()
	// closing ends the writing of snapshots: closing a group does not wait until the
	// whole state is written.
	closing atomic.Bool
	// mu keeps reload from Raft's own calls, which come from one goroutine. It guards applied.
	mu sync.Mutex
	// applied is the index of the last entry that Raft has handed over.
	applied uint64
	// tail is the log behind the newest snapshot.
	tail logTail
}

// With raft.BatchingFSM Raft counts all entries that it hands over. Without it Raft
// refuses a snapshot while the last entry is a configuration.
var _ raft.BatchingFSM = (*machineFSM)(nil)

var errBroken = errors.New("the state machine has failed")

func (f *machineFSM) fail(err error) error {
	if f.broken.CompareAndSwap(false, true) {
		f.fatal(err)
	}
	return err
}

// Apply implements raft.FSM.
func (f *machineFSM) Apply(l *raft.Log) any { return f.ApplyBatch([]*raft.Log{l})[0] }

// ApplyBatch implements raft.BatchingFSM. Its results are not used: replies take another
// way.
func (f *machineFSM) ApplyBatch(logs []*raft.Log) []any {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts.beginApply()
	defer f.counts.endApply()
	for _, l := range logs {
		f.applied = l.Index
		if l.Type != raft.LogCommand || f.broken.Load() {
			continue
		}
		if err := f.sm.Apply(l.Index, l.Data); err != nil {
			_ = f.fail(fmt.Errorf("applying entry %d: %w", l.Index, err))
		}
	}
	f.tail.applied(logs)
	f.counts.taken.Store(f.applied)
	return make([]any, len(logs))
}

// Snapshot implements raft.FSM.
func (f *machineFSM) Snapshot() (raft.FSMSnapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.cutLocked()
	if err != nil {
		return nil, err
	}
	if f.own != nil {
		f.own(f.applied)
	}
	return fsmSnapshot{s, f, f.tail.now()}, nil
}

// Restore implements raft.FSM.
func (f *machineFSM) Restore(r io.ReadCloser) error {
	defer r.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken.Load() {
		return errBroken
	}
	if err := f.sm.Restore(r); err != nil {
		return f.fail(fmt.Errorf("restoring a snapshot: %w", err))
	}
	f.tail.cover(f.tail.now())
	return nil
}

// reload writes the state to a file and loads it again, between two batches.
func (f *machineFSM) reload() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.cutLocked()
	if err != nil {
		return err
	}
	defer s.Release()
	var image bytes.Buffer
	if err := s.Persist(&image); err != nil {
		return err
	}
	if err := f.sm.Restore(&image); err != nil {
		return f.fail(fmt.Errorf("loading the state again: %w", err))
	}
	return nil
}

// cut captures the state between two batches.
func (f *machineFSM) cut() (Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cutLocked()
}

func (f *machineFSM) cutLocked() (Snapshot, error) {
	if f.broken.Load() {
		return nil, errBroken
	}
	return f.sm.Snapshot()
}

// openParts returns the parts that live as long as the current Raft.
func (g *Group) openParts() (*groupParts, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, cluster.ErrShuttingDown
	}
	return g.parts, nil
}

// cut captures this replica's state, which can be written while later entries are
// applied.
func (g *Group) cut() (Snapshot, error) {
	p, err := g.openParts()
	if err != nil {
		return nil, err
	}
	return p.fsm.cut()
}

// reload writes this replica's state to a file and loads it again.
func (g *Group) reload() error {
	p, err := g.openParts()
	if err != nil {
		return err
	}
	return p.fsm.reload()
}

// fsmSnapshot is the raft.FSMSnapshot in front of a Snapshot.
type fsmSnapshot struct {
	s   Snapshot
	fsm *machineFSM
	// end is where the log ended when the snapshot started.
	end logLength
}

// Persist implements raft.FSMSnapshot.
func (f fsmSnapshot) Persist(sink raft.SnapshotSink) (err error) {
	defer f.fsm.writing()()
	if f.fsm.own != nil {
		raftio.OwnSink(sink)
	}
	counted := &countingSink{SnapshotSink: sink, closing: &f.fsm.closing}
	defer func() { f.fsm.counts.wrote(counted.bytes, err) }()
	if err := f.s.Persist(counted); err != nil {
		_ = sink.Cancel()
		return err
	}
	if err := sink.Close(); err != nil {
		return err
	}
	f.fsm.tail.cover(f.end)
	return nil
}

// Release implements raft.FSMSnapshot: Raft has finished with the snapshot.
func (f fsmSnapshot) Release() {
	f.s.Release()
	if f.fsm.ownEnded != nil {
		f.fsm.ownEnded()
	}
}
