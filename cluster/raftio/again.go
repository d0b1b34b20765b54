package raftio

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// A write that could not be synced ends the process. The next process may find it all
// the same, and after a power failure it is gone: the kernel keeps in memory what it
// could not write, counts it as written, and syncs it no more. But what is found is
// counted on; a follower acknowledges an entry that it has already, and a vote is given
// again. So what was written last is written anew when a store is opened. All before
// it was synced, or the process would have ended there.

// rootsBytes holds both roots of a file of bbolt, its first two pages, whose size is
// that of a page of memory of the machine on which the file was made: 64 KiB at most.
const rootsBytes = 2 * 64 << 10

// readyBolt examines a file of bbolt before bbolt opens it, and writes its roots over
// themselves. All that a root refers to was synced before that was written. It cannot be
// left to the next commit to bring a new root: that writes to the pages which are free by
// the root that was found, and the root before it, the only one on the disk, needs them.
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
