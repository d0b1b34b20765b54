package raftio

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/hashicorp/raft"
)

func TestCacheAnswersAsItsStoreWould(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	inner, _ := guarded(t, raft.NewInmemStore(), nil)
	c := &cache{LogStore: inner}
	first, last, term := uint64(1), uint64(0), uint64(1)
	for range 2000 {
		switch n := rng.Uint64N(10); {
		case n < 6 || first > last:
			k := 1 + rng.Uint64N(200)
			if first > last {
				first = last + 1
			}
			must(t, c.StoreLogs(commands(last+1, last+k, term)))
			last += k
		case n == 6: // a new leader cuts off the end
			from := first + rng.Uint64N(last-first+1)
			must(t, c.DeleteRange(from, last))
			last, term = from-1, term+1
		case n == 7: // compaction
			to := first + rng.Uint64N(last-first+1)
			must(t, c.DeleteRange(first, to))
			first = to + 1
		}
		for range 5 {
			i := rng.Uint64N(last + 3)
			var got, want raft.Log
			err1, err2 := c.GetLog(i, &got), inner.GetLog(i, &want)
			if !errors.Is(err1, err2) || got.Term != want.Term || got.Index != want.Index || string(got.Data) != string(want.Data) {
				t.Fatalf("entry %d of %d to %d: %+v %v, not %+v %v", i, first, last, got, err1, want, err2)
			}
		}
	}
}

func TestCacheIsBoundedByBytes(t *testing.T) {
	inner, _ := guarded(t, raft.NewInmemStore(), nil)
	c := &cache{LogStore: inner}
	held := func() (bytes, n int) {
		for _, l := range c.ring {
			if l != nil {
				bytes += len(l.Data)
				n++
			}
		}
		if bytes != c.bytes || n != int(c.high-c.low) {
			t.Fatalf("%d entries of %d bytes, counted %d of %d", n, bytes, c.high-c.low, c.bytes)
		}
		return bytes, n
	}
	data := make([]byte, 1<<20)
	for i := uint64(1); i <= 50; i++ {
		must(t, c.StoreLog(&raft.Log{Index: i, Term: 1, Data: data}))
		if bytes, _ := held(); bytes > cacheBytesMax {
			t.Fatalf("%d bytes", bytes)
		}
	}
	for i := uint64(51); i <= 2000; i++ {
		must(t, c.StoreLog(&raft.Log{Index: i, Term: 1, Data: data[:1]}))
	}
	if _, n := held(); n != cacheEntriesMax {
		t.Errorf("%d entries", n)
	}
}
