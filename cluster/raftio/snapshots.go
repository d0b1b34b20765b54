package raftio

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const (
	// SnapshotsDir is the folder of a group's snapshots.
	SnapshotsDir = "snapshots"
	// snapshotsKept is how many snapshots a group keeps.
	snapshotsKept = 2
	// unfinishedSuffix marks the folder of a snapshot that is being written. stateFile is
	// the state in it.
	unfinishedSuffix = ".tmp"
	stateFile        = "state.bin"
)

// Snapshots is hashicorp/raft's file store, made safe against its known gaps.
type Snapshots struct {
	*raft.FileSnapshotStore
	// dir is the folder of the snapshots.
	dir            string
	log            *cache
	configurations *Configurations
	// Contradicted is called when a snapshot arrived that the log contradicts. Raft keeps
	// such a log, and then refuses every append behind the snapshot, for ever
	// (hashicorp/raft#697). Contradicted must be set before Raft starts, and must not
	// wait for Raft.
	Contradicted func(index uint64)
	// Arriving returns the check of a snapshot that a leader sends, or nil if there is
	// none. It must be set before Raft starts. Raft accepts a snapshot for good before
	// any code reads it, and a node that cannot read its newest snapshot ends.
	Arriving func() Arrival
	// newest is the last entry of the newest snapshot. It is nil if there is no snapshot.
	newest atomic.Pointer[snapshotEnd]
	// own is the index of the snapshot that this replica is about to write.
	own atomic.Uint64
	// ending lets one snapshot at a time be completed. After this replica's own snapshot
	// it is held until Raft has recorded that snapshot (OwnEnded).
	ending sync.Mutex
	held   atomic.Bool
}

// Arrival checks the bytes of a snapshot. Err is called after the last of them. It says
// why they are not a whole snapshot, or returns nil if they are.
type Arrival interface {
	io.Writer
	Err() error
}

// snapshotEnd is the last entry of a snapshot.
type snapshotEnd struct{ Index, Term uint64 }

// compare says which snapshot is the newer one, in the store's own order.
func (e snapshotEnd) compare(with *raft.SnapshotMeta) int {
	return cmp.Or(cmp.Compare(e.Term, with.Term), cmp.Compare(e.Index, with.Index))
}

// Own announces a snapshot of this replica's own state. Snapshots from a leader are
// checked; the replica's own are not.
func (s *Snapshots) Own(index uint64) {
	s.OwnEnded() // if Raft has ended, the matching call never comes
	s.own.Store(index)
}

// OwnEnded says that Raft has finished with the announced snapshot, which may never have
// been started. From now on Raft counts its log from that snapshot. If it had recorded a
// newer one from a leader meanwhile, it would go back to that older snapshot.
func (s *Snapshots) OwnEnded() {
	s.own.Store(0)
	if s.held.CompareAndSwap(true, false) {
		s.ending.Unlock()
	}
}

// openSnapshots opens a group's snapshots. It removes what a crash left half-written, and
// refuses a newest snapshot that cannot be read. Raft would silently fall back to an
// older one, and the node would have lost entries that it acknowledged.
func openSnapshots(dir string, log *cache, c *Configurations, logger hclog.Logger) (*Snapshots, error) {
	if err := removeLeftovers(filepath.Join(dir, SnapshotsDir)); err != nil {
		return nil, err
	}
	store, err := raft.NewFileSnapshotStoreWithLogger(dir, snapshotsKept, logger)
	if err != nil {
		return nil, err
	}
	all, err := store.List()
	if err != nil {
		return nil, err
	}
	newest := &raft.SnapshotMeta{}
	if len(all) > 0 {
		newest = all[0]
		// Open checks the whole file against its checksum.
		_, r, err := store.Open(newest.ID)
		if err != nil {
			return nil, damaged(newest.ID, err)
		}
		r.Close()
		c.snapshot(newest.Index, Configuration{newest.ConfigurationIndex, newest.Configuration.Servers}, true)
	}
	if err := refuseUnreadable(filepath.Join(dir, SnapshotsDir), all, newest); err != nil {
		return nil, err
	}
	// This comes before the log is emptied for a snapshot that only the kernel knows of:
	// the process may have ended because it could not sync the name of that snapshot.
	if err := syncFolder(filepath.Join(dir, SnapshotsDir)); err != nil {
		return nil, err
	}
	if err := fit(log, newest, all); err != nil {
		return nil, err
	}
	s := &Snapshots{FileSnapshotStore: store, dir: filepath.Join(dir, SnapshotsDir), log: log, configurations: c}
	if newest.Index > 0 {
		s.setNewest(newest.Index, newest.Term)
	}
	return s, nil
}

// rejoin is advice to the operator of a node that has lost data.
const rejoin = "this node must not vote with what is left: remove it from the cluster, empty its folder, and let it join again"

func damaged(id string, err error) error {
	return fmt.Errorf("snapshot %s is damaged (%w); %s", id, err, rejoin)
}

// refuseUnreadable refuses the folder if it has a snapshot that is newer than those that
// List shows: the description of that snapshot could not be read. An older snapshot may
// be left half deleted. It may also be whole, and the longer one if it is of another
// history (Create).
func refuseUnreadable(dir string, listed []*raft.SnapshotMeta, newest *raft.SnapshotMeta) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, m := range listed {
		known[m.ID] = true
	}
	for _, e := range entries {
		if end, ok := endOf(e.Name()); ok && !known[e.Name()] && end.compare(newest) > 0 {
			return damaged(e.Name(), errors.New("its description cannot be read"))
		}
	}
	return nil
}

// endOf reads where a snapshot ends from its name: term-index-time.
func endOf(name string) (end snapshotEnd, ok bool) {
	parts := strings.Split(name, "-")
	if len(parts) != 3 {
		return end, false
	}
	term, err1 := strconv.ParseUint(parts[0], 10, 64)
	index, err2 := strconv.ParseUint(parts[1], 10, 64)
	return snapshotEnd{index, term}, err1 == nil && err2 == nil
}

// fit makes sure that log and snapshot belong together. A log that contradicts the
// snapshot, or ends before it, is emptied: the process ended before it could do that. A
// log that begins behind the snapshot is emptied if it belongs to another snapshot, which
// the newest has replaced (stored). Otherwise entries are lost, and fit returns an error.
func fit(log *cache, newest *raft.SnapshotMeta, all []*raft.SnapshotMeta) error {
	if _, last := log.ends(); last < newest.Index || newest.Index > 0 && contradicts(log, newest.Index, newest.Term) {
		return log.Empty()
	}
	first, err := log.FirstIndex()
	if err != nil {
		return err
	}
	if first > newest.Index+1 {
		if slices.ContainsFunc(all, func(m *raft.SnapshotMeta) bool { return m.Index+1 >= first }) {
			return log.Empty()
		}
		return fmt.Errorf("the log begins at %d and the newest snapshot ends at %d, what was between is lost; %s", first, newest.Index, rejoin)
	}
	return nil
}

func removeLeftovers(dir string) error {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), unfinishedSuffix) {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// errArrival refuses a snapshot that did not arrive as it was sent.
var errArrival = errors.New("a snapshot that is not whole")

// errOlder refuses a snapshot that ends before the newest one here. errCovered refuses
// one that ends before the log.
var (
	errOlder   = errors.New("an older snapshot than the newest here")
	errCovered = errors.New("a snapshot of what the log has, and more")
)

// Create implements raft.SnapshotStore. It refuses a snapshot that is older than the
// newest. If this replica was removed and made again, a leader that still replicates to
// the former one would send such a snapshot, and the library installs every snapshot it
// is sent. The replica would then be behind its own snapshot, and for ever need entries
// that are in no log any more.
//
// Create also refuses a leader's snapshot if the log goes beyond it and does not
// contradict it: there is nothing new in it, and the library would take the members in it
// for the current ones. A replica that led by them would leave out a member that was
// added, and count on one that was removed.
//
// The term counts before the index, as in the store's own order. In committed entries
// both grow together. But a group that was recovered starts with everything that each
// remaining replica had in its log: the replica with the newer log leads, and the other
// replica, whose log may be the longer one, must follow.
func (s *Snapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration, configurationIndex uint64, trans raft.Transport) (raft.SnapshotSink, error) {
	all, err := s.notOlder(index, term)
	if err != nil {
		return nil, err
	}
	if !s.own.CompareAndSwap(index, 0) && s.covers(index, term, all) {
		return nil, fmt.Errorf("%w: index %d of term %d", errCovered, index, term)
	}
	sink, err := s.FileSnapshotStore.Create(version, index, term, configuration, configurationIndex, trans)
	if err != nil {
		return nil, err
	}
	in := Configuration{configurationIndex, configuration.Servers}
	w := &watchedSink{
		SnapshotSink: sink, folder: filepath.Join(s.dir, sink.ID()),
		in: s, stored: func() error { return s.stored(index, term, in) },
		overtaken: func() error { _, err := s.notOlder(index, term); return err },
	}
	if s.Arriving != nil {
		w.arriving = s.Arriving()
	}
	if w.state, err = os.OpenFile(filepath.Join(w.folder+unfinishedSuffix, stateFile), os.O_WRONLY, 0); err != nil {
		return nil, errors.Join(err, sink.Cancel())
	}
	return w, nil
}

// notOlder lists the snapshots. It returns an error if there is a newer one than this.
func (s *Snapshots) notOlder(index, term uint64) ([]*raft.SnapshotMeta, error) {
	all, err := s.List()
	if err == nil && len(all) > 0 && (snapshotEnd{index, term}).compare(all[0]) < 0 {
		err = fmt.Errorf("%w: index %d of term %d, and there is %d of term %d", errOlder, index, term, all[0].Index, all[0].Term)
	}
	return all, err
}

// covers reports whether the log goes beyond a snapshot and agrees with it.
func (s *Snapshots) covers(index, term uint64, all []*raft.SnapshotMeta) bool {
	if _, last := s.log.ends(); last <= index {
		return false
	}
	if len(all) > 0 && all[0].Index == index && all[0].Term == term {
		return true
	}
	var l raft.Log
	return s.log.GetLog(index, &l) == nil && l.Term == term
}

// stored records a snapshot that is complete on disk, whether this node made it or a
// leader sent it. It comes before Raft changes the log: afterwards there may be nothing
// left to compare.
//
// A log that ends before the snapshot is useless, and is deleted at once. Its entries may
// never have been committed, and Raft would keep them until it appends behind the
// snapshot. A node that is elected meanwhile sends entries while it makes that first
// append, and a follower that lags would accept these entries, and commit them.
//
// A log that begins later than right behind the snapshot belongs to another history: that
// of a recovered group, which this replica led for a while, until it lost the lead.
func (s *Snapshots) stored(index, term uint64, in Configuration) error {
	first, last := s.log.ends()
	contradicted := first > index+1 || contradicts(s.log, index, term)
	if index > last && last > 0 { // Raft may be writing into an empty one
		if err := s.log.Empty(); err != nil {
			return err
		}
	}
	s.setNewest(index, term)
	s.configurations.snapshot(index, in, contradicted || index > last)
	if contradicted && s.Contradicted != nil {
		s.log.givenUp.Store(true)
		s.Contradicted(index)
	}
	return nil
}

func (s *Snapshots) setNewest(index, term uint64) {
	s.newest.Store(&snapshotEnd{index, term})
	s.log.covered.Store(index)
}

// contradicts reports whether a log has another entry at a snapshot's last index. By
// Raft's log matching, no entry behind it was ever committed.
func contradicts(log raft.LogStore, index, term uint64) bool {
	var l raft.Log
	return log.GetLog(index, &l) == nil && l.Term != term
}

// watchedSink reports once when a snapshot is complete. It leaves no files of a snapshot
// that failed: if the disk is full, the library leaves the folder, or removes it and
// keeps the file open. Each attempt would fill the disk further, until the log has no
// room. Raft closes and cancels a sink more than once.
type watchedSink struct {
	raft.SnapshotSink
	// folder is the snapshot's, and state is the file in it, open here as well as in the
	// library.
	folder string
	state  *os.File
	stored func() error
	// in.ending is held while the snapshot is completed, unless the snapshot was
	// overtaken: a leader's snapshot came while this replica wrote its own, and the
	// library would count its log from the older one on. own is true if the snapshot is
	// this replica's (OwnSink).
	in        *Snapshots
	own       bool
	overtaken func() error
	// arriving checks a leader's snapshot. It is nil if there is no check.
	arriving Arrival
	over     bool
	err      error
}

// OwnSink says that a sink receives a snapshot of this replica's own, which Own
// announced. The index would not identify it: a leader's snapshot may end at the same
// index, and Raft would then never report that it has finished with that one.
func OwnSink(sink raft.SnapshotSink) {
	if w, ok := sink.(*watchedSink); ok {
		w.own = true
	}
}

// Write implements raft.SnapshotSink.
func (w *watchedSink) Write(b []byte) (int, error) {
	if w.arriving != nil && !w.own {
		_, _ = w.arriving.Write(b)
	}
	return w.SnapshotSink.Write(b)
}

// Close implements raft.SnapshotSink.
func (w *watchedSink) Close() error {
	if w.over {
		return w.err
	}
	if w.arriving != nil && !w.own {
		if err := w.arriving.Err(); err != nil {
			return w.discard(errors.Join(fmt.Errorf("%w: %w", errArrival, err), w.SnapshotSink.Cancel()))
		}
	}
	w.in.ending.Lock()
	defer func() {
		if w.own && w.err == nil {
			w.in.held.Store(true)
		} else {
			w.in.ending.Unlock()
		}
	}()
	if err := w.overtaken(); err != nil {
		return w.discard(errors.Join(err, w.SnapshotSink.Cancel()))
	}
	if err := w.SnapshotSink.Close(); err != nil {
		return w.discard(err)
	}
	w.over = true
	_ = w.state.Close() // nothing was written here
	w.err = w.stored()
	return w.err
}

// Cancel implements raft.SnapshotSink.
func (w *watchedSink) Cancel() error {
	if w.over {
		return nil
	}
	return w.discard(w.SnapshotSink.Cancel())
}

// discard removes the files, unless the snapshot is complete already and a later step
// failed. The file is cut to length 0: while a process has it open, it uses space on the
// disk.
func (w *watchedSink) discard(err error) error {
	w.over = true
	if _, missing := os.Stat(w.folder); os.IsNotExist(missing) {
		err = errors.Join(err, w.state.Truncate(0), os.RemoveAll(w.folder+unfinishedSuffix))
	}
	_ = w.state.Close()
	w.err = err
	return err
}
