package raftio

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/hashicorp/raft"
)

// errChecksum says that the entry differs from the one that was written.
var errChecksum = errors.New("the checksum is wrong: memory, disk or network has changed it")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum covers everything that Raft acts on, and so also entries without a command: a
// flipped bit in a configuration would mean another cluster, and one in a term another
// history. bbolt's data pages have no checksum, and raft-wal does not check its own when
// it reads.
func checksum(l *raft.Log) uint32 {
	var head [8 + 8 + 1]byte
	binary.LittleEndian.PutUint64(head[:], l.Index)
	binary.LittleEndian.PutUint64(head[8:], l.Term)
	head[16] = byte(l.Type)
	return crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, l.Data)
}

// sealed reports whether the entry has a checksum. It is in Extensions, which the library
// keeps for middleware and sends along.
func sealed(l *raft.Log) bool { return len(l.Extensions) > 0 }

func seal(l *raft.Log) {
	l.Extensions = binary.LittleEndian.AppendUint32(nil, checksum(l))
}

func checkSeal(l *raft.Log) error {
	if len(l.Extensions) != 4 || binary.LittleEndian.Uint32(l.Extensions) != checksum(l) {
		return errChecksum
	}
	return nil
}
