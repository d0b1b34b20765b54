// Package rdb is the codec of Redis's RDB format: snapshots, backups, DUMP.
package rdb

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc64"
	"io"
	"strconv"
)

var jones = crc64.MakeTable(0x95ac9329ac4bc9b5)

const (
	opAux      = 0xFA
	opExpireMs = 0xFC
	opSelectDB = 0xFE
	opEOF      = 0xFF
)

// TypeString is the RDB type of strings.
const TypeString = 0

// ErrFormat: the file makes no sense.
var ErrFormat = errors.New("rdb: bad format")

// Writer writes a file.
type Writer struct {
	w   *bufio.Writer
	crc uint64
	tmp []byte
}

type crcWriter struct {
	w   io.Writer
	crc *uint64
}

func (c crcWriter) Write(p []byte) (int, error) {
	*c.crc = ^crc64.Update(^*c.crc, jones, p)
	return c.w.Write(p)
}

// NewWriter begins a file.
func NewWriter(w io.Writer) *Writer {
	x := &Writer{}
	x.w = bufio.NewWriterSize(crcWriter{w, &x.crc}, 64<<10)
	x.w.WriteString("REDIS0010")
	return x
}

// AppendLength appends a length.
func AppendLength(dst []byte, n uint64) []byte {
	switch {
	case n < 64:
		return append(dst, byte(n))
	case n < 16384:
		return append(dst, byte(n>>8)|0x40, byte(n))
	case n <= 0xFFFFFFFF:
		return binary.BigEndian.AppendUint32(append(dst, 0x80), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, 0x81), n)
}

// AppendString appends a string.
func AppendString(dst, s []byte) []byte {
	return append(AppendLength(dst, uint64(len(s))), s...)
}

// Aux writes an auxiliary field.
func (x *Writer) Aux(key string, value []byte) {
	x.tmp = append(x.tmp[:0], opAux)
	x.tmp = AppendString(x.tmp, []byte(key))
	x.tmp = AppendString(x.tmp, value)
	x.w.Write(x.tmp)
}

// SelectDB chooses the database of the keys that follow.
func (x *Writer) SelectDB(db int) {
	x.w.Write(AppendLength(append(x.tmp[:0], opSelectDB), uint64(db)))
}

// Key writes a key.
func (x *Writer) Key(key []byte, expireAtMs int64, typ byte, body []byte) error {
	x.tmp = x.tmp[:0]
	if expireAtMs != 0 {
		x.tmp = binary.LittleEndian.AppendUint64(append(x.tmp, opExpireMs), uint64(expireAtMs))
	}
	x.tmp = AppendString(append(x.tmp, typ), key)
	x.w.Write(x.tmp)
	_, err := x.w.Write(body)
	return err
}

// Close ends the file.
func (x *Writer) Close() error {
	x.w.WriteByte(opEOF)
	if err := x.w.Flush(); err != nil {
		return err
	}
	crc := x.crc
	x.w.Write(binary.LittleEndian.AppendUint64(nil, crc))
	return x.w.Flush()
}

// Event is what a Reader met.
type Event struct {
	Aux, Value []byte
	DB         int
	Key        []byte
	ExpireAtMs int64
	Type       byte
	Text       []byte
	EOF        bool
}

// Reader reads a file.
type Reader struct {
	r   *bufio.Reader
	crc uint64
	db  int
}

// NewReader begins to read a file.
func NewReader(r io.Reader) (*Reader, error) {
	x := &Reader{r: bufio.NewReaderSize(r, 64<<10)}
	head, err := x.read(9)
	if err != nil || string(head[:5]) != "REDIS" {
		return nil, ErrFormat
	}
	if v, err := strconv.Atoi(string(head[5:])); err != nil || v > 12 {
		return nil, ErrFormat
	}
	return x, nil
}

func (x *Reader) read(n uint64) ([]byte, error) {
	if n > 1<<30 {
		return nil, ErrFormat
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(x.r, b); err != nil {
		return nil, err
	}
	x.crc = ^crc64.Update(^x.crc, jones, b)
	return b, nil
}

func (x *Reader) length() (uint64, error) {
	b, err := x.read(1)
	if err != nil {
		return 0, err
	}
	switch b[0] >> 6 {
	case 0:
		return uint64(b[0]), nil
	case 1:
		c, err := x.read(1)
		if err != nil {
			return 0, err
		}
		return uint64(b[0]&0x3F)<<8 | uint64(c[0]), nil
	case 2:
		size := uint64(4)
		if b[0] == 0x81 {
			size = 8
		}
		c, err := x.read(size)
		if err != nil {
			return 0, err
		}
		if size == 4 {
			return uint64(binary.BigEndian.Uint32(c)), nil
		}
		return binary.BigEndian.Uint64(c), nil
	}
	return 0, ErrFormat
}

func (x *Reader) str() ([]byte, error) {
	n, err := x.length()
	if err != nil {
		return nil, err
	}
	return x.read(n)
}

// Next returns the next event.
func (x *Reader) Next() (e Event, err error) {
	for {
		op, err := x.read(1)
		if err != nil {
			return e, err
		}
		switch op[0] {
		case opAux:
			if e.Aux, err = x.str(); err != nil {
				return e, err
			}
			e.Value, err = x.str()
			return e, err
		case opSelectDB:
			n, err := x.length()
			if err != nil {
				return e, err
			}
			x.db = int(n)
		case opExpireMs:
			b, err := x.read(8)
			if err != nil {
				return e, err
			}
			e.ExpireAtMs = int64(binary.LittleEndian.Uint64(b))
		case opEOF:
			want := x.crc
			b, err := x.read(8)
			if err != nil || binary.LittleEndian.Uint64(b) != want {
				return e, ErrFormat
			}
			e.EOF = true
			return e, nil
		case TypeString:
			e.DB = x.db
			if e.Key, err = x.str(); err != nil {
				return e, err
			}
			e.Text, err = x.str()
			return e, err
		default:
			return e, ErrFormat
		}
	}
}
