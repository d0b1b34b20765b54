package raftio

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// Guards are what watches over a group's stores.
type Guards struct {
	// Verify checks the content of an entry that holds a command, where it is
	// written and where it is read; nil: no check.
	Verify func(*raft.Log) error
	// StallLimit is how long one call may take.
	StallLimit time.Duration
	// Fatal is told, once, that a store failed, hangs, or holds a damaged entry.
	// The process must end.
	Fatal func(error)
	// Synced, when set, is told how long each append took.
	Synced func(time.Duration)
}

// LogStore is a raft.LogStore under guard.
//
// Its log has no gaps. After a snapshot was installed past the end of a log,
// Raft would append behind the snapshot and leave the old entries standing, in
// a store that does not mind. They may be entries that were never committed,
// and once this node leads it would send them to a follower that lags. So an
// append that leaves a gap deletes what stands before it; the snapshot has it.
type LogStore struct {
	inner          raft.LogStore
	guards         Guards
	dog            *Watchdog
	configurations *Configurations
	// appended counts the bytes of entries written.
	appended atomic.Uint64

	mu sync.Mutex
	// last is the index of the last entry, 0: the log is empty.
	last uint64
}

// deleteStep is how many entries one call of the inner store deletes: in bbolt
// a deletion is one transaction, and appends wait for it.
const deleteStep = 1024

// guardLog puts a store under guard.
func guardLog(inner raft.LogStore, g Guards, dog *Watchdog, c *Configurations) (*LogStore, error) {
	last, err := inner.LastIndex()
	if err != nil {
		return nil, err
	}
	return &LogStore{inner: inner, guards: g, dog: dog, configurations: c, last: last}, nil
}

// AppendedBytes counts the bytes of all entries written since the store was
// opened.
func (s *LogStore) AppendedBytes() uint64 { return s.appended.Load() }

// check examines an entry; what is wrong with it ends the process. To skip it,
// or to cut it off, could lose what a quorum has acknowledged.
func (s *LogStore) check(l *raft.Log) error {
	err := checkSeal(l)
	if err == nil && l.Type == raft.LogCommand && s.guards.Verify != nil {
		err = s.guards.Verify(l)
	}
	if err != nil {
		err = fmt.Errorf("entry %d of term %d: %w", l.Index, l.Term, err)
		s.dog.fail(err)
	}
	return err
}

// FirstIndex implements raft.LogStore.
func (s *LogStore) FirstIndex() (first uint64, err error) {
	err = s.dog.run("reading the log", func() error { first, err = s.inner.FirstIndex(); return err })
	return first, err
}

// LastIndex implements raft.LogStore.
func (s *LogStore) LastIndex() (last uint64, err error) {
	err = s.dog.run("reading the log", func() error { last, err = s.inner.LastIndex(); return err })
	return last, err
}

// GetLog implements raft.LogStore.
func (s *LogStore) GetLog(index uint64, l *raft.Log) error {
	if err := s.dog.run("reading the log", func() error { return s.inner.GetLog(index, l) }); err != nil {
		return err
	}
	if err := s.check(l); err != nil {
		return err
	}
	s.configurations.entry(l)
	return nil
}

// StoreLog implements raft.LogStore.
func (s *LogStore) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore. An entry without a checksum is this
// leader's own and gets one; a follower's bear their leader's.
func (s *LogStore) StoreLogs(logs []*raft.Log) error {
	if len(logs) == 0 {
		return nil
	}
	bytes := 0
	for _, l := range logs {
		if !sealed(l) {
			seal(l)
		}
		if err := s.check(l); err != nil {
			return err
		}
		bytes += len(l.Data)
	}
	last := s.end()
	if last != 0 && logs[0].Index > last+1 {
		if err := s.Empty(); err != nil {
			return err
		}
	}
	begin := time.Now()
	if err := s.dog.run("writing the log", func() error { return s.inner.StoreLogs(logs) }); err != nil {
		return err
	}
	if s.guards.Synced != nil {
		s.guards.Synced(time.Since(begin))
	}
	s.appended.Add(uint64(bytes))
	s.mu.Lock()
	s.last = logs[len(logs)-1].Index
	s.mu.Unlock()
	for _, l := range logs {
		s.configurations.entry(l)
	}
	return nil
}

// end is the index of the last entry, 0: there is none.
func (s *LogStore) end() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Empty deletes all entries.
func (s *LogStore) Empty() error {
	first, err := s.FirstIndex()
	if err != nil {
		return err
	}
	last, err := s.LastIndex()
	if err != nil || last == 0 {
		return err
	}
	return s.DeleteRange(first, last)
}

// DeleteRange implements raft.LogStore. Long ranges go in pieces: from the
// front when the range is at the front, else from the end, so that a crash in
// the middle leaves no gap.
func (s *LogStore) DeleteRange(from, to uint64) error {
	first, err := s.FirstIndex()
	if err != nil {
		return err
	}
	last := s.end()
	from, to = max(from, first), min(to, last)
	if from > to {
		return nil
	}
	if from == first {
		err = s.deleteUpwards(from, to)
	} else {
		err = s.deleteDownwards(from, to)
	}
	if err != nil || to < last {
		return err
	}
	s.mu.Lock()
	// Raft may have appended meanwhile: it takes snapshots beside its main loop.
	if s.last == last {
		s.last = from - 1
		if from == first {
			s.last = 0
		}
	}
	s.mu.Unlock()
	s.configurations.cut(from)
	return nil
}

func (s *LogStore) deleteUpwards(from, to uint64) error {
	for from <= to {
		end := min(to, from+s.step()-1)
		if err := s.delete(from, end); err != nil {
			return err
		}
		from = end + 1
	}
	return nil
}

func (s *LogStore) deleteDownwards(from, to uint64) error {
	for from <= to {
		begin := from
		if to-from >= s.step() {
			begin = to - s.step() + 1
		}
		if err := s.delete(begin, to); err != nil {
			return err
		}
		to = begin - 1
	}
	return nil
}

func (s *LogStore) delete(from, to uint64) error {
	return s.dog.run("cutting the log", func() error { return s.inner.DeleteRange(from, to) })
}

// step is how many entries are deleted at once; a monotonic store deletes files.
func (s *LogStore) step() uint64 {
	if s.IsMonotonic() {
		return 1 << 62
	}
	return deleteStep
}

// IsMonotonic implements raft.MonotonicLogStore: what the inner store says.
func (s *LogStore) IsMonotonic() bool {
	m, ok := s.inner.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}
