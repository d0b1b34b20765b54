package client

import (
	"bytes"
	"strconv"

	"lockstep/engine"
	"lockstep/engine/hashslot"
)

// databases is the number of databases a client can select.
const databases = engine.Databases

// slotOf is a key's hash slot.
func slotOf(key []byte) int { return hashslot.Of(key) }

// fold is b in lower case, of ASCII letters alone: other bytes mean nothing here,
// and come back in errors as they are.
func fold(b []byte) string {
	lower := bytes.Clone(b)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return string(lower)
}

// parseInt reads an integer in the one spelling Redis takes: no plus sign, no
// leading zeros, no "-0".
func parseInt(b []byte) (int64, bool) {
	digits := b
	if len(b) > 0 && b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) == 0 || digits[0] < '0' || digits[0] > '9' || (digits[0] == '0' && len(b) > 1) {
		return 0, false
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	return n, err == nil
}
