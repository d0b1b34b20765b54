package rdb

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Opcodes of a file. A lower byte is the type of a key's value.
const (
	opSlotInfo   = 0xf4 // Redis 7.4, written by a node of a cluster
	opFunction   = 0xf5
	opFreq       = 0xf9
	opIdle       = 0xf8
	opAux        = 0xfa
	opResizeDB   = 0xfb
	opExpireMs   = 0xfc
	opExpireSec  = 0xfd
	opSelectDB   = 0xfe
	opEOF        = 0xff
	opFirst      = opSlotInfo
	fileMagic    = "REDIS"
	fileHeadSize = len(fileMagic) + 4
	bufferBytes  = 64 << 10
)

// Writer writes a file. Close returns the first error.
type Writer struct {
	out *bufio.Writer
	sum uint64
	buf []byte
	err error
	// value is the value that is being written.
	value    Value
	offsetMs int64
}

// Offset sets an offset that is added to all times from now on: stored times are not times of day.
func (x *Writer) Offset(ms int64) { x.offsetMs = ms }

// NewWriter begins a file.
func NewWriter(w io.Writer) *Writer {
	x := &Writer{out: bufio.NewWriterSize(w, bufferBytes)}
	x.buf = fmt.Appendf(nil, "%s%04d", fileMagic, Version)
	x.flush()
	return x
}

// flush writes the content of buf.
func (x *Writer) flush() {
	x.write(x.buf)
	x.buf = x.buf[:0]
}

func (x *Writer) write(b []byte) {
	if x.err != nil {
		return
	}
	x.sum = checksum(x.sum, b)
	_, x.err = x.out.Write(b)
}

// Aux writes an auxiliary field. Redis ignores fields that it does not know, at any place.
func (x *Writer) Aux(name string, value []byte) {
	x.buf = AppendText(append(x.buf, opAux), []byte(name))
	x.buf = AppendLength(x.buf, uint64(len(value)))
	x.flush()
	x.write(value)
}

// Function writes a library of functions, as the text that it is loaded from.
func (x *Writer) Function(library []byte) {
	x.buf = AppendText(append(x.buf, opFunction), library)
	x.flush()
}

// SelectDB chooses the database of the keys that follow.
func (x *Writer) SelectDB(db int) {
	x.buf = AppendLength(append(x.buf, opSelectDB), uint64(db))
	x.flush()
}

// Key begins a key with its expiry (0 for none) and the type of its value. The caller must write
// the value to the result next.
func (x *Writer) Key(key []byte, expireAtMs int64, typ byte) *Value {
	if expireAtMs != 0 {
		x.buf = binary.LittleEndian.AppendUint64(append(x.buf, opExpireMs), uint64(shifted(expireAtMs, x.offsetMs)))
	}
	x.buf = AppendText(append(x.buf, typ), key)
	x.value = Value{buf: x.buf, out: x, offsetMs: x.offsetMs}
	return &x.value
}

// Value collects the body of one value: for a file, to which it passes the body on in pieces, or
// for a payload.
type Value struct {
	buf      []byte
	out      *Writer
	each     func(bytes int)
	offsetMs int64
}

// NewValue returns a Value that appends a payload's body to dst.
func NewValue(dst []byte) *Value { return &Value{buf: dst} }

// Offset is Writer.Offset for a payload.
func (v *Value) Offset(ms int64) { v.offsetMs = ms }

// Time converts a time to the one that is written.
func (v *Value) Time(ms int64) int64 { return shifted(ms, v.offsetMs) }

// shifted adds an offset to a time. 0 and below mean no time and stay unchanged. Any other result
// is at least 1, and at most the greatest number.
func shifted(ms, offsetMs int64) int64 {
	switch {
	case ms <= 0:
		return ms
	case offsetMs > 0 && ms > math.MaxInt64-offsetMs:
		return math.MaxInt64
	}
	return max(ms+offsetMs, 1)
}

// OnText makes the value call each for every text, with its length in bytes: a value may have
// millions.
func (v *Value) OnText(each func(bytes int)) { v.each = each }

// Body returns the argument of NewValue with everything that was written since.
func (v *Value) Body() []byte { return v.buf }

// End ends a value of a file.
func (v *Value) End() {
	v.out.buf = v.buf
	v.out.flush()
}

func (v *Value) written() {
	if v.out != nil && len(v.buf) >= bufferBytes {
		v.out.write(v.buf)
		v.buf = v.buf[:0]
	}
}

// Length writes a length.
func (v *Value) Length(n uint64) { v.buf = AppendLength(v.buf, n) }

// Text writes a text.
func (v *Value) Text(text []byte) {
	if v.each != nil {
		v.each(len(text))
	}
	if len(text) >= bufferBytes {
		v.Blob(text)
		return
	}
	v.buf = AppendText(v.buf, text)
	v.written()
}

// Blob writes a text that is not written as a number.
func (v *Value) Blob(blob []byte) {
	v.buf = AppendLength(v.buf, uint64(len(blob)))
	v.Raw(blob)
}

// Double writes a number in eight bytes.
func (v *Value) Double(f float64) {
	v.buf = binary.LittleEndian.AppendUint64(v.buf, math.Float64bits(f))
	v.written()
}

// Raw writes bytes unchanged. Long ones bypass the buffer on their way to a file, so the buffer
// stays short.
func (v *Value) Raw(b []byte) {
	if v.out != nil && len(b) >= bufferBytes {
		v.out.write(v.buf)
		v.out.write(b)
		v.buf = v.buf[:0]
		return
	}
	v.buf = append(v.buf, b...)
	v.written()
}

// Err is the first error. Later writes are discarded.
func (x *Writer) Err() error { return x.err }

// Close ends the file and returns the first error.
func (x *Writer) Close() error {
	x.write([]byte{opEOF})
	x.write(binary.LittleEndian.AppendUint64(nil, x.sum))
	if x.err != nil {
		return x.err
	}
	return x.out.Flush()
}
