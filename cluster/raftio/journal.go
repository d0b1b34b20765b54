package raftio

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"lockstep/cluster/raftio/journal"
)

// Journal is the log that the groups of a node share (package journal), in a
// folder of its own.
type Journal struct {
	journal *journal.Journal
	close   func() error
}

// journalMark is a file in a group's folder. It exists if the group's log is in the journal.
const journalMark = "shares-journal"

// OpenJournal opens or makes a node's journal in dir, on a log store of the given kind; the folder
// keeps the kind it was made with. groups are the folders of the node's groups: if one of them
// shares a journal, a missing journal is not made again. fatal is called with the reason if the
// process must end.
func OpenJournal(dir, kind string, groups []string, fatal func(error), log hclog.Logger) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := checkKind(dir, kind); err != nil {
		return nil, err
	}
	if err := checkNoneShares(dir, kind, groups); err != nil {
		return nil, err
	}
	var j *Journal
	err := noPanic(func() (err error) {
		j, err = openJournal(dir, kind, fatal, log)
		return err
	})
	return j, err
}

func openJournal(dir, kind string, fatal func(error), log hclog.Logger) (*Journal, error) {
	store, closeStore, err := openLog(dir, kind, log, fatal)
	if err != nil {
		return nil, err
	}
	j, err := journal.Open(store)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s cannot be read: %w; %s", dir, err, rejoin), closeStore())
	}
	if err := syncFolder(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, err), closeStore())
	}
	return &Journal{journal: j, close: closeStore}, nil
}

// HasJournal reports whether a folder holds a journal.
func HasJournal(dir string) bool {
	_, err := os.Stat(dir)
	return err == nil
}

// Close closes the files. All groups must be closed.
func (j *Journal) Close() error { return j.close() }

// Drop deletes a group's entries from the journal: its replica has left the node, and its folder is
// gone.
func (j *Journal) Drop(group uint32) error { return j.journal.Drop(group) }

// HasFolder reports whether a folder holds anything of a group, complete or not.
func HasFolder(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) > 0
}

// DropOthers deletes the entries of all groups without a folder. A crash between the deletion of a
// replica's folder and Drop leaves such entries, and nothing else would ever delete them.
func (j *Journal) DropOthers(has func(group uint32) bool) error {
	for _, group := range j.journal.Groups() {
		if !has(group) {
			if err := j.Drop(group); err != nil {
				return err
			}
		}
	}
	return nil
}

// group returns a group's log. A fresh group may find entries there that a replica has left whose
// folder is gone. That replica's vote is lost, so its entries are deleted as well.
func (j *Journal) group(group uint32, fresh bool) (raft.LogStore, error) {
	if fresh {
		if err := j.journal.Drop(group); err != nil {
			return nil, err
		}
	}
	return j.journal.Group(group), nil
}

// sharesJournal reports whether a group's log is in the journal. For a fresh group it records that
// in the group's folder, before anything else is there.
func sharesJournal(cfg *StoresConfig, fresh bool) (bool, error) {
	mark := filepath.Join(cfg.Dir, journalMark)
	_, err := os.Stat(mark)
	marked := err == nil
	switch {
	case marked && cfg.Journal == nil:
		return false, fmt.Errorf("the log of %s is in a journal, and the node's journal is gone; let the node join anew with an empty folder", cfg.Dir)
	case marked:
		return true, nil
	case !fresh || cfg.Journal == nil:
		return false, nil
	}
	return true, os.WriteFile(mark, nil, 0o600)
}
