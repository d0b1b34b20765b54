package command

import (
	"math"
	"math/big"
)

// timeoutOf reads the timeout of a blocking command, in seconds, and returns milliseconds. It
// returns false if the text is not a number. It computes in the 80 bits of a long double, as Redis
// does.
func timeoutOf(text []byte) (ms *big.Float, ok bool) {
	seconds, ok := ParseExtended(text)
	if !ok {
		return nil, false
	}
	return new(big.Float).SetPrec(extendedPrec).Mul(seconds.F, big.NewFloat(1000)), true
}

// isNegative reports whether a timeout is below zero. A timeout of less than a millisecond below
// zero is rounded up to zero.
func isNegative(ms *big.Float) bool { return ms.Cmp(big.NewFloat(-1)) <= 0 }

// TimeoutArg checks the timeout of a blocking command, in seconds. It answers the
// error itself.
func (c *Ctx) TimeoutArg(arg []byte) bool {
	ms, ok := timeoutOf(arg)
	if !ok {
		c.Out.Error(ErrTimeoutNotFloat)
		return false
	}
	latestMs := new(big.Float).SetPrec(extendedPrec).SetInt64(math.MaxInt64 - c.NowMs)
	switch {
	case ms.Cmp(latestMs) > 0:
		c.Out.Error(ErrTimeoutRange)
	case isNegative(ms):
		c.Out.Error(ErrTimeoutNegative)
	default:
		return true
	}
	return false
}
