package rdb

import (
	"encoding/binary"
	"math"

	"lockstep/engine/decimal"
)

// First bytes of a text: its length in 6, 14, 32 or 64 bits, or one of the special forms.
const (
	length14  = 0x40
	length32  = 0x80
	length64  = 0x81
	formInt8  = 0xc0
	formInt16 = 0xc1
	formInt32 = 0xc2
	formLZF   = 0xc3
)

// AppendLength appends a length.
func AppendLength(dst []byte, n uint64) []byte {
	switch {
	case n < 1<<6:
		return append(dst, byte(n))
	case n < 1<<14:
		return append(dst, length14|byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, length32), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, length64), n)
}

// AppendText appends a text: as a number if it is the decimal form of one of up to 32 bits,
// otherwise unchanged. Texts are not compressed, because most of the output is snapshots of short
// values.
func AppendText(dst, text []byte) []byte {
	if n, ok := decimal.Int(text); ok {
		switch {
		case n == int64(int8(n)):
			return append(dst, formInt8, byte(n))
		case n == int64(int16(n)):
			return binary.LittleEndian.AppendUint16(append(dst, formInt16), uint16(n))
		case n == int64(int32(n)):
			return binary.LittleEndian.AppendUint32(append(dst, formInt32), uint32(n))
		}
	}
	return append(AppendLength(dst, uint64(len(text))), text...)
}
