package rdb

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// Errors of a file or payload that cannot be read.
var (
	ErrFormat   = errors.New("rdb: bad format")
	ErrChecksum = errors.New("rdb: wrong checksum")
	ErrVersion  = errors.New("rdb: unknown version")
	ErrType     = errors.New("rdb: unknown type of value")
)

// textBytesMax is the longest text that a file may contain: the longest listpack, which gives its
// own length. Values of the types that are kept as a listpack have up to 1 GiB in all, and the
// bytes around each element come on top. Every value that a shard may hold must be readable from
// its snapshot.
const textBytesMax = math.MaxUint32

// unpackedBytesMax bounds the length of a packed text after unpacking, and that of all texts of one
// payload together. Otherwise a payload of some megabytes could become hundreds of gigabytes, on
// every replica. Data in a file was in memory before.
const unpackedBytesMax = 1 << 30

// Source reads values from a file, as it arrives, or from a payload. It allocates memory only for
// data that has arrived, and computes the checksum of all data that was read.
type Source struct {
	in io.Reader // nil: buf is everything
	// buf[at:end] has arrived and was not read. buf[summed:at] was read and is not in sum yet.
	buf             []byte
	summed, at, end int
	sum             uint64
	// unpacked counts the bytes to which texts of a payload were unpacked.
	unpacked uint64
	// unpackedMax bounds unpacked. 0 means unpackedBytesMax.
	unpackedMax uint64
	each        func(bytes int)
	trusted     bool
	offsetMs    int64
}

// NewSource returns a source of one value: the body of a payload.
func NewSource(body []byte) *Source { return &Source{buf: body, end: len(body)} }

// OnText makes the source call each for every text, with its length in bytes: a value may have
// millions.
func (s *Source) OnText(each func(bytes int)) { s.each = each }

// Offset sets the offset that was added to all times when they were written (Writer.Offset).
func (s *Source) Offset(ms int64) { s.offsetMs = ms }

// Time converts a time that was read to the one that is kept.
func (s *Source) Time(ms int64) int64 { return shifted(ms, -s.offsetMs) }

// Trust says that the values were accepted before: a snapshot has them in their present form.
func (s *Source) Trust() { s.trusted = true }

// Trusted reports whether Trust was called.
func (s *Source) Trusted() bool { return s.trusted }

// Done reports whether a payload's body was read to its end.
func (s *Source) Done() bool { return s.in == nil && s.at == s.end }

// more makes at least n bytes ready. n is at most bufferBytes.
func (s *Source) more(n int) error {
	if s.end-s.at >= n {
		return nil
	}
	if s.in == nil {
		return fmt.Errorf("%w: ends too early", ErrFormat)
	}
	s.addUp()
	copy(s.buf, s.buf[s.at:s.end])
	s.summed, s.at, s.end = 0, 0, s.end-s.at
	got, err := io.ReadAtLeast(s.in, s.buf[s.end:], n-s.end)
	s.end += got
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return nil
}

// addUp adds the bytes that were read to the checksum.
func (s *Source) addUp() {
	if s.in != nil {
		s.sum = checksum(s.sum, s.buf[s.summed:s.at])
		s.summed = s.at
	}
}

// Byte reads one byte.
func (s *Source) Byte() (byte, error) {
	if err := s.more(1); err != nil {
		return 0, err
	}
	s.at++
	return s.buf[s.at-1], nil
}

// Bytes reads n bytes. They are valid until the next read. If n is greater than the buffer they are
// collected in steps, because n may be false.
func (s *Source) Bytes(n uint64) ([]byte, error) {
	if n > textBytesMax {
		return nil, fmt.Errorf("%w: %d bytes", ErrFormat, n)
	}
	if s.in == nil || n <= uint64(len(s.buf)) {
		if err := s.more(int(n)); err != nil {
			return nil, err
		}
		s.at += int(n)
		return s.buf[s.at-int(n) : s.at : s.at], nil
	}
	var b []byte
	for uint64(len(b)) < n {
		piece := int(min(n-uint64(len(b)), uint64(len(s.buf))))
		if err := s.more(piece); err != nil {
			return nil, err
		}
		b = append(b, s.buf[s.at:s.at+piece]...)
		s.at += piece
	}
	return b, nil
}

// Length reads a length.
func (s *Source) Length() (uint64, error) {
	n, form, err := s.lengthOrForm()
	if err == nil && form != 0 {
		err = fmt.Errorf("%w: no length", ErrFormat)
	}
	return n, err
}

// lengthOrForm reads a length, or the first byte of a special form of text.
func (s *Source) lengthOrForm() (n uint64, form byte, err error) {
	first, err := s.Byte()
	if err != nil {
		return 0, 0, err
	}
	width := uint64(0)
	switch {
	case first < length14:
		return uint64(first), 0, nil
	case first < length32:
		width = 1
	case first == length32:
		width = 4
	case first == length64:
		width = 8
	case first <= formLZF && first >= formInt8:
		return 0, first, nil
	default:
		return 0, 0, fmt.Errorf("%w: a length of form %#x", ErrFormat, first)
	}
	b, err := s.Bytes(width)
	if err != nil {
		return 0, 0, err
	}
	switch width {
	case 1:
		return uint64(first&^length14)<<8 | uint64(b[0]), 0, nil
	case 4:
		return uint64(binary.BigEndian.Uint32(b)), 0, nil
	}
	return binary.BigEndian.Uint64(b), 0, nil
}

// Text reads a text. It is valid until the next read.
func (s *Source) Text() ([]byte, error) {
	text, err := s.text()
	if s.each != nil {
		s.each(len(text))
	}
	return text, err
}

func (s *Source) text() ([]byte, error) {
	n, form, err := s.lengthOrForm()
	switch {
	case err != nil:
		return nil, err
	case form == 0:
		return s.Bytes(n)
	case form == formLZF:
		return s.packed()
	}
	b, err := s.Bytes(1 << (form - formInt8))
	if err != nil {
		return nil, err
	}
	switch form {
	case formInt8:
		return strconv.AppendInt(nil, int64(int8(b[0])), 10), nil
	case formInt16:
		return strconv.AppendInt(nil, int64(int16(binary.LittleEndian.Uint16(b))), 10), nil
	}
	return strconv.AppendInt(nil, int64(int32(binary.LittleEndian.Uint32(b))), 10), nil
}

func (s *Source) packed() ([]byte, error) {
	size, err := s.Length()
	if err != nil {
		return nil, err
	}
	length, err := s.Length()
	if err != nil {
		return nil, err
	}
	packed, err := s.Bytes(size)
	if err != nil {
		return nil, err
	}
	if s.in == nil {
		s.unpacked += length
	}
	if length > unpackedBytesMax || s.unpacked > cmp.Or(s.unpackedMax, unpackedBytesMax) {
		return nil, fmt.Errorf("%w: %d bytes", ErrFormat, length)
	}
	text, ok := lzfDecompress(packed, length)
	if !ok {
		return nil, fmt.Errorf("%w: a packed text", ErrFormat)
	}
	return text, nil
}

// Double reads a number of eight bytes.
func (s *Source) Double() (float64, error) {
	b, err := s.Bytes(8)
	if err != nil {
		return 0, err
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b)), nil
}

// TextDouble reads a number in the form of a short text, as in the scores of sorted sets in files
// of old versions.
func (s *Source) TextDouble() (float64, error) {
	n, err := s.Byte()
	if err != nil {
		return 0, err
	}
	switch n {
	case 255:
		return math.Inf(-1), nil
	case 254:
		return math.Inf(1), nil
	case 253:
		return math.NaN(), nil
	}
	b, err := s.Bytes(uint64(n))
	if err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %q is no number", ErrFormat, b)
	}
	return f, nil
}
