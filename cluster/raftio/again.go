package raftio

import (
	"io"
	"os"

	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// A write that could not be synced ends the process. The next process may find it all
// the same, and after a power failure it is gone: the kernel keeps in memory what it
// could not write, counts it as written, and syncs it no more. But what is found is
// counted on; a follower acknowledges an entry that it has already, and a vote is given
// again. So what was written last is written anew when a store is opened. All before
// it was synced, or the process would have ended there.

// keyOpened is where commitAgain writes.
var keyOpened = []byte("lockstep.opened")

// commitAgain makes a commit in a file of bbolt. It brings a new root, for all that the
// last one refers to was synced before that was written.
func commitAgain(b *raftboltdb.BoltStore) error { return b.SetUint64(keyOpened, 1) }

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
