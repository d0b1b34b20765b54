// Package pack keeps many short byte strings (records) in little memory and in
// a definite order. The collections of package engine are made of it.
//
// A Pack is a flat run of records in one piece of memory: a length and the
// bytes, one behind the other. It holds small collections, in the order in
// which they grew, and is searched from end to end.
//
// A Tree is a counted B+tree whose leaves are packs: it finds a record by its
// place (lists) or by its bytes (everything else) in logarithmic time, counts
// what stands before it (ranks), and is cloned in no time: clones share nodes
// until one of them changes one. There is no pointer per record, so a
// collection of millions is a few ten thousand objects for the garbage
// collector.
//
// Order is byte order. What is to be sorted otherwise is written so that its
// bytes sort: a score as eight bytes (ScoreKey), a hash before the member it
// belongs to (AppendHashed). So the order of a collection is a function of
// what it holds, on every replica and after every snapshot, whatever shape the
// tree has. The hash is not keyed: records with equal hashes cost no more than
// others, for the tree goes on comparing behind it.
//
// Neither type takes locks. Records that are returned point into the
// structure: they are valid until it changes and must not be changed, nor be
// passed to a method that changes the structure they point into.
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

// AppendHashed appends the front of a hashed record: the member's hash, its
// length and itself. No such front is the beginning of another one, so it can
// be searched for (Tree.Find) whatever follows it in the record.
func AppendHashed(dst, member []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, Hash(member))
	dst = binary.AppendUvarint(dst, uint64(len(member)))
	return append(dst, member...)
}

// CutHashed splits a hashed record into the member and what follows it.
func CutHashed(record []byte) (member, rest []byte) {
	n, width := binary.Uvarint(record[HashBytes:])
	record = record[HashBytes+width:]
	return record[:n:n], record[n:]
}

// ScoreBytes is the length of a score at the front of a record.
const ScoreBytes = 8

// AppendScore appends a score so that byte order is the order of scores. It
// must not be NaN; -0 becomes 0, with which it is equal.
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
