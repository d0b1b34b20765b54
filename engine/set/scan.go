package set

import (
	"encoding/binary"
	"iter"
	"math"

	"lockstep/engine/pack"
)

// Scan returns the members of the next part of a scan, and the cursor of the part after that. 0 is
// the cursor of the first part, and the one after the last. A part has about count members. A small
// form is a single part.
//
// The cursor is a hash. So a member that is there all the time is in exactly one part, whatever is
// added and removed meanwhile, on any replica. Members with the same hash are never separated.
func (s *Set) Scan(cursor uint64, count int) (members iter.Seq[[]byte], next uint64) {
	tree, ok := s.body.(*pack.Tree)
	if !ok {
		return s.All(), 0
	}
	if cursor > math.MaxUint32 {
		return func(func([]byte) bool) {}, 0
	}
	begin := tree.Rank(hashKey(uint32(cursor)))
	end := begin + count
	if end < tree.Len() {
		if last := binary.BigEndian.Uint32(tree.At(end - 1)); last < math.MaxUint32 {
			next = uint64(last) + 1
			end = tree.Rank(hashKey(uint32(next)))
		}
	}
	if next == 0 || end >= tree.Len() {
		next, end = 0, tree.Len()
	}
	return func(yield func([]byte) bool) {
		for i, record := range tree.From(begin) {
			if i >= end {
				return
			}
			if member, _ := pack.CutHashed(record); !yield(member) {
				return
			}
		}
	}, next
}

func hashKey(hash uint32) []byte { return binary.BigEndian.AppendUint32(nil, hash) }
