package rdb

import (
	"encoding/binary"
	"fmt"
)

// Whole reports whether what was written to it is a file as it was written, by its checksum,
// without reading what is in it. Its zero value is ready.
type Whole struct {
	sum   uint64
	bytes int
	// tail are the last bytes, in which the checksum may stand; the sum is of all before.
	tail []byte
}

// sumBytes is the length of a file's checksum.
const sumBytes = 8

// Write implements io.Writer.
func (w *Whole) Write(b []byte) (int, error) {
	n := len(b)
	w.bytes += n
	if len(w.tail)+n > sumBytes {
		// What is certainly no part of the checksum.
		from := w.tail[:min(len(w.tail), len(w.tail)+n-sumBytes)]
		w.sum = checksum(w.sum, from)
		w.tail = w.tail[:copy(w.tail, w.tail[len(from):])]
		more := len(w.tail) + n - sumBytes
		w.sum = checksum(w.sum, b[:more])
		b = b[more:]
	}
	w.tail = append(w.tail, b...)
	return n, nil
}

// Err says why it is no whole file, nil if it is one.
func (w *Whole) Err() error {
	if w.bytes < fileHeadSize+1+sumBytes {
		return fmt.Errorf("%w: %d bytes are no file", ErrChecksum, w.bytes)
	}
	if binary.LittleEndian.Uint64(w.tail) != w.sum {
		return ErrChecksum
	}
	return nil
}
