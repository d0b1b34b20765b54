package command

import "math"

// ExpiryKind says how an expiry is given: in seconds or milliseconds, from now
// or as a Unix time.
type ExpiryKind uint8

const (
	ExpiryNone ExpiryKind = iota
	ExpiryEX
	ExpiryPX
	ExpiryEXAT
	ExpiryPXAT
)

func (k ExpiryKind) seconds() bool  { return k == ExpiryEX || k == ExpiryEXAT }
func (k ExpiryKind) relative() bool { return k == ExpiryEX || k == ExpiryPX }

// expiryKinds are the options of SET and GETEX that are followed by an expiry.
var expiryKinds = []struct {
	option string
	kind   ExpiryKind
}{
	{"ex", ExpiryEX}, {"px", ExpiryPX}, {"exat", ExpiryEXAT}, {"pxat", ExpiryPXAT},
}

// ExpiryKindOf is the kind of expiry that follows an option of SET or GETEX, or ExpiryNone.
func ExpiryKindOf(option []byte) ExpiryKind {
	for _, k := range expiryKinds {
		if EqualFold(option, k.option) {
			return k.kind
		}
	}
	return ExpiryNone
}

// ExpiryMs converts an expiry to a log time in milliseconds. It returns false if the time does not
// fit.
func (t *Times) ExpiryMs(kind ExpiryKind, n int64) (int64, bool) {
	if kind.seconds() {
		if n > math.MaxInt64/1000 || n < math.MinInt64/1000 {
			return 0, false
		}
		n *= 1000
	}
	switch {
	case !kind.relative():
		return t.FromDay(n), true
	case n > math.MaxInt64-t.NowMs:
		return 0, false
	}
	return n + t.NowMs, true
}

// ExpireIf is the condition under which EXPIRE, or HEXPIRE, changes anything.
type ExpireIf struct{ nx, xx, gt, lt bool }

// Take reads one word of the condition. It returns false if arg is no such word.
func (f *ExpireIf) Take(arg []byte) bool {
	switch {
	case EqualFold(arg, "nx"):
		f.nx = true
	case EqualFold(arg, "xx"):
		f.xx = true
	case EqualFold(arg, "gt"):
		f.gt = true
	case EqualFold(arg, "lt"):
		f.lt = true
	default:
		return false
	}
	return true
}

// Parse reads the condition. It answers the error itself.
func (f *ExpireIf) Parse(c *Ctx, args [][]byte) bool {
	for _, a := range args {
		if !f.Take(a) {
			c.Out.Error("ERR Unsupported option " + string(Clip(a, len(a))))
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

// Holds reports whether the expiry of a key may change from oldMs (0 for none) to newMs.
func (f *ExpireIf) Holds(oldMs, newMs int64) bool {
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
