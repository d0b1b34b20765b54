package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/hashicorp/raft"
)

// kind is the kind of a record.
type kind uint8

const (
	// entryOf is an entry that its group appended.
	entryOf kind = 1 + iota
	// copyOf is an entry that was nearer to the front and was written again.
	copyOf
	// cutBelow: the group's entries below index are gone.
	cutBelow
	// cutFrom: the group's entries from index on are gone.
	cutFrom
	// dropped: the group has left the node.
	dropped
	kindEnd
)

// header is the beginning of a record's Extensions.
type header struct {
	kind  kind
	group uint32
	// index is the index of the entry in its group, or the index of a cut.
	index uint64
}

// headerBytes is the length of a header: kind, group, index, and a checksum of these and the
// position.
const headerBytes = 1 + 4 + 8 + 4

// ErrCorrupt: the journal differs from what was written.
var ErrCorrupt = errors.New("the journal is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendTo appends the header of the record at a position. The checksum includes the position, so a
// record in the wrong place is detected.
func (h header) appendTo(b []byte, position uint64) []byte {
	begin := len(b)
	b = append(b, byte(h.kind))
	b = binary.LittleEndian.AppendUint32(b, h.group)
	b = binary.LittleEndian.AppendUint64(b, h.index)
	return binary.LittleEndian.AppendUint32(b, checksum(b[begin:], position))
}

func checksum(head []byte, position uint64) uint32 {
	var at [8]byte
	binary.LittleEndian.PutUint64(at[:], position)
	return crc32.Update(crc32.Checksum(at[:], castagnoli), castagnoli, head)
}

// splitHeader separates a record's header from the group's own Extensions.
func splitHeader(r *raft.Log, position uint64) (h header, rest []byte, err error) {
	b := r.Extensions
	if r.Index != position || len(b) < headerBytes {
		return h, nil, ErrCorrupt
	}
	const sum = headerBytes - 4
	if binary.LittleEndian.Uint32(b[sum:]) != checksum(b[:sum], position) {
		return h, nil, ErrCorrupt
	}
	h = header{kind: kind(b[0]), group: binary.LittleEndian.Uint32(b[1:]), index: binary.LittleEndian.Uint64(b[5:])}
	if h.kind == 0 || h.kind >= kindEnd {
		return h, nil, ErrCorrupt
	}
	return h, b[headerBytes:], nil
}
