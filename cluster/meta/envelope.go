package meta

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Commands and snapshots are JSON in an envelope:
//
//	magic 3 bytes  version u8  length u32  JSON  CRC-32C of all before, u32
const (
	commandMagic  = "LSM"
	snapshotMagic = "LSN"
	formatVersion = 1

	envelopeHeaderSize = 3 + 1 + 4
	envelopeCRCSize    = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func seal(magic string, body []byte) []byte {
	b := make([]byte, 0, envelopeHeaderSize+len(body)+envelopeCRCSize)
	b = append(b, magic...)
	b = append(b, formatVersion)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	b = append(b, body...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// unseal checks an envelope and returns its body. It checks the checksum before the version, so
// that damage is never mistaken for a newer version.
func unseal(magic string, b []byte) ([]byte, error) {
	if len(b) < envelopeHeaderSize+envelopeCRCSize || string(b[:3]) != magic {
		return nil, fmt.Errorf("%w: no %s envelope in %d bytes", ErrCorrupt, magic, len(b))
	}
	end := len(b) - envelopeCRCSize
	if got, want := crc32.Checksum(b[:end], castagnoli), binary.LittleEndian.Uint32(b[end:]); got != want {
		return nil, fmt.Errorf("%w: checksum %08x, should be %08x", ErrCorrupt, got, want)
	}
	if b[3] != formatVersion {
		return nil, fmt.Errorf("%w (format %d)", ErrVersion, b[3])
	}
	if int(binary.LittleEndian.Uint32(b[4:])) != end-envelopeHeaderSize {
		return nil, fmt.Errorf("%w: wrong length", ErrCorrupt)
	}
	return b[envelopeHeaderSize:end], nil
}
