package rdb

import (
	"encoding/binary"
	"fmt"
)

// Whole checks by the checksum whether the data that is written to it is a complete file, without
// parsing the content. Its zero value is ready.
type Whole struct {
	sum   uint64
	bytes int
	// tail are the last bytes, which may be the checksum. sum is that of all bytes before.
	tail []byte
}

// sumBytes is the length of a file's checksum.
const sumBytes = 8

// Write implements io.Writer.
func (w *Whole) Write(b []byte) (int, error) {
	n := len(b)
	w.bytes += n
	if len(w.tail)+n > sumBytes {
		// These bytes are certainly not part of the checksum.
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

// Err returns why the data is not a complete file, or nil if it is one.
func (w *Whole) Err() error {
	if w.bytes < fileHeadSize+1+sumBytes {
		return fmt.Errorf("%w: %d bytes are no file", ErrChecksum, w.bytes)
	}
	if binary.LittleEndian.Uint64(w.tail) != w.sum {
		return ErrChecksum
	}
	return nil
}
