package command

import (
	"bytes"
	"math"
	"strconv"
)

// parseCursor reads a cursor. A place that there is not is one behind the end.
func parseCursor(text []byte) (place, bool) {
	n, ok := CursorNumber(text)
	if n>>32 > math.MaxInt32 {
		return place{slot: math.MaxInt32}, ok
	}
	return place{int32(n >> 32), uint32(n)}, ok
}

// place is where a walk through a database stands: before the keys of a lock
// slot with at least this hash. Its meaning depends on nothing but the number
// of lock slots and the hash seed, so it is the same on all replicas and after
// every restart. The zero place is the beginning.
type place struct {
	slot int32
	hash uint32
}

// number is the place as a number, 0 both the beginning and the end.
func (p place) number() uint64 { return uint64(p.slot)<<32 | uint64(p.hash) }

// cursor is the place as SCAN prints it.
func (p place) cursor() string { return strconv.FormatUint(p.number(), 10) }

// cursorArg reads a cursor. It answers the error itself.
func (c *Ctx) cursorArg(text []byte) (place, bool) {
	at, ok := parseCursor(text)
	if !ok {
		c.Out.Error(ErrInvalidCursor)
	}
	return at, ok
}

// CursorNumber reads a cursor that a client sent as C's strtoul would: with a
// sign, if need be, up to a zero byte, and empty as zero.
func CursorNumber(text []byte) (cursor uint64, ok bool) {
	text, _, _ = bytes.Cut(text, []byte{0})
	if len(text) == 0 {
		return 0, true
	}
	digits := text
	negative := text[0] == '-'
	if negative || text[0] == '+' {
		digits = text[1:]
	}
	n, err := strconv.ParseUint(string(digits), 10, 64)
	if negative {
		n = -n
	}
	return n, err == nil
}
