package pack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
)

// store is the methods that Pack and Tree share.
type store interface {
	Len() int
	At(i int) []byte
	Insert(i int, record []byte)
	Replace(i int, record []byte)
	Delete(i, count int)
	Rank(probe []byte) int
}

func records(t *testing.T, s store) [][]byte {
	t.Helper()
	var forth, back [][]byte
	take := func(to *[][]byte) func(int, []byte) bool {
		return func(i int, record []byte) bool { *to = append(*to, bytes.Clone(record)); return true }
	}
	switch s := s.(type) {
	case *Pack:
		s.From(0)(take(&forth))
		s.Backward(s.Len() - 1)(take(&back))
	case *Tree:
		s.From(0)(take(&forth))
		s.Backward(s.Len() - 1)(take(&back))
		s.check(t)
	}
	slices.Reverse(back)
	if !slices.EqualFunc(forth, back, bytes.Equal) {
		t.Fatalf("forth %q, back %q", forth, back)
	}
	return forth
}

// check checks counts, fronts, sizes and the accounted memory.
func (t *Tree) check(tb testing.TB) {
	tb.Helper()
	if t.root == nil {
		if t.memory != 0 {
			tb.Fatalf("an empty tree accounts %d bytes", t.memory)
		}
		return
	}
	var walk func(n *node, depth int) (leafDepth int)
	walk = func(n *node, depth int) int {
		if n.kids == nil {
			longest := 0
			for _, record := range n.leaf.From(0) {
				longest = max(longest, recordBytes(record))
			}
			if n.leaf.n == 0 || len(n.leaf.data)-longest > leafBytesMax || n.leaf.n > leafRecordsMax {
				tb.Fatalf("a leaf of %d records, %d bytes", n.leaf.n, len(n.leaf.data))
			}
			return depth
		}
		if len(n.kids) == 0 || len(n.kids) > kidsMax {
			tb.Fatalf("%d kids", len(n.kids))
		}
		leafDepth := -1
		for _, k := range n.kids {
			if k.count != k.node.count() || k.front != front(k.node.first()) {
				tb.Fatal("a kid's count or front is not the node's")
			}
			if d := walk(k.node, depth+1); leafDepth >= 0 && d != leafDepth {
				tb.Fatal("leaves at different depths")
			} else {
				leafDepth = d
			}
		}
		return leafDepth
	}
	walk(t.root, 0)
	if sum := t.memoryUnder(t.root); sum != t.memory {
		tb.Fatalf("accounts %d bytes, has %d", t.memory, sum)
	}
}

func randomRecord(r *rand.Rand) []byte {
	length := r.IntN(20)
	switch r.IntN(50) {
	case 0:
		length = 100 + r.IntN(200)
	case 1:
		length = r.IntN(3 * leafBytesMax)
	}
	b := make([]byte, length)
	for i := range b {
		b[i] = byte(r.IntN(4))
	}
	return b
}

// Changes by place have the same effect on a tree or a pack as on a slice.
func TestPlacesAreThoseOfASlice(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		for _, s := range []store{&Pack{}, &Tree{}} {
			var want [][]byte
			for step := range 3000 {
				shrinking := step/500%2 == 1
				switch op := r.IntN(10); {
				case len(want) == 0 || (op < 6) != shrinking:
					i, record := r.IntN(len(want)+1), randomRecord(r)
					if r.IntN(3) == 0 {
						i = []int{0, len(want)}[r.IntN(2)]
					}
					s.Insert(i, record)
					want = slices.Insert(want, i, record)
				case op == 9:
					i, record := r.IntN(len(want)), randomRecord(r)
					s.Replace(i, record)
					want[i] = record
				default:
					i := r.IntN(len(want))
					count := 1
					if r.IntN(20) == 0 {
						count = r.IntN(len(want) - i + 1)
					}
					s.Delete(i, count)
					want = slices.Delete(want, i, i+count)
				}
				if s.Len() != len(want) {
					t.Fatalf("seed %d step %d: %d records, not %d", seed, step, s.Len(), len(want))
				}
				if len(want) > 0 {
					if i := r.IntN(len(want)); !bytes.Equal(s.At(i), want[i]) {
						t.Fatalf("seed %d step %d: record %d is %q, not %q", seed, step, i, s.At(i), want[i])
					}
				}
				if step%100 == 0 {
					if got := records(t, s); !slices.EqualFunc(got, want, bytes.Equal) {
						t.Fatalf("seed %d step %d: %q, not %q", seed, step, got, want)
					}
				}
			}
		}
	}
}

// In byte order a tree finds, ranks and replaces as a sorted slice does. Changes to the original do
// not affect a clone, nor the reverse.
func TestByteOrderAndClones(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		tree, want := &Tree{}, map[string]string{}
		type frozen struct {
			tree *Tree
			want []string
		}
		var clones []frozen
		sorted := func() []string {
			var all []string
			for member, value := range want {
				all = append(all, string(append(AppendHashed(nil, []byte(member)), value...)))
			}
			sort.Strings(all)
			return all
		}
		for step := range 4000 {
			member := fmt.Sprint(r.IntN(1500))
			front := AppendHashed(nil, []byte(member))
			_, there := want[member]
			if r.IntN(3) == 0 {
				if tree.Remove(front) != there {
					t.Fatal("Remove")
				}
				delete(want, member)
			} else {
				value := fmt.Sprint(r.IntN(1 << r.IntN(30)))
				if tree.Put(append(bytes.Clone(front), value...), len(front)) != there {
					t.Fatal("Put")
				}
				want[member] = value
			}
			record := tree.Get(front)
			value, there := want[member]
			if (record != nil) != there {
				t.Fatalf("found %q", record)
			}
			if there {
				gotMember, rest := CutHashed(record)
				if string(gotMember) != member || string(rest) != value || !bytes.Equal(tree.At(tree.Rank(front)), record) {
					t.Fatalf("%q: %q at %d", member, record, tree.Rank(front))
				}
			}
			if step%400 == 399 {
				clones = append(clones, frozen{tree.Clone(), sorted()})
				if r.IntN(2) == 0 { // continue with the clone, freeze the original
					last := &clones[len(clones)-1]
					tree, last.tree = last.tree, tree
				}
			}
		}
		clones = append(clones, frozen{tree, sorted()})
		for _, c := range clones {
			got := records(t, c.tree)
			if len(got) != len(c.want) {
				t.Fatalf("%d records, not %d", len(got), len(c.want))
			}
			for i := range got {
				if string(got[i]) != c.want[i] {
					t.Fatalf("record %d is %q, not %q", i, got[i], c.want[i])
				}
			}
		}
	}
}

// A whole record is found if others begin with it, if it is as short as possible, or if it is the
// first of its leaf.
func TestWholeRecords(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		tree, want := &Tree{}, map[string]bool{}
		for range 20_000 {
			record := make([]byte, r.IntN(12))
			for i := range record {
				record[i] = byte(r.IntN(3)) // zero bytes among them
			}
			text := string(record)
			var was bool
			if r.IntN(3) == 0 {
				was = tree.RemoveRecord(record)
				if was != want[text] {
					t.Fatalf("removed %q: %v", record, was)
				}
				delete(want, text)
				continue
			}
			if was = tree.PutRecord(record); was != want[text] {
				t.Fatalf("put %q: %v", record, was)
			}
			want[text] = true
		}
		got := records(t, tree)
		if len(got) != len(want) || !sort.SliceIsSorted(got, func(i, j int) bool { return bytes.Compare(got[i], got[j]) < 0 }) {
			t.Fatalf("%d records, not %d, or not in order", len(got), len(want))
		}
		for _, record := range got {
			if !want[string(record)] {
				t.Fatalf("%q", record)
			}
		}
	}
}

// Walks begin at any place and end as soon as yield returns false.
func TestWalksBeginAnywhere(t *testing.T) {
	tree := &Tree{}
	for i := range 5000 {
		tree.Append(binary.BigEndian.AppendUint32(nil, uint32(i)))
	}
	for _, from := range []int{0, 1, 127, 128, 2500, 4998, 4999} {
		want := from
		for i, record := range tree.From(from) {
			if i != want || binary.BigEndian.Uint32(record) != uint32(i) {
				t.Fatalf("from %d: %d %v", from, i, record)
			}
			if want++; want == from+300 {
				break
			}
		}
		if want != min(from+300, 5000) {
			t.Fatalf("from %d: ended at %d", from, want)
		}
		want = from
		for i, record := range tree.Backward(from) {
			if i != want || binary.BigEndian.Uint32(record) != uint32(i) {
				t.Fatalf("back from %d: %d %v", from, i, record)
			}
			want--
		}
		if want != -1 {
			t.Fatalf("back from %d: ended at %d", from, want)
		}
	}
}

// A tree that grows only at one end is packed densely.
func TestOneEndPacksDensely(t *testing.T) {
	const n, length = 100_000, 16
	for _, atFront := range []bool{false, true} {
		tree := &Tree{}
		for range n {
			i := tree.Len()
			if atFront {
				i = 0
			}
			tree.Insert(i, make([]byte, length))
		}
		if per := tree.MemoryBytes() / n; per > length*14/10 {
			t.Errorf("front %v: %d bytes for a record of %d", atFront, per, length)
		}
	}
}

func TestScoresSortAsBytes(t *testing.T) {
	scores := []float64{math.Inf(-1), -math.MaxFloat64, -1.5, -1, -math.SmallestNonzeroFloat64, 0, math.SmallestNonzeroFloat64, 1, 1.5, math.MaxFloat64, math.Inf(1)}
	for i, score := range scores {
		b := AppendScore(nil, score)
		if got, rest := CutScore(b); got != score || len(rest) != 0 {
			t.Errorf("%v became %v", score, got)
		}
		if i > 0 && bytes.Compare(AppendScore(nil, scores[i-1]), b) >= 0 {
			t.Errorf("%v does not sort before %v", scores[i-1], score)
		}
	}
	if !bytes.Equal(AppendScore(nil, math.Copysign(0, -1)), AppendScore(nil, 0)) {
		t.Error("-0 is not 0")
	}
}

const benchRecords = 100_000

// benchFront is the front of a random record, the same in each run.
func benchFront(buf []byte, i int) []byte {
	member := append(buf[50:50], "element:000000000000"...)
	n := uint32(i) * 2654435761 % benchRecords
	for at := len(member) - 1; n > 0; at-- {
		member[at] = byte('0' + n%10)
		n /= 10
	}
	return AppendHashed(buf[:0], member)
}

func benchTree() *Tree {
	tree := &Tree{}
	for i := range benchRecords {
		record := append(AppendHashed(nil, fmt.Appendf(nil, "element:%012d", i)), "value"...)
		tree.Put(record, len(record)-len("value"))
	}
	return tree
}

func BenchmarkTreePut(b *testing.B) {
	tree, buf := benchTree(), make([]byte, 100)
	for i := 0; b.Loop(); i++ {
		record := append(benchFront(buf, i), "other"...)
		tree.Put(record, len(record)-len("other"))
	}
}

func BenchmarkTreeGet(b *testing.B) {
	tree, buf := benchTree(), make([]byte, 100)
	b.ReportMetric(float64(tree.MemoryBytes())/benchRecords, "B/record")
	for i := 0; b.Loop(); i++ {
		if tree.Get(benchFront(buf, i)) == nil {
			b.Fatal("not found")
		}
	}
}

func BenchmarkTreeRemove(b *testing.B) {
	tree, buf := benchTree(), make([]byte, 100)
	for i := 0; b.Loop(); i++ {
		front := benchFront(buf, i)
		tree.Remove(front)
		tree.Put(front, len(front))
	}
}

// BenchmarkTreeDrain removes records from the front and appends them again, like a queue.
func BenchmarkTreeDrain(b *testing.B) {
	tree := benchTree()
	var buf []byte
	for i := 0; b.Loop(); i++ {
		buf = append(buf[:0], tree.At(0)...)
		tree.Delete(0, 1)
		tree.Append(buf)
	}
}

// TestLeavesFillWhereverRecordsCome adds records one by one behind a full leaf: each before the
// last one that was added, or before a record that begins a full leaf. No record may get a leaf of
// its own.
func TestLeavesFillWhereverRecordsCome(t *testing.T) {
	const n = 5000
	record := func(i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(i)) }
	full := leafBytesMax / recordBytes(record(0))
	for name, come := range map[string]func(tree *Tree, i int){
		"descending":     func(tree *Tree, i int) { tree.PutRecord(record(1<<40 - i)) },
		"before a pivot": func(tree *Tree, i int) { tree.Insert(full+i, record(i)) },
	} {
		tree := &Tree{}
		for i := range 2 * full {
			tree.PutRecord(record(i))
		}
		for i := range n {
			come(tree, i)
		}
		tree.check(t)
		if each := tree.MemoryBytes() / tree.Len(); each > 2*recordBytes(record(0)) {
			t.Errorf("%s: a record takes %d bytes", name, each)
		}
	}
}
