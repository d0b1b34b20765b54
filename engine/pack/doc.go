// Package pack keeps many short byte strings (records) in little memory and in a definite order.
// The collections of package engine use it.
//
// A Pack is a flat sequence of records in one piece of memory: for each record its length and its
// bytes. It holds small collections, in the order in which they grew. A search goes from end to
// end.
//
// A Tree is a counted B+tree whose leaves are packs. It finds a record by its place (lists) or by
// its bytes (everything else) in logarithmic time, and counts the records before it (ranks).
// Cloning takes constant time: clones share nodes until one of them changes a node. There is no
// pointer per record, so a collection of millions of records is only some ten thousand objects for
// the garbage collector.
//
// Order is byte order. Records that must be sorted in another way are encoded so that their bytes
// sort: a score as eight bytes (AppendScore), a hash before the member that it belongs to
// (AppendHashed). So the order of a collection is a function of its content, on every replica and
// after every snapshot, whatever the shape of the tree. The hash is not keyed: records with equal
// hashes cost no more than others, because the tree also compares the bytes behind the hash.
//
// Neither type takes locks. Records that are returned point into the structure. They are valid
// until it changes. They must not be changed, nor be passed to a method that changes the structure
// they point into.
package pack

import (
	"encoding/binary"
	"math"

	"github.com/cespare/xxhash/v2"
)

// HashBytes is the length of the hash at the front of a hashed record.
const HashBytes = 4

// Hash is the hash by which members of large sets and hashes are ordered.
func Hash(member []byte) uint32 { return uint32(xxhash.Sum64(member) >> 32) }

// AppendHashed appends the front of a hashed record: the member's hash, its length and its bytes.
// No such front is a prefix of another one, so Tree.Get can search for it, whatever follows it in
// the record.
func AppendHashed(dst, member []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, Hash(member))
	dst = binary.AppendUvarint(dst, uint64(len(member)))
	return append(dst, member...)
}

// CutHashed splits a hashed record into the member and the bytes after it.
func CutHashed(record []byte) (member, rest []byte) {
	n, width := binary.Uvarint(record[HashBytes:])
	record = record[HashBytes+width:]
	return record[:n:n], record[n:]
}

// ScoreBytes is the length of a score at the front of a record.
const ScoreBytes = 8

// AppendScore appends a score so that byte order is the order of scores. The score must not be NaN.
// -0 becomes 0, because the two are equal.
func AppendScore(dst []byte, score float64) []byte {
	if score == 0 {
		score = 0 // the sign of -0 would sort it apart
	}
	bits := math.Float64bits(score + 0)
	if bits>>63 != 0 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	return binary.BigEndian.AppendUint64(dst, bits)
}

// CutScore splits a record that begins with AppendScore's form.
func CutScore(record []byte) (score float64, rest []byte) {
	bits := binary.BigEndian.Uint64(record)
	if bits>>63 != 0 {
		bits &^= 1 << 63
	} else {
		bits = ^bits
	}
	return math.Float64frombits(bits), record[ScoreBytes:]
}
