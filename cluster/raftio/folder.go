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

// makeBolt makes a bbolt file, unless there is one, so that a crash leaves a
// good file or none: bbolt refuses one that was torn while it was made, and the
// node would have to be set up anew for nothing. fill, when set, writes what is in it from
// the beginning. One that is there is made ready for bbolt.
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

// checkFilled refuses a file of bbolt without content, which bbolt would take for
// one that is to be made: it was not empty when it got its name.
func checkFilled(path string) error {
	if info, err := os.Stat(path); err == nil && info.Size() == 0 {
		return fmt.Errorf("%s is empty, what it held is lost; %s", path, rejoin)
	}
	return nil
}

// syncFolder makes durable all that a folder holds, and its own name. What was
// found in it will be counted on from now on, and it may be there only because
// the kernel, which outlived the process that wrote it, has not lost it yet: the
// names of new files, which nobody syncs but us, and an append that was killed
// before its sync.
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
