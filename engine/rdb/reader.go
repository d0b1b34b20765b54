package rdb

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Errors of a file that cannot be read.
var (
	ErrFormat   = errors.New("rdb: bad format")
	ErrChecksum = errors.New("rdb: wrong checksum")
	ErrVersion  = errors.New("rdb: unknown version")
	ErrType     = errors.New("rdb: unknown type of value")
)

// textBytesMax is the longest text a file may hold.
const textBytesMax = 1 << 30

// Event is what stands next in a file: an auxiliary field, a key with its
// value, or the end.
type Event struct {
	// Aux and Value are an auxiliary field; Aux is nil otherwise.
	Aux, Value []byte
	// DB, Key, ExpireAtMs, Type and Text are a key; Text is a string's value.
	DB         int
	Key        []byte
	ExpireAtMs int64
	Type       byte
	Text       []byte
	EOF        bool
}

// Reader reads a file. It makes room for no more than has arrived.
type Reader struct {
	in  *bufio.Reader
	sum uint64
	db  int
}

// NewReader begins to read a file.
func NewReader(r io.Reader) (*Reader, error) {
	x := &Reader{in: bufio.NewReaderSize(r, bufferBytes)}
	head, err := x.bytes(uint64(fileHeadSize))
	if err != nil || string(head[:len(fileMagic)]) != fileMagic {
		return nil, fmt.Errorf("%w: no header", ErrFormat)
	}
	if v, err := strconv.Atoi(string(head[len(fileMagic):])); err != nil || v < 1 || v > VersionMax {
		return nil, fmt.Errorf("%w: %q", ErrVersion, head[len(fileMagic):])
	}
	return x, nil
}

// bytes reads n bytes, in steps: n may be a lie.
func (x *Reader) bytes(n uint64) ([]byte, error) {
	if n > textBytesMax {
		return nil, fmt.Errorf("%w: %d bytes", ErrFormat, n)
	}
	const step = 1 << 20
	b := make([]byte, 0, min(n, step))
	for uint64(len(b)) < n {
		more := int(min(n-uint64(len(b)), step))
		b = append(b, make([]byte, more)...)
		if _, err := io.ReadFull(x.in, b[len(b)-more:]); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
	}
	x.sum = checksum(x.sum, b)
	return b, nil
}

func (x *Reader) byte() (byte, error) {
	b, err := x.in.ReadByte()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	x.sum = checksum(x.sum, []byte{b})
	return b, nil
}

// head reads as much as tells a text's length: its first byte, and the bytes of
// a length or number that belong to it.
func (x *Reader) head() ([]byte, error) {
	first, err := x.byte()
	if err != nil {
		return nil, err
	}
	more := uint64(0)
	switch {
	case first < length14:
	case first < length32, first == formInt8:
		more = 1
	case first == length32, first == formInt32:
		more = 4
	case first == length64:
		more = 8
	case first == formInt16:
		more = 2
	case first == formLZF:
	default:
		return nil, fmt.Errorf("%w: a length of form %#x", ErrFormat, first)
	}
	rest, err := x.bytes(more)
	return append([]byte{first}, rest...), err
}

func (x *Reader) length() (uint64, error) {
	h, err := x.head()
	if err != nil {
		return 0, err
	}
	n, _, ok := ReadLength(h)
	if !ok {
		return 0, fmt.Errorf("%w: no length", ErrFormat)
	}
	return n, nil
}

func (x *Reader) text() ([]byte, error) {
	h, err := x.head()
	if err != nil {
		return nil, err
	}
	switch h[0] {
	case formInt8, formInt16, formInt32:
		text, _, _ := ReadText(h, textBytesMax)
		return text, nil
	case formLZF:
		return x.packed()
	}
	n, _, _ := ReadLength(h)
	return x.bytes(n)
}

func (x *Reader) packed() ([]byte, error) {
	size, err := x.length()
	if err != nil {
		return nil, err
	}
	length, err := x.length()
	if err != nil {
		return nil, err
	}
	packed, err := x.bytes(size)
	if err != nil {
		return nil, err
	}
	if length > textBytesMax {
		return nil, fmt.Errorf("%w: %d bytes", ErrFormat, length)
	}
	text, ok := lzfDecompress(packed, length)
	if !ok {
		return nil, fmt.Errorf("%w: a packed text", ErrFormat)
	}
	return text, nil
}

// Next returns what stands next.
func (x *Reader) Next() (Event, error) {
	var e Event
	for {
		op, err := x.byte()
		if err != nil {
			return e, err
		}
		if op < opFirst {
			return e, x.key(&e, op)
		}
		done, err := x.special(&e, op)
		if done || err != nil {
			return e, err
		}
	}
}

// special reads what an opcode announces; done when that is an event.
func (x *Reader) special(e *Event, op byte) (done bool, err error) {
	var n uint64
	switch op {
	case opAux:
		if e.Aux, err = x.text(); err == nil {
			e.Value, err = x.text()
		}
		return true, err
	case opSelectDB:
		n, err = x.length()
		x.db = int(min(n, textBytesMax))
	case opResizeDB:
		if _, err = x.length(); err == nil {
			_, err = x.length()
		}
	case opExpireMs, opExpireSec:
		err = x.expiry(e, op)
	case opIdle:
		_, err = x.length()
	case opFreq:
		_, err = x.byte()
	case opEOF:
		e.EOF = true
		return true, x.end()
	default:
		err = fmt.Errorf("%w: opcode %#x", ErrFormat, op)
	}
	return false, err
}

func (x *Reader) expiry(e *Event, op byte) error {
	if op == opExpireMs {
		b, err := x.bytes(8)
		if err == nil {
			e.ExpireAtMs = int64(binary.LittleEndian.Uint64(b))
		}
		return err
	}
	b, err := x.bytes(4)
	if err == nil {
		e.ExpireAtMs = int64(int32(binary.LittleEndian.Uint32(b))) * 1000
	}
	return err
}

// end checks the checksum, which is 0 in files that have none.
func (x *Reader) end() error {
	want := x.sum
	b, err := x.bytes(8)
	if err != nil {
		return err
	}
	if got := binary.LittleEndian.Uint64(b); got != want && got != 0 {
		return ErrChecksum
	}
	return nil
}

func (x *Reader) key(e *Event, typ byte) (err error) {
	e.DB, e.Type = x.db, typ
	if e.Key, err = x.text(); err != nil {
		return err
	}
	read, ok := bodies[typ]
	if !ok {
		return fmt.Errorf("%w: %d, of key %.40q", ErrType, typ, e.Key)
	}
	return read(x, e)
}

// bodies reads the values of each type that is known. A new type is a new row.
var bodies = map[byte]func(*Reader, *Event) error{
	TypeString: func(x *Reader, e *Event) (err error) {
		e.Text, err = x.text()
		return err
	},
}
