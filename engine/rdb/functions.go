package rdb

import (
	"bytes"
	"fmt"
)

// AppendFunctions appends the payload of FUNCTION DUMP: libraries as in a file, and the footer that
// every payload has.
func AppendFunctions(dst []byte, libraries [][]byte) []byte {
	begin := len(dst)
	for _, l := range libraries {
		dst = AppendText(append(dst, opFunction), l)
	}
	return AppendFooter(dst, begin)
}

// ReadFunctions reads the payload of AppendFunctions or of Redis. It returns ErrChecksum for a
// wrong footer, and ErrType for an item that is not a library. It returns ErrFormat if a library is
// cut off, or if the libraries are longer than bytesMax together.
func ReadFunctions(payload []byte, bytesMax int) ([][]byte, error) {
	body, ok := withoutFooter(payload)
	if !ok {
		return nil, ErrChecksum
	}
	var libraries [][]byte
	s := NewSource(body)
	s.unpackedMax = uint64(bytesMax) + 1
	for !s.Done() {
		op, err := s.Byte()
		if err != nil {
			return nil, err
		}
		if op != opFunction {
			return nil, fmt.Errorf("%w: %#x is no library", ErrType, op)
		}
		text, err := s.Text()
		if err != nil {
			return nil, err
		}
		if bytesMax -= len(text); bytesMax < 0 {
			return nil, fmt.Errorf("%w: too long", ErrFormat)
		}
		libraries = append(libraries, bytes.Clone(text))
	}
	return libraries, nil
}
