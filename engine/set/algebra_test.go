package set

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// nobody is an each that does nothing.
func nobody() {}

// randomSets returns sets of all forms. Some of them are the same set.
func randomSets(r *rand.Rand) []*Set {
	var sets []*Set
	kind := r.IntN(2)
	for range 1 + r.IntN(4) {
		if len(sets) > 0 && r.IntN(8) == 0 {
			sets = append(sets, sets[r.IntN(len(sets))])
			continue
		}
		s := Empty(Form(r.IntN(3)))
		for range r.IntN(60) >> r.IntN(4) {
			s.Add([]byte(randomMember(r, kind)), testLimits)
		}
		sets = append(sets, s)
	}
	return sets
}

func TestInterAndDiffAreThoseOfMembers(t *testing.T) {
	found := 0
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 3))
		sets := randomSets(r)
		var inter, diff []string
		smallest := Smallest(sets)
		for member := range smallest.All() {
			if !slices.ContainsFunc(sets, func(s *Set) bool { return !s.Has(member) }) {
				inter = append(inter, string(member))
			}
		}
		for member := range sets[0].All() {
			if !slices.ContainsFunc(sets[1:], func(s *Set) bool { return s.Has(member) }) {
				diff = append(diff, string(member))
			}
		}
		if got := texts(Inter(sets, nobody)); !slices.Equal(got, inter) {
			t.Fatalf("seed %d: inter is %q, not %q", seed, got, inter)
		}
		if got := texts(sets[0].Diff(sets[1:], nobody)); !slices.Equal(got, diff) {
			t.Fatalf("seed %d: diff is %q, not %q", seed, got, diff)
		}
		if len(inter) > 0 && len(diff) > 0 {
			found++
		}
	}
	if found < 200 {
		t.Errorf("in %d cases alone was there something to find", found)
	}
}

// TestInterAndDiffOfLargeSets compares sets of many leaves, of similar and of very different sizes,
// with small ones among them.
func TestInterAndDiffOfLargeSets(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 5))
		from := 100 + r.IntN(20_000)
		sets := make([]*Set, 2+r.IntN(3))
		for i := range sets {
			sets[i] = Empty(Ints)
			for range 1 + r.IntN(from>>(2*r.IntN(5))) {
				sets[i].Add([]byte("member:"+strconv.Itoa(r.IntN(from))), testLimits)
			}
		}
		count := func(member []byte) (n int) {
			for _, s := range sets {
				if s.Has(member) {
					n++
				}
			}
			return n
		}
		var inter, diff []string
		for member := range Smallest(sets).All() {
			if count(member) == len(sets) {
				inter = append(inter, string(member))
			}
		}
		for member := range sets[0].All() {
			if count(member) == 1 {
				diff = append(diff, string(member))
			}
		}
		if got := texts(Inter(sets, nobody)); !slices.Equal(got, inter) {
			t.Fatalf("seed %d: inter has %d members, not %d", seed, len(got), len(inter))
		}
		if got := texts(sets[0].Diff(sets[1:], nobody)); !slices.Equal(got, diff) {
			t.Fatalf("seed %d: diff has %d members, not %d", seed, len(got), len(diff))
		}
	}
}

// TestUnionIsAddingOneAfterTheOther compares members, form and order.
func TestUnionIsAddingOneAfterTheOther(t *testing.T) {
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 4))
		sets := randomSets(r)
		m := &model{form: Ints}
		before := make([][]string, len(sets))
		for i, s := range sets {
			before[i] = texts(s.All())
			for _, member := range before[i] {
				m.add(member, testLimits)
			}
		}
		union := Union(sets, testLimits, nobody)
		m.check(t, union)
		union.Add([]byte("another"), testLimits)
		for i, s := range sets {
			if !slices.Equal(texts(s.All()), before[i]) {
				t.Fatalf("seed %d: set %d was changed", seed, i)
			}
		}
	}
	if got := Union(nil, testLimits, nobody); got.Len() != 0 {
		t.Error("the union of nothing is something")
	}
}

func TestCollectNarrowsNumbers(t *testing.T) {
	members := func(all ...string) *Set {
		s := Empty(Packed)
		for _, member := range all {
			s.Add([]byte(member), NoLimits)
		}
		return s
	}
	for _, c := range []struct {
		s      *Set
		form   Form
		narrow bool
		want   Form
	}{
		{members("3", "1"), Packed, true, Ints},
		{members("3", "1"), Packed, false, Packed},
		{members("3", "x"), Packed, true, Packed},
		{members("3", "x"), Ints, true, Packed},
		{members("1", "2", "3", "4", "5", "6", "7", "8", "9"), Packed, true, Ints},
		{members("1", "2", "3", "4", "5", "6", "7", "8", "9"), Packed, false, Large},
		{members("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13"), Packed, true, Large},
		{members(), Packed, true, Ints},
	} {
		want := slices.Sorted(slices.Values(texts(c.s.All())))
		got := Collect(c.s.All(), c.form, c.narrow, testLimits)
		if got.Form() != c.want || !slices.Equal(slices.Sorted(slices.Values(texts(got.All()))), want) {
			t.Errorf("%q from %v, narrow %v: %v %q", want, c.form, c.narrow, got.Form(), texts(got.All()))
		}
	}
}

// TestScanMissesNothing scans in parts while members are added and removed. Members that are there
// all the time are seen exactly once.
func TestScanMissesNothing(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 5))
		s := Empty(Large)
		for i := range 1000 {
			s.Add(strconv.AppendInt(nil, int64(i), 10), NoLimits)
		}
		seen, parts := map[string]int{}, 0
		for cursor := uint64(0); ; parts++ {
			count := 1 + r.IntN(30)
			members, next := s.Scan(cursor, count)
			n := 0
			for member := range members {
				seen[string(member)]++
				n++
			}
			if n < count && next != 0 {
				t.Fatalf("a part of %d members, %d were wanted", n, count)
			}
			if next == 0 {
				break
			}
			if next <= cursor || parts > 1500 {
				t.Fatalf("part %d: cursor %d after %d", parts, next, cursor)
			}
			cursor = next
			for range 20 {
				s.Add(fmt.Appendf(nil, "new%d", r.IntN(500)), NoLimits)
				s.Remove(fmt.Appendf(nil, "new%d", r.IntN(500)))
			}
		}
		for i := range 1000 {
			if n := seen[strconv.Itoa(i)]; n != 1 {
				t.Fatalf("seed %d: %d was seen %d times", seed, i, n)
			}
		}
	}
}

func TestScanOfOddCursors(t *testing.T) {
	s := Empty(Large)
	for i := range 100 {
		s.Add(strconv.AppendInt(nil, int64(i), 10), NoLimits)
	}
	if all, next := s.Scan(0, 100); len(texts(all)) != 100 || next != 0 {
		t.Error("a part as large as the set is not the whole of it")
	}
	if none, next := s.Scan(1<<40, 10); len(texts(none)) != 0 || next != 0 {
		t.Error("there is something behind the end")
	}
	if few, next := s.Scan(1<<32-1, 10); len(texts(few)) > 1 || next != 0 {
		t.Error("the last hash is not the last part")
	}
	if none, next := Empty(Large).Scan(0, 10); len(texts(none)) != 0 || next != 0 {
		t.Error("an empty set has members")
	}
	small := Empty(Ints)
	small.Add([]byte("5"), NoLimits)
	if all, next := small.Scan(77, 1); len(texts(all)) != 1 || next != 0 {
		t.Error("a small set is not one part")
	}
}

func BenchmarkAlgebraOfMillions(b *testing.B) {
	build := func(from, to int) *Set {
		s := NewBuilder()
		for i := from; i < to; i++ {
			s.Add(fmt.Appendf(nil, "member:%d", i))
		}
		return s.Set()
	}
	const million = 1_000_000
	x, y, few := build(0, million), build(million/2, 3*million/2), build(million-100, million+100)
	count := func(n *int) func([]byte) bool { return func([]byte) bool { *n++; return true } }
	for name, run := range map[string]func(n *int){
		"inter":            func(n *int) { Inter([]*Set{x, y}, nobody)(count(n)) },
		"diff":             func(n *int) { x.Diff([]*Set{y}, nobody)(count(n)) },
		"diff_few":         func(n *int) { x.Diff([]*Set{few}, nobody)(count(n)) },
		"few_diff":         func(n *int) { few.Diff([]*Set{x}, nobody)(count(n)) },
		"union":            func(n *int) { *n = Union([]*Set{x, y}, Limits{}, nobody).Len() },
		"union_of_few":     func(n *int) { *n = Union([]*Set{x, few}, Limits{}, nobody).Len() },
		"members":          func(n *int) { x.All()(count(n)) },
		"copy_and_add_one": func(n *int) { x.Copy().Add([]byte("one"), Limits{}) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				n := 0
				run(&n)
			}
		})
	}
}
