package raftio

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// Guards are what watches over a log store.
type Guards struct {
	// Verify checks an entry's content; nil: no check.
	Verify func(*raft.Log) error
	// StallLimit is how long one call may take.
	StallLimit time.Duration
	// Fatal is told, once, that the store failed, hangs, or holds a damaged
	// entry. The process must end: Raft would go on leading with a dead disk.
	Fatal func(error)
	// Synced, when set, is told how long each write took.
	Synced func(time.Duration)
}

// LogStore is a raft.LogStore under guard.
type LogStore struct {
	inner  raft.LogStore
	guards Guards
	// busySince is the start of the call under way in nanoseconds of the
	// process's clock, 0: none. Raft writes from one goroutine.
	busySince atomic.Int64
	begin     time.Time
	stop      chan struct{}
	failed    atomic.Bool
}

// deleteStep is how many entries one call of the inner store deletes.
const deleteStep = 1024

// GuardLog puts a store under guard. Close ends the guarding, not the store.
func GuardLog(inner raft.LogStore, g Guards) *LogStore {
	s := &LogStore{inner: inner, guards: g, begin: time.Now(), stop: make(chan struct{})}
	if g.StallLimit > 0 {
		go s.watch()
	}
	return s
}

// Close ends the guarding.
func (s *LogStore) Close() { close(s.stop) }

func (s *LogStore) watch() {
	t := time.NewTicker(s.guards.StallLimit / 8)
	defer t.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-t.C:
			since := s.busySince.Load()
			if since != 0 && time.Since(s.begin)-time.Duration(since) > s.guards.StallLimit {
				s.fail(fmt.Errorf("the disk hangs: a log write has taken more than %v", s.guards.StallLimit))
				return
			}
		}
	}
}

func (s *LogStore) fail(err error) {
	if s.failed.CompareAndSwap(false, true) {
		s.guards.Fatal(err)
	}
}

// write runs a call that changes the store.
func (s *LogStore) write(what string, call func() error) error {
	begin := time.Since(s.begin)
	s.busySince.Store(int64(max(begin, 1)))
	err := call()
	s.busySince.Store(0)
	if s.guards.Synced != nil {
		s.guards.Synced(time.Since(s.begin) - begin)
	}
	if err != nil {
		// What is on disk is unknown now; a retry may report a success that is
		// none.
		err = fmt.Errorf("log store: %s: %w", what, err)
		s.fail(err)
	}
	return err
}

func (s *LogStore) verify(l *raft.Log) error {
	if s.guards.Verify == nil || l.Type != raft.LogCommand {
		return nil
	}
	if err := s.guards.Verify(l); err != nil {
		err = fmt.Errorf("entry %d of term %d: %w", l.Index, l.Term, err)
		s.fail(err)
		return err
	}
	return nil
}

// FirstIndex implements raft.LogStore.
func (s *LogStore) FirstIndex() (uint64, error) { return s.inner.FirstIndex() }

// LastIndex implements raft.LogStore.
func (s *LogStore) LastIndex() (uint64, error) { return s.inner.LastIndex() }

// GetLog implements raft.LogStore.
func (s *LogStore) GetLog(index uint64, l *raft.Log) error {
	if err := s.inner.GetLog(index, l); err != nil {
		return err
	}
	return s.verify(l)
}

// StoreLog implements raft.LogStore.
func (s *LogStore) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore.
func (s *LogStore) StoreLogs(logs []*raft.Log) error {
	for _, l := range logs {
		if err := s.verify(l); err != nil {
			return err
		}
	}
	return s.write("store", func() error { return s.inner.StoreLogs(logs) })
}

// DeleteRange implements raft.LogStore. Long ranges go in pieces, so that
// appends do not wait for all of it: from the front when the range is at the
// front, else from the end, so that a crash in the middle leaves no gap.
func (s *LogStore) DeleteRange(from, to uint64) error {
	if s.IsMonotonic() {
		return s.write("delete", func() error { return s.inner.DeleteRange(from, to) })
	}
	first, err := s.inner.FirstIndex()
	if err != nil {
		return err
	}
	for from <= to {
		a, b := from, min(to, from+deleteStep-1)
		if from > first {
			a, b = max(from, to-min(to, deleteStep-1)), to
		}
		if err := s.write("delete", func() error { return s.inner.DeleteRange(a, b) }); err != nil {
			return err
		}
		if from > first {
			if a == from {
				return nil
			}
			to = a - 1
		} else {
			from, first = b+1, b+1
		}
	}
	return nil
}

// IsMonotonic implements raft.MonotonicLogStore: what the inner store says.
func (s *LogStore) IsMonotonic() bool {
	m, ok := s.inner.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}
