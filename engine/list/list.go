// Package list is the value of a list: texts in an order of their own.
//
// A small list is packed (pack.Pack). A large list is a counted tree (pack.Tree), which finds an
// element by its place in logarithmic time and is cloned in constant time. Redis calls the forms
// listpack and quicklist, and OBJECT ENCODING shows them, so a list changes its form when Redis 7.2
// does:
//
//   - Before elements are added, Reserve makes a packed list large if it would become too long.
//   - After elements were removed or replaced, Shrink packs a large list of at most half the limit.
//
// The limit is list-max-listpack-size: a number of elements or, if it is negative, a number of
// bytes, those of the listpack in which Redis would store the list. The list keeps count of that
// length, so neither decision walks the list. Redis divides a quicklist into nodes, and packs it
// again only when a single node is left. Its nodes depend on every push and pop in the past, and do
// not survive a snapshot. Here only the length decides, so a list may be packed a few pops earlier.
//
// Places count from 0 and must be those of elements. Texts that are returned or yielded are valid
// until the list changes. Texts of numbers are valid only until the next one is read with the same
// Buffer or by the same walk. Texts must not be passed to a method that changes the same list,
// unless the method allows it.
package list

import (
	"iter"
	"unsafe"

	"lockstep/engine"
	"lockstep/engine/pack"
)

// List is a list. Use New.
type List struct {
	small pack.Pack
	large *pack.Tree // nil if the elements are in small
	// elementBytes is the length of the elements in a Redis listpack.
	elementBytes int
}

const (
	listBytes = int(unsafe.Sizeof(List{}))
	treeBytes = int(unsafe.Sizeof(pack.Tree{}))
	// listpackFrameBytes is the length of an empty listpack.
	listpackFrameBytes = 7
)

// New returns an empty list.
func New() *List { return &List{} }

// NewLarge returns an empty list in the large form.
func NewLarge() *List { return &List{large: &pack.Tree{}} }

// Clone implements engine.Object.
func (l *List) Clone() engine.Object {
	c := &List{elementBytes: l.elementBytes}
	if l.large != nil {
		c.large = l.large.Clone()
	} else {
		c.small = l.small.Clone()
	}
	return c
}

// MemoryBytes implements engine.Object.
func (l *List) MemoryBytes() int {
	if l.large != nil {
		return listBytes + treeBytes + l.large.MemoryBytes()
	}
	return listBytes + l.small.MemoryBytes()
}

// Len is the number of elements.
func (l *List) Len() int {
	if l.large != nil {
		return l.large.Len()
	}
	return l.small.Len()
}

// Packed reports whether the list is in the small form.
func (l *List) Packed() bool { return l.large == nil }

// Encoding is Redis's name for the form.
func (l *List) Encoding() string {
	if l.Packed() {
		return "listpack"
	}
	return "quicklist"
}

// ListpackBytes is the length of the Redis listpack of all elements.
func (l *List) ListpackBytes() int { return listpackFrameBytes + l.elementBytes }

// At returns element i.
func (l *List) At(i int, buf *Buffer) []byte { return buf.text(l.record(i)) }

func (l *List) record(i int) []byte {
	if l.large != nil {
		return l.large.At(i)
	}
	return l.small.At(i)
}

// From walks over the elements and their places from element i on.
func (l *List) From(i int) iter.Seq2[int, []byte] { return texts(l.recordsFrom(i)) }

// Backward walks over the elements and their places from element i down to 0.
func (l *List) Backward(i int) iter.Seq2[int, []byte] { return texts(l.recordsBackward(i)) }

func (l *List) recordsFrom(i int) iter.Seq2[int, []byte] {
	if l.large != nil {
		return l.large.From(i)
	}
	return l.small.From(i)
}

func (l *List) recordsBackward(i int) iter.Seq2[int, []byte] {
	if l.large != nil {
		return l.large.Backward(i)
	}
	return l.small.Backward(i)
}

func texts(records iter.Seq2[int, []byte]) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		var buf Buffer
		for i, record := range records {
			if !yield(i, buf.text(record)) {
				return
			}
		}
	}
}
