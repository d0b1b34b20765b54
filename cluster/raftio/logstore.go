package raftio

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/raftio/journal"
)

// Guards are the checks of a group's stores.
type Guards struct {
	// Verify checks the content of an entry that holds a command, when it is written and
	// when it is read. It is nil if there is no check.
	Verify func(*raft.Log) error
	// StallLimit is how long one call may take. After a sixth of it the disk hangs,
	// and this node is not heard as a leader (Watchdog).
	StallLimit time.Duration
	// Fatal is called once if a store failed, hangs, or holds a damaged entry. The
	// process must end.
	Fatal func(error)
	// Synced is called with the duration of each append. It may be nil.
	Synced func(time.Duration)
}

// LogStore is a raft.LogStore with checks and a watchdog.
//
// Its log has no gaps. When a snapshot was installed past the end of a log, Raft would
// append behind the snapshot and leave the old entries in place, in a store that allows
// gaps. Those may be entries that were never committed, and once this node leads it would
// send them to a follower that lags. So an append that leaves a gap deletes the entries
// before it, which are in the snapshot.
type LogStore struct {
	inner          raft.LogStore
	guards         Guards
	dog            *Watchdog
	pen            pen
	configurations *Configurations
	// appended counts the bytes of entries written.
	appended atomic.Uint64
	// givenUp is true if the log is about to be emptied. It accepts nothing until it is
	// opened again: new entries would be acknowledged, and then deleted with the rest.
	givenUp atomic.Bool
	// covered is where the newest snapshot ends. An empty log begins behind it: a request
	// may have fitted before the snapshot came (skipCovered), and its entries would set
	// Raft's configuration back.
	covered atomic.Uint64
	// begun is true if Raft runs on it.
	begun atomic.Bool

	mu sync.Mutex // guards first, last, cutting
	// first and last are the log's ends, or 0 if it is empty. What is outside is not
	// there, whatever the inner store says: raft-wal still finds entries that were
	// deleted from its newest file.
	first, last uint64
	// cutting counts the deletions under way, whose entries may be gone already.
	cutting int
}

// deleteStep is how many entries one call of the inner store deletes: in bbolt
// a deletion is one transaction, and appends wait for it.
const deleteStep = 1024

// guardLog puts the checks and the watchdog around a store.
func guardLog(inner raft.LogStore, g Guards, dog *Watchdog, c *Configurations) (*LogStore, error) {
	first, err := inner.FirstIndex()
	if err != nil {
		return nil, err
	}
	last, err := inner.LastIndex()
	if err != nil {
		return nil, err
	}
	return &LogStore{inner: inner, guards: g, dog: dog, pen: pen{dog: dog}, configurations: c, first: first, last: last}, nil
}

// AppendedBytes counts the bytes of all entries written since the store was opened.
func (s *LogStore) AppendedBytes() uint64 { return s.appended.Load() }

// examine returns an error that says what is wrong with an entry, or nil.
func (s *LogStore) examine(l *raft.Log) error {
	err := checkSeal(l)
	if err == nil && l.Type == raft.LogCommand && s.guards.Verify != nil {
		err = s.guards.Verify(l)
	}
	return err
}

// check is examine, and names the entry in the error. Entries of other nodes were
// examined when they arrived (Transport.judge).
func (s *LogStore) check(l *raft.Log) error {
	err := s.examine(l)
	if err != nil {
		err = fmt.Errorf("entry %d of term %d: %w", l.Index, l.Term, err)
	}
	return err
}

// FirstIndex implements raft.LogStore.
func (s *LogStore) FirstIndex() (uint64, error) {
	first, _ := s.ends()
	return first, nil
}

// LastIndex implements raft.LogStore. Once Raft runs, an empty log ends with the newest
// snapshot. Raft writes a snapshot when the log goes far beyond the last one, and
// computes the difference without a sign, so that an end at 0 counts as infinitely far:
// while nothing is written it would write the same snapshot again and again. When Raft
// starts it reads the last entry, so until then the end is 0.
func (s *LogStore) LastIndex() (uint64, error) {
	_, last := s.ends()
	if last == 0 && s.begun.Load() {
		last = s.covered.Load()
	}
	return last, nil
}

func (s *LogStore) ends() (first, last uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first, s.last
}

// GetLog implements raft.LogStore.
func (s *LogStore) GetLog(index uint64, l *raft.Log) error {
	if first, last := s.ends(); index < first || index > last || first == 0 {
		return raft.ErrLogNotFound
	}
	err := s.dog.read("reading the log", func() error {
		err := s.inner.GetLog(index, l)
		if err != nil && !absent(err) {
			err = fmt.Errorf("entry %d: %w; %s", index, err, rejoin)
		}
		return err
	})
	switch {
	case err != nil && absent(err) && s.holds(index):
		return s.damaged(fmt.Errorf("%w: entry %d is missing", errMisplaced, index))
	case err != nil:
		return err
	}
	if err := s.check(l); err != nil {
		return s.damaged(err)
	}
	if l.Index != index {
		return s.damaged(fmt.Errorf("%w: entry %d stands in the place of entry %d", errMisplaced, l.Index, index))
	}
	s.configurations.read(l)
	return nil
}

// errMisplaced says that the store returns the wrong entry for an index, even if each
// entry may be good.
var errMisplaced = errors.New("the log store is damaged")

// damaged ends the process because of an entry that was read. To skip the entry, or to
// cut it off, could lose data that a quorum has acknowledged.
func (s *LogStore) damaged(err error) error {
	err = fmt.Errorf("%w; %s", err, rejoin)
	s.dog.fail(err)
	return err
}

// holds reports whether the log has an entry that is not being deleted.
func (s *LogStore) holds(index uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cutting == 0 && s.first != 0 && s.first <= index && index <= s.last
}

var (
	errGivenUp      = errors.New("the log contradicts a snapshot and is about to be emptied")
	errCoveredEntry = errors.New("the newest snapshot covers what the log is to begin with")
)

// StoreLog implements raft.LogStore.
func (s *LogStore) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore. An entry without a checksum is this leader's own
// and gets one. A follower's entries have those of their leader.
func (s *LogStore) StoreLogs(logs []*raft.Log) error {
	if len(logs) == 0 {
		return nil
	}
	if s.givenUp.Load() {
		return errGivenUp
	}
	bytes := 0
	for _, l := range logs {
		if !sealed(l) {
			seal(l)
		}
		if err := s.check(l); err != nil {
			s.dog.fail(err)
			return err
		}
		bytes += len(l.Data)
	}
	if _, last := s.ends(); last != 0 && logs[0].Index > last+1 {
		if err := s.Empty(); err != nil {
			return err
		}
	}
	if _, last := s.ends(); last == 0 && logs[0].Index <= s.covered.Load() {
		return errCoveredEntry
	}
	begin := time.Now()
	if err := s.pen.write("writing the log", func() error { return s.inner.StoreLogs(logs) }); err != nil {
		return err
	}
	if s.guards.Synced != nil {
		s.guards.Synced(time.Since(begin))
	}
	s.appended.Add(uint64(bytes))
	s.mu.Lock()
	if s.last == 0 {
		s.first = logs[0].Index
	}
	s.last = logs[len(logs)-1].Index
	s.mu.Unlock()
	for _, l := range logs {
		s.configurations.wrote(l)
	}
	return nil
}

// Empty deletes all entries.
func (s *LogStore) Empty() error { return s.DeleteRange(s.ends()) }

// DeleteRange implements raft.LogStore. Long ranges are deleted in pieces: from the end
// if the range is at the end, otherwise from the front, so that a crash in the middle
// leaves no gap, neither within the log nor between it and the snapshot before it. Raft
// deletes at the front in parallel with its main loop, which may append meanwhile.
func (s *LogStore) DeleteRange(from, to uint64) error {
	first, last := s.ends()
	from, to = max(from, first), min(to, last)
	if from > to || last == 0 {
		return nil
	}
	s.cut(1)
	defer s.cut(-1)
	if from == first {
		return s.deleteFront(from, to, last)
	}
	if err := s.deleteDownwards(from, to); err != nil {
		return err
	}
	s.mu.Lock()
	s.last = from - 1
	s.mu.Unlock()
	s.configurations.cut(from, to)
	return nil
}

// cut adds n to the number of deletions: 1 when one starts, -1 when it ends.
func (s *LogStore) cut(n int) {
	s.mu.Lock()
	s.cutting += n
	s.mu.Unlock()
}

func (s *LogStore) deleteFront(from, to, last uint64) error {
	pieces := s.deleteUpwards
	if to == last {
		pieces = s.deleteDownwards
	}
	if err := pieces(from, to); err != nil {
		return err
	}
	s.mu.Lock()
	all := to >= s.last
	if all {
		s.first, s.last = 0, 0
	} else {
		s.first = max(s.first, to+1) // the log may have begun again meanwhile
	}
	s.mu.Unlock()
	if all {
		s.configurations.cut(from, to)
	}
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
	return s.pen.write("cutting the log", func() error { return s.inner.DeleteRange(from, to) })
}

// step is how many entries are deleted at once. A monotonic store deletes files, and a
// journal only records that they are gone.
func (s *LogStore) step() uint64 {
	if _, shared := s.inner.(*journal.Log); shared || s.IsMonotonic() {
		return 1 << 62
	}
	return deleteStep
}

// IsMonotonic implements raft.MonotonicLogStore. It returns the answer of the inner
// store.
func (s *LogStore) IsMonotonic() bool {
	m, ok := s.inner.(raft.MonotonicLogStore)
	return ok && m.IsMonotonic()
}
