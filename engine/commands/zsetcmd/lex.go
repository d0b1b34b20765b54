package zsetcmd

import (
	"bytes"
	"sort"

	"lockstep/engine/command"
	"lockstep/engine/zset"
)

// lexBound is one end of a range of texts.
type lexBound struct {
	text []byte
	open bool // the text itself is not in the range
	// end is -1 for "before all texts", 1 for "behind all texts", else 0.
	end int
}

func (b *lexBound) parse(text []byte) bool {
	if len(text) == 0 {
		return false
	}
	switch text[0] {
	case '-', '+':
		b.open, b.end = true, 1
		if text[0] == '-' {
			b.end = -1
		}
		return len(text) == 1 || text[1] == 0
	case '(', '[':
		b.open, b.text = text[0] == '(', text[1:]
		return true
	}
	return false
}

// compare orders a text and the end: negative if the text comes first.
func (b *lexBound) compare(text []byte) int {
	if b.end != 0 {
		return -b.end
	}
	return bytes.Compare(text, b.text)
}

// lexRange is a range of texts.
type lexRange struct{ min, max lexBound }

// parse reads both ends. It answers the error itself.
func (r *lexRange) parse(c *command.Ctx, min, max []byte) bool {
	if r.min.parse(min) && r.max.parse(max) {
		return true
	}
	c.Out.Error(ErrLexRange)
	return false
}

// reaches reports whether a text is at or behind the start of the range.
func (r *lexRange) reaches(text []byte) bool {
	n := r.min.compare(text)
	return n > 0 || n == 0 && !r.min.open
}

// ends reports whether a text is behind the range.
func (r *lexRange) ends(text []byte) bool {
	n := r.max.compare(text)
	return n > 0 || n == 0 && r.max.open
}

// empty reports whether no text can be in the range.
func (r *lexRange) empty() bool {
	switch {
	case r.min.end != 0 && r.min.end == r.max.end:
		return true
	case r.min.end < 0 || r.max.end > 0:
		return false
	case r.min.end > 0 || r.max.end < 0:
		return true
	}
	n := bytes.Compare(r.min.text, r.max.text)
	return n > 0 || n == 0 && (r.min.open || r.max.open)
}

// places returns the first place in the range and the place behind the last. Such ranges are meant
// for sets in which all scores are the same. For other sets the reply has no meaning, but it equals
// Redis's reply where that is well-defined: a listpack is searched from the end at which the reply
// begins.
func (r *lexRange) places(s *zset.Set, reverse bool) (from, to int) {
	n := s.Len()
	if n == 0 || r.empty() || !r.reaches(s.At(n-1).Member) || r.ends(s.At(0).Member) {
		return 0, 0
	}
	if s.Large() {
		from = sort.Search(n, func(i int) bool { return r.reaches(s.At(i).Member) })
		return from, from + sort.Search(n-from, func(i int) bool { return r.ends(s.At(from + i).Member) })
	}
	if reverse {
		return r.placesBackward(s)
	}
	return r.placesForward(s)
}

func (r *lexRange) placesForward(s *zset.Set) (from, to int) {
	from = -1
	for i, e := range s.From(0) {
		if from < 0 && r.reaches(e.Member) {
			from = i
		}
		if from >= 0 && r.ends(e.Member) {
			return from, i
		}
	}
	return max(from, 0), s.Len()
}

func (r *lexRange) placesBackward(s *zset.Set) (from, to int) {
	to = -1
	for i, e := range s.Backward(s.Len() - 1) {
		if to < 0 && !r.ends(e.Member) {
			to = i + 1
		}
		if to >= 0 && !r.reaches(e.Member) {
			return i + 1, to
		}
	}
	return 0, max(to, 0)
}
