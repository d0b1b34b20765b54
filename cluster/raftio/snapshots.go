package raftio

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const (
	snapshotsDir = "snapshots"
	// snapshotsKept is how many snapshots a group keeps.
	snapshotsKept = 2
)

// Snapshots is hashicorp/raft's file store with its ends tied up.
type Snapshots struct {
	*raft.FileSnapshotStore
	log            *LogStore
	configurations *Configurations
	// Contradicted is told that a snapshot arrived which the log contradicts.
	// Raft keeps such a log, and then refuses every append behind the snapshot,
	// for ever (hashicorp/raft#697). It must be set before Raft starts, and must
	// not wait for Raft.
	Contradicted func(index uint64)
}

// openSnapshots opens a group's snapshots: it removes what a crash left
// half-written, and refuses a newest snapshot that cannot be read. Raft would
// fall back to an older one in silence, and the node would have forgotten
// entries that it acknowledged.
func openSnapshots(dir string, log *LogStore, c *Configurations, logger hclog.Logger) (*Snapshots, error) {
	if err := removeLeftovers(filepath.Join(dir, snapshotsDir)); err != nil {
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
	if err := refuseUnreadable(filepath.Join(dir, snapshotsDir), all, newest.Index); err != nil {
		return nil, err
	}
	if err := fit(log, newest); err != nil {
		return nil, err
	}
	return &Snapshots{FileSnapshotStore: store, log: log, configurations: c}, nil
}

// rejoin is what an operator can do about a node that has lost data.
const rejoin = "this node must not vote with what is left: remove it from the cluster, empty its folder, and let it join again"

func damaged(id string, err error) error {
	return fmt.Errorf("snapshot %s is damaged (%w); %s", id, err, rejoin)
}

// refuseUnreadable refuses a snapshot that is newer than those List shows: its
// description could not be read.
func refuseUnreadable(dir string, listed []*raft.SnapshotMeta, newest uint64) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, m := range listed {
		known[m.ID] = true
	}
	for _, e := range entries {
		if index, ok := indexOf(e.Name()); ok && !known[e.Name()] && index > newest {
			return damaged(e.Name(), errors.New("its description cannot be read"))
		}
	}
	return nil
}

// indexOf reads the index from a snapshot's name: term-index-time.
func indexOf(name string) (uint64, bool) {
	parts := strings.Split(name, "-")
	if len(parts) != 3 {
		return 0, false
	}
	index, err := strconv.ParseUint(parts[1], 10, 64)
	return index, err == nil
}

// fit makes sure that log and snapshot belong together. A log that contradicts
// the snapshot is emptied: the process ended before it could be. A log that
// begins behind the snapshot is a loss.
func fit(log *LogStore, newest *raft.SnapshotMeta) error {
	if newest.Index > 0 && contradicts(log, newest.Index, newest.Term) {
		return log.Empty()
	}
	first, err := log.FirstIndex()
	if err != nil {
		return err
	}
	if first > newest.Index+1 {
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
		if strings.HasSuffix(e.Name(), ".tmp") {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Create implements raft.SnapshotStore.
func (s *Snapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration, configurationIndex uint64, trans raft.Transport) (raft.SnapshotSink, error) {
	sink, err := s.FileSnapshotStore.Create(version, index, term, configuration, configurationIndex, trans)
	if err != nil {
		return nil, err
	}
	in := Configuration{configurationIndex, configuration.Servers}
	return &watchedSink{SnapshotSink: sink, stored: func() { s.stored(index, term, in) }}, nil
}

// stored takes note of a snapshot that is complete on disk, whether this node
// made it or a leader sent it. It comes before Raft touches the log: afterwards
// there may be nothing left to compare.
func (s *Snapshots) stored(index, term uint64, in Configuration) {
	contradicted := contradicts(s.log, index, term)
	_, last := s.log.ends()
	s.configurations.snapshot(index, in, contradicted || index > last)
	if contradicted && s.Contradicted != nil {
		s.Contradicted(index)
	}
}

// contradicts tells whether a log holds, at a snapshot's last index, another
// entry. By Raft's log matching nothing behind it was ever committed.
func contradicts(log raft.LogStore, index, term uint64) bool {
	var l raft.Log
	return log.GetLog(index, &l) == nil && l.Term != term
}

// watchedSink tells, once, when a snapshot is complete. Raft closes and cancels
// a sink more than once.
type watchedSink struct {
	raft.SnapshotSink
	stored func()
	over   bool
}

// Close implements raft.SnapshotSink.
func (w *watchedSink) Close() error {
	err := w.SnapshotSink.Close()
	if err == nil && !w.over {
		w.over = true
		w.stored()
	}
	return err
}

// Cancel implements raft.SnapshotSink.
func (w *watchedSink) Cancel() error {
	w.over = true
	return w.SnapshotSink.Cancel()
}
