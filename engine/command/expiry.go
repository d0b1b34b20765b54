package command

import "math"

// expiryKind says how an expiry is given: in seconds or milliseconds, from now
// or as a Unix time.
type expiryKind uint8

const (
	expiryNone expiryKind = iota
	expiryEX
	expiryPX
	expiryEXAT
	expiryPXAT
)

func (k expiryKind) seconds() bool  { return k == expiryEX || k == expiryEXAT }
func (k expiryKind) relative() bool { return k == expiryEX || k == expiryPX }

// expiryKinds are the options of SET and GETEX that are followed by an expiry.
var expiryKinds = []struct {
	option string
	kind   expiryKind
}{
	{"ex", expiryEX}, {"px", expiryPX}, {"exat", expiryEXAT}, {"pxat", expiryPXAT},
}

func expiryKindOf(option []byte) expiryKind {
	for _, k := range expiryKinds {
		if equalFold(option, k.option) {
			return k.kind
		}
	}
	return expiryNone
}

// expiryMs turns an expiry into a log time in milliseconds; false: it is too far
// away for one.
func (c *Ctx) expiryMs(kind expiryKind, n int64) (int64, bool) {
	if kind.seconds() {
		if n > math.MaxInt64/1000 || n < math.MinInt64/1000 {
			return 0, false
		}
		n *= 1000
	}
	switch {
	case !kind.relative():
		return c.fromDay(n), true
	case n > math.MaxInt64-c.NowMs:
		return 0, false
	}
	return n + c.NowMs, true
}

// expiryArg reads the expiry of a command that takes none in the past (SET,
// SETEX, GETEX). It answers the error itself.
func (c *Ctx) expiryArg(kind expiryKind, arg []byte, command string) (int64, bool) {
	n, ok := c.intArg(arg)
	if !ok {
		return 0, false
	}
	atMs, ok := c.expiryMs(kind, n)
	if !ok || n <= 0 {
		c.Out.Error(ErrInvalidExpire(command))
		return 0, false
	}
	return atMs, true
}
