package bitmap

import (
	"encoding/binary"
	"math/bits"
)

// Count returns the number of ones in a range, which must lie within text.
func Count(text []byte, r Range, rest func()) int64 {
	if r.First > r.Last {
		return 0
	}
	first, last, firstMask, lastMask := r.edges()
	if first == last {
		return int64(bits.OnesCount8(text[first] & firstMask & lastMask))
	}
	n := bits.OnesCount8(text[first]&firstMask) + bits.OnesCount8(text[last]&lastMask)
	return int64(n) + countBytes(text[first+1:last], rest)
}

func countBytes(text []byte, rest func()) int64 {
	n := int64(0)
	for len(text) > RestBytes {
		n += countStretch(text[:RestBytes])
		text = text[RestBytes:]
		rest()
	}
	return n + countStretch(text)
}

func countStretch(text []byte) int64 {
	n := 0
	for len(text) >= 8 {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(text))
		text = text[8:]
	}
	for _, b := range text {
		n += bits.OnesCount8(b)
	}
	return int64(n)
}

// First returns the place of the first bit of a value, 0 or 1, in a range, which must lie within
// text. It returns -1 if there is none.
func First(text []byte, r Range, bit int, rest func()) int64 {
	if r.First > r.Last {
		return -1
	}
	// The search is for a one. Zeros are ones of the inverted text.
	turn := byte(0)
	if bit == 0 {
		turn = 0xff
	}
	first, last, firstMask, lastMask := r.edges()
	for at := first; at <= last; {
		b := text[at] ^ turn
		if at == first {
			b &= firstMask
		}
		if at == last {
			b &= lastMask
		}
		if b != 0 {
			return at*8 + int64(bits.LeadingZeros8(b))
		}
		at++
		at += skip(text[at:max(at, last)], turn, rest)
	}
	return -1
}

// skip returns the number of bytes at the beginning of text that equal turn.
func skip(text []byte, turn byte, rest func()) int64 {
	word := uint64(turn) * 0x0101010101010101
	at := 0
	for at+8 <= len(text) && binary.LittleEndian.Uint64(text[at:]) == word {
		if at += 8; at%RestBytes == 0 {
			rest()
		}
	}
	for at < len(text) && text[at] == turn {
		at++
	}
	return int64(at)
}
