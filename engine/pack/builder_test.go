package pack

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// A tree from a Builder is like a tree to whose end the same records were appended one by one, and
// can be changed in the same way.
func TestABuiltTree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 2, 50, leafRecordsMax, leafRecordsMax + 1, 5000, 100_000} {
		b := NewBuilder()
		one := &Tree{}
		for i := range n {
			record := binary.BigEndian.AppendUint64(nil, uint64(i))
			if n <= 5000 {
				record = append(record, randomRecord(r)...)
			}
			b.Append(record)
			one.Append(record)
		}
		tree := b.Tree()
		tree.check(t)
		if tree.Len() != n || tree.MemoryBytes() > one.MemoryBytes()+one.MemoryBytes()/8 {
			t.Fatalf("%d records in %d bytes; want %d in %d", tree.Len(), tree.MemoryBytes(), n, one.MemoryBytes())
		}
		for i, record := range tree.From(0) {
			if !bytes.Equal(record, one.At(i)) {
				t.Fatalf("%d records: record %d is %q", n, i, record)
			}
		}
		copied := tree.Clone()
		for range min(n, 500) {
			i := r.IntN(tree.Len())
			tree.Delete(i, 1)
			tree.PutRecord(binary.BigEndian.AppendUint64(nil, r.Uint64()))
			tree.check(t)
		}
		if copied.check(t); copied.Len() != n {
			t.Fatalf("a clone of %d records has %d", n, copied.Len())
		}
	}
}
