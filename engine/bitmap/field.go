package bitmap

import "math"

// Field is an integer of Bits bits that begins at bit At. It has 1 to 64 bits if it is Signed, in
// two's complement, otherwise 1 to 63.
type Field struct {
	Signed bool
	Bits   int
	At     int64
}

// End is the number of bytes that a text needs to contain the field.
func (f Field) End() int64 { return (f.At+int64(f.Bits)-1)>>3 + 1 }

// Get returns the field's number. An unsigned field's number is never negative.
func (f Field) Get(text []byte) int64 {
	var n uint64
	for i := range f.bytes() {
		var b byte
		if at := f.At>>3 + int64(i); at < int64(len(text)) {
			b = text[at]
		}
		n = f.shiftIn(n, i, b)
	}
	if f.Signed {
		return int64(n<<(64-f.Bits)) >> (64 - f.Bits)
	}
	return int64(n)
}

// bytes is the number of bytes that contain the field, 1 to 9.
func (f Field) bytes() int { return int(f.At&7+int64(f.Bits)+7) >> 3 }

// shiftIn appends to n the field's bits in its byte number i.
func (f Field) shiftIn(n uint64, i int, b byte) uint64 {
	from, to := f.span(i)
	return n<<(to-from) | uint64(b<<from>>from>>(8-to))
}

// span is the first bit of the field in its byte number i, and the bit behind its last one: 0 to 8.
func (f Field) span(i int) (from, to int) {
	if i == 0 {
		from = int(f.At & 7)
	}
	return from, min(8, int(f.At&7)+f.Bits-8*i)
}

// Set writes a number into the field. Bits beyond the field's are cut off. The field must lie
// within text.
func (f Field) Set(text []byte, n int64) {
	left := f.Bits
	for i := range f.bytes() {
		from, to := f.span(i)
		left -= to - from
		mask := byte(0xff) >> from &^ (0xff >> to)
		b := &text[f.At>>3+int64(i)]
		*b = *b&^mask | byte(uint64(n)>>left<<(8-to))&mask
	}
}

// Overflow says what happens to a number that does not fit into the field.
type Overflow uint8

// The ways of BITFIELD.
const (
	Wrap Overflow = iota
	Saturate
	Fail
)

// Add returns the new content of the field for n+delta. It returns false if the sum does not fit,
// and then nothing may be changed. If delta is not 0, n must fit into the field. An unsigned
// field's number is taken as unsigned: negative numbers are very large.
func (f Field) Add(n, delta int64, overflow Overflow) (sum int64, ok bool) {
	least, greatest, out := f.least(), f.greatest(), 0
	if f.Signed {
		out = f.signedOut(n, delta)
	} else {
		out = f.unsignedOut(uint64(n), delta)
	}
	switch {
	case out == 0:
		return n + delta, true
	case overflow == Fail:
		return 0, false
	case overflow == Wrap:
		return f.wrapped(n + delta), true
	case out > 0:
		return greatest, true
	}
	return least, true
}

// least is the least number that fits into the field.
func (f Field) least() int64 {
	if f.Signed {
		return -f.greatest() - 1
	}
	return 0
}

func (f Field) greatest() int64 {
	if f.Signed {
		return math.MaxInt64 >> (64 - f.Bits)
	}
	return int64(uint64(math.MaxUint64) >> (64 - f.Bits))
}

// signedOut reports whether n+delta is too great (1) or too small (-1).
//
// The room on either side is computed with wrap-around, as in Redis. So a number far below a
// field's least one counts as too great, and SET with OVERFLOW SAT turns it into the greatest.
func (f Field) signedOut(n, delta int64) int {
	least, greatest := f.least(), f.greatest()
	above, below := greatest-n, least-n
	switch {
	case n > greatest, f.Bits != 64 && delta > above, n >= 0 && delta > 0 && delta > above:
		return 1
	case n < least, f.Bits != 64 && delta < below, n < 0 && delta < 0 && delta < below:
		return -1
	}
	return 0
}

// unsignedOut is signedOut for an unsigned field.
func (f Field) unsignedOut(n uint64, delta int64) int {
	greatest := uint64(f.greatest())
	switch {
	case n > greatest, delta > 0 && delta > int64(greatest-n):
		return 1
	case delta < 0 && delta < -int64(n):
		return -1
	}
	return 0
}

// wrapped cuts a number down to the bits of the field.
func (f Field) wrapped(n int64) int64 {
	if f.Signed {
		return n << (64 - f.Bits) >> (64 - f.Bits)
	}
	return int64(uint64(n) << (64 - f.Bits) >> (64 - f.Bits))
}
