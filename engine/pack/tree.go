package pack

import (
	"bytes"
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

const (
	// leafBytesMax is the size at which a leaf of several records is split.
	// Changes move half of it on average, and a search reads half of it.
	leafBytesMax = 1 << 10
	// leafRecordsMax bounds the steps of a search in a leaf of tiny records.
	leafRecordsMax = 128
	// kidsMax is the greatest number of children of an inner node.
	kidsMax = 32
)

// Tree is a counted B+tree of records; see the package comment. The zero Tree
// is empty.
type Tree struct {
	root *node
	// owner marks the nodes that only this tree refers to and may change. It is nil after Clone,
	// which several readers may call at once.
	owner  atomic.Pointer[owner]
	memory int
}

// owner is compared by address. It has a size, so that addresses differ.
type owner struct{ _ byte }

// node is a leaf, with the records, or an inner node, with kids.
type node struct {
	owner *owner
	leaf  Pack
	kids  []kid
}

// kid is a subtree: its number of records, and the first eight bytes of its first record (zero
// bytes if the record is shorter).
type kid struct {
	node  *node
	count int
	front uint64
}

const (
	nodeBytes = int(unsafe.Sizeof(node{}))
	kidBytes  = int(unsafe.Sizeof(kid{}))
)

// Len is the number of records.
func (t *Tree) Len() int {
	if t.root == nil {
		return 0
	}
	return t.root.count()
}

// MemoryBytes is the approximate memory, without the struct itself. Clones that share nodes each
// count them.
func (t *Tree) MemoryBytes() int { return t.memory }

// Clone returns a tree with the same records. It takes no longer for a large tree. Either tree may
// be changed afterwards.
func (t *Tree) Clone() *Tree {
	t.owner.Store(nil)
	return &Tree{root: t.root, memory: t.memory}
}

func (n *node) count() int {
	if n.kids == nil {
		return n.leaf.n
	}
	sum := 0
	for i := range n.kids {
		sum += n.kids[i].count
	}
	return sum
}

func (n *node) memoryBytes() int {
	return nodeBytes + cap(n.leaf.data) + kidBytes*cap(n.kids)
}

// first is the first record under the node.
func (n *node) first() []byte {
	for n.kids != nil {
		n = n.kids[0].node
	}
	record, _ := next(n.leaf.data, 0)
	return record
}

// front is the beginning of a record as a number that sorts as its bytes do.
func front(record []byte) uint64 {
	if len(record) >= 8 {
		return binary.BigEndian.Uint64(record)
	}
	var padded [8]byte
	copy(padded[:], record)
	return binary.BigEndian.Uint64(padded[:])
}

func kidOf(n *node) kid { return kid{n, n.count(), n.front()} }

// front is the front of the first record under the node, which has at least one record.
func (n *node) front() uint64 {
	if n.kids != nil {
		return n.kids[0].front
	}
	record, _ := next(n.leaf.data, 0)
	return front(record)
}

// At returns record i.
func (t *Tree) At(i int) []byte {
	n, i := t.leafAt(i)
	return n.leaf.At(i)
}

// leafAt returns the leaf that holds record i, and the record's place in it.
func (t *Tree) leafAt(i int) (*node, int) {
	n := t.root
	for n.kids != nil {
		k, rest := n.kidAt(i)
		n, i = n.kids[k].node, rest
	}
	return n, i
}

// kidAt returns the child that holds record i, and the record's place in that child. A place behind
// the last record is in the last child.
func (n *node) kidAt(i int) (k, rest int) {
	for k = range n.kids {
		if i < n.kids[k].count {
			return k, i
		}
		if k == len(n.kids)-1 {
			break
		}
		i -= n.kids[k].count
	}
	return k, i
}

// Rank is the number of records before the probe, in a tree in byte order.
func (t *Tree) Rank(probe []byte) int {
	n := t.root
	if n == nil {
		return 0
	}
	rank, want := 0, front(probe)
	for n.kids != nil {
		k := n.kidFor(probe, want)
		for _, before := range n.kids[:k] {
			rank += before.count
		}
		n = n.kids[k].node
	}
	return rank + n.leaf.Rank(probe)
}

// kidFor returns the last child whose first record is before the probe, or the first child.
func (n *node) kidFor(probe []byte, want uint64) int {
	low, high := 1, len(n.kids)
	for low < high {
		mid := int(uint(low+high) / 2)
		k := &n.kids[mid]
		before := k.front < want
		if k.front == want {
			before = bytes.Compare(k.node.first(), probe) < 0
		}
		if before {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low - 1
}
