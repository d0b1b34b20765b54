package set

import (
	"cmp"
	"iter"
	"slices"

	"lockstep/engine/decimal"
)

// Inter walks over the members that all the sets have, in the order of the
// smallest of them (the first such one). There must be a set.
func Inter(sets []*Set) iter.Seq[[]byte] {
	sets = bySize(sets)
	return sets[0].filtered(sets[1:], true)
}

// Smallest is the first of the smallest sets; an empty one if there is none.
func Smallest(sets []*Set) *Set {
	if len(sets) == 0 {
		return Empty(Ints)
	}
	return slices.MinFunc(sets, func(a, b *Set) int { return cmp.Compare(a.Len(), b.Len()) })
}

// bySize sorts sets by size. One that is there twice is there once afterwards,
// or has others of its size in between.
func bySize(sets []*Set) []*Set {
	sets = slices.Clone(sets)
	slices.SortStableFunc(sets, func(a, b *Set) int { return cmp.Compare(a.Len(), b.Len()) })
	return slices.Compact(sets)
}

// Diff walks over the members of s that none of the other sets has, in the
// order of s.
func (s *Set) Diff(others []*Set) iter.Seq[[]byte] {
	if slices.Contains(others, s) {
		return func(func([]byte) bool) {}
	}
	// The largest goes first: it has most of what is to be taken away.
	others = bySize(others)
	slices.Reverse(others)
	sum := 0
	for _, o := range others {
		sum += o.Len()
	}
	// Either each member of s is looked for in the others, or each of theirs in
	// s, whichever is less.
	if s.Len()*len(others) <= sum {
		return s.filtered(others, false)
	}
	return s.But(s.placesOf(others))
}

// filtered walks over the members that all the others have, or none of them.
func (s *Set) filtered(others []*Set, all bool) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
	members:
		for member := range s.All() {
			for _, o := range others {
				if o.Has(member) != all {
					continue members
				}
			}
			if !yield(member) {
				return
			}
		}
	}
}

// placesOf returns the places of those members that one of the others has.
func (s *Set) placesOf(others []*Set) []int {
	var places []int
	for _, o := range others {
		for member := range o.All() {
			if i := s.index(member); i >= 0 {
				places = append(places, i)
			}
		}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// Union returns a set of the members of all the sets. Its form is the one it
// gets when they are added one after the other.
func Union(sets []*Set, l Limits) *Set {
	// With a set that nothing but a tree can hold, the order of adding does not
	// matter: begin with the largest one.
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
			sum.Add(member, l)
		}
	}
	return sum
}

// Collect returns a set of different members. With narrow, numbers alone
// become a set of form Ints at the end if they are few enough; form is the one
// to begin with.
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

// narrow gives a set of numbers the form Ints.
func (s *Set) narrow() {
	sorted := make([]int64, 0, s.Len())
	for member := range s.All() {
		n, _ := decimal.Int(member)
		sorted = append(sorted, n)
	}
	slices.Sort(sorted)
	s.body = intsOf(sorted)
}
