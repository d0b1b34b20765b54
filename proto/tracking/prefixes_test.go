package tracking

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestPrefixesAreFoundAsIfEachWereCompared adds and removes prefixes that overlap in every way, and
// compares the hits of keys with a comparison with all prefixes.
func TestPrefixesAreFoundAsIfEachWereCompared(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		b := make([]byte, r.IntN(5))
		for i := range b {
			b[i] = "ab"[r.IntN(2)]
		}
		return string(b)
	}
	p, c, there := newPrefixes(), &tracker{}, map[string]bool{}
	for range 5000 {
		if x := text(); !there[x] {
			p.add(x, c)
			there[x] = true
		} else {
			p.remove(x, c)
			delete(there, x)
		}
		var keys, want, got []string
		for range r.IntN(4) {
			keys = append(keys, text()+text())
		}
		slices.Sort(keys)
		keys = slices.Compact(keys)
		for x := range there {
			of := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !strings.HasPrefix(key, x) })
			if len(of) > 0 {
				want = append(want, fmt.Sprint(x, of))
			}
		}
		for _, h := range p.hits(keys) {
			got = append(got, fmt.Sprint(h.prefix, h.keys))
		}
		if !slices.IsSortedFunc(p.hits(keys), func(a, b hit) int { return strings.Compare(a.prefix, b.prefix) }) {
			t.Fatalf("%q come in no order", got)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("keys %q of prefixes %v hit %q, want %q", keys, there, got, want)
		}
		if p.number() != len(there) {
			t.Fatalf("%d prefixes, want %d", p.number(), len(there))
		}
	}
	for x := range there {
		p.remove(x, c)
	}
	if p.number() != 0 || len(p.lengths) != 0 {
		t.Errorf("left: %d prefixes, lengths %v", p.number(), p.lengths)
	}
}

// BenchmarkManyPrefixes measures a write while a client has very many prefixes that do not match
// the key.
func BenchmarkManyPrefixes(b *testing.B) {
	table, shard := newTable(0)
	for client := range uint64(16) {
		opt := Options{BCast: true}
		for i := range 4096 {
			opt.Prefixes = append(opt.Prefixes, fmt.Sprintf("%d:%d:", client, i))
		}
		table.Set(client+1, &ear{}, opt)
	}
	changed := keys("lat")
	for b.Loop() {
		shard.Changed(own(1), changed)
	}
}
