package rdb

import (
	"encoding/binary"
	"hash/crc64"
	"math"
)

// A payload is what DUMP answers and RESTORE takes: a value as it stands in a
// file.
//
//	type u8  body  version u16  CRC-64 of all before, u64
//
// with little-endian numbers.
const payloadFooterBytes = 2 + 8

// jones is Redis's CRC-64 (Jones polynomial, reflected, no inversion).
var jones = crc64.MakeTable(0x95ac9329ac4bc9b5)

// checksum goes on with a checksum over more data. Go's CRC-64 inverts before
// and after; that is taken out.
func checksum(sum uint64, data []byte) uint64 { return ^crc64.Update(^sum, jones, data) }

// AppendFooter ends a payload that begins at dst[begin].
func AppendFooter(dst []byte, begin int) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, Version)
	return binary.LittleEndian.AppendUint64(dst, checksum(0, dst[begin:]))
}

// OpenPayload checks a payload's version and checksum.
func OpenPayload(payload []byte) (typ byte, body []byte, ok bool) {
	n := len(payload) - payloadFooterBytes
	if n < 1 || n > math.MaxInt32 {
		return 0, nil, false
	}
	version := binary.LittleEndian.Uint16(payload[n:])
	sum := binary.LittleEndian.Uint64(payload[n+2:])
	if version > VersionMax || sum != checksum(0, payload[:n+2]) {
		return 0, nil, false
	}
	return payload[0], payload[1:n], true
}
