package raftio

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// snapshotsKept is how many snapshots a group keeps.
const snapshotsKept = 2

// Snapshots is hashicorp/raft's file store with its ends tied up.
type Snapshots struct {
	*raft.FileSnapshotStore
	// Stored is told of each snapshot that is complete on disk, whether this
	// node made it or a leader sent it; may be nil.
	Stored func(index, term uint64)
}

// OpenSnapshots opens a group's snapshots: it removes what a crash left
// half-written, and refuses a newest snapshot that cannot be read. Raft would
// fall back to an older one in silence, and the node would have forgotten
// entries that it acknowledged.
func OpenSnapshots(dir string, log hclog.Logger) (*Snapshots, error) {
	if err := removeLeftovers(filepath.Join(dir, "snapshots")); err != nil {
		return nil, err
	}
	store, err := raft.NewFileSnapshotStoreWithLogger(dir, snapshotsKept, log)
	if err != nil {
		return nil, err
	}
	all, err := store.List()
	if err != nil {
		return nil, err
	}
	if err := checkUnreadable(filepath.Join(dir, "snapshots"), all); err != nil {
		return nil, err
	}
	if len(all) > 0 {
		// Open checks the whole file against its checksum.
		_, r, err := store.Open(all[0].ID)
		if err != nil {
			return nil, damaged(all[0].ID, err)
		}
		r.Close()
	}
	return &Snapshots{FileSnapshotStore: store}, nil
}

func damaged(id string, err error) error {
	return fmt.Errorf("snapshot %s is damaged (%w); this node must not vote with what is left: "+
		"remove it from the cluster, empty its folder, and let it join again", id, err)
}

// checkUnreadable refuses a snapshot newer than those List shows: its
// description could not be read.
func checkUnreadable(dir string, listed []*raft.SnapshotMeta) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, m := range listed {
		known[m.ID] = true
	}
	if len(listed) == snapshotsKept {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() && !known[e.Name()] {
			return damaged(e.Name(), fmt.Errorf("its description cannot be read"))
		}
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
	if err != nil || s.Stored == nil {
		return sink, err
	}
	return &watchedSink{sink, func() { s.Stored(index, term) }}, nil
}

type watchedSink struct {
	raft.SnapshotSink
	stored func()
}

// Close implements raft.SnapshotSink.
func (w *watchedSink) Close() error {
	err := w.SnapshotSink.Close()
	if err == nil {
		w.stored()
	}
	return err
}

// Contradicts tells whether a log holds an entry that a snapshot says is
// another: the entry at the snapshot's index with another term. Raft keeps such
// a log after it installed the snapshot, and then refuses every append behind
// it (hashicorp/raft#697).
func Contradicts(log raft.LogStore, index, term uint64) bool {
	var l raft.Log
	return log.GetLog(index, &l) == nil && l.Term != term
}
