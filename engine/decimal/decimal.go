// Package decimal reads integers as Redis does (string2ll). Each integer has only one spelling, the
// one in which it is written, and nothing else is a number. So a text may be stored as a number and
// restored unchanged.
package decimal

import "math"

// BytesMax is the length of the longest integer.
const BytesMax = len("-9223372036854775808")

// Int reads an integer of 64 bits: no plus sign, no leading zeros, no spaces, no
// "-0".
func Int(text []byte) (int64, bool) {
	negative := len(text) > 0 && text[0] == '-'
	digits := text
	if negative {
		digits = text[1:]
	}
	if len(digits) == 0 || len(digits) >= BytesMax {
		return 0, false
	}
	if digits[0] == '0' {
		return 0, len(text) == 1
	}
	var n uint64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0') // 19 digits fit
	}
	switch {
	case negative && n <= 1<<63:
		return int64(-n), true
	case !negative && n <= math.MaxInt64:
		return int64(n), true
	}
	return 0, false
}
