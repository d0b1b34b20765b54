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
	// readyStep is how far ahead of the log's end blocks are written: up to the next
	// multiple of it.
	readyStep = 256 << 10
	// readyWriteMax is the longest write that also writes blocks ahead. Longer writes
	// would gain nothing, and if many of them came, everything would be written twice.
	readyWriteMax = 16 << 10
)

var zeros [readyStep]byte

// walFiles are the files of a raft-wal, with a faster sync than its own: it syncs only
// the metadata that are needed to read an entry again. To sync a file's times as well, a
// file system writes at another place, and it also does so when a block of the file is
// written for the first time. So a short write also writes zeros behind it, over which
// the next ones go.
type walFiles struct {
	*fs.FS
	// begun is called with the name of each file when an append to it was synced for the
	// first time since it was opened.
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

// walFile is the file at whose end one goroutine appends entries.
type walFile struct {
	*os.File
	dir   string
	begun func() error
	// size is the length with which the file was made. ready is the offset up to which
	// its blocks are known to have been written.
	size, ready int64
	// known is true if the file and its name have been synced as a whole, and begun was
	// called.
	known atomic.Bool
	// room is a buffer for a write and the zeros behind it.
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

// Sync syncs the last writes. The first time it syncs the file as a whole, and its name
// in the folder.
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
