package pack

import "iter"

// From walks over the records and their places from record i on. The pack must
// not change meanwhile.
func (p *Pack) From(i int) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		if i < p.n {
			p.walk(i, 0, yield)
		}
	}
}

// Backward walks over the records and their places from record i down to 0.
func (p *Pack) Backward(i int) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		if i >= 0 && p.n > 0 {
			p.walkBack(i, 0, yield)
		}
	}
}

// From is Pack.From for a tree.
func (t *Tree) From(i int) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		if i < t.Len() {
			t.root.walk(i, 0, yield)
		}
	}
}

// Backward is Pack.Backward for a tree.
func (t *Tree) Backward(i int) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		if i >= 0 && t.root != nil {
			t.root.walkBack(i, 0, yield)
		}
	}
}

// walk yields the records from record i on. base is the number of records before the pack.
func (p *Pack) walk(i, base int, yield func(int, []byte) bool) bool {
	for at := seek(p.data, i); i < p.n; i++ {
		record, end := next(p.data, at)
		if !yield(base+i, record) {
			return false
		}
		at = end
	}
	return true
}

func (p *Pack) walkBack(i, base int, yield func(int, []byte) bool) bool {
	var buf [leafRecordsMax]int
	starts := buf[:0]
	for at := 0; len(starts) <= i; {
		starts = append(starts, at)
		_, at = next(p.data, at)
	}
	for ; i >= 0; i-- {
		record, _ := next(p.data, starts[i])
		if !yield(base+i, record) {
			return false
		}
	}
	return true
}

func (n *node) walk(i, base int, yield func(int, []byte) bool) bool {
	if n.kids == nil {
		return n.leaf.walk(i, base, yield)
	}
	for k := range n.kids {
		child := &n.kids[k]
		if i < child.count && !child.node.walk(max(i, 0), base, yield) {
			return false
		}
		i -= child.count
		base += child.count
	}
	return true
}

func (n *node) walkBack(i, base int, yield func(int, []byte) bool) bool {
	if n.kids == nil {
		return n.leaf.walkBack(i, base, yield)
	}
	before := n.count() // records of this node before the child
	for k := len(n.kids) - 1; k >= 0; k-- {
		child := &n.kids[k]
		before -= child.count
		if i < before {
			continue
		}
		if !child.node.walkBack(min(i-before, child.count-1), base+before, yield) {
			return false
		}
	}
	return true
}
