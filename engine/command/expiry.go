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
func (t *Times) expiryMs(kind expiryKind, n int64) (int64, bool) {
	if kind.seconds() {
		if n > math.MaxInt64/1000 || n < math.MinInt64/1000 {
			return 0, false
		}
		n *= 1000
	}
	switch {
	case !kind.relative():
		return t.fromDay(n), true
	case n > math.MaxInt64-t.NowMs:
		return 0, false
	}
	return n + t.NowMs, true
}

// expireIf is the condition under which EXPIRE, or HEXPIRE, changes anything.
type expireIf struct{ nx, xx, gt, lt bool }

// take reads one word of the condition; false: it is none.
func (f *expireIf) take(arg []byte) bool {
	switch {
	case equalFold(arg, "nx"):
		f.nx = true
	case equalFold(arg, "xx"):
		f.xx = true
	case equalFold(arg, "gt"):
		f.gt = true
	case equalFold(arg, "lt"):
		f.lt = true
	default:
		return false
	}
	return true
}

// parse reads the condition. It answers the error itself.
func (f *expireIf) parse(c *Ctx, args [][]byte) bool {
	for _, a := range args {
		if !f.take(a) {
			c.Out.Error("ERR Unsupported option " + string(clip(a, len(a))))
			return false
		}
	}
	switch {
	case f.nx && (f.xx || f.gt || f.lt):
		c.Out.Error(ErrExpireNX)
		return false
	case f.gt && f.lt:
		c.Out.Error(ErrExpireGTLT)
		return false
	}
	return true
}

// holds tells whether a key that is gone at oldMs (0: never) may be gone at
// newMs instead.
func (f *expireIf) holds(oldMs, newMs int64) bool {
	switch {
	case f.nx && oldMs != 0, f.xx && oldMs == 0:
		return false
	case f.gt && (oldMs == 0 || newMs <= oldMs):
		return false
	case f.lt && oldMs != 0 && newMs >= oldMs:
		return false
	}
	return true
}
