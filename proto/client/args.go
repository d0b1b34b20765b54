package client

import (
	"bytes"

	"lockstep/engine"
	"lockstep/engine/decimal"
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

func parseInt(b []byte) (int64, bool) { return decimal.Int(b) }
