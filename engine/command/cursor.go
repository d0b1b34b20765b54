package command

import (
	"bytes"
	"math"
	"strconv"
)

// parseCursor reads a cursor. A place that does not exist means one behind the end.
func parseCursor(text []byte) (Place, bool) {
	n, ok := CursorNumber(text)
	if n>>32 > math.MaxInt32 {
		return Place{Slot: math.MaxInt32}, ok
	}
	return Place{int32(n >> 32), uint32(n)}, ok
}

// Place is the position of a walk through a database: before the keys of a lock slot with at least
// this hash. Its meaning depends only on the number of lock slots and the hash seed, so it is the
// same on all replicas and after every restart. The zero place is the beginning.
type Place struct {
	Slot int32
	Hash uint32
}

// Number is the place as a number. 0 is both the beginning and the end.
func (p Place) Number() uint64 { return uint64(p.Slot)<<32 | uint64(p.Hash) }

// Cursor is the place as SCAN prints it.
func (p Place) Cursor() string { return strconv.FormatUint(p.Number(), 10) }

// CursorArg reads a cursor. It answers the error itself.
func (c *Ctx) CursorArg(text []byte) (Place, bool) {
	at, ok := parseCursor(text)
	if !ok {
		c.Out.Error(ErrInvalidCursor)
	}
	return at, ok
}

// CursorNumber reads a cursor from a client as C's strtoul would: possibly with a sign, up to a
// zero byte, and empty as zero.
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
