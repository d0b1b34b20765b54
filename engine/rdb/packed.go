package rdb

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math"
	"strconv"

	"lockstep/engine/decimal"
)

// The compact forms in which Redis keeps and saves small collections: listpack, intset, and in
// older versions ziplist and zipmap. Each is one blob. Numbers in them are little-endian unless
// said otherwise.
//
// A reader checks every byte before it yields an item that depends on it. So a false count, length
// or offset ends the reader with false and never leads outside the blob.

// Listpack: total bytes u32, elements u16 (65535: count them), elements, 0xff. An element is its
// encoding, its data, and the length of both, to be read backwards.
const (
	packHeadBytes = 6
	packEnd       = 0xff
	packCountMax  = math.MaxUint16
	packText6     = 0x80 // 10xxxxxx: a text of up to 63 bytes
	packInt13     = 0xc0 // 110xxxxx xxxxxxxx
	packText12    = 0xe0 // 1110xxxx xxxxxxxx: up to 4095 bytes
	packText32    = 0xf0
	packInt16     = 0xf1
	packInt24     = 0xf2
	packInt32     = 0xf3
	packInt64     = 0xf4
)

// AppendListpack appends a listpack of the items.
func AppendListpack(dst []byte, items iter.Seq[[]byte]) []byte {
	begin, n := len(dst), 0
	dst = append(dst, 0, 0, 0, 0, 0, 0)
	for item := range items {
		dst = AppendPackItem(dst, item)
		n++
	}
	dst = append(dst, packEnd)
	binary.LittleEndian.PutUint32(dst[begin:], uint32(len(dst)-begin))
	binary.LittleEndian.PutUint16(dst[begin+4:], uint16(min(n, packCountMax)))
	return dst
}

// AppendPackItem appends an element of a listpack: a number if the text is one, otherwise the text.
func AppendPackItem(dst, item []byte) []byte {
	if n, ok := decimal.Int(item); ok {
		return AppendPackNumber(dst, n)
	}
	begin := len(dst)
	switch n := len(item); {
	case n < 1<<6:
		dst = append(dst, packText6|byte(n))
	case n < 1<<12:
		dst = append(dst, packText12|byte(n>>8), byte(n))
	default:
		dst = binary.LittleEndian.AppendUint32(append(dst, packText32), uint32(n))
	}
	dst = append(dst, item...)
	return appendBackLength(dst, len(dst)-begin)
}

// AppendPackNumber appends an element that is a number.
func AppendPackNumber(dst []byte, n int64) []byte {
	begin := len(dst)
	dst = appendPackInt(dst, n)
	return appendBackLength(dst, len(dst)-begin)
}

func appendPackInt(dst []byte, n int64) []byte {
	switch {
	case 0 <= n && n < 1<<7:
		return append(dst, byte(n))
	case -1<<12 <= n && n < 1<<12:
		u := uint16(n) & (1<<13 - 1)
		return append(dst, packInt13|byte(u>>8), byte(u))
	case n == int64(int16(n)):
		return binary.LittleEndian.AppendUint16(append(dst, packInt16), uint16(n))
	case -1<<23 <= n && n < 1<<23:
		return append(dst, packInt24, byte(n), byte(n>>8), byte(n>>16))
	case n == int64(int32(n)):
		return binary.LittleEndian.AppendUint32(append(dst, packInt32), uint32(n))
	}
	return binary.LittleEndian.AppendUint64(append(dst, packInt64), uint64(n))
}

// appendBackLength appends a length that is read backwards: seven bits a byte, the lowest ones
// last, and all bytes except the first with the high bit set.
func appendBackLength(dst []byte, n int) []byte {
	width := BackLengthBytes(n)
	for i := width - 1; i >= 0; i-- {
		b := byte(n>>(7*i)) & 0x7f
		if i < width-1 {
			b |= 0x80
		}
		dst = append(dst, b)
	}
	return dst
}

// BackLengthBytes is the number of bytes of such a length. Redis takes one byte more than it needs
// for the greatest length of two, three and four bytes.
func BackLengthBytes(n int) int {
	switch {
	case n < 1<<7:
		return 1
	case n < 1<<14-1:
		return 2
	case n < 1<<21-1:
		return 3
	case n < 1<<28-1:
		return 4
	}
	return 5
}

// items yields texts, and numbers as texts, which are valid until the next one.
type items struct {
	yield func([]byte) bool
	buf   [decimal.BytesMax]byte
}

func (t *items) number(n int64) bool { return t.yield(strconv.AppendInt(t.buf[:0], n, 10)) }

// ReadListpack yields the items of a listpack, each valid until the next. It returns false if the
// blob is not a listpack, possibly after some items, or if yield returns false.
func ReadListpack(blob []byte, yield func(item []byte) bool) bool {
	if len(blob) < packHeadBytes+1 || uint64(binary.LittleEndian.Uint32(blob)) != uint64(len(blob)) {
		return false
	}
	count := int(binary.LittleEndian.Uint16(blob[4:]))
	out := items{yield: yield}
	n := 0
	for at := packHeadBytes; ; n++ {
		if at == len(blob)-1 {
			return blob[at] == packEnd && (count == packCountMax || n == count)
		}
		width, ok := out.packItem(blob[at : len(blob)-1])
		if !ok {
			return false
		}
		at += width + BackLengthBytes(width)
		if at > len(blob)-1 {
			return false
		}
	}
}

// CheckListpack reports whether every byte of a blob fits a listpack, including the backward
// lengths. It is for a blob that is kept as it is.
func CheckListpack(blob []byte) bool {
	if len(blob) < packHeadBytes+1 || uint64(binary.LittleEndian.Uint32(blob)) != uint64(len(blob)) {
		return false
	}
	var back [8]byte
	n, at, end := 0, packHeadBytes, len(blob)-1
	for ; at < end; n++ {
		_, width, ok := readPackItem(blob[at:end])
		want := appendBackLength(back[:0], width)
		if !ok || !bytes.HasPrefix(blob[at+width:end], want) {
			return false
		}
		at += width + len(want)
	}
	count := int(binary.LittleEndian.Uint16(blob[4:]))
	return blob[end] == packEnd && (count == packCountMax || n == count)
}

// packItem yields the element at the front of b and returns its length without the backward length.
func (t *items) packItem(b []byte) (width int, ok bool) {
	item, width, ok := readPackItem(b)
	switch {
	case !ok:
		return 0, false
	case item.IsNumber:
		return width, t.number(item.Number)
	}
	return width, t.yield(item.Text)
}

// PackItem is an element of a listpack: a text, which points into the listpack, or a number.
type PackItem struct {
	Text     []byte
	Number   int64
	IsNumber bool
}

// ReadPackItem reads the element at the front of b and returns its whole length. It returns false
// if there is no element, or only a part of one.
func ReadPackItem(b []byte) (item PackItem, width int, ok bool) {
	item, width, ok = readPackItem(b)
	width += BackLengthBytes(width)
	return item, width, ok && width <= len(b)
}

// readPackItem reads an element without its backward length.
func readPackItem(b []byte) (item PackItem, width int, ok bool) {
	if len(b) == 0 {
		return item, 0, false
	}
	text := func(headBytes, n int) (PackItem, int, bool) {
		if headBytes+n > len(b) {
			return PackItem{}, 0, false
		}
		return PackItem{Text: b[headBytes : headBytes+n : headBytes+n]}, headBytes + n, true
	}
	number := func(n int64, width int) (PackItem, int, bool) {
		return PackItem{Number: n, IsNumber: true}, width, true
	}
	switch head := b[0]; {
	case head < 0x80:
		return number(int64(head), 1)
	case head < packInt13:
		return text(1, int(head&0x3f))
	case head < packText12 && len(b) >= 2:
		return number(int64(int16((uint16(head)<<8|uint16(b[1]))<<3)>>3), 2)
	case packText12 <= head && head < packText32 && len(b) >= 2:
		return text(2, int(head&0x0f)<<8|int(b[1]))
	case head == packText32 && len(b) >= 5:
		if n := binary.LittleEndian.Uint32(b[1:]); uint64(n) < uint64(len(b)) {
			return text(5, int(n))
		}
	case packInt16 <= head && head <= packInt64:
		size := [...]int{2, 3, 4, 8}[head-packInt16]
		if 1+size <= len(b) {
			return number(littleEndian(b[1:1+size]), 1+size)
		}
	}
	return item, 0, false
}

// littleEndian reads a signed number of up to eight bytes.
func littleEndian(b []byte) int64 {
	var u uint64
	for i, c := range b {
		u |= uint64(c) << (8 * i)
	}
	shift := 64 - 8*len(b)
	return int64(u<<shift) >> shift
}

// Intset: bytes per number u32 (2, 4 or 8), numbers u32, the numbers sorted.
const intsetHeadBytes = 8

// AppendIntset appends an intset of sorted numbers.
func AppendIntset(dst []byte, sorted []int64) []byte {
	size := 2
	for _, n := range sorted {
		if n != int64(int16(n)) {
			size = max(size, 4)
		}
		if n != int64(int32(n)) {
			size = 8
		}
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(size))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(sorted)))
	for _, n := range sorted {
		for i := range size {
			dst = append(dst, byte(n>>(8*i)))
		}
	}
	return dst
}

// ReadIntset returns the numbers of an intset. It returns false if the blob is not an intset.
func ReadIntset(blob []byte) ([]int64, bool) {
	if len(blob) < intsetHeadBytes {
		return nil, false
	}
	size, count := binary.LittleEndian.Uint32(blob), binary.LittleEndian.Uint32(blob[4:])
	if size != 2 && size != 4 && size != 8 || uint64(len(blob)-intsetHeadBytes) != uint64(size)*uint64(count) {
		return nil, false
	}
	numbers := make([]int64, 0, count)
	for at := intsetHeadBytes; at < len(blob); at += int(size) {
		n := littleEndian(blob[at : at+int(size)])
		if len(numbers) > 0 && numbers[len(numbers)-1] >= n {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	return numbers, true
}
