// Package zset holds sorted sets: members, each with a score, in the order of (score, member).
//
// A small set is one pack of records (score, member). A search goes from end to end, as in Redis's
// listpack. A large set, like Redis's skiplist, is two trees: the same records in the same order,
// and an index from the member's hash and the member to the score. A set becomes large when it has
// too many members or too long a one, and stays large; only Build and Compact decide anew.
//
// Zero has a sign. The sign does not affect the order. A small set does not keep it, because a
// listpack does not; a large one keeps it in the index.
//
// The order of members, and of a scan, depends only on the content of the set and on whether it is
// large.
package zset

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math"

	"lockstep/engine"
	"lockstep/engine/pack"
)

// Limits say which set is small: one with at most EntriesMax members, none of which is longer than
// MemberBytesMax.
type Limits struct{ EntriesMax, MemberBytesMax int64 }

// packBytesMax is the greatest size of a small set, whatever the limits: that of a listpack.
const packBytesMax = 1 << 30

func (l Limits) admit(entries, memberBytes, packBytes int) bool {
	return int64(entries) <= l.EntriesMax && int64(memberBytes) <= l.MemberBytesMax && packBytes <= packBytesMax
}

// Entry is a member with its score, which is never NaN.
type Entry struct {
	Member []byte
	Score  float64
}

// Compare orders entries like a set.
func Compare(a, b Entry) int {
	switch {
	case a.Score < b.Score:
		return -1
	case a.Score > b.Score:
		return 1
	}
	return bytes.Compare(a.Member, b.Member)
}

// Set is a sorted set. Members that are returned point into it. They are valid until it changes,
// and must not be passed to a method that changes it.
type Set struct {
	small pack.Pack
	// order and index are the trees of a large set. They are nil in a small one.
	order, index *pack.Tree
	// minusZeros counts the members of a large set whose score is -0.
	minusZeros int
}

// New returns an empty small set.
func New() *Set { return &Set{} }

// NewLarge returns an empty large set.
func NewLarge() *Set { return &Set{order: &pack.Tree{}, index: &pack.Tree{}} }

// setBytes is the approximate memory of a Set itself.
const setBytes = 64

// Clone implements engine.Object.
func (s *Set) Clone() engine.Object {
	if !s.Large() {
		return &Set{small: s.small.Clone()}
	}
	return &Set{order: s.order.Clone(), index: s.index.Clone(), minusZeros: s.minusZeros}
}

// MemoryBytes implements engine.Object.
func (s *Set) MemoryBytes() int {
	if !s.Large() {
		return setBytes + s.small.MemoryBytes()
	}
	return setBytes + s.order.MemoryBytes() + s.index.MemoryBytes()
}

// Large reports whether the set has the large form.
func (s *Set) Large() bool { return s.order != nil }

// Encoding is Redis's name for the form.
func (s *Set) Encoding() string {
	if s.Large() {
		return "skiplist"
	}
	return "listpack"
}

// Len is the number of members.
func (s *Set) Len() int {
	if s.Large() {
		return s.order.Len()
	}
	return s.small.Len()
}

// appendOrdered appends the record (score, member).
func appendOrdered(dst []byte, e Entry) []byte {
	return append(pack.AppendScore(dst, e.Score), e.Member...)
}

func appendIndexed(dst []byte, e Entry) []byte {
	return binary.BigEndian.AppendUint64(pack.AppendHashed(dst, e.Member), math.Float64bits(e.Score))
}

func indexScore(rest []byte) float64 { return math.Float64frombits(binary.BigEndian.Uint64(rest)) }

func isMinusZero(f float64) bool { return f == 0 && math.Signbit(f) }

// entry decodes an ordered record.
func (s *Set) entry(record []byte) Entry {
	score, member := pack.CutScore(record)
	if score == 0 && s.minusZeros > 0 {
		score, _ = s.Score(member)
	}
	return Entry{member, score}
}

// find returns the place and the score of a member of a small set. The place is -1 if there is no
// such member.
func (s *Set) find(member []byte) (int, float64) {
	for i, record := range s.small.From(0) {
		if len(record) == pack.ScoreBytes+len(member) && bytes.Equal(record[pack.ScoreBytes:], member) {
			score, _ := pack.CutScore(record)
			return i, score
		}
	}
	return -1, 0
}

// Score returns a member's score. It returns false if there is no such member.
func (s *Set) Score(member []byte) (float64, bool) {
	if !s.Large() {
		i, score := s.find(member)
		return score, i >= 0
	}
	var buf [128]byte
	record := s.index.Get(pack.AppendHashed(buf[:0], member))
	if record == nil {
		return 0, false
	}
	_, rest := pack.CutHashed(record)
	return indexScore(rest), true
}

// Rank returns a member's place, 0 being the first, and its score.
func (s *Set) Rank(member []byte) (rank int, score float64, ok bool) {
	if !s.Large() {
		rank, score = s.find(member)
		return rank, score, rank >= 0
	}
	if score, ok = s.Score(member); !ok {
		return 0, 0, false
	}
	var buf [128]byte
	return s.order.Rank(appendOrdered(buf[:0], Entry{member, score})), score, true
}

// At returns the member at a place.
func (s *Set) At(i int) Entry {
	if s.Large() {
		return s.entry(s.order.At(i))
	}
	return s.entry(s.small.At(i))
}

// From walks over places and members from place i on. The set must not change during the walk.
func (s *Set) From(i int) iter.Seq2[int, Entry] {
	if s.Large() {
		return s.entries(s.order.From(i))
	}
	return s.entries(s.small.From(i))
}

// Backward walks over places and members from place i down to 0.
func (s *Set) Backward(i int) iter.Seq2[int, Entry] {
	if s.Large() {
		return s.entries(s.order.Backward(i))
	}
	return s.entries(s.small.Backward(i))
}

func (s *Set) entries(records iter.Seq2[int, []byte]) iter.Seq2[int, Entry] {
	return func(yield func(int, Entry) bool) {
		for i, record := range records {
			if !yield(i, s.entry(record)) {
				return
			}
		}
	}
}

// Below is the number of members whose score is less than the bound or, if equal is set, not
// greater.
func (s *Set) Below(bound float64, equal bool) int {
	var buf [pack.ScoreBytes]byte
	probe := pack.AppendScore(buf[:0], bound)
	if equal {
		// No score has all bits set, so there is a next number.
		binary.BigEndian.PutUint64(probe, binary.BigEndian.Uint64(probe)+1)
	}
	if s.Large() {
		return s.order.Rank(probe)
	}
	return s.small.Rank(probe)
}

// Scan walks over the members of a large set in the order of their hashes, from a hash on.
func (s *Set) Scan(from uint32) iter.Seq2[uint32, Entry] {
	return func(yield func(uint32, Entry) bool) {
		for _, record := range s.index.From(s.index.Rank(binary.BigEndian.AppendUint32(nil, from))) {
			member, rest := pack.CutHashed(record)
			if !yield(binary.BigEndian.Uint32(record), Entry{member, indexScore(rest)}) {
				return
			}
		}
	}
}

// Build returns a set of entries, which must be different and in the order of Compare. It is small
// if the limits admit it. each is called for every entry: there may be millions, and long work must
// yield the processor from time to time.
func Build(sorted []Entry, limits Limits, each func()) *Set {
	longest, total := 0, 0
	for _, e := range sorted {
		longest, total = max(longest, len(e.Member)), total+pack.ScoreBytes+len(e.Member)
	}
	if limits.admit(len(sorted), longest, total) {
		s := New()
		var buf []byte
		for _, e := range sorted {
			buf = appendOrdered(buf[:0], e)
			s.small.Append(buf)
		}
		return s
	}
	s, _ := buildLarge(len(sorted), func(i int) Entry { return sorted[i] }, each)
	return s
}
