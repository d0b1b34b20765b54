package set

import (
	"iter"
	"slices"
	"strconv"
	"unsafe"

	"lockstep/engine"
	"lockstep/engine/decimal"
	"lockstep/engine/pack"
)

// Set is a set of byte strings. Make one with New or Empty.
type Set struct {
	// body is *ints, *pack.Pack or *pack.Tree.
	body any
}

const (
	setBytes  = int(unsafe.Sizeof(Set{}))
	packBytes = int(unsafe.Sizeof(pack.Pack{}))
	treeBytes = int(unsafe.Sizeof(pack.Tree{}))
)

// Empty returns an empty set of a form.
func Empty(form Form) *Set {
	switch form {
	case Ints:
		return &Set{newInts()}
	case Large:
		return &Set{&pack.Tree{}}
	}
	return &Set{&pack.Pack{}}
}

// OfInts returns a set of sorted numbers. It has the form Ints unless there are too many numbers.
func OfInts(sorted []int64, l Limits) *Set {
	s := &Set{intsOf(sorted)}
	if int64(len(sorted)) > l.IntsetEntriesMax {
		s.enlarge()
	}
	return s
}

// New returns an empty set for count members, of which some may be equal. first is the first of
// them.
func New(first []byte, count int, l Limits) *Set {
	if _, ok := decimal.Int(first); ok && int64(count) <= l.IntsetEntriesMax {
		return Empty(Ints)
	}
	if int64(count) <= l.PackEntriesMax {
		return Empty(Packed)
	}
	return Empty(Large)
}

// Pack returns a set of form Packed. It returns false if a member occurs twice. Members are copied.
func Pack(members [][]byte) (*Set, bool) {
	packed, seen := &pack.Pack{}, make(map[string]bool, len(members))
	for _, member := range members {
		if seen[string(member)] {
			return nil, false
		}
		seen[string(member)] = true
		packed.Append(member)
	}
	return &Set{packed}, true
}

// Form is how the set is stored.
func (s *Set) Form() Form {
	switch s.body.(type) {
	case *pack.Tree:
		return Large
	case *ints:
		return Ints
	}
	return Packed
}

// Encoding is Redis's name for the form.
func (s *Set) Encoding() string { return s.Form().String() }

// Len is the number of members.
func (s *Set) Len() int {
	switch b := s.body.(type) {
	case *pack.Tree:
		return b.Len()
	case *ints:
		return b.len()
	}
	return s.body.(*pack.Pack).Len()
}

// Clone implements engine.Object. It takes no longer for a large set.
func (s *Set) Clone() engine.Object { return s.Copy() }

// Copy is Clone with the right type.
func (s *Set) Copy() *Set {
	switch b := s.body.(type) {
	case *pack.Tree:
		return &Set{b.Clone()}
	case *ints:
		return &Set{b.clone()}
	}
	packed := s.body.(*pack.Pack).Clone()
	return &Set{&packed}
}

// MemoryBytes implements engine.Object.
func (s *Set) MemoryBytes() int {
	switch b := s.body.(type) {
	case *pack.Tree:
		return setBytes + treeBytes + b.MemoryBytes()
	case *ints:
		return setBytes + b.memoryBytes()
	}
	return setBytes + packBytes + s.body.(*pack.Pack).MemoryBytes()
}

// Has reports whether the set has a member.
func (s *Set) Has(member []byte) bool {
	if tree, ok := s.body.(*pack.Tree); ok {
		var buf [recordRoom]byte
		return tree.Get(pack.AppendHashed(buf[:0], member)) != nil
	}
	return s.index(member) >= 0
}

// index is the place of a member, or -1 if it is not in the set.
func (s *Set) index(member []byte) int {
	switch b := s.body.(type) {
	case *pack.Tree:
		var buf [recordRoom]byte
		if record := pack.AppendHashed(buf[:0], member); b.Get(record) != nil {
			return b.Rank(record)
		}
		return -1
	case *ints:
		if n, ok := decimal.Int(member); ok {
			if i, found := b.find(n); found {
				return i
			}
		}
		return -1
	}
	return s.body.(*pack.Pack).Index(member, 0, 1)
}

// recordRoom is enough for the records of most members.
const recordRoom = 96

// Add adds a member, which is copied, and reports whether it is new.
func (s *Set) Add(member []byte, l Limits) bool {
	switch b := s.body.(type) {
	case *pack.Tree:
		return addLarge(b, member)
	case *ints:
		n, ok := decimal.Int(member)
		if !ok {
			s.addToInts(b, member, l)
			return true
		}
		return s.addNumber(b, n, l)
	case *pack.Pack:
		if b.Index(member, 0, 1) >= 0 {
			return false
		}
		s.addPacked(b, member, l)
	}
	return true
}

// append adds a member that is not in the set.
func (s *Set) append(member []byte, l Limits) {
	if packed, ok := s.body.(*pack.Pack); ok {
		s.addPacked(packed, member, l)
		return
	}
	s.Add(member, l)
}

func addLarge(tree *pack.Tree, member []byte) bool {
	var buf [recordRoom]byte
	record := pack.AppendHashed(buf[:0], member)
	return tree.Get(record) == nil && !tree.PutRecord(record)
}

func (s *Set) addNumber(x *ints, n int64, l Limits) bool {
	i, found := x.find(n)
	if found {
		return false
	}
	x.insert(i, n)
	if int64(x.len()) > l.IntsetEntriesMax {
		s.enlarge()
	}
	return true
}

// addToInts adds a member that is not a number to a set of numbers.
func (s *Set) addToInts(x *ints, member []byte, l Limits) {
	if int64(x.longestText()) > l.PackValueBytesMax || !fits(x.len(), member, l) {
		addLarge(s.enlarge(), member)
		return
	}
	packed := &pack.Pack{}
	for member := range s.All() {
		packed.Append(member)
	}
	packed.Append(member)
	s.body = packed
}

// addPacked adds a member that is not in the set.
func (s *Set) addPacked(packed *pack.Pack, member []byte, l Limits) {
	if fits(packed.Len(), member, l) {
		packed.Append(member)
		return
	}
	addLarge(s.enlarge(), member)
}

// fits reports whether a pack of n members may take one more.
func fits(n int, member []byte, l Limits) bool {
	return int64(n) < l.PackEntriesMax && int64(len(member)) <= l.PackValueBytesMax
}

// Expect gives the set the form that it needs before count members are added, of which some may be
// equal or in the set already. It reports whether that changed the set.
func (s *Set) Expect(count int, l Limits) bool {
	if !s.Outgrown(count, l) {
		return false
	}
	s.enlarge()
	return true
}

// Outgrown reports whether Expect would change the set.
func (s *Set) Outgrown(count int, l Limits) bool {
	switch s.Form() {
	case Ints:
		return int64(count) > l.IntsetEntriesMax
	case Packed:
		return int64(count) > l.PackEntriesMax
	}
	return false
}

// Remove removes a member and reports whether it was in the set.
func (s *Set) Remove(member []byte) bool {
	if tree, ok := s.body.(*pack.Tree); ok {
		var buf [recordRoom]byte
		return tree.Remove(pack.AppendHashed(buf[:0], member))
	}
	i := s.index(member)
	if i < 0 {
		return false
	}
	switch b := s.body.(type) {
	case *ints:
		b.remove(i)
	case *pack.Pack:
		b.Delete(i, 1)
	}
	return true
}

// At returns the member at a place, 0 being the first. buf is for the text of a number.
func (s *Set) At(i int, buf []byte) []byte {
	switch b := s.body.(type) {
	case *pack.Tree:
		member, _ := pack.CutHashed(b.At(i))
		return member
	case *ints:
		return strconv.AppendInt(buf[:0], b.at(i), 10)
	}
	return s.body.(*pack.Pack).At(i)
}

// RemoveAt removes the members at ascending places, and calls each for every one of them. A small
// form is rebuilt at once.
func (s *Set) RemoveAt(places []int, each func()) {
	switch b := s.body.(type) {
	case *pack.Tree:
		for _, i := range slices.Backward(places) {
			each()
			b.Delete(i, 1)
		}
	case *ints:
		s.body = intsOf(slices.Collect(b.but(places)))
	case *pack.Pack:
		rest := &pack.Pack{}
		for member := range s.But(places, each) {
			rest.Append(member)
		}
		s.body = rest
	}
}

// Retain is RemoveAt for the case that most members are removed: those that stay are added to a new
// set, which may have a smaller form. It calls each for every member of the old set.
func (s *Set) Retain(gone []int, l Limits, each func()) {
	form := Packed
	if s.Form() == Ints {
		form = Ints
	}
	*s = *Collect(s.But(gone, each), form, false, l)
}

// All walks over the members in the set's order.
func (s *Set) All() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		switch b := s.body.(type) {
		case *pack.Tree:
			for _, record := range b.From(0) {
				if member, _ := pack.CutHashed(record); !yield(member) {
					return
				}
			}
		case *ints:
			var buf [decimal.BytesMax]byte
			for i := range b.len() {
				if !yield(strconv.AppendInt(buf[:0], b.at(i), 10)) {
					return
				}
			}
		case *pack.Pack:
			for _, member := range b.From(0) {
				if !yield(member) {
					return
				}
			}
		}
	}
}

// But walks over the members that are not at the given, ascending places. It calls each for every
// member.
func (s *Set) But(places []int, each func()) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := 0
		for member := range s.All() {
			each()
			if len(places) > 0 && places[0] == i {
				places = places[1:]
			} else if !yield(member) {
				return
			}
			i++
		}
	}
}

// Numbers returns the members of a set of form Ints.
func (s *Set) Numbers() []int64 { return slices.Collect(s.body.(*ints).but(nil)) }

// enlarge converts a small form to a tree, and returns the tree.
func (s *Set) enlarge() *pack.Tree {
	b := NewBuilder()
	for member := range s.All() {
		b.Add(member)
	}
	s.body = b.tree
	return b.tree
}
