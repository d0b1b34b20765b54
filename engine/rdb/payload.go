package rdb

import (
	"bytes"
	"encoding/binary"
	"math"
)

// A payload is the reply of DUMP and the argument of RESTORE. It contains a value as in a file:
//
//	type u8  body  version u16  CRC-64 of all before, u64
//
// with little-endian numbers.
const payloadFooterBytes = 2 + 8

// AppendFooter ends a payload that begins at dst[begin].
func AppendFooter(dst []byte, begin int) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, Version)
	return binary.LittleEndian.AppendUint64(dst, checksum(0, dst[begin:]))
}

// OpenPayload checks a payload's version and checksum.
func OpenPayload(payload []byte) (typ byte, body []byte, ok bool) {
	body, ok = withoutFooter(payload)
	if !ok || len(body) == 0 {
		return 0, nil, false
	}
	return body[0], body[1:], true
}

// UnpackedBytes bounds the length of a payload's texts after unpacking. It is 0 if no text is
// packed. It reads only the head of a string. For other types it returns the most that is possible.
func UnpackedBytes(payload []byte) int64 {
	if len(payload) < 2 || bytes.IndexByte(payload[1:], formLZF) < 0 {
		return 0
	}
	most := lzfRatioMax * int64(len(payload))
	if payload[0] == TypeString {
		s := NewSource(payload[1:])
		if form, err := s.Byte(); err != nil || form != formLZF {
			return 0
		}
		if _, err := s.Length(); err != nil {
			return 0
		}
		length, err := s.Length()
		if err != nil || length > uint64(most) {
			return 0
		}
		return int64(length)
	}
	return min(most, unpackedBytesMax)
}

func withoutFooter(payload []byte) (body []byte, ok bool) {
	n := len(payload) - payloadFooterBytes
	if n < 0 || n > math.MaxInt32 {
		return nil, false
	}
	version := binary.LittleEndian.Uint16(payload[n:])
	sum := binary.LittleEndian.Uint64(payload[n+2:])
	return payload[:n], version <= VersionMax && sum == checksum(0, payload[:n+2])
}
