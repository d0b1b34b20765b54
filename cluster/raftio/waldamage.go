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
// whole one ends. stopped is where no further frame followed, and index is that of the
// first entry that is not in whole appends.
//
// A whole append further behind proves that the data are not a torn append: an append is
// written only after the one before it was synced, so the earlier one was acknowledged
// and has been damaged since. An append of which every sector was written (finished)
// proves the same. Then isTorn returns an error, and nothing is changed.
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

// sectorBytes is the unit that a disk writes whole or not at all.
const sectorBytes = 512

// finished reports whether an append that cannot be read was written to its end: the data
// that are not zero end in a commit, and every sector has been written. An append that a
// power cut interrupted lacks a sector, which is zero as the file was before. An append
// whose own data fill a sector with zeros looks as if it lacked one, too.
func finished(rest []byte, at int64) bool {
	last := (len(bytes.TrimRight(rest, "\x00")) - 1) / frameHeaderBytes * frameHeaderBytes
	d := damage{rest: rest}
	typ, _, ok := d.frame(int64(last))
	return ok && typ == segment.FrameCommit && allWritten(rest[:last+frameHeaderBytes], at)
}

// allWritten reports whether none of the sectors in a part of a file is zero. at is the
// offset of the part.
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

// damage searches for whole appends behind the entries that can be read.
type damage struct {
	rest []byte
	// index is that of the first entry that cannot be read.
	index uint64
	// summed counts the bytes over which checksums were computed.
	summed int64
}

// summedMax bounds the search: data that clients store may look like frames.
const summedMax = 4 << 30

// wholeAppend reports whether there is a whole append. Such an append begins behind a
// commit, or behind the point where the reading stopped, which may have been the commit.
func (d *damage) wholeAppend(stopped int64) bool {
	for at := int64(0); at+frameHeaderBytes <= int64(len(d.rest)); at += frameHeaderBytes {
		typ, _, ok := d.frame(at)
		if (ok && typ == segment.FrameCommit || at == stopped) && d.wholeAt(at+frameHeaderBytes) {
			return true
		}
	}
	return false
}

// frame reads a frame's header. It returns false if there is no valid header.
func (d *damage) frame(at int64) (typ byte, value uint32, ok bool) {
	if at+frameHeaderBytes > int64(len(d.rest)) {
		return 0, 0, false
	}
	b := d.rest[at:]
	return b[0], binary.LittleEndian.Uint32(b[4:]), b[1]|b[2]|b[3] == 0
}

// wholeAt reports whether a whole append begins at an offset. A copy of such a file that
// a client has stored does not count: its entries do not have the indexes of this offset.
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

// later reports whether an entry, which starts with its index, can be one behind the
// first that cannot be read.
func (d *damage) later(at int64) bool {
	index, _ := binary.Uvarint(d.rest[min(at, int64(len(d.rest))):])
	return index >= d.index && index-d.index <= uint64(at)/frameHeaderBytes
}
