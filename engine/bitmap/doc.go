// Package bitmap computes on strings as rows of bits, as Redis's bitmap commands do: bit 0 is the
// highest bit of the first byte. Bits beyond the end of a text count as zero. Only Combine makes a
// new text, and the package keeps no text.
//
// Long texts are read eight bytes at a time. A long text must not occupy a processor for long. So
// every function that may take long has a parameter rest, which it calls between parts of
// RestBytes.
package bitmap

// RestBytes is the number of bytes between two rests: some tenths of a millisecond.
const RestBytes = 1 << 20

// Range is a range of bits, First and Last included. It is empty if First is greater than Last.
type Range struct{ First, Last int64 }

// Whole is the range of all bits of a text of n bytes.
func Whole(n int) Range { return Range{0, int64(n)*8 - 1} }

// Bit returns one bit.
func Bit(text []byte, at int64) int {
	i := at >> 3
	if i >= int64(len(text)) {
		return 0
	}
	return int(text[i] >> (7 - at&7) & 1)
}

// WithBit returns the byte that contains the bit at, with that bit set to bit. at counts over the
// whole text.
func WithBit(b byte, at int64, bit int) byte {
	mask := byte(1) << (7 - at&7)
	if bit == 0 {
		return b &^ mask
	}
	return b | mask
}

// edges are the bytes of a range with masks of the bits in its first and last
// byte.
func (r Range) edges() (first, last int64, firstMask, lastMask byte) {
	return r.First >> 3, r.Last >> 3, 0xff >> (r.First & 7), 0xff << (7 - r.Last&7)
}
