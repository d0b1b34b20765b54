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

// openWAL opens a raft-wal after its newest file has been repaired. raft-wal 0.4.2 does
// not clean up two things in that file that a crash may have left there:
//
//   - Data behind the last whole append: a part of an append that was never acknowledged.
//     The next append overwrites only its own length. After the next crash the rest may be
//     where a frame should begin. It is then taken for one, and makes it look as if the last
//     append was torn as well.
//   - A seal that is not in the list of files: every append to the file is then refused,
//     after each restart. The seal is written with an append or before the end of the log
//     is cut off, and the list after it.
//
// And raft-wal takes a frame that it cannot read for the end of the file, wherever that
// is: all acknowledged entries behind it would be overwritten. openWAL refuses such a
// file (waldamage.go).
//
// failed is called if the log could not go on in a new file.
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

// WALSegmentBytes is the length of raft-wal's files. Tests make it shorter before they
// open any.
var WALSegmentBytes = wal.DefaultSegmentSize

// walList is raft-wal's list of its files. After a change that failed it accepts none:
// see pen, which does not cover the new files that raft-wal begins.
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

// keyBegun is the key under which the list keeps the name of the newest file in which an
// append was synced.
var keyBegun = []byte("lockstep.begun")

// begin records that an append to a file was synced, before the append is acknowledged. A
// newest file that was not begun may be missing, or too short, because the power failed
// while it was made. For a file that was begun, that is a loss.
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

// neverMade reports whether a newest file that was not begun is too short, or has no
// whole append: the disk was full, or the power failed, while it was made. No entry in it
// was acknowledged. The file is removed, and raft-wal makes it again or reports that the
// disk is full. raft-wal would append to a short file, which would look like a loss at
// the next start.
func neverMade(f *os.File, tail *types.SegmentInfo, last walAppend) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() >= int64(tail.SizeLimit) && last.end > 0 {
		return false, err
	}
	return true, errors.Join(os.Remove(f.Name()), durable.Sync(filepath.Dir(f.Name())))
}

// beginAgain secures a newest file that was not begun although it has a whole append: the
// process ended before the first sync of the file, or because that failed. Raft may rely
// on the entries that it now finds in the file, so everything in it is written again, and
// its length, too.
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

// walLogger catches an error that raft-wal only logs: that a new file could not be begun.
// Otherwise the next append would be refused because the old file is sealed, and that
// message does not help an operator whose disk is full.
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

// A file of raft-wal is a header and frames, each with a header of its own: a type u8,
// three bytes, and a length u32, or for a commit the checksum of everything since the
// last commit. Frames begin at multiples of frameHeaderBytes.
const (
	walHeaderBytes   = 32
	frameHeaderBytes = 8
)

// walAppend is an append in a file: where it begins, where its commit is, where it ends,
// and how many entries the file holds up to there. index is where the seal's index is, or
// 0 if there is no seal.
type walAppend struct {
	begin, commit, end int64
	crc                uint32
	entries            uint64
	index              int64
}

// lastAppend finds the last append that is whole, by raft-wal's own rules. A file ends
// where no frame follows. Only its last append can be torn, because each was synced
// before the next, and the checksum shows whether it is. stopped is where no frame
// follows. base is the index of the file's first entry.
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

// padded is the space that so many bytes take in a frame.
func padded(n uint32) int64 {
	return (int64(n) + frameHeaderBytes - 1) / frameHeaderBytes * frameHeaderBytes
}

// whole reports whether the append's checksum is right.
func (a *walAppend) whole(f *os.File) (bool, error) {
	sum := crc32.New(castagnoli)
	_, err := io.Copy(sum, io.NewSectionReader(f, a.begin, a.commit-a.begin))
	return sum.Sum32() == a.crc, err
}

// clearBehind fills the file with zeros from an offset on.
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
