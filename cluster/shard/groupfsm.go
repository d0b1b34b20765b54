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

// StateMachine is what a group replicates. Its methods are called by one
// goroutine, but for Snapshot.Persist.
type StateMachine interface {
	// Apply takes a committed entry over; it must not wait for slow work, unless so
	// much of it is open that memory would run out, nor keep or change data, which
	// Raft still sends to followers. After an error the node must stop.
	Apply(index uint64, data []byte) error
	// Snapshot captures the state after the last applied entry; it is cheap.
	Snapshot() (Snapshot, error)
	// Restore replaces the state by a snapshot's. After an error the node must
	// stop: the state may be half of each.
	Restore(r io.Reader) error
}

// Snapshot is a captured state; Persist may run beside later Applies.
type Snapshot interface {
	Persist(w io.Writer) error
	Release()
}

// machineFSM is the raft.FSM in front of a StateMachine. It passes on commands
// alone: Raft's own entries are not the state machine's business, and the
// group learns of configurations where they are written.
type machineFSM struct {
	sm StateMachine
	// fatal is told why the node must stop.
	fatal func(error)
	// writing is told that a snapshot is being written; what it returns, that it
	// is written.
	writing func() (end func())
	counts  *GroupCounts
	// broken: the state machine has failed. Nothing behind the entry it failed at
	// may be applied, nor may its state become a snapshot.
	broken atomic.Bool
	// own, when set, is told the index of a snapshot that is begun, and ownEnded that
	// Raft has done with it.
	own      func(index uint64)
	ownEnded func()
	// closing ends the writing of snapshots: who closes a group does not wait until its
	// whole state is written out.
	closing atomic.Bool
	// mu keeps reload from Raft's own calls, which come from one goroutine. It guards applied.
	mu sync.Mutex
	// applied is the index of the last entry that Raft handed over.
	applied uint64
	// tail is the log behind the newest snapshot.
	tail logTail
}

// raft.BatchingFSM makes Raft count all that it hands over; without it a
// snapshot is refused while the last entry is a configuration.
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

// ApplyBatch implements raft.BatchingFSM. Its results mean nothing: replies go
// another way.
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

// reload writes the state out and loads it again, between two batches.
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

// cut fixes the state between two batches.
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

// openFSM is what applies entries as long as the group is open.
func (g *Group) openFSM() (*machineFSM, error) {
	p, err := g.openParts()
	if err != nil {
		return nil, err
	}
	return p.fsm, nil
}

// openParts returns the parts that live as long as the present Raft.
func (g *Group) openParts() (*groupParts, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, cluster.ErrShuttingDown
	}
	return g.parts, nil
}

// cut fixes this replica's state, to be written out beside later entries.
func (g *Group) cut() (Snapshot, error) {
	f, err := g.openFSM()
	if err != nil {
		return nil, err
	}
	return f.cut()
}

// reload writes this replica's state out and loads it again.
func (g *Group) reload() error {
	f, err := g.openFSM()
	if err != nil {
		return err
	}
	return f.reload()
}

// fsmSnapshot is the raft.FSMSnapshot in front of a Snapshot.
type fsmSnapshot struct {
	s   Snapshot
	fsm *machineFSM
	// end is where the log ended when it was begun.
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

// Release implements raft.FSMSnapshot: Raft has done with the snapshot.
func (f fsmSnapshot) Release() {
	f.s.Release()
	if f.fsm.ownEnded != nil {
		f.fsm.ownEnded()
	}
}
