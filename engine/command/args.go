package command

import "math"

// parseInt reads a decimal integer in the one spelling Redis takes: no plus
// sign, no leading zeros, no spaces, no "-0".
func parseInt(b []byte) (int64, bool) {
	negative := len(b) > 0 && b[0] == '-'
	digits := b
	if negative {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	if digits[0] == '0' {
		return 0, len(b) == 1
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

// intArg reads an integer argument. It answers the error itself.
func (c *Ctx) intArg(b []byte) (int64, bool) {
	n, ok := parseInt(b)
	if !ok {
		c.Out.Error(ErrNotInteger)
	}
	return n, ok
}

// intArg32 is intArg for what Redis keeps in a C int.
func (c *Ctx) intArg32(b []byte) (int, bool) {
	n, ok := c.intArg(b)
	if !ok {
		return 0, false
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		c.Out.Error(ErrNotInt32)
		return 0, false
	}
	return int(n), true
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
