package set

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"lockstep/engine/decimal"
	"lockstep/engine/pack"
)

// testLimits are small, so that forms change often.
var testLimits = Limits{IntsetEntriesMax: 12, PackEntriesMax: 8, PackValueBytesMax: 10}

// model is a set as in the package comment, in the simplest implementation.
type model struct {
	form    Form
	members []string
}

func (m *model) has(member string) bool { return slices.Contains(m.members, member) }

func (m *model) add(member string, l Limits) bool {
	if m.has(member) {
		return false
	}
	_, isNumber := decimal.Int([]byte(member))
	n := int64(len(m.members))
	longest := len(member)
	for _, other := range m.members {
		if m.form == Ints {
			longest = max(longest, len(other))
		}
	}
	m.members = append(m.members, member)
	switch {
	case m.form == Ints && isNumber:
		if n+1 > l.IntsetEntriesMax {
			m.form = Large
		}
	case m.form != Large:
		m.form = Packed
		if n >= l.PackEntriesMax || int64(longest) > l.PackValueBytesMax {
			m.form = Large
		}
	}
	m.sort()
	return true
}

func (m *model) sort() {
	switch m.form {
	case Ints:
		slices.SortFunc(m.members, func(a, b string) int {
			x, _ := decimal.Int([]byte(a))
			y, _ := decimal.Int([]byte(b))
			return cmpInt(x, y)
		})
	case Large:
		slices.SortFunc(m.members, func(a, b string) int {
			return bytes.Compare(pack.AppendHashed(nil, []byte(a)), pack.AppendHashed(nil, []byte(b)))
		})
	}
}

func cmpInt(x, y int64) int {
	if x < y {
		return -1
	}
	return 1
}

func (m *model) remove(member string) bool {
	i := slices.Index(m.members, member)
	if i >= 0 {
		m.members = slices.Delete(m.members, i, i+1)
	}
	return i >= 0
}

func texts(members iter.Seq[[]byte]) []string {
	var all []string
	for member := range members {
		all = append(all, string(member))
	}
	return all
}

func (m *model) check(t *testing.T, s *Set) {
	t.Helper()
	if s.Form() != m.form || s.Len() != len(m.members) {
		t.Fatalf("%v of %d members, want %v of %d: %q", s.Form(), s.Len(), m.form, len(m.members), m.members)
	}
	if got := texts(s.All()); !slices.Equal(got, m.members) {
		t.Fatalf("members %q, want %q", got, m.members)
	}
	var buf [decimal.BytesMax]byte
	for i, member := range m.members {
		if got := s.At(i, buf[:]); string(got) != member {
			t.Fatalf("member %d is %q, not %q", i, got, member)
		}
		if got := s.index([]byte(member)); got != i {
			t.Fatalf("%q is at %d, not %d", member, got, i)
		}
	}
}

// randomMember returns numbers of all widths, short and long texts, and texts that look like
// numbers.
func randomMember(r *rand.Rand, kind int) string {
	if kind == 0 || r.IntN(3) > 0 {
		switch r.IntN(8) {
		case 0:
			return strconv.FormatInt(int64(int32(r.Uint32())), 10)
		case 1:
			return strconv.FormatInt(int64(r.Uint64()), 10)
		case 2:
			return []string{"-9223372036854775808", "9223372036854775807", "-32769", "32768", "-1", "0"}[r.IntN(6)]
		default:
			return strconv.Itoa(r.IntN(20) - 5)
		}
	}
	switch r.IntN(6) {
	case 0:
		return []string{"", "-0", "01", "+1", " 1", "9223372036854775808", "-9223372036854775809", "1e3", "\x00"}[r.IntN(9)]
	case 1:
		return fmt.Sprintf("%0*d", 9+r.IntN(4), r.IntN(9))
	default:
		return string(rune('a' + r.IntN(12)))
	}
}

// The same changes to a set and to the model give the same results, form, order and copies.
func TestRandomChanges(t *testing.T) {
	forms := map[Form]int{}
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		kind := r.IntN(3)
		s, m := New([]byte(randomMember(r, kind)), 1, testLimits), &model{}
		m.form = s.Form()
		type frozen struct {
			s *Set
			m model
		}
		var copies []frozen
		for range 120 {
			member := randomMember(r, kind)
			switch r.IntN(8) {
			case 0, 1, 2, 3:
				if got, want := s.Add([]byte(member), testLimits), m.add(member, testLimits); got != want {
					t.Fatalf("seed %d: add %q says %v", seed, member, got)
				}
			case 4, 5:
				if got, want := s.Remove([]byte(member)), m.remove(member); got != want {
					t.Fatalf("seed %d: remove %q says %v", seed, member, got)
				}
			case 6:
				if s.Has([]byte(member)) != m.has(member) {
					t.Fatalf("seed %d: has %q", seed, member)
				}
				copies = append(copies, frozen{s.Copy(), model{m.form, slices.Clone(m.members)}})
			case 7:
				removeSome(r, s, m)
			}
			m.check(t, s)
			forms[s.Form()]++
		}
		for _, c := range copies {
			c.m.check(t, c.s)
		}
	}
	if len(forms) != 3 || min(forms[Ints], forms[Packed], forms[Large]) < 1000 {
		t.Errorf("forms met: %v", forms)
	}
}

// removeSome removes members at random places, sometimes with Retain.
func removeSome(r *rand.Rand, s *Set, m *model) {
	var places []int
	var stay []string
	for i, member := range m.members {
		if r.IntN(4) == 0 {
			places = append(places, i)
		} else {
			stay = append(stay, member)
		}
	}
	if r.IntN(4) > 0 {
		s.RemoveAt(places, nobody)
		m.members = stay
		return
	}
	s.Retain(places, testLimits, nobody)
	if m.form == Large {
		m.form = Packed
	}
	m.members = nil
	for _, member := range stay {
		m.add(member, testLimits)
	}
}

func TestThresholdsAreRedisThresholds(t *testing.T) {
	l := Limits{IntsetEntriesMax: 512, PackEntriesMax: 128, PackValueBytesMax: 64}
	grow := func(n int, member func(i int) string) *Set {
		s := New([]byte(member(0)), 1, l)
		for i := range n {
			s.Add([]byte(member(i)), l)
		}
		return s
	}
	word := func(i int) string { return fmt.Sprint("w", i) }
	for _, c := range []struct {
		what string
		s    *Set
		want string
	}{
		{"512 numbers", grow(512, strconv.Itoa), "intset"},
		{"513 numbers", grow(513, strconv.Itoa), "hashtable"},
		{"128 words", grow(128, word), "listpack"},
		{"129 words", grow(129, word), "hashtable"},
		{"64 bytes", grow(2, func(i int) string { return fmt.Sprintf("%064d", i) }), "listpack"},
		{"65 bytes", grow(2, func(i int) string { return fmt.Sprintf("%065d", i) }), "hashtable"},
	} {
		if got := c.s.Encoding(); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	for n, want := range map[int]string{127: "listpack", 128: "hashtable"} {
		s := grow(n, strconv.Itoa)
		s.Add([]byte("word"), l)
		if got := s.Encoding(); got != want {
			t.Errorf("a word to %d numbers: %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int]string{128: "listpack", 129: "hashtable"} {
		s := grow(1, word)
		s.Expect(n, l)
		if got := s.Encoding(); got != want {
			t.Errorf("%d words expected: %s, want %s", n, got, want)
		}
		if got := New([]byte("w"), n, l).Encoding(); got != want {
			t.Errorf("new for %d words: %s, want %s", n, got, want)
		}
	}
}

// TestNumbersTakeTheirWidth adds numbers around every limit of a width, in all orders. They must be
// sorted and no wider than necessary.
func TestNumbersTakeTheirWidth(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		width   int
		numbers []int64
	}{
		{2, []int64{math.MinInt16, -1, 0, math.MaxInt16}},
		{4, []int64{math.MinInt16 - 1, 0, 7, math.MaxInt16 + 1, math.MaxInt32}},
		{8, []int64{math.MinInt64, math.MinInt32 - 1, math.MinInt32, -7, 3, math.MaxInt32 + 1, math.MaxInt64}},
	} {
		for range 20 {
			s := Empty(Ints)
			for _, i := range r.Perm(len(c.numbers)) {
				s.Add(strconv.AppendInt(nil, c.numbers[i], 10), NoLimits)
			}
			if got := s.Numbers(); !slices.Equal(got, c.numbers) || s.body.(*ints).width != c.width {
				t.Fatalf("%v in %d bytes, want %v in %d", got, s.body.(*ints).width, c.numbers, c.width)
			}
		}
	}
}

// TestLargeSetsAreSharedAndCounted: a copy of a large set costs nothing, and the accounted memory
// returns to that of an empty set.
func TestLargeSetsAreSharedAndCounted(t *testing.T) {
	s := Empty(Large)
	for i := range 100_000 {
		s.Add(fmt.Appendf(nil, "member:%d", i), NoLimits)
	}
	if got := testing.AllocsPerRun(100, func() { s.Copy() }); got > 4 {
		t.Errorf("a copy makes %v allocations", got)
	}
	for i := range 100_000 {
		if !s.Remove(fmt.Appendf(nil, "member:%d", i)) {
			t.Fatalf("lost member %d", i)
		}
	}
	if got := s.MemoryBytes(); got != setBytes+treeBytes {
		t.Errorf("an empty set has %d bytes", got)
	}
}

func TestBuilderTakesAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	b, want := NewBuilder(), Empty(Large)
	for range 3000 {
		member := fmt.Appendf(nil, "%d", r.IntN(2000))
		if got := b.Add(member); got != want.Add(member, NoLimits) {
			t.Fatalf("%q: %v", member, got)
		}
	}
	s := b.Set()
	if !slices.Equal(texts(s.All()), texts(want.All())) {
		t.Fatal("another set")
	}
	again := NewBuilder()
	for member := range s.All() {
		if !again.Add(member) || again.Add(member) {
			t.Fatalf("%q in order", member)
		}
	}
	if !slices.Equal(texts(again.Set().All()), texts(want.All())) {
		t.Fatal("another set from members in order")
	}
}

func TestPackRefusesTwins(t *testing.T) {
	if s, ok := Pack([][]byte{[]byte("b"), []byte("a"), []byte("3")}); !ok || !slices.Equal(texts(s.All()), []string{"b", "a", "3"}) || s.Form() != Packed {
		t.Error("no pack")
	}
	if _, ok := Pack([][]byte{[]byte("b"), []byte("a"), []byte("b")}); ok {
		t.Error("a twin was taken")
	}
}
