package raftio

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"lockstep/ground/durable"
)

// newSuffix marks a file that is being made.
const newSuffix = ".new"

// makeBolt makes a bbolt file, unless there is one, so that a crash leaves a good file or
// none: bbolt refuses a file that was torn while it was made, and the node would have to
// be set up again for nothing. fill writes the first contents. It may be nil. A file that
// exists already is made ready for bbolt.
func makeBolt(path string, open func(string) (*raftboltdb.BoltStore, error), fill func(raft.StableStore) error) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, checkFilled(path), readyBolt(path))
	}
	unfinished := path + newSuffix
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	b, err := open(unfinished)
	if err != nil {
		return fmt.Errorf("%s: %w", unfinished, err)
	}
	if fill != nil {
		err = fill(b)
	}
	if err := errors.Join(err, b.Close()); err != nil {
		return fmt.Errorf("%s: %w", unfinished, err)
	}
	if err := os.Rename(unfinished, path); err != nil {
		return err
	}
	return durable.Sync(filepath.Dir(path))
}

// checkFilled refuses an empty file of bbolt, which bbolt would take for a new one: the
// file was not empty when it got its name.
func checkFilled(path string) error {
	if info, err := os.Stat(path); err == nil && info.Size() == 0 {
		return fmt.Errorf("%s is empty, what it held is lost; %s", path, rejoin)
	}
	return nil
}

// syncFolder syncs everything in a folder, and its own name. Raft relies from now on on
// what was found there. It may be there only because the kernel, which outlived the
// process that wrote it, has not lost it yet: the names of new files, which only this
// code syncs, and an append whose process was killed before the sync.
func syncFolder(dir string) error {
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() && !e.Type().IsRegular() {
			return err
		}
		return durable.Sync(path)
	})
	if err != nil {
		return err
	}
	return durable.Sync(filepath.Dir(dir))
}
