package raftio

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// A write that could not be synced ends the process. The next process may find the data
// all the same, although a power failure would lose it: the kernel keeps in memory what
// it could not write, counts it as written, and does not sync it again. But Raft relies
// on what it finds: a follower acknowledges an entry that it has already, and a vote is
// given again. So the last write is written again when a store is opened. Everything
// before it was synced, or the process would have ended there.

// rootsBytes holds both roots of a file of bbolt. They are its first two pages. The page
// size is that of memory pages on the machine on which the file was made: at most 64 KiB.
const rootsBytes = 2 * 64 << 10

// readyBolt examines a file of bbolt before bbolt opens it, and writes its roots over
// themselves. Everything that a root refers to was synced before the root was written.
// The next commit, which brings a new root, would be too late for this: it writes to the
// pages that are free under the root that was found. The root before it, perhaps the only
// one on the disk, still needs those pages.
func readyBolt(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("%s is in use by another process: %w", path, err)
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := examineBolt(f, info.Size()); err != nil {
		return fmt.Errorf("%s %w; %s", path, err, rejoin)
	}
	return writeAgain(f, 0, min(rootsBytes, info.Size()))
}

// writeAgain writes a part of a file over itself, and syncs the file.
func writeAgain(f *os.File, from, to int64) error {
	part := make([]byte, to-from)
	if _, err := io.ReadFull(io.NewSectionReader(f, from, to-from), part); err != nil {
		return err
	}
	if _, err := f.WriteAt(part, from); err != nil {
		return err
	}
	return f.Sync()
}
