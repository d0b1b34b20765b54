package zset

import (
	"bytes"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
)

var limits = Limits{EntriesMax: 16, MemberBytesMax: 20}

// model is a sorted set in the simplest implementation.
type model struct {
	entries []Entry
	large   bool
}

func (m *model) index(member []byte) int {
	return slices.IndexFunc(m.entries, func(e Entry) bool { return bytes.Equal(e.Member, member) })
}

func (m *model) put(member []byte, score float64) bool {
	i := m.index(member)
	if i >= 0 && m.entries[i].Score == score {
		return false
	}
	if i < 0 && (len(m.entries) >= int(limits.EntriesMax) || len(member) > int(limits.MemberBytesMax)) {
		m.large = true
	}
	if !m.large && score == 0 {
		score = 0
	}
	if i >= 0 {
		m.entries[i].Score = score
	} else {
		m.entries = append(m.entries, Entry{bytes.Clone(member), score})
	}
	slices.SortFunc(m.entries, Compare)
	return i < 0
}

func same(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// check compares the results of all methods that read.
func check(t *testing.T, s *Set, m *model) {
	t.Helper()
	if s.Len() != len(m.entries) || s.Large() != m.large {
		t.Fatalf("%d members, large %v; want %d, %v", s.Len(), s.Large(), len(m.entries), m.large)
	}
	n := 0
	for i, e := range s.From(0) {
		want := m.entries[i]
		if i != n || !bytes.Equal(e.Member, want.Member) || !same(e.Score, want.Score) {
			t.Fatalf("place %d: %q %v, want %d: %q %v", i, e.Member, e.Score, n, want.Member, want.Score)
		}
		n++
	}
	for i, e := range s.Backward(s.Len() - 1) {
		n--
		if i != n || !bytes.Equal(e.Member, m.entries[i].Member) {
			t.Fatalf("backward, place %d: %q", i, e.Member)
		}
	}
	for i, e := range m.entries {
		rank, score, ok := s.Rank(e.Member)
		if !ok || rank != i || !same(score, e.Score) || !same(s.At(i).Score, e.Score) {
			t.Fatalf("%q: rank %d, score %v, %v; want %d, %v", e.Member, rank, score, ok, i, e.Score)
		}
	}
	if !s.Large() {
		return
	}
	seen := map[string]bool{}
	last := uint32(0)
	for hash, e := range s.Scan(0) {
		if hash < last || seen[string(e.Member)] || !same(m.entries[m.index(e.Member)].Score, e.Score) {
			t.Fatalf("scan: %q, hash %d after %d", e.Member, hash, last)
		}
		last, seen[string(e.Member)] = hash, true
	}
	if len(seen) != len(m.entries) {
		t.Fatalf("a scan finds %d members of %d", len(seen), len(m.entries))
	}
}

var scores = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, math.Inf(1), math.Inf(-1), 1e300, -1e-300, 3, 4, 5}

func TestSetIsItsModel(t *testing.T) {
	for seed := range int64(20) {
		rng := rand.New(rand.NewSource(seed))
		s, m := New(), &model{}
		spread := []int{4, 40, 400}[rng.Intn(3)]
		for range 2000 {
			member := fmt.Appendf(nil, "m%d", rng.Intn(spread))
			if rng.Intn(200) == 0 {
				member = bytes.Repeat([]byte("x"), 15+rng.Intn(200))
			}
			switch rng.Intn(8) {
			case 0:
				i := m.index(member)
				if got := s.Remove(member); got != (i >= 0) {
					t.Fatalf("remove %q: %v", member, got)
				}
				if i >= 0 {
					m.entries = slices.Delete(m.entries, i, i+1)
				}
			case 1:
				if len(m.entries) == 0 || rng.Intn(6) > 0 {
					continue
				}
				from := rng.Intn(len(m.entries))
				count := rng.Intn(len(m.entries) - from + 1)
				s.RemoveRange(from, count, nobody)
				m.entries = slices.Delete(m.entries, from, from+count)
			case 2:
				bound := scores[rng.Intn(len(scores))]
				for _, equal := range []bool{false, true} {
					want := 0
					for _, e := range m.entries {
						if e.Score < bound || equal && e.Score == bound {
							want++
						}
					}
					if got := s.Below(bound, equal); got != want {
						t.Fatalf("below %v, %v: %d, want %d", bound, equal, got, want)
					}
				}
			default:
				score := scores[rng.Intn(len(scores))]
				if added := s.Put(member, score, limits); added != m.put(member, score) {
					t.Fatalf("put %q: added %v", member, added)
				}
			}
			if rng.Intn(20) == 0 {
				check(t, s, m)
			}
		}
		check(t, s, m)
	}
}

func TestClonesAreApart(t *testing.T) {
	for _, n := range []int{5, 300} {
		s, m := New(), &model{}
		for i := range n {
			member := fmt.Appendf(nil, "m%d", i)
			s.Put(member, float64(i%7), limits)
			m.put(member, float64(i%7))
		}
		c := s.Clone().(*Set)
		for i := range n / 2 {
			c.Remove(fmt.Appendf(nil, "m%d", i))
		}
		c.Put([]byte("other"), -1, limits)
		check(t, s, m)
		s.Put([]byte("third"), 9, limits)
		if _, ok := c.Score([]byte("third")); ok || c.Len() != n-n/2+1 {
			t.Fatalf("the clone of %d has %d members", n, c.Len())
		}
	}
}

func TestBuiltIsPut(t *testing.T) {
	for _, n := range []int{0, 1, 16, 17, 5000} {
		m, put := &model{large: n > 16}, New()
		for i := range n {
			e := Entry{fmt.Appendf(nil, "m%d", i), float64(i % 5)}
			m.entries = append(m.entries, e)
			put.Put(e.Member, e.Score, limits)
		}
		slices.SortFunc(m.entries, Compare)
		built := Build(m.entries, limits, nobody)
		check(t, built, m)
		check(t, put, m)
	}
}

func TestCompactAndExpand(t *testing.T) {
	var entries []Entry
	for i := range 10 {
		entries = append(entries, Entry{fmt.Appendf(nil, "m%d", i), float64(i)})
	}
	s := Build(entries, Limits{}, nobody)
	if !s.Large() {
		t.Fatal("small beyond the limits")
	}
	s.Compact(limits)
	check(t, s, &model{entries, false})
	s.Expand(limits)
	check(t, s, &model{entries, false})
	s.Expand(Limits{9, 20})
	check(t, s, &model{entries, true})
	s.Compact(Limits{10, 1})
	check(t, s, &model{entries, true})
}

func TestASmallSetForgetsTheSignOfZero(t *testing.T) {
	minus := math.Copysign(0, -1)
	s := New()
	s.Put([]byte("a"), minus, limits)
	if score, _ := s.Score([]byte("a")); math.Signbit(score) {
		t.Error("small: -0 is kept")
	}
	s = NewLarge()
	s.Put([]byte("a"), minus, limits)
	s.Put([]byte("a"), 0, limits)
	if score, _ := s.Score([]byte("a")); !math.Signbit(score) {
		t.Error("large: -0 is lost")
	}
}

// TestMemory prints the cost of a member. A member of Redis's skiplist takes about 90 bytes and its
// text.
func TestMemory(t *testing.T) {
	for _, n := range []int{10, 100, 100_000} {
		s := New()
		for i := range n {
			s.Put(fmt.Appendf(nil, "member:%06d", i), float64(i*7919%n), Limits{128, 64})
		}
		each := s.MemoryBytes() / n
		t.Logf("%d members of 13 bytes: %d bytes each", n, each)
		if max := 45 + 500/n; each > 85 || n <= 100 && each > max {
			t.Errorf("%d members: %d bytes each", n, each)
		}
	}
}

func BenchmarkPut(b *testing.B) {
	s := New()
	var member []byte
	for i := 0; b.Loop(); i++ {
		member = fmt.Appendf(member[:0], "member:%d", i*7919%1_000_003)
		s.Put(member, float64(i%100_003), Limits{128, 64})
	}
	b.ReportMetric(float64(s.MemoryBytes())/float64(s.Len()), "bytes/member")
}
