package rdb

import "encoding/binary"

// Ziplist, which Redis wrote before version 7: total bytes u32, offset of the last element u32,
// elements u16, elements, 0xff. An element is the length of the element before it (one byte, or
// 0xfe and four), its encoding and its data. Text lengths of more than a byte are big-endian.
const (
	zipHeadBytes = 10
	zipEnd       = 0xff
	zipLongPrev  = 0xfe
	zipText14    = 0x40
	zipText32    = 0x80
	zipInt16     = 0xc0
	zipInt32     = 0xd0
	zipInt64     = 0xe0
	zipInt24     = 0xf0
	zipInt8      = 0xfe
	zipSmallMin  = 0xf1 // 0xf1 to 0xfd: the numbers 0 to 12
	zipSmallMax  = 0xfd
)

// ReadZiplist yields the items of a ziplist, as ReadListpack does. The parts that Redis needs for
// walking backwards must be correct, too, as in a Redis that sanitizes payloads.
func ReadZiplist(blob []byte, yield func(item []byte) bool) bool {
	if len(blob) < zipHeadBytes+1 || uint64(binary.LittleEndian.Uint32(blob)) != uint64(len(blob)) {
		return false
	}
	count := int(binary.LittleEndian.Uint16(blob[8:]))
	out := items{yield: yield}
	rest := blob[zipHeadBytes : len(blob)-1]
	n, last := 0, 0
	for ; len(rest) > 0; n++ {
		skip, ok := zipPrev(rest, last)
		if !ok {
			return false
		}
		width, ok := out.zipItem(rest[skip:])
		if !ok {
			return false
		}
		last = skip + width
		rest = rest[last:]
	}
	tail := uint64(binary.LittleEndian.Uint32(blob[4:]))
	if n == 0 && tail > uint64(len(blob)-1) || n > 0 && tail != uint64(len(blob)-1-last) {
		return false
	}
	return blob[len(blob)-1] == zipEnd && (count == packCountMax || n == count)
}

// zipPrev reads the length of the element before, which is known to be want, and returns how many
// bytes the length takes. At least one byte, the encoding, follows.
func zipPrev(b []byte, want int) (width int, ok bool) {
	switch {
	case b[0] == zipEnd || len(b) < 2:
		return 0, false
	case b[0] != zipLongPrev:
		return 1, int(b[0]) == want
	case len(b) < 6:
		return 0, false
	}
	return 5, uint64(binary.LittleEndian.Uint32(b[1:])) == uint64(want)
}

// zipItem yields the element at the front of b, which begins with its encoding, and returns its
// length.
func (t *items) zipItem(b []byte) (width int, ok bool) {
	text := func(headBytes int, n uint64) (int, bool) {
		if n > uint64(len(b)-headBytes) {
			return 0, false
		}
		end := headBytes + int(n)
		return end, t.yield(b[headBytes:end])
	}
	number := func(size int) (int, bool) {
		if len(b) < 1+size {
			return 0, false
		}
		return 1 + size, t.number(littleEndian(b[1 : 1+size]))
	}
	switch head := b[0]; {
	case head < zipText14:
		return text(1, uint64(head))
	case head < zipText32:
		if len(b) < 2 {
			return 0, false
		}
		return text(2, uint64(head&0x3f)<<8|uint64(b[1]))
	case head < zipInt16:
		if len(b) < 5 {
			return 0, false
		}
		return text(5, uint64(binary.BigEndian.Uint32(b[1:])))
	case head == zipInt16:
		return number(2)
	case head == zipInt32:
		return number(4)
	case head == zipInt64:
		return number(8)
	case head == zipInt24:
		return number(3)
	case head == zipInt8:
		return number(1)
	case zipSmallMin <= head && head <= zipSmallMax:
		return 1, t.number(int64(head - zipSmallMin))
	}
	return 0, false
}

// ReadZipmap yields the fields and values of a zipmap, which Redis wrote for small hashes before
// version 2.6: pairs u8 (254: count them), pairs, 0xff. A text is its length (one byte, or 0xfe and
// four) and its bytes. Between a value's length and its bytes is the number of unused bytes behind
// the value.
func ReadZipmap(blob []byte, yield func(item []byte) bool) bool {
	if len(blob) < 2 || blob[len(blob)-1] != zipEnd {
		return false
	}
	rest := blob[1 : len(blob)-1]
	for isValue := false; len(rest) > 0; isValue = !isValue {
		length, head := uint64(rest[0]), 1
		if length >= zipLongPrev {
			if length == zipEnd || len(rest) < 5 {
				return false
			}
			length, head = uint64(binary.LittleEndian.Uint32(rest[1:])), 5
		}
		unused := uint64(0)
		if isValue {
			if head >= len(rest) {
				return false
			}
			unused, head = uint64(rest[head]), head+1
		}
		if length+unused > uint64(len(rest)-head) {
			return false
		}
		if !yield(rest[head : head+int(length)]) {
			return false
		}
		rest = rest[head+int(length+unused):]
		if len(rest) == 0 && !isValue {
			return false
		}
	}
	return true
}
