package rdb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
)

// Event is the next item of a file: an auxiliary field, a library of functions, a key, whose value
// follows, or the end. The memory that it refers to is valid until the next event.
type Event struct {
	// Aux and Value are an auxiliary field. Aux is nil for other events.
	Aux, Value []byte
	// Function is the text of a library, otherwise nil.
	Function []byte
	// DB, Key, ExpireAtMs and the Type of its value describe a key.
	DB         int
	Key        []byte
	ExpireAtMs int64
	Type       byte
	EOF        bool
}

// Reader reads a file. The caller knows the type of a key, and reads the key's value from Source
// before it calls Next again.
type Reader struct {
	Source
	db  int
	key []byte
}

// NewReader begins to read a file.
func NewReader(r io.Reader) (*Reader, error) {
	x := &Reader{Source: Source{in: r, buf: make([]byte, bufferBytes)}}
	head, err := x.Bytes(uint64(fileHeadSize))
	if err != nil || string(head[:len(fileMagic)]) != fileMagic {
		return nil, fmt.Errorf("%w: no header", ErrFormat)
	}
	if v, err := strconv.Atoi(string(head[len(fileMagic):])); err != nil || v < 1 || v > VersionMax {
		return nil, fmt.Errorf("%w: %q", ErrVersion, head[len(fileMagic):])
	}
	return x, nil
}

// Next returns the next event.
func (x *Reader) Next() (Event, error) {
	var e Event
	for {
		op, err := x.Byte()
		if err != nil {
			return e, err
		}
		if op < opFirst {
			return e, x.keyOf(&e, op)
		}
		done, err := x.special(&e, op)
		if done || err != nil {
			return e, err
		}
	}
}

// special reads the item after an opcode. done is set if the item is an event.
func (x *Reader) special(e *Event, op byte) (done bool, err error) {
	var n uint64
	switch op {
	case opAux:
		return true, x.aux(e)
	case opFunction:
		e.Function, err = x.Text()
		return true, err
	case opSelectDB:
		n, err = x.Length()
		x.db = int(min(n, textBytesMax))
	case opResizeDB:
		err = x.lengths(2)
	case opSlotInfo:
		err = x.lengths(3) // the slot, and the numbers of its keys and expiries
	case opExpireMs, opExpireSec:
		err = x.expiry(e, op)
	case opIdle:
		_, err = x.Length()
	case opFreq:
		_, err = x.Byte()
	case opEOF:
		e.EOF = true
		return true, x.end()
	default:
		err = fmt.Errorf("%w: opcode %#x", ErrFormat, op)
	}
	return false, err
}

// lengths skips n lengths.
func (x *Reader) lengths(n int) (err error) {
	for ; n > 0 && err == nil; n-- {
		_, err = x.Length()
	}
	return err
}

func (x *Reader) expiry(e *Event, op byte) error {
	if op == opExpireMs {
		b, err := x.Bytes(8)
		if err == nil {
			e.ExpireAtMs = int64(binary.LittleEndian.Uint64(b))
		}
		return err
	}
	b, err := x.Bytes(4)
	if err == nil {
		e.ExpireAtMs = int64(int32(binary.LittleEndian.Uint32(b))) * 1000
	}
	return err
}

// end checks the checksum, which is 0 in files without one.
func (x *Reader) end() error {
	x.addUp()
	want := x.sum
	b, err := x.Bytes(8)
	if err != nil {
		return err
	}
	if got := binary.LittleEndian.Uint64(b); got != want && got != 0 {
		return ErrChecksum
	}
	return nil
}

func (x *Reader) aux(e *Event) error {
	name, err := x.Text()
	if err != nil {
		return err
	}
	e.Aux = bytes.Clone(name)
	e.Value, err = x.Text()
	return err
}

func (x *Reader) keyOf(e *Event, typ byte) error {
	key, err := x.Text()
	if err != nil {
		return err
	}
	x.key = append(x.key[:0], key...)
	e.DB, e.Type, e.Key = x.db, typ, x.key
	return nil
}
