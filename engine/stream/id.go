package stream

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"strconv"
)

// ID is the name of an entry: a time in milliseconds and a number within it.
type ID struct{ Ms, Seq uint64 }

// IDBytes is the length of an ID in a record.
const IDBytes = 16

// MaxID is the greatest ID.
var MaxID = ID{math.MaxUint64, math.MaxUint64}

// Compare orders IDs.
func (id ID) Compare(other ID) int {
	if c := cmp.Compare(id.Ms, other.Ms); c != 0 {
		return c
	}
	return cmp.Compare(id.Seq, other.Seq)
}

// IsZero reports whether the ID is 0-0, which no entry has.
func (id ID) IsZero() bool { return id == ID{} }

// Next is the ID right after this one. It returns 0-0 and false if there is none.
func (id ID) Next() (ID, bool) {
	switch {
	case id.Seq < math.MaxUint64:
		return ID{id.Ms, id.Seq + 1}, true
	case id.Ms < math.MaxUint64:
		return ID{id.Ms + 1, 0}, true
	}
	return ID{}, false
}

// Previous is the ID right before this one. It returns the greatest ID and false if there is none.
func (id ID) Previous() (ID, bool) {
	switch {
	case id.Seq > 0:
		return ID{id.Ms, id.Seq - 1}, true
	case id.Ms > 0:
		return ID{id.Ms - 1, math.MaxUint64}, true
	}
	return MaxID, false
}

// AppendText appends the ID as clients write it.
func (id ID) AppendText(dst []byte) []byte {
	dst = strconv.AppendUint(dst, id.Ms, 10)
	return strconv.AppendUint(append(dst, '-'), id.Seq, 10)
}

func (id ID) String() string { return string(id.AppendText(nil)) }

// AppendKey appends the ID as IDBytes bytes that sort as IDs do.
func (id ID) AppendKey(dst []byte) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, id.Ms), id.Seq)
}

// IDOf reads the ID at the front of a record.
func IDOf(record []byte) ID {
	return ID{binary.BigEndian.Uint64(record), binary.BigEndian.Uint64(record[8:])}
}

// sharedBytes is the length of the longest common prefix of two keys.
func sharedBytes(a, b []byte) int {
	if bytes.Equal(a[:IDBytes], b[:IDBytes]) {
		return IDBytes
	}
	n := 0
	for a[n] == b[n] {
		n++
	}
	return n
}
