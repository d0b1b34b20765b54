package pack

import "bytes"

// Seeker searches for records of an ordered tree in ascending order and continues from its
// position. So comparing two trees of the same order takes the time of two walks. A record that is
// far away is found on the way down, as with Get. The tree must not change meanwhile.
type Seeker struct {
	tree *Tree
	leaf *Pack
	// at is an offset in the leaf. The records before it are less than the last record that was
	// searched for.
	at int
	// bound is the first record behind the leaf, or nil if it is the last leaf.
	bound []byte
}

// Seeker returns a Seeker that is positioned before all records.
func (t *Tree) Seeker() Seeker { return Seeker{tree: t} }

// Has reports whether a record is in the tree. The record must not be less than that of the call
// before.
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

// descend goes to the leaf in which a record is or would be.
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
