package raftio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/hashicorp/raft-wal/segment"
)

// isTorn reports whether there is the rest of a torn append behind end, where the last
// whole one ends; stopped is where no frame followed any more, index that of the first
// entry which is not in whole appends.
//
// A whole append further behind is proof that it is something else: an append is
// written when the one before it was synced, so that one was acknowledged and has
// been damaged since. So is one of which every sector was written (finished). That is an
// error, and nothing is changed.
func isTorn(f *os.File, end, stopped int64, index uint64) (bool, error) {
	zero, err := zeroFrom(f, end)
	if err != nil || zero {
		return false, err
	}
	rest, err := io.ReadAll(io.NewSectionReader(f, end, 1<<62))
	if err != nil {
		return false, err
	}
	d := damage{rest: rest, index: index}
	if d.wholeAppend(stopped - end) {
		return false, fmt.Errorf("%s is damaged behind byte %d, where entry %d should be: what follows is whole; %s", f.Name(), end, index, rejoin)
	}
	if finished(rest, end) {
		return false, damagedLast(f, end, index)
	}
	return true, nil
}

func damagedLast(f *os.File, at int64, index uint64) error {
	return fmt.Errorf("%s is damaged behind byte %d, where entry %d should be: what was written there was finished; %s", f.Name(), at, index, rejoin)
}

// sectorBytes is what a disk writes whole or not at all.
const sectorBytes = 512

// finished reports whether an append that cannot be read was written to its end: a commit
// ends what is not zero, and every sector has been written. What a power cut has left of
// an append lacks a sector, which is zero as the file was before. An append whose own
// data fill a sector with zeros may lack one, too, for all that can be seen.
func finished(rest []byte, at int64) bool {
	last := (len(bytes.TrimRight(rest, "\x00")) - 1) / frameHeaderBytes * frameHeaderBytes
	d := damage{rest: rest}
	typ, _, ok := d.frame(int64(last))
	return ok && typ == segment.FrameCommit && allWritten(rest[:last+frameHeaderBytes], at)
}

// allWritten reports whether none of the sectors of a part of a file, which stands at a
// place, is zero.
func allWritten(part []byte, at int64) bool {
	for len(part) > 0 {
		n := min(sectorBytes-int(at%sectorBytes), len(part))
		if len(bytes.Trim(part[:n], "\x00")) == 0 {
			return false
		}
		part, at = part[n:], at+int64(n)
	}
	return true
}

// damage looks for whole appends in what is behind those that can be read.
type damage struct {
	rest []byte
	// index is that of the first entry which cannot be read.
	index uint64
	// summed counts the bytes whose checksum was taken.
	summed int64
}

// summedMax bounds the search: what clients store may look like frames.
const summedMax = 4 << 30

// wholeAppend reports whether there is one. It begins behind a commit, or behind where
// the reading stopped, which may have been the commit.
func (d *damage) wholeAppend(stopped int64) bool {
	for at := int64(0); at+frameHeaderBytes <= int64(len(d.rest)); at += frameHeaderBytes {
		typ, _, ok := d.frame(at)
		if (ok && typ == segment.FrameCommit || at == stopped) && d.wholeAt(at+frameHeaderBytes) {
			return true
		}
	}
	return false
}

// frame reads a frame's header. It returns false if it is none.
func (d *damage) frame(at int64) (typ byte, value uint32, ok bool) {
	if at+frameHeaderBytes > int64(len(d.rest)) {
		return 0, 0, false
	}
	b := d.rest[at:]
	return b[0], binary.LittleEndian.Uint32(b[4:]), b[1]|b[2]|b[3] == 0
}

// wholeAt reports whether a whole append begins at a place: one that only a client has
// stored, in a copy of this file, does not have the entries of this place.
func (d *damage) wholeAt(begin int64) bool {
	for at := begin; ; {
		typ, value, ok := d.frame(at)
		switch {
		case !ok:
			return false
		case typ == segment.FrameCommit:
			d.summed += at - begin
			return at > begin && d.summed <= summedMax && crc32.Checksum(d.rest[begin:at], castagnoli) == value
		case typ != segment.FrameIndex && typ != segment.FrameEntry:
			return false
		case at == begin && typ == segment.FrameEntry && !d.later(at+frameHeaderBytes):
			return false
		}
		at += frameHeaderBytes + padded(value)
	}
}

// later reports whether an entry, whose index comes first, can be one that stands behind
// the first which cannot be read.
func (d *damage) later(at int64) bool {
	index, _ := binary.Uvarint(d.rest[min(at, int64(len(d.rest))):])
	return index >= d.index && index-d.index <= uint64(at)/frameHeaderBytes
}
