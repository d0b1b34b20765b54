package pack

// mine returns a node that only this tree refers to: the node itself or a copy.
func (t *Tree) mine(n *node) *node {
	o := t.owner.Load()
	if o == nil {
		o = new(owner)
		t.owner.Store(o)
	}
	if n.owner == o {
		return n
	}
	c := &node{owner: o}
	if n.kids != nil {
		c.kids = append(make([]kid, 0, kidsMax+1), n.kids...)
	} else {
		c.leaf = n.leaf.Clone()
	}
	t.memory += c.memoryBytes() - n.memoryBytes()
	return c
}

// newNode makes a node of this tree's own.
func (t *Tree) newNode(leaf Pack, kids []kid) *node {
	n := &node{owner: t.owner.Load(), leaf: leaf, kids: kids}
	t.memory += n.memoryBytes()
	return n
}

// Append adds a record at the end.
func (t *Tree) Append(record []byte) { t.Insert(t.Len(), record) }

// Insert adds a record as record i, and moves the records behind it. The record is copied.
func (t *Tree) Insert(i int, record []byte) {
	t.plant()
	t.root = t.mine(t.root)
	t.grow(t.insert(t.root, i, record))
}

// plant gives an empty tree its first leaf.
func (t *Tree) plant() {
	if t.root == nil {
		t.root = &node{}
		t.memory = t.root.memoryBytes()
	}
}

// Replace gives record i other bytes. If order counts they must sort like the old ones.
func (t *Tree) Replace(i int, record []byte) {
	t.root = t.mine(t.root)
	t.grow(t.replace(t.root, i, record))
}

// grow gives the tree another level if the root was split.
func (t *Tree) grow(right *node) {
	if right == nil {
		return
	}
	kids := append(make([]kid, 0, kidsMax+1), kidOf(t.root), kidOf(right))
	t.root = t.newNode(Pack{}, kids)
}

// insert returns the right half of the node if it was split.
func (t *Tree) insert(n *node, i int, record []byte) *node {
	if n.kids == nil {
		before := n.memoryBytes()
		n.leaf.Insert(i, record)
		return t.leafChanged(n, i, before)
	}
	k, i := n.kidAt(i)
	child := t.mine(n.kids[k].node)
	return t.changed(n, k, child, t.insert(child, i, record), 1)
}

func (t *Tree) replace(n *node, i int, record []byte) *node {
	if n.kids == nil {
		before := n.memoryBytes()
		n.leaf.Replace(i, record)
		return t.leafChanged(n, i, before)
	}
	k, i := n.kidAt(i)
	child := t.mine(n.kids[k].node)
	return t.changed(n, k, child, t.replace(child, i, record), 0)
}

// changed records that a child was changed, and that it was split if right is not nil. It returns
// the right half of the node if the node itself was split.
func (t *Tree) changed(n *node, k int, child, right *node, added int) *node {
	if right == nil {
		n.kids[k] = kid{child, n.kids[k].count + added, child.front()}
		return nil
	}
	n.kids[k] = kidOf(child)
	last := k == len(n.kids)-1
	n.kids = append(n.kids, kidOf(right))
	if !last {
		copy(n.kids[k+2:], n.kids[k+1:])
		n.kids[k+1] = kidOf(right)
	}
	t.gather(n, k)
	if len(n.kids) <= kidsMax {
		return nil
	}
	// A tree that only grows at its end leaves full nodes behind.
	half := len(n.kids) / 2
	if last {
		half = len(n.kids) - 1
	}
	tail := append(make([]kid, 0, kidsMax+1), n.kids[half:]...)
	clear(n.kids[half:])
	n.kids = n.kids[:half]
	return t.newNode(Pack{}, tail)
}

// gather merges the halves of child k, which was split, with small neighbours. Otherwise records
// that come one by one behind a full leaf would each get a leaf of their own.
func (t *Tree) gather(n *node, k int) {
	t.merge(n, k+1)
	if k > 0 {
		t.merge(n, k-1)
	}
}

// leafChanged splits a leaf that was changed around record i if it is too long. before is the
// memory of the leaf before the change.
func (t *Tree) leafChanged(n *node, i, before int) *node {
	var right Pack
	if n.leaf.n > 1 && (len(n.leaf.data) > leafBytesMax || n.leaf.n > leafRecordsMax) {
		right = n.leaf.split(i)
	}
	t.memory += n.memoryBytes() - before
	if right.n == 0 {
		return nil
	}
	return t.newNode(right, nil)
}

// split cuts off the second half of a pack, measured in bytes. A change at either end leaves the
// other side full: a pack that grows at one end is packed densely.
func (p *Pack) split(changed int) Pack {
	half, at := 0, 0
	switch changed {
	case p.n - 1:
		half = p.n - 1
	case 0:
		half = 1
	}
	if half == 0 {
		for half < p.n-1 && at < len(p.data)/2 {
			_, at = next(p.data, at)
			half++
		}
	}
	half = max(half, 1)
	at = seek(p.data, half)
	right := Pack{append([]byte(nil), p.data[at:]...), p.n - half}
	p.data = append([]byte(nil), p.data[:at]...)
	p.n = half
	return right
}

// Delete removes count records from record i on.
func (t *Tree) Delete(i, count int) {
	if count == 0 {
		return
	}
	t.root = t.mine(t.root)
	t.delete(t.root, i, count)
	t.shrink()
}

// shrink removes levels that a deletion has left with one node, or with none.
func (t *Tree) shrink() {
	for len(t.root.kids) == 1 {
		t.memory -= t.root.memoryBytes()
		t.root = t.root.kids[0].node
	}
	if len(t.root.kids) == 0 && t.root.leaf.n == 0 {
		t.root, t.memory = nil, 0
	}
}

func (t *Tree) delete(n *node, i, count int) {
	if n.kids == nil {
		before := n.memoryBytes()
		n.leaf.Delete(i, count)
		t.memory += n.memoryBytes() - before
		return
	}
	k, i := n.kidAt(i)
	from := k
	for ; count > 0; k++ {
		here := min(count, n.kids[k].count-i)
		child := n.kids[k].node
		if here < n.kids[k].count {
			child = t.mine(child)
			t.delete(child, i, here)
		}
		t.lessened(n, k, child, here)
		i, count = 0, count-here
	}
	t.tidy(n, from, k)
}

// lessened records that a child has lost records. A child that loses all its records is removed.
func (t *Tree) lessened(n *node, k int, child *node, count int) {
	left := n.kids[k].count - count
	if left == 0 {
		t.memory -= t.memoryUnder(child)
		n.kids[k].node = nil
		return
	}
	n.kids[k] = kid{child, left, child.front()}
}

// tidy removes the empty children in kids[from:to], and merges small children with their
// neighbours.
func (t *Tree) tidy(n *node, from, to int) {
	if to > from+1 || n.kids[from].node == nil {
		n.dropEmpty(from, to)
	} else if n.kids[from].node.stays() {
		return
	}
	for k := min(from+1, len(n.kids)-1); k >= max(from-1, 0) && k+1 <= len(n.kids); k-- {
		t.merge(n, k)
	}
}

// memoryUnder is the memory of a whole subtree.
func (t *Tree) memoryUnder(n *node) int {
	sum := n.memoryBytes()
	for i := range n.kids {
		sum += t.memoryUnder(n.kids[i].node)
	}
	return sum
}

// dropEmpty removes children without a node from kids[from:to].
func (n *node) dropEmpty(from, to int) {
	kept := n.kids[:from]
	for _, k := range n.kids[from:to] {
		if k.node != nil {
			kept = append(kept, k)
		}
	}
	kept = append(kept, n.kids[to:]...)
	clear(n.kids[len(kept):])
	n.kids = kept
}

// stays reports whether a node is so large that it cannot be merged with any other. Its neighbours
// then need not be checked.
func (n *node) stays() bool {
	if n.kids != nil {
		return len(n.kids) > kidsMax/2
	}
	return len(n.leaf.data) > leafBytesMax/2 || n.leaf.n > leafRecordsMax/2
}

// merge joins child k with the next one if both are small.
func (t *Tree) merge(n *node, k int) {
	if k+1 >= len(n.kids) {
		return
	}
	a, b := n.kids[k].node, n.kids[k+1].node
	if a.kids != nil {
		if len(a.kids)+len(b.kids) > kidsMax/2 {
			return
		}
	} else if len(a.leaf.data)+len(b.leaf.data) > leafBytesMax/2 || a.leaf.n+b.leaf.n > leafRecordsMax/2 {
		return
	}
	a = t.mine(a)
	t.memory -= a.memoryBytes() + b.memoryBytes()
	if a.kids != nil {
		a.kids = append(a.kids, b.kids...)
	} else {
		a.leaf = Pack{append(a.leaf.data, b.leaf.data...), a.leaf.n + b.leaf.n}
	}
	t.memory += a.memoryBytes()
	n.kids[k] = kidOf(a)
	n.kids = append(n.kids[:k+1], n.kids[k+2:]...)
}
