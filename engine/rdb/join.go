package rdb

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Joiner joins several files to one, without parsing their content. Each must begin with SelectDB
// before its first key, as files of Writer do, and only one may contain libraries of functions.
type Joiner struct {
	out io.Writer
	sum uint64
	err error
}

// NewJoiner begins a file.
func NewJoiner(w io.Writer) *Joiner {
	x := &Joiner{out: w}
	x.write(fmt.Appendf(nil, "%s%04d", fileMagic, Version))
	return x
}

func (x *Joiner) write(b []byte) {
	if x.err == nil {
		x.sum = checksum(x.sum, b)
		_, x.err = x.out.Write(b)
	}
}

// fileTailBytes is the length of the end of a file: the opcode and the checksum.
const fileTailBytes = 1 + 8

// Add appends the content of a file of this package's own version. It returns ErrChecksum if the
// file has changed since it was written, and ErrFormat if it is cut off.
func (x *Joiner) Add(in io.Reader) error {
	buf := make([]byte, bufferBytes)
	if _, err := io.ReadFull(in, buf[:fileHeadSize]); err != nil {
		return fmt.Errorf("%w: no header: %w", ErrFormat, err)
	}
	if want := fmt.Sprintf("%s%04d", fileMagic, Version); string(buf[:fileHeadSize]) != want {
		return fmt.Errorf("%w: %q", ErrVersion, buf[:fileHeadSize])
	}
	sum, held := checksum(0, buf[:fileHeadSize]), 0
	for x.err == nil {
		n, err := in.Read(buf[held:])
		held += n
		if body := held - fileTailBytes; body > 0 {
			sum = checksum(sum, buf[:body])
			x.write(buf[:body])
			held = copy(buf, buf[body:held])
		}
		if err == io.EOF {
			return x.checkTail(sum, buf[:held])
		}
		if err != nil {
			return err
		}
	}
	return x.err
}

func (x *Joiner) checkTail(sum uint64, tail []byte) error {
	switch {
	case x.err != nil:
		return x.err
	case len(tail) != fileTailBytes || tail[0] != opEOF:
		return fmt.Errorf("%w: ends too early", ErrFormat)
	case checksum(sum, tail[:1]) != binary.LittleEndian.Uint64(tail[1:]):
		return ErrChecksum
	}
	return nil
}

// Close ends the file and returns the first error.
func (x *Joiner) Close() error {
	x.write([]byte{opEOF})
	x.write(binary.LittleEndian.AppendUint64(nil, x.sum))
	return x.err
}
