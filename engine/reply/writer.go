// Package reply builds RESP2 and RESP3 replies in memory.
//
// It is at the bottom of the tree because replies are made where commands run, inside the engine.
// Replicas must agree on replies: the same command on the same state gives the same bytes. The
// version of the protocol goes with the command, so a reply is rendered once, for the client that
// sent the command.
//
// A Writer only appends to a slice. It does no I/O and has no state except its buffer, so a partly
// written reply can be removed again with Truncate.
package reply

import (
	"math"
	"strconv"
	"strings"
)

// RESP2 and RESP3 are the protocol versions a Writer can speak.
const (
	RESP2 = 2
	RESP3 = 3
)

// Writer appends one or more replies to a buffer. The zero value speaks RESP2.
// A Writer must not be used by two goroutines at once.
type Writer struct {
	buf   []byte
	bound bound
	// Proto is RESP2 (also when zero) or RESP3.
	Proto int
}

// NewWriter returns a Writer for the given protocol version.
func NewWriter(proto int) *Writer { return &Writer{Proto: proto} }

// Reset empties the buffer, keeps its memory and sets the protocol version.
func (w *Writer) Reset(proto int) {
	w.buf = w.buf[:0]
	w.bound = bound{}
	w.Proto = proto
}

// Bytes returns the bytes that were written since Reset. They are valid until the next write.
func (w *Writer) Bytes() []byte { return w.buf }

// Len is the number of bytes written since Reset.
func (w *Writer) Len() int { return len(w.buf) }

// Truncate cuts the buffer back to n bytes. That drops a reply that was begun after Len returned n.
func (w *Writer) Truncate(n int) { w.buf = w.buf[:min(n, len(w.buf))] }

// Release discards a buffer larger than max bytes, so that one large reply does not keep its memory
// for ever.
func (w *Writer) Release(max int) {
	if cap(w.buf) > max {
		w.buf = nil
	}
}

func (w *Writer) resp3() bool { return w.Proto == RESP3 }

// headerBytesMax is the length in bytes of a prefix, an int64 and two line ends: that of the header
// and that of the text behind it.
const headerBytesMax = 1 + 20 + 4

func (w *Writer) header(prefix byte, n int64) {
	w.room(headerBytesMax)
	w.buf = append(w.buf, prefix)
	w.buf = strconv.AppendInt(w.buf, n, 10)
	w.buf = append(w.buf, '\r', '\n')
}

// Raw appends bytes that already are a reply.
func (w *Writer) Raw(b []byte) {
	w.room(len(b))
	w.buf = append(w.buf, b...)
}

// OK writes the simple string OK.
func (w *Writer) OK() { w.buf = append(w.buf, "+OK\r\n"...) }

// Status writes a simple string. CR and LF in s become spaces.
func (w *Writer) Status(s string) { w.line('+', s) }

// Error writes an error reply; msg begins with the error's code ("ERR ..."). As in Redis, CR and LF
// at its ends are cut, and others become spaces.
func (w *Writer) Error(msg string) { w.line('-', strings.Trim(msg, "\r\n")) }

func (w *Writer) line(prefix byte, s string) {
	w.buf = append(w.buf, prefix)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\r' || c == '\n' {
			c = ' '
		}
		w.buf = append(w.buf, c)
	}
	w.buf = append(w.buf, '\r', '\n')
}

// Int writes an integer.
func (w *Writer) Int(n int64) { w.header(':', n) }

// Bulk writes a bulk string.
func (w *Writer) Bulk(b []byte) {
	w.room(len(b) + headerBytesMax)
	w.header('$', int64(len(b)))
	w.buf = append(w.buf, b...)
	w.buf = append(w.buf, '\r', '\n')
}

// BulkString writes a bulk string.
func (w *Writer) BulkString(s string) {
	w.room(len(s) + headerBytesMax)
	w.header('$', int64(len(s)))
	w.buf = append(w.buf, s...)
	w.buf = append(w.buf, '\r', '\n')
}

// BulkInt writes an integer as a bulk string.
func (w *Writer) BulkInt(n int64) {
	var tmp [20]byte
	w.Bulk(strconv.AppendInt(tmp[:0], n, 10))
}

// Null writes the null of this protocol: a null bulk string in RESP2.
func (w *Writer) Null() {
	if w.resp3() {
		w.buf = append(w.buf, "_\r\n"...)
		return
	}
	w.buf = append(w.buf, "$-1\r\n"...)
}

// NullArray writes the null that replaces an array.
func (w *Writer) NullArray() {
	if w.resp3() {
		w.buf = append(w.buf, "_\r\n"...)
		return
	}
	w.buf = append(w.buf, "*-1\r\n"...)
}

// Array begins an array of n replies.
func (w *Writer) Array(n int) { w.header('*', int64(n)) }

// ArrayFrom puts the header of an array of n replies before the bytes that were written since Len
// returned at. It is for an array whose length is not known in advance.
func (w *Writer) ArrayFrom(at, n int) { w.headerAt(at, '*', n) }

// MapFrom is ArrayFrom for a map of n pairs.
func (w *Writer) MapFrom(at, n int) {
	if w.resp3() {
		w.headerAt(at, '%', n)
		return
	}
	w.headerAt(at, '*', 2*n)
}

// BulkFrom puts a bulk string before the bytes that were written since Len returned at.
func (w *Writer) BulkFrom(at int, b []byte) {
	end := len(w.buf)
	w.Bulk(b)
	if w.cut(end) || w.cut(at) {
		return
	}
	head := append([]byte(nil), w.buf[end:]...)
	copy(w.buf[at+len(head):], w.buf[at:end])
	copy(w.buf[at:], head)
}

func (w *Writer) headerAt(at int, prefix byte, n int) {
	end := len(w.buf)
	w.header(prefix, int64(n))
	if w.cut(end) || w.cut(at) {
		return
	}
	var head [24]byte
	width := copy(head[:], w.buf[end:])
	copy(w.buf[at+width:], w.buf[at:end])
	copy(w.buf[at:], head[:width])
}

// Map begins a map of n pairs; in RESP2 a flat array of 2n replies.
func (w *Writer) Map(n int) {
	if w.resp3() {
		w.header('%', int64(n))
		return
	}
	w.header('*', int64(2*n))
}

// Set begins a set of n replies; in RESP2 an array.
func (w *Writer) Set(n int) {
	if w.resp3() {
		w.header('~', int64(n))
		return
	}
	w.header('*', int64(n))
}

// Push begins an out-of-band message of n replies; in RESP2 an array.
func (w *Writer) Push(n int) {
	if w.resp3() {
		w.header('>', int64(n))
		return
	}
	w.header('*', int64(n))
}

// Bool writes a boolean; in RESP2 the integers 1 and 0.
func (w *Writer) Bool(v bool) {
	switch {
	case w.resp3() && v:
		w.buf = append(w.buf, "#t\r\n"...)
	case w.resp3():
		w.buf = append(w.buf, "#f\r\n"...)
	case v:
		w.buf = append(w.buf, ":1\r\n"...)
	default:
		w.buf = append(w.buf, ":0\r\n"...)
	}
}

// Double writes a floating point number; in RESP2 a bulk string of its text.
func (w *Writer) Double(f float64) {
	var tmp [32]byte
	text := AppendDouble(tmp[:0], f)
	if w.resp3() {
		w.buf = append(w.buf, ',')
		w.buf = append(w.buf, text...)
		w.buf = append(w.buf, '\r', '\n')
		return
	}
	w.Bulk(text)
}

// Verbatim writes text with a three-letter format ("txt", "mkd"); in RESP2 a
// bulk string without the format.
func (w *Writer) Verbatim(format, text string) {
	if !w.resp3() {
		w.BulkString(text)
		return
	}
	w.room(len(text) + len(format) + 1 + headerBytesMax)
	w.header('=', int64(len(text)+4))
	w.buf = append(w.buf, format...)
	w.buf = append(w.buf, ':')
	w.buf = append(w.buf, text...)
	w.buf = append(w.buf, '\r', '\n')
}

// AppendDouble appends a double as Redis 7 prints it: 17 significant digits
// as by C's %.17g, with inf and nan in lower case.
func AppendDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	if f == math.Trunc(f) && math.Abs(f) < 1e17 {
		if f == 0 && math.Signbit(f) {
			return append(dst, "-0"...)
		}
		return strconv.AppendInt(dst, int64(f), 10)
	}
	return strconv.AppendFloat(dst, f, 'g', 17, 64)
}
