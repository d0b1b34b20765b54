package stream

import (
	"bytes"

	"lockstep/engine/pack"
)

// nodes are a stream's nodes in the order of their IDs. A record is the first ID that its node ever
// had, followed by the node's listpack.
type nodes struct {
	sealed *pack.Tree
	// tail is the last record, or nil if there is none.
	tail []byte
	// radix is the number of nodes in Redis's radix tree of these IDs.
	radix int
}

// tailKept is the greatest size of a buffer that is kept for the next tail.
const tailKept = 16 << 10

func newNodes() nodes { return nodes{sealed: &pack.Tree{}, radix: 1} }

func (n *nodes) clone() nodes {
	return nodes{sealed: n.sealed.Clone(), tail: bytes.Clone(n.tail), radix: n.radix}
}

func (n *nodes) memoryBytes() int { return n.sealed.MemoryBytes() + cap(n.tail) }

func (n *nodes) len() int {
	if n.tail == nil {
		return 0
	}
	return n.sealed.Len() + 1
}

// at returns record i.
func (n *nodes) at(i int) []byte {
	if i == n.sealed.Len() {
		return n.tail
	}
	return n.sealed.At(i)
}

// rank is the number of records before the probe.
func (n *nodes) rank(probe []byte) int {
	rank := n.sealed.Rank(probe)
	if rank == n.sealed.Len() && n.tail != nil && bytes.Compare(n.tail, probe) < 0 {
		rank++
	}
	return rank
}

// seek is the index of the node in which an ID would be: the last one that does not begin behind
// the ID, or the first.
func (n *nodes) seek(id ID) int {
	var buf [IDBytes]byte
	rank := n.rank(id.AppendKey(buf[:0]))
	if rank < n.len() && IDOf(n.at(rank)) == id {
		return rank
	}
	return max(rank-1, 0)
}

// from walks over records from index i on.
func (n *nodes) from(i int, yield func(record []byte) bool) {
	for _, record := range n.sealed.From(i) {
		if !yield(record) {
			return
		}
	}
	if n.tail != nil {
		yield(n.tail)
	}
}

// back walks over records from index i down.
func (n *nodes) back(i int, yield func(record []byte) bool) {
	if i == n.sealed.Len() && n.tail != nil {
		if !yield(n.tail) {
			return
		}
		i--
	}
	for _, record := range n.sealed.Backward(i) {
		if !yield(record) {
			return
		}
	}
}

// add adds a record behind all others and takes ownership of it.
func (n *nodes) add(record []byte) {
	n.radix += n.radixAdds(record, n.len())
	if n.tail != nil {
		n.sealed.Append(n.tail)
	}
	n.tail = record
}

// startNode makes the record of a new node, the last one. build appends the record to a buffer.
func (n *nodes) startNode(id ID, build func(dst []byte) []byte) {
	if n.tail != nil && id.Compare(IDOf(n.tail)) <= 0 {
		n.insert(build(nil))
		return
	}
	var buffer []byte
	if n.tail != nil {
		n.sealed.Append(n.tail)
		if cap(n.tail) <= tailKept {
			buffer = n.tail[:0]
		}
		n.tail = nil
	}
	record := build(buffer)
	n.radix += n.radixAdds(record, n.sealed.Len())
	n.tail = record
}

// insert adds a record before the tail, in place of one with the same ID. That happens if the
// tail's entries were deleted and XSETID has gone back.
func (n *nodes) insert(record []byte) {
	i := n.rank(record[:IDBytes])
	if IDOf(n.at(i)) == IDOf(record) {
		n.change(i, func([]byte) []byte { return record })
		return
	}
	n.radix += n.radixAdds(record, i)
	n.sealed.Insert(i, record)
}

// change gives record i other bytes. Its ID stays the same.
func (n *nodes) change(i int, change func(record []byte) []byte) {
	if i == n.sealed.Len() {
		n.tail = change(n.tail)
		return
	}
	n.sealed.Replace(i, change(bytes.Clone(n.sealed.At(i))))
}

// remove removes record i.
func (n *nodes) remove(i int) {
	key := bytes.Clone(n.at(i)[:IDBytes])
	switch sealed := n.sealed.Len(); {
	case i < sealed:
		n.sealed.Delete(i, 1)
	case sealed == 0:
		n.tail = nil
	default:
		n.tail = bytes.Clone(n.sealed.At(sealed - 1))
		n.sealed.Delete(sealed-1, 1)
	}
	n.radix -= n.radixAdds(key, i)
}

// radixAdds is the number of nodes that one more ID, before record i, adds to a radix tree of the
// records' IDs. The tree is the one that Redis builds: a node for the end of each ID, one for each
// place where IDs differ, and one for each run of bytes that leads to either without a branch.
func (n *nodes) radixAdds(key []byte, i int) int {
	count := n.len()
	if n.tail == nil {
		count = n.sealed.Len()
	}
	if count == 0 {
		return 1
	}
	shared := -1
	if i > 0 {
		shared = sharedBytes(n.at(i-1), key)
	}
	if i < count {
		shared = max(shared, sharedBytes(n.at(i), key))
	}
	// These records share the most bytes with the new ID.
	low, high := n.rank(key[:shared]), n.rankBehind(key[:shared], count)
	first, last := n.at(low), n.at(high-1)
	adds := 1 // the end of the ID
	if shared < IDBytes-1 {
		adds++ // the run that leads to the end
	}
	if first[shared] != last[shared] {
		return adds // there is a branch here already
	}
	// A run is split in two: a part before and a part behind.
	begin, end := 0, IDBytes
	if low > 0 {
		begin = sharedBytes(n.at(low-1), first) + 1
	}
	if high < count {
		begin = max(begin, sharedBytes(last, n.at(high))+1)
	}
	if high-low > 1 {
		end = sharedBytes(first, last)
	}
	if shared > begin {
		adds++
	}
	if end > shared+1 {
		adds++
	}
	return adds
}

// rankBehind is the number of records up to the last one that begins with the prefix.
func (n *nodes) rankBehind(prefix []byte, count int) int {
	behind := bytes.Clone(prefix)
	for at := len(behind) - 1; at >= 0; at-- {
		if behind[at]++; behind[at] != 0 {
			return n.rank(behind)
		}
	}
	return count
}
