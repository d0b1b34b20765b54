package set

import (
	"cmp"
	"iter"
	"slices"

	"lockstep/engine/decimal"
	"lockstep/engine/pack"
)

// Inter walks over the members that all the sets have, in the order of the smallest of them (the
// first such one). There must be a set.
//
// Functions that walk over many members call each for every member that they visit or look up. A
// few results may come from millions of members, and long work must yield the processor from time
// to time.
func Inter(sets []*Set, each func()) iter.Seq[[]byte] {
	sets = bySize(sets)
	return sets[0].filtered(sets[1:], true, each)
}

// Smallest is the first of the smallest sets, or an empty one if there are no sets.
func Smallest(sets []*Set) *Set {
	if len(sets) == 0 {
		return Empty(Ints)
	}
	return slices.MinFunc(sets, func(a, b *Set) int { return cmp.Compare(a.Len(), b.Len()) })
}

// bySize sorts sets by size. A set that occurs twice occurs once afterwards, or has others of its
// size in between.
func bySize(sets []*Set) []*Set {
	sets = slices.Clone(sets)
	slices.SortStableFunc(sets, func(a, b *Set) int { return cmp.Compare(a.Len(), b.Len()) })
	return slices.Compact(sets)
}

// Diff walks over the members of s that are in none of the other sets, in the order of s.
func (s *Set) Diff(others []*Set, each func()) iter.Seq[[]byte] {
	if slices.Contains(others, s) {
		return func(func([]byte) bool) {}
	}
	// The largest set goes first, because it has most of the members to remove.
	others = bySize(others)
	slices.Reverse(others)
	sum := 0
	for _, o := range others {
		sum += o.Len()
	}
	// Either look up each member of s in the others, or each of their members in s, whichever is
	// less work.
	if s.Len()*len(others) <= sum {
		return s.filtered(others, false, each)
	}
	return func(yield func([]byte) bool) {
		gone, i := s.placesOf(others, each), 0
		for member := range s.All() {
			each()
			if gone[i/64]>>(i%64)&1 == 0 && !yield(member) {
				return
			}
			i++
		}
	}
}

// filtered walks over the members of s that are in all the others or, without all, in none of them.
func (s *Set) filtered(others []*Set, all bool, each func()) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		has := make([]func(member, record []byte) bool, len(others))
		for i, o := range others {
			has[i] = o.finder(s)
		}
	members:
		for member, record := range s.records() {
			each()
			for _, h := range has {
				each()
				if h(member, record) != all {
					continue members
				}
			}
			if !yield(member) {
				return
			}
		}
	}
}

// records walks over the members and, for a large set, their records in the tree.
func (s *Set) records() iter.Seq2[[]byte, []byte] {
	return func(yield func(member, record []byte) bool) {
		if tree, ok := s.body.(*pack.Tree); ok {
			for _, record := range tree.From(0) {
				if member, _ := pack.CutHashed(record); !yield(member, record) {
					return
				}
			}
			return
		}
		for member := range s.All() {
			if !yield(member, nil) {
				return
			}
		}
	}
}

// finder returns a function that reports whether s has a member of another set. The function must
// be called in the order of that set. Large sets share one order, so the search in s continues from
// the member before.
func (s *Set) finder(other *Set) func(member, record []byte) bool {
	tree, ok := s.body.(*pack.Tree)
	if !ok || other.Form() != Large {
		return func(member, _ []byte) bool { return s.Has(member) }
	}
	seeker := tree.Seeker()
	return func(_, record []byte) bool { return seeker.Has(record) }
}

// placesOf returns a bit for each place: whether one of the others has the member at that place.
func (s *Set) placesOf(others []*Set, each func()) []uint64 {
	places := make([]uint64, (s.Len()+63)/64)
	for _, o := range others {
		for member := range o.All() {
			each()
			if i := s.index(member); i >= 0 {
				places[i/64] |= 1 << (i % 64)
			}
		}
	}
	return places
}

// Union returns a set of the members of all the sets. Its form is the one that it gets if they are
// added one after the other.
func Union(sets []*Set, l Limits, each func()) *Set {
	// If one set is so large that only a tree can hold it, the order of adding does not matter:
	// begin with the largest set.
	var largest *Set
	for _, s := range sets {
		if s.Form() == Large && int64(s.Len()) > max(l.IntsetEntriesMax, l.PackEntriesMax) &&
			(largest == nil || s.Len() > largest.Len()) {
			largest = s
		}
	}
	sum := Empty(Ints)
	if largest != nil {
		sum = largest.Copy()
	}
	for _, s := range sets {
		if s == largest {
			continue
		}
		for member := range s.All() {
			each()
			sum.Add(member, l)
		}
	}
	return sum
}

// Collect returns a set of different members, which begins with a form. If narrow is set, a set
// with only numbers gets the form Ints at the end if they are few enough.
func Collect(members iter.Seq[[]byte], form Form, narrow bool, l Limits) *Set {
	s, numbers := Empty(form), narrow
	for member := range members {
		if numbers {
			_, numbers = decimal.Int(member)
		}
		s.append(member, l)
	}
	if numbers && s.Form() != Ints && int64(s.Len()) <= l.IntsetEntriesMax {
		s.narrow()
	}
	return s
}

// narrow converts a set of numbers to the form Ints.
func (s *Set) narrow() {
	sorted := make([]int64, 0, s.Len())
	for member := range s.All() {
		n, _ := decimal.Int(member)
		sorted = append(sorted, n)
	}
	slices.Sort(sorted)
	s.body = intsOf(sorted)
}
