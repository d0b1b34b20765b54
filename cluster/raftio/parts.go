package raftio

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"
	"github.com/hashicorp/raft-wal/metadb"
)

// A group's files are made in an order: the stable store first, then the log and the
// folder of snapshots. All of them exist before Raft writes a term. So a part that is
// missing beside the others existed once: perhaps a volume is not mounted, or a file was
// deleted. To make it again would silently forget what this node has acknowledged and for
// which candidates it has voted.

// putBack is advice to an operator: a volume may not be mounted.
const putBack = "put it back; if it is lost, " + rejoin

// checkFresh refuses a folder without a stable store that is not empty.
func checkFresh(dir string) error {
	for _, name := range []string{BoltFile, WALDir, SnapshotsDir} {
		if there(filepath.Join(dir, name)) {
			return fmt.Errorf("%s is gone from %s, where %s is, and with it whom this node has voted for; %s", StableFile, dir, name, putBack)
		}
	}
	return nil
}

// checkNoTerm refuses a folder without a log whose group has been in a term.
func checkNoTerm(dir string, stable raft.StableStore) error {
	term, err := stable.GetUint64(keyTerm)
	switch {
	case err != nil && !absent(err):
		return err
	case term != 0:
		return fmt.Errorf("the log of %s is gone, and the group has been in term %d; %s", dir, term, putBack)
	}
	return nil
}

// checkNoneShares refuses a folder without a journal if groups have their logs in a
// journal.
func checkNoneShares(dir, kind string, groups []string) error {
	if hasLog(dir, kind) {
		return nil
	}
	for _, group := range groups {
		if there(filepath.Join(group, journalMark)) {
			return fmt.Errorf("the journal is gone from %s, and the log of %s was in it; %s", dir, group, putBack)
		}
	}
	return nil
}

// keyTerm is the key under which hashicorp/raft keeps the term.
var keyTerm = []byte("CurrentTerm")

// hasLog reports whether a folder holds a log store of a kind.
func hasLog(dir, kind string) bool {
	if kind == StoreWAL {
		return there(filepath.Join(dir, WALDir, metadb.FileName))
	}
	return there(filepath.Join(dir, BoltFile))
}

func there(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// unfound undoes a founding that was interrupted. The library records that a new group is
// in term 1, and then writes the entry with its members. After only the first of these
// the group would have a state, so that it could not be founded any more, and no members.
// If there is no entry and no vote, this node promised nothing in that term: the first
// leader has a later term.
func (s *Stores) unfound() error {
	promised, err := s.Pledge()
	if err != nil || promised != (Pledge{}) {
		return err
	}
	term, err := s.Stable.GetUint64(keyTerm)
	switch {
	case err != nil && !absent(err):
		return err
	case err != nil || term != 1:
		return nil
	}
	return s.Stable.SetUint64(keyTerm, 0)
}
