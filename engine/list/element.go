package list

import (
	"encoding/binary"
	"math"
	"strconv"
)

// How an element stands in its record: as its text, or, where that is shorter,
// as a number. Each text has one record, so records are equal where texts are.
const (
	// numberTag and the six that follow begin a number of one to six and of
	// eight bytes, the lowest first.
	numberTag = 0xf8
	// textTag begins a text whose first byte would be taken for a tag. No UTF-8
	// begins with such a byte.
	textTag = 0xff
	// numberTextMax is the length of the longest text that is a number,
	// numberTextMin of the shortest that is longer than its record.
	numberTextMax = 20
	numberTextMin = 3
)

// Buffer has room for the text of a number or the record of one. A text that
// was read with it is valid until it is used again.
type Buffer [numberTextMax + 4]byte

// record returns the record of an element; it may be the text itself or stand
// in the buffer.
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
	n, ok := number(text)
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

// text returns the text of a record, which may be part of it or stand in the
// buffer.
func (b *Buffer) text(record []byte) []byte {
	if len(record) == 0 || record[0] < numberTag {
		return record
	}
	if record[0] == textTag {
		return record[1:]
	}
	return strconv.AppendInt(b[:0], numberIn(record), 10)
}

// numberIn is the number in a record that begins with its tag.
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

// number reads a text that is the one way of writing an integer of 64 bits.
func number(text []byte) (int64, bool) {
	if len(text) == 0 || len(text) > numberTextMax {
		return 0, false
	}
	digits, negative := text, text[0] == '-'
	if negative {
		digits = text[1:]
	}
	if len(digits) == 0 || len(digits) == numberTextMax || digits[0] == '0' {
		return 0, len(text) == 1 && text[0] == '0'
	}
	var u uint64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		u = u*10 + uint64(c-'0') // 19 digits fit
	}
	switch {
	case negative && u <= 1<<63:
		return int64(-u), true
	case !negative && u <= math.MaxInt64:
		return int64(u), true
	}
	return 0, false
}

// IsNumber tells whether a text is what Redis keeps as an integer.
func IsNumber(text []byte) bool {
	_, ok := number(text)
	return ok
}

// listpackBytes is the length of a text as an element of a Redis listpack, by
// which the encoding is decided.
func listpackBytes(text []byte) int {
	body := len(text)
	n, ok := number(text)
	switch {
	case ok:
		body = listpackNumberBytes(n)
	case body < 1<<6:
		body++
	case body < 1<<12:
		body += 2
	default:
		body += 5
	}
	return body + backLengthBytes(body)
}

// recordListpackBytes is listpackBytes of a record's text.
func recordListpackBytes(record []byte) int {
	switch {
	case len(record) == 0 || record[0] < numberTag:
		return listpackBytes(record)
	case record[0] == textTag:
		return listpackBytes(record[1:])
	}
	body := listpackNumberBytes(numberIn(record))
	return body + backLengthBytes(body)
}

func listpackNumberBytes(n int64) int {
	switch {
	case 0 <= n && n < 1<<7:
		return 1
	case -1<<12 <= n && n < 1<<12:
		return 2
	case n == int64(int16(n)):
		return 3
	case -1<<23 <= n && n < 1<<23:
		return 4
	case n == int64(int32(n)):
		return 5
	}
	return 9
}

// backLengthBytes is the length of the number by which a listpack is read
// backwards.
func backLengthBytes(body int) int {
	switch {
	case body < 1<<7:
		return 1
	case body < 1<<14-1:
		return 2
	case body < 1<<21-1:
		return 3
	case body < 1<<28-1:
		return 4
	}
	return 5
}
