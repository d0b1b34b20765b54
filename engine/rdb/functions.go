package rdb

import (
	"bytes"
	"fmt"
)

// AppendFunctions appends the payload of FUNCTION DUMP: libraries as they stand in
// a file, and the footer of every payload.
func AppendFunctions(dst []byte, libraries [][]byte) []byte {
	begin := len(dst)
	for _, l := range libraries {
		dst = AppendText(append(dst, opFunction), l)
	}
	return AppendFooter(dst, begin)
}

// ReadFunctions reads what AppendFunctions wrote, or Redis. ErrChecksum is
// returned for a wrong footer, ErrType for what is no library, ErrFormat for one
// that is cut off, or if they are longer than bytesMax together.
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
