package command

import (
	"math"
	"math/big"
)

// timeoutArg reads the timeout of a blocking command, in seconds, 0: none, and
// tells whether it is one. Redis computes it in the 80 bits of a long double,
// and so it is here. It answers the error itself.
func (c *Ctx) timeoutArg(arg []byte) bool {
	seconds, ok := parseExtended(arg)
	if !ok {
		c.Out.Error(ErrTimeoutNotFloat)
		return false
	}
	ms := new(big.Float).SetPrec(extendedPrec).Mul(seconds.f, big.NewFloat(1000))
	latestMs := new(big.Float).SetPrec(extendedPrec).SetInt64(math.MaxInt64 - c.NowMs)
	switch {
	case ms.Cmp(latestMs) > 0:
		c.Out.Error(ErrTimeoutRange)
	case ms.Cmp(big.NewFloat(-1)) <= 0:
		// Up to a millisecond below zero is rounded up to none.
		c.Out.Error(ErrTimeoutNegative)
	default:
		return true
	}
	return false
}

// roundedTimeoutArg is timeoutArg as the commands on sorted sets have read timeouts
// from the beginning: rounded to 64 bits first. That makes -0.001 negative, which
// for Redis is none. It can be mended with a cluster version alone, for it decides
// what an entry does.
func (c *Ctx) roundedTimeoutArg(arg []byte) bool {
	seconds, ok := parseExtended(arg)
	if !ok {
		c.Out.Error(ErrTimeoutNotFloat)
		return false
	}
	sec, _ := seconds.f.Float64()
	switch ms := math.Ceil(sec * 1000); {
	case ms > math.MaxInt64-float64(c.NowMs):
		c.Out.Error(ErrTimeoutRange)
	case ms < 0:
		c.Out.Error(ErrTimeoutNegative)
	default:
		return true
	}
	return false
}
