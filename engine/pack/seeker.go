package pack

import "bytes"

// Seeker looks for records of an ordered tree in ascending order and goes on from
// where it stands. So two trees of one order are compared in the time of two walks;
// what is looked for far apart is found on the way down, as by Get. The tree must
// not change meanwhile.
type Seeker struct {
	tree *Tree
	leaf *Pack
	// at is an offset in the leaf: what stands before it is less than what was
	// looked for last.
	at int
	// bound is the first record behind the leaf; nil if it is the last leaf.
	bound []byte
}

// Seeker returns one that stands before all records.
func (t *Tree) Seeker() Seeker { return Seeker{tree: t} }

// Has reports whether a record is in the tree. It must not be less than the one that
// was looked for before.
func (s *Seeker) Has(record []byte) bool {
	if s.leaf == nil || s.bound != nil && bytes.Compare(record, s.bound) >= 0 {
		if s.tree.root == nil {
			return false
		}
		s.descend(record)
	}
	for s.at < len(s.leaf.data) {
		found, end := next(s.leaf.data, s.at)
		if order := bytes.Compare(found, record); order >= 0 {
			return order == 0
		}
		s.at = end
	}
	return false
}

// descend goes to the leaf in which a record stands or would stand.
func (s *Seeker) descend(record []byte) {
	k := keyOf(record, true)
	s.bound = nil
	n := s.tree.root
	for n.kids != nil {
		i := k.kidOf(n)
		if i+1 < len(n.kids) {
			s.bound = n.kids[i+1].node.first()
		}
		n = n.kids[i].node
	}
	k.touch(n.leaf.data)
	s.leaf, s.at = &n.leaf, 0
}
