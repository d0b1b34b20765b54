package command

import (
	"encoding/binary"
	"hash/crc64"
	"math"
	"strconv"

	"lockstep/engine"
)

// What DUMP answers and RESTORE takes is a value as it stands in an RDB file:
//
//	type u8  value  RDB version u16  CRC-64 of all before, u64
//
// with little-endian numbers.
const (
	payloadFooterBytes = 2 + 8
	// payloadVersion is the version we write, that of Redis 7.0, so that it and
	// everything later reads our payloads. Versions up to payloadVersionMax keep
	// the types we know as they are.
	payloadVersion    = 10
	payloadVersionMax = 12
)

// payloadTable is Redis's CRC-64 (Jones polynomial, reflected, no inversion).
var payloadTable = crc64.MakeTable(0x95ac9329ac4bc9b5)

// payloadCRC takes out the inversions that Go's CRC-64 makes before and after.
func payloadCRC(data []byte) uint64 { return ^crc64.Update(math.MaxUint64, payloadTable, data) }

// valueCodec is how the values of a kind stand in a payload.
type valueCodec struct {
	kind    engine.Kind
	rdbType byte
	append  func(dst []byte, e *engine.Entry) []byte
	// decode makes an entry of a whole body; false: it is none, or too long.
	decode func(key, body []byte, bytesMax int64) (*engine.Entry, bool)
}

// valueCodecs holds a row for each kind and RDB type; of several rows for a
// kind the first one writes.
var valueCodecs = []valueCodec{
	{engine.KindString, 0, appendStringValue, decodeStringValue},
}

func appendStringValue(dst []byte, e *engine.Entry) []byte { return appendRDBString(dst, e.Text()) }

func decodeStringValue(key, body []byte, bytesMax int64) (*engine.Entry, bool) {
	text, rest, ok := readRDBString(body, bytesMax)
	if !ok || len(rest) != 0 {
		return nil, false
	}
	return engine.NewString(key, text), true
}

// appendPayload appends an entry's payload; false: its kind has no codec.
func appendPayload(dst []byte, e *engine.Entry) ([]byte, bool) {
	for i := range valueCodecs {
		if codec := &valueCodecs[i]; codec.kind == e.Kind() {
			begin := len(dst)
			dst = codec.append(append(dst, codec.rdbType), e)
			dst = binary.LittleEndian.AppendUint16(dst, payloadVersion)
			return binary.LittleEndian.AppendUint64(dst, payloadCRC(dst[begin:])), true
		}
	}
	return dst, false
}

// openPayload checks a payload's version and checksum.
func openPayload(payload []byte) (rdbType byte, body []byte, ok bool) {
	n := len(payload) - payloadFooterBytes
	if n < 1 {
		return 0, nil, false
	}
	version := binary.LittleEndian.Uint16(payload[n:])
	sum := binary.LittleEndian.Uint64(payload[n+2:])
	if version > payloadVersionMax || sum != payloadCRC(payload[:n+2]) {
		return 0, nil, false
	}
	return payload[0], payload[1:n], true
}

// decodeValue makes an entry of what openPayload returned.
func decodeValue(key []byte, rdbType byte, body []byte, bytesMax int64) (*engine.Entry, bool) {
	for i := range valueCodecs {
		if valueCodecs[i].rdbType == rdbType {
			return valueCodecs[i].decode(key, body, bytesMax)
		}
	}
	return nil, false
}

// First bytes of an RDB string: its length in 6, 14, 32 or 64 bits, or one of
// the special forms.
const (
	rdbLength14 = 0x40
	rdbLength32 = 0x80
	rdbLength64 = 0x81
	rdbInt8     = 0xc0
	rdbInt16    = 0xc1
	rdbInt32    = 0xc2
	rdbLZF      = 0xc3
)

// appendRDBString appends a string, as a number where it is one of up to 32
// bits.
func appendRDBString(dst, text []byte) []byte {
	if n, ok := parseInt(text); ok {
		switch {
		case n == int64(int8(n)):
			return append(dst, rdbInt8, byte(n))
		case n == int64(int16(n)):
			return binary.LittleEndian.AppendUint16(append(dst, rdbInt16), uint16(n))
		case n == int64(int32(n)):
			return binary.LittleEndian.AppendUint32(append(dst, rdbInt32), uint32(n))
		}
	}
	switch n := len(text); {
	case n < 1<<6:
		dst = append(dst, byte(n))
	case n < 1<<14:
		dst = append(dst, rdbLength14|byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		dst = binary.BigEndian.AppendUint32(append(dst, rdbLength32), uint32(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, rdbLength64), uint64(n))
	}
	return append(dst, text...)
}

// readRDBLength reads a length.
func readRDBLength(b []byte) (n uint64, rest []byte, ok bool) {
	switch {
	case len(b) >= 1 && b[0] < rdbLength14:
		return uint64(b[0]), b[1:], true
	case len(b) >= 2 && b[0] < rdbLength32:
		return uint64(b[0]&^rdbLength14)<<8 | uint64(b[1]), b[2:], true
	case len(b) >= 5 && b[0] == rdbLength32:
		return uint64(binary.BigEndian.Uint32(b[1:])), b[5:], true
	case len(b) >= 9 && b[0] == rdbLength64:
		return binary.BigEndian.Uint64(b[1:]), b[9:], true
	}
	return 0, nil, false
}

// readRDBString reads a string of at most bytesMax bytes. It makes room for no
// more than the bytes that are there can give.
func readRDBString(b []byte, bytesMax int64) (text, rest []byte, ok bool) {
	switch {
	case len(b) >= 2 && b[0] == rdbInt8:
		return strconv.AppendInt(nil, int64(int8(b[1])), 10), b[2:], true
	case len(b) >= 3 && b[0] == rdbInt16:
		return strconv.AppendInt(nil, int64(int16(binary.LittleEndian.Uint16(b[1:]))), 10), b[3:], true
	case len(b) >= 5 && b[0] == rdbInt32:
		return strconv.AppendInt(nil, int64(int32(binary.LittleEndian.Uint32(b[1:]))), 10), b[5:], true
	case len(b) >= 1 && b[0] == rdbLZF:
		return readLZF(b[1:], bytesMax)
	}
	n, b, ok := readRDBLength(b)
	if !ok || n > uint64(len(b)) || n > uint64(bytesMax) {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}

func readLZF(b []byte, bytesMax int64) (text, rest []byte, ok bool) {
	packed, b, ok := readRDBLength(b)
	if !ok {
		return nil, nil, false
	}
	length, b, ok := readRDBLength(b)
	if !ok || packed > uint64(len(b)) || length > uint64(bytesMax) {
		return nil, nil, false
	}
	text, ok = lzfDecompress(b[:packed], length)
	return text, b[packed:], ok
}

// lzfRatioMax is more than LZF can make of a byte: 264 of three.
const lzfRatioMax = 100

// lzfDecompress unpacks to exactly length bytes. LZF (Lehmann, liblzf) is a
// row of literal runs, a byte with their length less one below 32, and of
// references into what is unpacked already: three bits of length, where seven
// means that a byte more follows, and thirteen bits of distance.
func lzfDecompress(packed []byte, length uint64) ([]byte, bool) {
	if length > lzfRatioMax*uint64(len(packed)) {
		return nil, false
	}
	out := make([]byte, 0, length)
	for len(packed) > 0 {
		c := int(packed[0])
		packed = packed[1:]
		if c < 32 {
			if c+1 > len(packed) {
				return nil, false
			}
			out = append(out, packed[:c+1]...)
			packed = packed[c+1:]
			continue
		}
		n := c >> 5
		if n == 7 {
			if len(packed) == 0 {
				return nil, false
			}
			n += int(packed[0])
			packed = packed[1:]
		}
		if len(packed) == 0 {
			return nil, false
		}
		from := len(out) - (c&31)<<8 - int(packed[0]) - 1
		packed = packed[1:]
		if from < 0 || uint64(len(out)+n+2) > length {
			return nil, false
		}
		// Byte by byte: the run may reach into itself.
		for i := range n + 2 {
			out = append(out, out[from+i])
		}
	}
	return out, uint64(len(out)) == length
}
