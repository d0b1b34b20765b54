package pack

import "encoding/binary"

// Builder makes a tree of records that come in the tree's order. Each leaf is written once, and so
// is each node above.
type Builder struct {
	tree   *Tree
	leaf   Pack
	leaves []kid
}

// NewBuilder returns a builder of a tree without records.
func NewBuilder() *Builder {
	b := &Builder{tree: &Tree{}}
	b.tree.owner.Store(new(owner))
	return b
}

// Append adds a record at the end. It is copied.
func (b *Builder) Append(record []byte) {
	if full := len(b.leaf.data)+recordBytes(record) > leafBytesMax || b.leaf.n == leafRecordsMax; full && b.leaf.n > 0 {
		b.endLeaf()
	}
	b.leaf.data = append(binary.AppendUvarint(b.leaf.data, uint64(len(record))), record...)
	b.leaf.n++
}

// endLeaf makes a leaf of the records since the last leaf.
func (b *Builder) endLeaf() {
	leaf := b.tree.newNode(Pack{append([]byte(nil), b.leaf.data...), b.leaf.n}, nil)
	b.leaves = append(b.leaves, kidOf(leaf))
	b.leaf = Pack{data: b.leaf.data[:0]}
}

// Tree returns the tree. The builder must not be used afterwards.
func (b *Builder) Tree() *Tree {
	if b.leaf.n > 0 {
		b.endLeaf()
	}
	level := b.leaves
	for len(level) > 1 {
		var above []kid
		for len(level) > 0 {
			n := min(kidsMax, len(level))
			above = append(above, kidOf(b.tree.newNode(Pack{}, append(make([]kid, 0, kidsMax+1), level[:n]...))))
			level = level[n:]
		}
		level = above
	}
	if len(level) == 1 {
		b.tree.root = level[0].node
	}
	return b.tree
}
