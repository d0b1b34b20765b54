package set

import (
	"bytes"

	"lockstep/engine/pack"
)

// Builder makes a set of form Large. Members that come in the order of such a set cost one step
// each.
type Builder struct {
	tree *pack.Tree
	// last is the greatest record. record is the buffer for the next one.
	last, record []byte
}

// NewBuilder returns a builder of an empty set.
func NewBuilder() *Builder { return &Builder{tree: &pack.Tree{}} }

// Add adds a member, which is copied, and reports whether it is new.
func (b *Builder) Add(member []byte) bool {
	b.record = pack.AppendHashed(b.record[:0], member)
	switch order := bytes.Compare(b.record, b.last); {
	case order > 0:
		b.tree.Append(b.record)
		b.last, b.record = b.record, b.last
		return true
	case order == 0:
		return false
	}
	return !b.tree.PutRecord(b.record)
}

// Set returns the set. The builder must not be used afterwards.
func (b *Builder) Set() *Set { return &Set{b.tree} }
