// Package hash is the value of a key that holds fields, each with a value of its own and,
// optionally, an expiry.
//
// A small hash is a pack of field, value, field, value, ..., in the order in which the fields were
// added, like Redis's listpack. Once a field has been given an expiry there is a third record per
// field, and the fields are in the order of their expiries, those without one at the end (Redis's
// listpackex).
//
// A large hash is a tree of fields in the order of their hashes, with one record each:
//
//	field (pack.AppendHashed)  expiry, Unix time in ms or 0: uvarint  value
//
// It also has a tree of the fields that expire, in the order of their times: time u64 big-endian,
// field. A hash becomes large when it exceeds the Limits, and stays large.
//
// The package has no clock. A field that has expired is still there until Purge removes it. A
// reader passes the time as an argument.
//
// Fields and values that are returned point into the hash and are valid until it changes.
package hash

import (
	"encoding/binary"
	"unsafe"

	"lockstep/engine"
	"lockstep/engine/pack"
)

// Limits say which hash is small: one with at most EntriesMax fields, and no field and no value of
// more than ValueBytesMax bytes.
type Limits struct{ EntriesMax, ValueBytesMax int64 }

// packBytesMax is the greatest size of a small hash, whatever the limits.
const packBytesMax = 1 << 30

// Hash is a hash; see the package comment. New makes one.
type Hash struct {
	small pack.Pack
	// timed is true if small has a record of the expiry behind each value.
	timed bool
	// large is nil for a small hash.
	large *large
}

// large are the trees of a large hash.
type large struct {
	fields *pack.Tree
	// times has the fields that expire.
	times *pack.Tree
}

// New returns an empty hash.
func New() *Hash { return &Hash{} }

// NewLarge returns an empty hash that is large from the beginning.
func NewLarge() *Hash { return &Hash{large: &large{&pack.Tree{}, &pack.Tree{}}} }

// Clone implements engine.Object.
func (h *Hash) Clone() engine.Object {
	if h.large != nil {
		return &Hash{large: &large{h.large.fields.Clone(), h.large.times.Clone()}}
	}
	return &Hash{small: h.small.Clone(), timed: h.timed}
}

const (
	hashBytes  = int(unsafe.Sizeof(Hash{}))
	largeBytes = int(unsafe.Sizeof(large{}) + 2*unsafe.Sizeof(pack.Tree{}))
)

// MemoryBytes implements engine.Object.
func (h *Hash) MemoryBytes() int {
	if h.large != nil {
		return hashBytes + largeBytes + h.large.fields.MemoryBytes() + h.large.times.MemoryBytes()
	}
	return hashBytes + h.small.MemoryBytes()
}

// Encoding is Redis's name for the hash's encoding.
func (h *Hash) Encoding() string {
	switch {
	case h.large != nil:
		return "hashtable"
	case h.timed:
		return "listpackex"
	}
	return "listpack"
}

// Large reports whether the hash is large.
func (h *Hash) Large() bool { return h.large != nil }

// Timed implements engine.Perishable. It reports whether a field has an expiry or, in a small hash,
// had one.
func (h *Hash) Timed() bool {
	if h.large != nil {
		return h.large.times.Len() > 0
	}
	return h.timed
}

// step is the number of records per field in a small hash.
func (h *Hash) step() int {
	if h.timed {
		return 3
	}
	return 2
}

// Len is the number of fields, including those that have expired.
func (h *Hash) Len() int {
	if h.large != nil {
		return h.large.fields.Len()
	}
	return h.small.Len() / h.step()
}

// Field is a field with its value and its expiry, a Unix time in ms, 0 for none.
type Field struct {
	Name, Value []byte
	ExpireAtMs  int64
}

// GoneAt reports whether the field has expired.
func (f *Field) GoneAt(nowMs int64) bool { return f.ExpireAtMs != 0 && f.ExpireAtMs <= nowMs }

// Get returns a field, expired or not. It returns false if there is no such field.
func (h *Hash) Get(name []byte) (Field, bool) {
	if h.large == nil {
		i := h.small.Index(name, 0, h.step())
		if i < 0 {
			return Field{}, false
		}
		return h.smallAt(i), true
	}
	var buf [frontBytes]byte
	record := h.large.fields.Get(pack.AppendHashed(buf[:0], name))
	if record == nil {
		return Field{}, false
	}
	return cutField(record), true
}

// frontBytes is room for the front of the record of nearly any field.
const frontBytes = 96

// smallAt returns the field whose records begin at record i.
func (h *Hash) smallAt(i int) (f Field) {
	for at, record := range h.small.From(i) {
		switch at - i {
		case 0:
			f.Name = record
			continue
		case 1:
			f.Value = record
			if h.timed {
				continue
			}
		case 2:
			f.ExpireAtMs = readTime(record)
		}
		break
	}
	return f
}

// At returns the field behind rank others.
func (h *Hash) At(rank int) Field {
	if h.large != nil {
		return cutField(h.large.fields.At(rank))
	}
	return h.smallAt(rank * h.step())
}

// cutField decodes a large hash's record.
func cutField(record []byte) Field {
	name, rest := pack.CutHashed(record)
	at, width := binary.Uvarint(rest)
	return Field{name, rest[width:], int64(at)}
}

// appendField encodes it.
func appendField(dst []byte, f Field) []byte {
	dst = pack.AppendHashed(dst, f.Name)
	dst = binary.AppendUvarint(dst, uint64(f.ExpireAtMs))
	return append(dst, f.Value...)
}

// readTime reads the third record of a field of a small hash: an empty record or a time.
func readTime(record []byte) int64 {
	if len(record) == 0 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(record))
}

func appendTime(dst []byte, atMs int64) []byte {
	if atMs == 0 {
		return dst
	}
	return binary.BigEndian.AppendUint64(dst, uint64(atMs))
}
