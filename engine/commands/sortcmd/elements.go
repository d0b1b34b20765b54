package sortcmd

import (
	"iter"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/list"
	"lockstep/engine/set"
	"lockstep/engine/zset"
)

// sortSource is the value that SORT sorts.
type sortSource struct {
	kind engine.Kind
	n    int
	// from walks from an element on. If the elements have an order of their own (ordered), backward
	// walks in the other direction.
	ordered  bool
	from     func(i int) iter.Seq[[]byte]
	backward func(i int) iter.Seq[[]byte]
}

// sortSourceOf returns the source of an entry. A nil entry is an empty list. It returns false if
// the entry cannot be sorted.
func sortSourceOf(e *engine.Entry) (s sortSource, ok bool) {
	if e == nil {
		return sortSource{kind: engine.KindList, ordered: true}, true
	}
	s.kind = e.Kind()
	switch s.kind {
	case engine.KindList:
		l := e.Object().(*list.List)
		s.n, s.ordered = l.Len(), true
		s.from = func(i int) iter.Seq[[]byte] { return second(l.From(i)) }
		s.backward = func(i int) iter.Seq[[]byte] { return second(l.Backward(i)) }
	case engine.KindSet:
		members := e.Object().(*set.Set)
		s.n = members.Len()
		s.from = func(int) iter.Seq[[]byte] { return members.All() }
	case engine.KindSortedSet:
		z := e.Object().(*zset.Set)
		s.n, s.ordered = z.Len(), true
		s.from = func(i int) iter.Seq[[]byte] { return membersOf(z.From(i)) }
		s.backward = func(i int) iter.Seq[[]byte] { return membersOf(z.Backward(i)) }
	default:
		return s, false
	}
	return s, true
}

// second is a walk without the indexes.
func second(walk iter.Seq2[int, []byte]) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, text := range walk {
			if !yield(text) {
				return
			}
		}
	}
}

// membersOf is a walk over members, without indexes and scores.
func membersOf(walk iter.Seq2[int, zset.Entry]) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, e := range walk {
			if !yield(e.Member) {
				return
			}
		}
	}
}

// sortElement is an element and the value that it is sorted by.
type sortElement struct {
	text  []byte
	score float64
	// key is what ALPHA compares. It is nil if there is no value; such an element comes first.
	key []byte
}

// window returns copies of the elements from first up to end, in their present order. If descending
// is set and the elements have an order, it counts from the end.
func (s *sortSource) window(c *command.Ctx, first, end int, descending bool) []sortElement {
	count := end - first
	if count <= 0 {
		return nil
	}
	skip, walk := 0, s.from
	switch {
	case s.ordered && descending:
		walk, first = s.backward, s.n-1-first
	case !s.ordered:
		skip = first
	}
	all := make([]sortElement, 0, count)
	texts := make([]byte, 0, 8*count)
	for text := range walk(first) {
		c.Item()
		if skip > 0 {
			skip--
			continue
		}
		at := len(texts)
		texts = append(texts, text...)
		all = append(all, sortElement{text: texts[at:len(texts):len(texts)]})
		if len(all) == count {
			break
		}
	}
	return all
}
