package command

import (
	"math"

	"lockstep/engine/decimal"
)

func parseInt(b []byte) (int64, bool) { return decimal.Int(b) }

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
