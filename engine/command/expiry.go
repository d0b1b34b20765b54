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

// unixMs turns an expiry into a Unix time in milliseconds; false: it is too far
// away for one.
func (k expiryKind) unixMs(n, nowMs int64) (int64, bool) {
	if k.seconds() {
		if n > math.MaxInt64/1000 || n < math.MinInt64/1000 {
			return 0, false
		}
		n *= 1000
	}
	if k.relative() {
		if n > math.MaxInt64-nowMs {
			return 0, false
		}
		n += nowMs
	}
	return n, true
}

// expiryArg reads the expiry of a command that takes none in the past (SET,
// SETEX, GETEX). It answers the error itself.
func (c *Ctx) expiryArg(kind expiryKind, arg []byte, command string) (int64, bool) {
	n, ok := c.intArg(arg)
	if !ok {
		return 0, false
	}
	atMs, ok := kind.unixMs(n, c.NowMs)
	if !ok || n <= 0 {
		c.Out.Error(ErrInvalidExpire(command))
		return 0, false
	}
	return atMs, true
}
