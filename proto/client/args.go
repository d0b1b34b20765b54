package client

import (
	"bytes"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands/streamcmd"
	"lockstep/engine/decimal"
	"lockstep/engine/hashslot"
)

// databases is the number of databases a client can select.
const databases = engine.Databases

// slotOf is a key's hash slot.
func slotOf(key []byte) int { return hashslot.Of(key) }

// Fold is b in lower case, for ASCII letters only. Other bytes mean nothing here,
// and appear unchanged in errors.
func Fold(b []byte) string {
	lower := bytes.Clone(b)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return string(lower)
}

func parseInt(b []byte) (int64, bool) { return decimal.Int(b) }

func fold(b []byte) string { return Fold(b) }

// ParseTimeout reads a time that is not negative. refusal is the error's text, or "".
func ParseTimeout(arg []byte) (n int64, refusal string) {
	n, ok := parseInt(arg)
	switch {
	case !ok:
		return 0, streamcmd.ErrReadTimeout
	case n < 0:
		return 0, command.ErrTimeoutNegative
	}
	return n, ""
}
