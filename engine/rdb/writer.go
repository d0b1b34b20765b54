package rdb

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// Opcodes of a file. What is below them is the type of a key's value.
const (
	opFreq       = 0xf9
	opIdle       = 0xf8
	opAux        = 0xfa
	opResizeDB   = 0xfb
	opExpireMs   = 0xfc
	opExpireSec  = 0xfd
	opSelectDB   = 0xfe
	opEOF        = 0xff
	opFirst      = opIdle
	fileMagic    = "REDIS"
	fileHeadSize = len(fileMagic) + 4
	bufferBytes  = 64 << 10
)

// Writer writes a file. Errors are kept and told by Close.
type Writer struct {
	out *bufio.Writer
	sum uint64
	buf []byte
	err error
}

// NewWriter begins a file.
func NewWriter(w io.Writer) *Writer {
	x := &Writer{out: bufio.NewWriterSize(w, bufferBytes)}
	x.buf = fmt.Appendf(nil, "%s%04d", fileMagic, Version)
	x.flush()
	return x
}

// flush writes what was put together in buf.
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

// Aux writes an auxiliary field. Redis ignores those it does not know,
// wherever they stand.
func (x *Writer) Aux(name string, value []byte) {
	x.buf = AppendText(append(x.buf, opAux), []byte(name))
	x.buf = AppendLength(x.buf, uint64(len(value)))
	x.flush()
	x.write(value)
}

// SelectDB chooses the database of the keys that follow.
func (x *Writer) SelectDB(db int) {
	x.buf = AppendLength(append(x.buf, opSelectDB), uint64(db))
	x.flush()
}

// Key writes a key, its expiry (0: none), and the type and body of its value.
func (x *Writer) Key(key []byte, expireAtMs int64, typ byte, body []byte) {
	if expireAtMs != 0 {
		x.buf = binary.LittleEndian.AppendUint64(append(x.buf, opExpireMs), uint64(expireAtMs))
	}
	x.buf = AppendText(append(x.buf, typ), key)
	x.flush()
	x.write(body)
}

// Close ends the file and returns the first error there was.
func (x *Writer) Close() error {
	x.write([]byte{opEOF})
	x.write(binary.LittleEndian.AppendUint64(nil, x.sum))
	if x.err != nil {
		return x.err
	}
	return x.out.Flush()
}
