package command

import (
	"math"

	"lockstep/engine/decimal"
)

// ParseInt reads an integer as Redis does: no sign except a minus, no spaces, no leading zeros.
func ParseInt(b []byte) (int64, bool) { return decimal.Int(b) }

// IntArg reads an integer argument. It answers the error itself.
func (c *Ctx) IntArg(b []byte) (int64, bool) {
	n, ok := ParseInt(b)
	if !ok {
		c.Out.Error(ErrNotInteger)
	}
	return n, ok
}

// IntArg32 is IntArg for a number that is a C int in Redis.
func (c *Ctx) IntArg32(b []byte) (int, bool) {
	n, ok := c.IntArg(b)
	if !ok {
		return 0, false
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		c.Out.Error(ErrNotInt32)
		return 0, false
	}
	return int(n), true
}

// BoolInt is 1 for true and 0 for false.
func BoolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
