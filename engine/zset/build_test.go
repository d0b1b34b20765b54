package zset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"testing"

	"lockstep/engine/pack"
)

// alike returns how two sets differ, in their order or in the order of a scan.
func alike(a, b *Set) error {
	if a.Len() != b.Len() || a.Large() != b.Large() || a.minusZeros != b.minusZeros {
		return fmt.Errorf("%d members, %v, %d; want %d, %v, %d", a.Len(), a.Large(), a.minusZeros, b.Len(), b.Large(), b.minusZeros)
	}
	all := make([]Entry, 0, b.Len())
	for _, e := range b.From(0) {
		all = append(all, e)
	}
	for i, e := range a.From(0) {
		if want := all[i]; !bytes.Equal(e.Member, want.Member) || !same(e.Score, want.Score) {
			return fmt.Errorf("place %d: %q %v, want %q %v", i, e.Member, e.Score, want.Member, want.Score)
		}
	}
	if !a.Large() {
		return nil
	}
	all = all[:0]
	for _, e := range b.Scan(0) {
		all = append(all, e)
	}
	i := 0
	for hash, e := range a.Scan(0) {
		if want := all[i]; !bytes.Equal(e.Member, want.Member) || !same(e.Score, want.Score) || hash != pack.Hash(e.Member) {
			return fmt.Errorf("place %d of a scan: %q %v, want %q %v", i, e.Member, e.Score, want.Member, want.Score)
		}
		i++
	}
	return nil
}

// drawn are n different members with scores. Several members share each score, and there are zeros
// of both signs.
func drawn(n int) []Entry {
	r := rand.New(rand.NewSource(int64(n)))
	all := make([]Entry, n)
	for i := range all {
		all[i] = Entry{fmt.Appendf(nil, "%0*d", 1+r.Intn(40), i), float64(r.Intn(1+n/3) - n/6)}
		all[i].Member = binary.AppendUvarint(all[i].Member, uint64(i))
		if all[i].Score == 0 && i%2 == 0 {
			all[i].Score = math.Copysign(0, -1)
		}
	}
	return all
}

// A set from a Builder equals one whose members were added one by one, whatever their order.
func TestABuiltSetIsOneWhoseMembersCameOneByOne(t *testing.T) {
	// With that many members, some have the same hash.
	const many = 200_000
	for _, n := range []int{0, 1, 2, 100, partEntries + 1, many} {
		want := NewLarge()
		all := drawn(n)
		for _, e := range all {
			want.Put(e.Member, e.Score, Limits{})
		}
		var rising []Entry
		for _, e := range want.From(0) {
			rising = append(rising, e)
		}
		for name, order := range map[string]func(add func(Entry)){
			"drawn":  func(add func(Entry)) { each(all, add) },
			"rising": func(add func(Entry)) { each(rising, add) },
			"falling": func(add func(Entry)) {
				for i := range rising {
					add(rising[n-1-i])
				}
			},
		} {
			for _, bytesMax := range []int{builderBytesMax, 5000} {
				if bytesMax == 5000 && n == many {
					continue
				}
				b := NewBuilder()
				b.bytesMax = bytesMax
				order(func(e Entry) { b.Add(e.Member, e.Score) })
				got, different := b.Build()
				if err := alike(got, want); err != nil || !different {
					t.Fatalf("%d members, %s: %v, %v", n, name, different, err)
				}
			}
		}
		if err := alike(Build(rising, Limits{}, nobody), want); err != nil && n > 0 {
			t.Fatalf("%d sorted members: %v", n, err)
		}
	}
}

func each(all []Entry, add func(Entry)) {
	for _, e := range all {
		add(e)
	}
}

func TestAMemberThatComesTwiceIsNoticed(t *testing.T) {
	for _, bytesMax := range []int{builderBytesMax, 1000} {
		for _, at := range []int{0, 1, 4999} {
			b := NewBuilder()
			b.bytesMax = bytesMax
			all := drawn(5000)
			each(all, func(e Entry) { b.Add(e.Member, e.Score) })
			b.Add(all[at].Member, 1e9)
			if _, different := b.Build(); different {
				t.Errorf("member %d came twice, with %d bytes at once", at, bytesMax)
			}
		}
	}
}

// A member that is longer than a piece has a piece of its own.
func TestLongMembersAreBuilt(t *testing.T) {
	b, want := NewBuilder(), NewLarge()
	for i := range 5 {
		member := bytes.Repeat([]byte{byte(i)}, pieceBytes*i)
		b.Add(member, 1)
		want.Put(member, 1, Limits{})
	}
	got, different := b.Build()
	if err := alike(got, want); err != nil || !different {
		t.Error(different, err)
	}
}
