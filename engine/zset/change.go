package zset

import "lockstep/engine/pack"

// Put gives a member a score, and reports whether the member is new. If the limits no longer admit
// the set as a small one, it becomes large. The member is copied.
func (s *Set) Put(member []byte, score float64, limits Limits) (added bool) {
	if s.Large() {
		return s.putLarge(Entry{member, score})
	}
	i, old := s.find(member)
	switch {
	case i >= 0 && old == score:
		return false
	case i >= 0:
		s.small.Delete(i, 1)
	case !limits.admit(s.Len()+1, len(member), s.small.Bytes()+pack.ScoreBytes+len(member)):
		s.grow()
		return s.putLarge(Entry{member, score})
	}
	var buf [128]byte
	record := appendOrdered(buf[:0], Entry{member, score})
	s.small.Insert(s.small.Rank(record), record)
	return i < 0
}

// nobody is an each that does nothing, for few entries.
func nobody() {}

// grow makes a small set large.
func (s *Set) grow() {
	entries := make([]Entry, 0, s.Len())
	for _, e := range s.From(0) {
		entries = append(entries, e)
	}
	large, _ := buildLarge(len(entries), func(i int) Entry { return entries[i] }, nobody)
	*s = *large
}

func (s *Set) putLarge(e Entry) (added bool) {
	var buf, orderBuf [128]byte
	indexed := appendIndexed(buf[:0], e)
	front := len(indexed) - pack.ScoreBytes
	found := s.index.Get(indexed[:front])
	if found != nil {
		_, rest := pack.CutHashed(found)
		old := indexScore(rest)
		if old == e.Score {
			return false
		}
		s.order.RemoveRecord(appendOrdered(orderBuf[:0], Entry{e.Member, old}))
		s.countZero(old, -1)
	}
	s.order.PutRecord(appendOrdered(orderBuf[:0], e))
	s.countZero(e.Score, 1)
	return !s.index.Put(indexed, front)
}

func (s *Set) countZero(score float64, n int) {
	if isMinusZero(score) {
		s.minusZeros += n
	}
}

// Remove deletes a member and reports whether it was in the set.
func (s *Set) Remove(member []byte) bool {
	rank, _, ok := s.Rank(member)
	if ok {
		s.RemoveRange(rank, 1, nobody)
	}
	return ok
}

// RemoveRange deletes count members from a place on, and calls each for every one that it has to
// look up.
func (s *Set) RemoveRange(from, count int, each func()) {
	switch {
	case count <= 0:
	case !s.Large():
		s.small.Delete(from, count)
	case count == s.Len():
		*s = *NewLarge()
	case count == 1:
		each()
		s.unindex(s.At(from))
		s.order.Delete(from, 1)
	default:
		for i, e := range s.From(from) {
			if i == from+count {
				break
			}
			each()
			s.unindex(e)
		}
		s.order.Delete(from, count)
	}
}

// unindex removes a member from a large set's index.
func (s *Set) unindex(e Entry) {
	var buf [128]byte
	s.index.Remove(pack.AppendHashed(buf[:0], e.Member))
	s.countZero(e.Score, -1)
}

// Compact makes a large set small if the limits admit it.
func (s *Set) Compact(limits Limits) {
	if !s.Large() || int64(s.Len()) > limits.EntriesMax {
		return
	}
	entries := make([]Entry, 0, s.Len())
	for _, e := range s.From(0) {
		entries = append(entries, e)
	}
	if n := Build(entries, limits, nobody); !n.Large() {
		*s = *n
	}
}

// Expand makes a small set large if it has more members than the limit.
func (s *Set) Expand(limits Limits) {
	if !s.Large() && int64(s.Len()) > limits.EntriesMax {
		s.grow()
	}
}
