package raftio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	wal "github.com/hashicorp/raft-wal"
	walfs "github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"

	"lockstep/ground/durable"
)

// openWAL opens a raft-wal after its newest file has been mended. Of that file
// raft-wal 0.4.2 leaves two things standing which a crash may have left there:
//
//   - What follows the last whole append: a part of one that was never
//     acknowledged. The next append overwrites only as much as it is long; after
//     the next crash the rest may stand where a frame should begin, is taken for
//     one, and speaks for a last append that was torn as well.
//   - A seal that the list of files does not know of: every append to the file is
//     refused from then on, after each start again. The seal is written with an
//     append or before the end of the log is cut off, the list after it.
//
// And it takes a frame that it cannot read for the end of the file, wherever that
// is: all that was acknowledged behind it would be overwritten. Here the file is
// refused then (waldamage.go).
//
// failed is told when the log could not go on in a new file.
func openWAL(dir string, log hclog.Logger, failed func(error)) (*wal.WAL, error) {
	list := filepath.Join(dir, metadb.FileName)
	if err := errors.Join(checkFilled(list), readyBolt(list)); err != nil {
		return nil, err
	}
	meta := &walList{MetaStore: &metadb.BoltMetaDB{}}
	state, err := meta.Load(dir)
	if err == nil {
		err = mendTail(dir, meta, state, log)
	}
	var w *wal.WAL
	if err == nil {
		w, err = wal.Open(dir, wal.WithMetaStore(meta), wal.WithSegmentSize(WALSegmentBytes), wal.WithLogger(walLogger{log, failed}),
			wal.WithSegmentFiler(segment.NewFiler(dir, walFiles{walfs.New(), meta.begin})))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("log store: %w", err), meta.Close())
	}
	return w, nil
}

// WALSegmentBytes is how long raft-wal makes its files. Tests make shorter ones, before
// they open any.
var WALSegmentBytes = wal.DefaultSegmentSize

// walList is raft-wal's list of its files. Behind a change that failed it takes none:
// see pen, under which raft-wal does not begin new files.
type walList struct {
	types.MetaStore

	mu     sync.Mutex // held over each change of the list; guards failed
	failed error
}

// CommitState implements types.MetaStore. raft-wal calls it in a goroutine of its own, too.
func (l *walList) CommitState(s types.PersistentState) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = noPanic(func() error { return l.MetaStore.CommitState(s) })
	}
	return l.failed
}

// keyBegun is where the list keeps the name of the newest file in which an append was
// synced.
var keyBegun = []byte("lockstep.begun")

// begin notes that an append to a file was synced, before that is acknowledged. A newest
// file that was not begun may be missing, or shorter than it is to be: the power failed
// while it was made. Of one that was begun that is a loss.
func (l *walList) begin(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	was, err := l.GetStable(keyBegun)
	if err == nil && string(was) != name {
		err = l.SetStable(keyBegun, []byte(name))
	}
	l.failed = err
	return err
}

func (l *walList) begun(of *types.SegmentInfo) (bool, error) {
	name, err := l.GetStable(keyBegun)
	return string(name) == segment.FileName(*of), err
}

// checkBegun refuses a newest file that was begun and is shorter than it was made, or
// whose first append cannot be read.
func checkBegun(f *os.File, tail *types.SegmentInfo, last walAppend) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case info.Size() < int64(tail.SizeLimit):
		return fmt.Errorf("%s was cut short: it has %d bytes of %d; %s", f.Name(), info.Size(), tail.SizeLimit, rejoin)
	case last.end == 0:
		return fmt.Errorf("%s is damaged: its first entries cannot be read; %s", f.Name(), rejoin)
	}
	return nil
}

// neverMade reports whether a newest file that was not begun is shorter than it was to
// be, or has no whole append: the disk was full, or the power failed, while it was made.
// No entry in it was acknowledged. The file is removed, and raft-wal makes it anew or
// says that the disk is full. It would append to a short one, which would look like a
// loss at the next start.
func neverMade(f *os.File, tail *types.SegmentInfo, last walAppend) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() >= int64(tail.SizeLimit) && last.end > 0 {
		return false, err
	}
	return true, errors.Join(os.Remove(f.Name()), durable.Sync(filepath.Dir(f.Name())))
}

// beginAgain makes sure of a newest file that was not begun though it has a whole append:
// the process ended before the first sync of the file, or because that failed. What Raft
// now finds in the file may be counted on, so everything in it is written again, its
// length too.
func beginAgain(f *os.File, meta *walList, tail *types.SegmentInfo, last walAppend) error {
	if err := writeAgain(f, int64(tail.SizeLimit)-1, int64(tail.SizeLimit)); err != nil {
		return err
	}
	if err := writeAgain(f, 0, last.end); err != nil {
		return err
	}
	if err := durable.Sync(filepath.Dir(f.Name())); err != nil {
		return err
	}
	return meta.begin(segment.FileName(*tail))
}

// walLogger hears what raft-wal tells nobody else: that a new file could not be
// begun. All that would follow is that the next append is refused because the
// old file is sealed, which tells an operator with a full disk nothing.
type walLogger struct {
	hclog.Logger
	failed func(error)
}

// Error implements hclog.Logger.
func (l walLogger) Error(msg string, args ...any) {
	l.Logger.Error(msg, args...)
	if msg != "rotate error" {
		return
	}
	for _, a := range args {
		if err, ok := a.(error); ok {
			l.failed(fmt.Errorf("disk: beginning a new file of the log: %w", err))
		}
	}
}

func mendTail(dir string, meta *walList, state types.PersistentState, log hclog.Logger) error {
	n := len(state.Segments)
	if n == 0 || !state.Segments[n-1].SealTime.IsZero() {
		return nil
	}
	tail := &state.Segments[n-1]
	path := filepath.Join(dir, segment.FileName(*tail))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if begun, err := meta.begun(tail); begun || err != nil {
			return errors.Join(err, fmt.Errorf("%s is gone, and entries were in it; %s", path, putBack))
		}
		return nil // raft-wal makes it
	}
	if err != nil {
		return err
	}
	defer f.Close()
	last, stopped, err := lastAppend(f, tail.BaseIndex)
	if err != nil {
		return err
	}
	begun, err := meta.begun(tail)
	if err != nil {
		return err
	}
	if !begun {
		if removed, err := neverMade(f, tail, last); removed || err != nil {
			return err
		}
	}
	torn, err := isTorn(f, last.end, stopped, tail.BaseIndex+last.entries)
	if err == nil && begun {
		err = checkBegun(f, tail, last)
	}
	if err != nil {
		return err
	}
	if torn {
		if err := clearBehind(f, last.end); err != nil {
			return err
		}
		log.Warn("removed the rest of an append that was not finished", "file", f.Name(), "from", last.end)
	}
	if begun {
		err = writeAgain(f, last.begin, last.end)
	} else {
		err = beginAgain(f, meta, tail, last)
	}
	if err != nil {
		return err
	}
	if last.index == 0 || last.entries == 0 {
		return nil
	}
	tail.SealTime, tail.IndexStart = time.Now(), uint64(last.index)
	tail.MaxIndex = tail.BaseIndex + last.entries - 1
	next := *tail
	next.ID, next.BaseIndex, next.MinIndex = state.NextSegmentID, tail.MaxIndex+1, tail.MaxIndex+1
	next.MaxIndex, next.IndexStart, next.CreateTime, next.SealTime = 0, 0, time.Now(), time.Time{}
	state.Segments = append(state.Segments, next)
	state.NextSegmentID++
	return meta.CommitState(state)
}

// A file of raft-wal is a header and frames, each with a header of its own: a
// type u8, three bytes, and a length u32, or for a commit the checksum of all
// since the last one. Frames begin at multiples of frameHeaderBytes.
const (
	walHeaderBytes   = 32
	frameHeaderBytes = 8
)

// walAppend is an append in a file: where it begins, where its commit stands, where it
// ends, and what the file holds up to there. index is where the seal's index is, or 0 if
// there is none.
type walAppend struct {
	begin, commit, end int64
	crc                uint32
	entries            uint64
	index              int64
}

// lastAppend finds the last append that is whole, by raft-wal's own rules: a
// file ends where no frame follows; only its last append can be torn, for each
// was synced before the next; and the checksum tells whether it is. stopped is
// where no frame follows. base is the index of the file's first entry.
func lastAppend(f *os.File, base uint64) (last walAppend, stopped int64, err error) {
	var before, now walAppend
	var frame [frameHeaderBytes]byte
	at := int64(walHeaderBytes)
	for {
		if n, err := f.ReadAt(frame[:], at); n < len(frame) {
			if errors.Is(err, io.EOF) {
				break
			}
			return last, at, err
		}
		value := binary.LittleEndian.Uint32(frame[4:])
		next := at + frameHeaderBytes
		if frame[0] == segment.FrameCommit {
			now.commit, now.end, now.crc = at, next, value
			before, last = last, now
			now.begin, at = next, next
			continue
		}
		switch frame[0] {
		case segment.FrameEntry:
			now.entries++
		case segment.FrameIndex:
			now.index = next
		default:
			next = 0
		}
		if next == 0 {
			break
		}
		at = next + padded(value)
	}
	if now.entries > last.entries {
		return last, at, nil
	}
	whole, err := last.whole(f)
	if err != nil || whole {
		return last, at, err
	}
	written := make([]byte, last.end-last.begin)
	if _, err := f.ReadAt(written, last.begin); err != nil {
		return last, at, err
	}
	if allWritten(written, last.begin) {
		return last, at, damagedLast(f, last.begin, base+before.entries)
	}
	return before, at, nil
}

// padded is the room that so many bytes of a frame take.
func padded(n uint32) int64 {
	return (int64(n) + frameHeaderBytes - 1) / frameHeaderBytes * frameHeaderBytes
}

// whole reports whether the append's checksum is right.
func (a *walAppend) whole(f *os.File) (bool, error) {
	sum := crc32.New(castagnoli)
	_, err := io.Copy(sum, io.NewSectionReader(f, a.begin, a.commit-a.begin))
	return sum.Sum32() == a.crc, err
}

// clearBehind makes the file zero from a place on.
func clearBehind(f *os.File, from int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(from), f.Truncate(info.Size()), f.Sync())
}

func zeroFrom(f *os.File, from int64) (bool, error) {
	var zeros [64 << 10]byte
	buf := make([]byte, len(zeros))
	for {
		n, err := f.ReadAt(buf, from)
		if !bytes.Equal(buf[:n], zeros[:n]) {
			return false, nil
		}
		from += int64(n)
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
}
