package pack

import "bytes"

// The methods in this file find records by a key instead of by a place, so they count no records on
// the way down. A key is either a prefix that no other record begins with (Get, Put, Remove), or a
// whole record, which may well be a prefix of others (PutRecord, RemoveRecord).

// key is the key to search for: its bytes and, to compare them with the front of a child, their
// beginning as a number.
type key struct {
	bytes []byte
	// whole is set if the key is a whole record.
	whole bool
	front uint64
	// mask has the bits of a front that belong to the key.
	mask uint64
	// touched has no use, except that it keeps the compiler from removing the loads of touch.
	touched byte
}

func keyOf(b []byte, whole bool) key {
	k := key{bytes: b, whole: whole, front: front(b), mask: ^uint64(0)}
	if len(b) < 8 {
		k.mask <<= 64 - 8*len(b)
	}
	return k
}

// from reports whether the key's record, if there is one, is at this record or behind it.
func (k *key) from(record []byte) bool {
	if !k.whole && len(record) > len(k.bytes) {
		record = record[:len(k.bytes)]
	}
	return bytes.Compare(record, k.bytes) <= 0
}

// kidOf returns the child that holds the key's record if there is one: the last child that begins
// at the key or before it, or the first child.
func (k *key) kidOf(n *node) int {
	kids := n.kids
	low := 0
	// Written so that no step is a branch that the processor would have to predict.
	for length := len(kids); length > 1; {
		half := length / 2
		if mid := low + half; kids[mid].front&k.mask < k.front {
			low = mid
		}
		length -= half
	}
	if low+1 < len(kids) && kids[low+1].front&k.mask == k.front {
		return k.lastOf(kids, low+1)
	}
	return low
}

// lastOf is kidOf for the case that the front of the child at a place, and maybe of more children
// behind it, equals the key's front.
func (k *key) lastOf(kids []kid, at int) int {
	low, high := at, len(kids)
	for low < high {
		mid := int(uint(low+high) / 2)
		if kids[mid].front&k.mask == k.front && k.from(kids[mid].node.first()) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low - 1
}

// in returns the position in a leaf at which the key's record is, or would be: its place, its
// offset, and the record, or nil if it is missing.
func (k *key) in(leaf *Pack) (rank, at int, record []byte) {
	k.touch(leaf.data)
	rank, at = rankIn(leaf.data, leaf.n, k.bytes)
	if rank < leaf.n {
		found, _ := next(leaf.data, at)
		if bytes.HasPrefix(found, k.bytes) && (len(found) == len(k.bytes) || !k.whole) {
			record = found
		}
	}
	return rank, at, record
}

const cacheLineBytes = 64

// touch loads a whole leaf into the processor's cache at once. A search goes from length to length,
// and would wait for one cache line after the other.
func (k *key) touch(data []byte) {
	for i := cacheLineBytes; i < len(data); i += cacheLineBytes {
		k.touched ^= data[i]
	}
}

// Get returns the record that begins with the key, or nil if there is none.
func (t *Tree) Get(begin []byte) []byte {
	k := keyOf(begin, false)
	return t.get(&k)
}

func (t *Tree) get(k *key) []byte {
	n := t.root
	if n == nil {
		return nil
	}
	for n.kids != nil {
		n = n.kids[k.kidOf(n)].node
	}
	_, _, record := k.in(&n.leaf)
	return record
}

// Put stores a record, in place of the record that has the same first keyLen bytes. It returns
// false if there was none. The record is copied.
func (t *Tree) Put(record []byte, keyLen int) (replaced bool) {
	return t.store(keyOf(record[:keyLen], false), record)
}

// PutRecord stores a record and reports whether it existed.
func (t *Tree) PutRecord(record []byte) (was bool) { return t.store(keyOf(record, true), record) }

func (t *Tree) store(k key, record []byte) (replaced bool) {
	t.plant()
	t.root = t.mine(t.root)
	right, replaced := t.put(t.root, &k, record)
	t.grow(right)
	return replaced
}

// put returns the right half of the node if it was split.
func (t *Tree) put(n *node, k *key, record []byte) (right *node, replaced bool) {
	if n.kids == nil {
		return t.putLeaf(n, k, record)
	}
	i := k.kidOf(n)
	child := t.mine(n.kids[i].node)
	right, replaced = t.put(child, k, record)
	added := 1
	if replaced {
		added = 0
	}
	return t.changed(n, i, child, right, added), replaced
}

func (t *Tree) putLeaf(n *node, k *key, record []byte) (right *node, replaced bool) {
	rank, at, old := k.in(&n.leaf)
	before := n.memoryBytes()
	if replaced = old != nil; replaced {
		n.leaf.data = splice(n.leaf.data, at, recordBytes(old), record)
	} else {
		n.leaf.data = splice(n.leaf.data, at, 0, record)
		n.leaf.n++
	}
	return t.leafChanged(n, rank, before), replaced
}

// Remove deletes the record that begins with the key, and reports whether there was one.
func (t *Tree) Remove(begin []byte) bool { return t.removeKey(keyOf(begin, false)) }

// RemoveRecord deletes a record, and reports whether it existed.
func (t *Tree) RemoveRecord(record []byte) bool { return t.removeKey(keyOf(record, true)) }

func (t *Tree) removeKey(k key) bool {
	if t.get(&k) == nil {
		return false // without copying any node
	}
	t.root = t.mine(t.root)
	t.remove(t.root, &k)
	t.shrink()
	return true
}

// remove deletes the key's record, which is under the node.
func (t *Tree) remove(n *node, k *key) {
	if n.kids == nil {
		before := n.memoryBytes()
		_, at, record := k.in(&n.leaf)
		n.leaf.data = cut(n.leaf.data, at, at+recordBytes(record))
		n.leaf.n--
		t.memory += n.memoryBytes() - before
		return
	}
	i := k.kidOf(n)
	child := t.mine(n.kids[i].node)
	t.remove(child, k)
	t.lessened(n, i, child, 1)
	t.tidy(n, i, i+1)
}
