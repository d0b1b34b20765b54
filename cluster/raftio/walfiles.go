package raftio

import (
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/types"

	"lockstep/ground/durable"
)

const (
	// readyStep is how far ahead of the log's end a file is made ready: the blocks up
	// to its next multiple.
	readyStep = 256 << 10
	// readyWriteMax is the longest write that makes anything ready. Longer ones would
	// not gain by it, and where many come all would be written twice.
	readyWriteMax = 16 << 10
)

var zeros [readyStep]byte

// walFiles are the files of a raft-wal, synced faster than its own: only what is
// needed to read an entry again is synced with it. A file system that is to sync a
// file's times as well writes elsewhere for that, and so it does when a block of
// the file is written for the first time. So a short write takes zeros behind it
// along, over which the next ones go.
type walFiles struct {
	*fs.FS
	// begun is told of each file when an append to it was synced for the first time since
	// it was opened.
	begun func(name string) error
}

// Create implements types.VFS.
func (v walFiles) Create(dir, name string, size uint64) (types.WritableFile, error) {
	w, err := v.FS.Create(dir, name, size)
	if err != nil {
		return nil, err
	}
	return v.newFile(dir, name, &w.(*fs.File).File, int64(size)), nil
}

// OpenWriter implements types.VFS.
func (v walFiles) OpenWriter(dir, name string) (types.WritableFile, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return v.newFile(dir, name, f, info.Size()), nil
}

// walFile is the file at whose end entries are appended, by one goroutine.
type walFile struct {
	*os.File
	dir   string
	begun func() error
	// size is how long the file was made; ready is up to where its blocks are known to
	// have been written.
	size, ready int64
	// known: the file and its name have been synced as a whole, and begun was told.
	known atomic.Bool
	// room is memory for a write and what follows it.
	room []byte
}

func (v walFiles) newFile(dir, name string, f *os.File, size int64) *walFile {
	return &walFile{File: f, dir: dir, begun: func() error { return v.begun(name) }, size: size}
}

// WriteAt implements io.WriterAt.
func (f *walFile) WriteAt(p []byte, at int64) (int, error) {
	end := at + int64(len(p))
	if end <= f.ready {
		return f.File.WriteAt(p, at)
	}
	to := min((end+readyStep-1)/readyStep*readyStep, f.size)
	if len(p) > readyWriteMax || to <= end {
		f.ready = max(f.ready, end)
		return f.File.WriteAt(p, at)
	}
	f.room = append(append(f.room[:0], p...), zeros[:to-end]...)
	n, err := f.File.WriteAt(f.room, at)
	if err == nil {
		f.ready = to
	}
	return min(n, len(p)), err
}

// Sync makes what was written last. The first time it syncs the file as a whole,
// and its name in the folder.
func (f *walFile) Sync() error {
	if f.known.Load() {
		return syncData(f.File)
	}
	if err := f.File.Sync(); err != nil {
		return err
	}
	if err := durable.Sync(f.dir); err != nil {
		return err
	}
	if err := f.begun(); err != nil {
		return err
	}
	f.known.Store(true)
	return nil
}
