package list

import (
	"encoding/binary"
	"strconv"

	"lockstep/engine/decimal"
	"lockstep/engine/rdb"
)

// An element's record is its text or, if that is shorter, its number. Each text has exactly one
// record, so records are equal exactly if texts are.
const (
	// numberTag and the six tags after it begin a number of one to six and of eight bytes, the
	// lowest byte first.
	numberTag = 0xf8
	// textTag begins a text whose first byte looks like a tag. No UTF-8 text begins with such a
	// byte.
	textTag = 0xff
	// numberTextMin is the length of the shortest text of a number that is longer than its record.
	numberTextMin = 3
)

// Buffer has room for the text of a number or for its record. A text that was read with it is valid
// until the buffer is used again.
type Buffer [decimal.BytesMax + 4]byte

// record returns the record of an element. It may be the text itself or be in the buffer.
func (b *Buffer) record(text []byte) []byte {
	if len(text) == 0 {
		return text
	}
	if text[0] >= numberTag {
		return append([]byte{textTag}, text...)
	}
	if len(text) < numberTextMin {
		return text
	}
	n, ok := decimal.Int(text)
	if !ok {
		return text
	}
	width := widthOf(n)
	if 1+width >= len(text) {
		return text
	}
	b[0] = numberTag + byte(min(width, 7)) - 1
	binary.LittleEndian.PutUint64(b[1:], uint64(n))
	return b[:1+width]
}

// text returns the text of a record. It may be a part of the record or be in the buffer.
func (b *Buffer) text(record []byte) []byte {
	if len(record) == 0 || record[0] < numberTag {
		return record
	}
	if record[0] == textTag {
		return record[1:]
	}
	return strconv.AppendInt(b[:0], numberIn(record), 10)
}

// numberIn is the number in a record that begins with a number's tag.
func numberIn(record []byte) int64 {
	var u uint64
	for i, c := range record[1:] {
		u |= uint64(c) << (8 * i)
	}
	shift := 64 - 8*(len(record)-1)
	return int64(u<<shift) >> shift
}

// widthOf is the number of bytes, of one to six or eight, that hold n.
func widthOf(n int64) int {
	for width := 1; width <= 6; width++ {
		shift := 64 - 8*width
		if n<<shift>>shift == n {
			return width
		}
	}
	return 8
}

// listpackBytes is the length of a text as an element of a Redis listpack. The encoding depends on
// it.
func listpackBytes(text []byte) int {
	if n, ok := decimal.Int(text); ok {
		return listpackNumberBytes(n)
	}
	body := len(text)
	switch {
	case body < 1<<6:
		body++
	case body < 1<<12:
		body += 2
	default:
		body += 5
	}
	return body + rdb.BackLengthBytes(body)
}

// recordListpackBytes is listpackBytes of a record's text.
func recordListpackBytes(record []byte) int {
	switch {
	case len(record) == 0 || record[0] < numberTag:
		return listpackBytes(record)
	case record[0] == textTag:
		return listpackBytes(record[1:])
	}
	return listpackNumberBytes(numberIn(record))
}

func listpackNumberBytes(n int64) int {
	var room [2 * binary.MaxVarintLen64]byte
	return len(rdb.AppendPackNumber(room[:0], n))
}
