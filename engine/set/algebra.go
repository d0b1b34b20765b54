package set

import (
	"cmp"
	"iter"
	"slices"

	"lockstep/engine/decimal"
	"lockstep/engine/pack"
)

// Inter walks over the members that all the sets have, in the order of the
// smallest of them (the first such one). There must be a set.
//
// What goes over many members calls each for every one that it goes over or looks
// for: few may come of millions, and whoever holds a processor for long is asked
// to leave it to others at times.
func Inter(sets []*Set, each func()) iter.Seq[[]byte] {
	sets = bySize(sets)
	return sets[0].filtered(sets[1:], true, each)
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
func (s *Set) Diff(others []*Set, each func()) iter.Seq[[]byte] {
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

// filtered walks over the members that all the others have, or none of them.
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

// records walks over the members and, of a large set, their records in the tree.
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

// finder returns a function that reports whether s has a member of another set. It is
// called in the order of that set. Large sets share one order, so s is searched from
// where the last member was.
func (s *Set) finder(other *Set) func(member, record []byte) bool {
	tree, ok := s.body.(*pack.Tree)
	if !ok || other.Form() != Large {
		return func(member, _ []byte) bool { return s.Has(member) }
	}
	seeker := tree.Seeker()
	return func(_, record []byte) bool { return seeker.Has(record) }
}

// placesOf returns a bit for each place: whether one of the others has the member.
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

// Union returns a set of the members of all the sets. Its form is the one it
// gets when they are added one after the other.
func Union(sets []*Set, l Limits, each func()) *Set {
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
			each()
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
