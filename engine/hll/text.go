package hll

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

const (
	// registerBits is the number of a hash's bits that choose a register.
	registerBits = 14
	// Registers is the number of registers.
	Registers = 1 << registerBits
	// hashBits is the number of the other bits, and rankMax the greatest value of a register.
	hashBits = 64 - registerBits
	rankMax  = hashBits + 1

	headerBytes = 16
	// DenseBytes is the length of a dense text.
	DenseBytes = headerBytes + Registers*6/8

	magic     = "HYLL"
	dense     = 0
	sparse    = 1
	staleFlag = 0x80 // of the header's last byte
	seed      = 0xadc83b19
)

// ErrCorrupt says that the runs of a sparse text do not cover all registers.
var ErrCorrupt = errors.New("hll: corrupt")

// New returns the text of an empty HyperLogLog.
func New() []byte {
	text := make([]byte, headerBytes, headerBytes+8)
	copy(text, magic)
	text[4] = sparse
	return appendZeros(text, Registers)
}

// Is reports whether a text may be a HyperLogLog: whether its header is valid. Functions that read
// the runs of a sparse text check the runs.
func Is(text []byte) bool {
	return len(text) >= headerBytes && string(text[:4]) == magic &&
		(text[4] == sparse || text[4] == dense && len(text) == DenseBytes)
}

// Dense reports whether a HyperLogLog is dense.
func Dense(text []byte) bool { return text[4] == dense }

// Outdate marks the estimate in the header as out of date. It changes text.
func Outdate(text []byte) { text[headerBytes-1] |= staleFlag }

// kept returns the estimate in the header. It returns false if the estimate is outdated.
func kept(text []byte) (uint64, bool) {
	return binary.LittleEndian.Uint64(text[8:]), text[headerBytes-1]&staleFlag == 0
}

// place returns the register of an element and the value that the register needs.
func place(element []byte) (register int, rank uint8) {
	hash := murmur64A(element, seed)
	// A bit behind the end bounds the run of zeros.
	rest := hash>>registerBits | 1<<hashBits
	return int(hash % Registers), uint8(bits.TrailingZeros64(rest)) + 1
}

// Values are the values of all registers.
type Values [Registers]uint8

// Merge raises values to those of a text.
func (v *Values) Merge(text []byte) error {
	if Dense(text) {
		for i := range v {
			v[i] = max(v[i], denseGet(text, i))
		}
		return nil
	}
	return walk(text, func(first, n int, rank uint8) {
		if rank == 0 {
			return
		}
		for i := first; i < first+n; i++ {
			v[i] = max(v[i], rank)
		}
	})
}

// denseBit is the position of a register: its first byte, and its first bit in that byte.
func denseBit(register int) (at, bit int) {
	return headerBytes + register*6/8, register * 6 % 8
}

func denseGet(text []byte, register int) uint8 {
	at, bit := denseBit(register)
	v := uint16(text[at])
	if bit > 2 {
		v |= uint16(text[at+1]) << 8
	}
	return uint8(v>>bit) & 63
}

// denseSet changes a register of a dense text.
func denseSet(text []byte, register int, rank uint8) {
	at, bit := denseBit(register)
	text[at] = text[at]&^(63<<bit) | rank<<bit
	if bit > 2 {
		text[at+1] = text[at+1]&^(63>>(8-bit)) | rank>>(8-bit)
	}
}

// AppendDense appends the dense form of a text, with the same estimate.
func AppendDense(dst, text []byte) ([]byte, error) {
	if Dense(text) {
		return append(dst, text...), nil
	}
	begin := len(dst)
	dst = append(dst, make([]byte, DenseBytes)...)
	out := dst[begin:]
	copy(out, text[:headerBytes])
	out[4] = dense
	return dst, walk(text, func(first, n int, rank uint8) {
		if rank == 0 {
			return
		}
		for i := first; i < first+n; i++ {
			denseSet(out, i, rank)
		}
	})
}
