package engine

import (
	"bytes"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/dchest/siphash"
)

// TestDictKeepsWhatAMapWould puts and removes random keys in a dict and in a Go map, and compares
// the two, at sizes from one key to many segments.
func TestDictKeepsWhatAMapWould(t *testing.T) {
	for _, size := range []int{1, 2, 7, 40, 1000, 20_000, 200_000} {
		if testing.Short() && size > 20_000 {
			continue
		}
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			rng := rand.New(rand.NewSource(int64(size)))
			d, model := &dict{}, map[string]*Entry{}
			for range 3 * size {
				key := fmt.Appendf(nil, "key:%d", rng.Intn(size))
				putOrRemove(t, d, model, key, rng.Intn(3) > 0)
			}
			compare(t, d, model)
			for key := range model {
				d.remove(testHash([]byte(key)), []byte(key), 0)
			}
			if d.count != 0 || d.dir != nil {
				t.Fatalf("%d keys and %d places left after all were removed", d.count, len(d.dir))
			}
		})
	}
}

func testHash(key []byte) uint32 { return uint32(siphash.Hash(1, 2, key)) }

func putOrRemove(t *testing.T, d *dict, model map[string]*Entry, key []byte, put bool) {
	t.Helper()
	want := model[string(key)]
	var got *Entry
	if put {
		e := NewString(key, nil)
		model[string(key)] = e
		got = d.put(testHash(key), key, e, 0)
	} else {
		delete(model, string(key))
		got = d.remove(testHash(key), key, 0)
	}
	if got != want {
		t.Fatalf("%s: displaced %p, the map had %p", key, got, want)
	}
}

func compare(t *testing.T, d *dict, model map[string]*Entry) {
	t.Helper()
	if d.count != len(model) {
		t.Fatalf("count %d, the map has %d", d.count, len(model))
	}
	for key, e := range model {
		if d.find(testHash([]byte(key)), []byte(key)) != e {
			t.Fatalf("%s is lost", key)
		}
	}
	last, seen := uint32(0), 0
	d.walk(0, func(hash uint32, e *Entry) bool {
		if hash < last || hash != testHash(e.KeyBytes()) || model[e.Key()] != e {
			t.Fatalf("walk is out of order or wrong at %s", e.Key())
		}
		last = hash
		seen++
		return true
	})
	if seen != len(model) {
		t.Fatalf("walk saw %d of %d", seen, len(model))
	}
}

// TestWalkBeginsAnywhere compares walks that begin at random hashes with the end of a whole walk.
func TestWalkBeginsAnywhere(t *testing.T) {
	d := &dict{}
	for i := range 30_000 {
		key := fmt.Appendf(nil, "%d", i)
		d.put(testHash(key), key, NewString(key, nil), 0)
	}
	all := walked(d, 0)
	rng := rand.New(rand.NewSource(1))
	for range 200 {
		from := rng.Uint32()
		i, _ := slices.BinarySearchFunc(all, from, func(key string, from uint32) int {
			if testHash([]byte(key)) < from {
				return -1
			}
			return 1
		})
		if got := walked(d, from); !slices.Equal(got, all[i:]) {
			t.Fatalf("from %08x: %d keys, want %d", from, len(got), len(all)-i)
		}
	}
}

func walked(d *dict, from uint32) []string {
	var keys []string
	d.walk(from, func(_ uint32, e *Entry) bool { keys = append(keys, e.Key()); return true })
	return keys
}

// TestWalkOrderSurvivesRestore builds a dict with many equal hashes by a random history. It fills
// another dict in the walk order of the first, as loading a snapshot does, and expects the same
// order, including keys with equal hashes.
func TestWalkOrderSurvivesRestore(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	// Eight keys share each hash.
	hash := func(key []byte) uint32 { return testHash(key[:len(key)-1]) }
	for round := range 30 {
		d := &dict{}
		for range 1 + rng.Intn(20_000) {
			key := fmt.Appendf(nil, "%d%d", rng.Intn(1000), rng.Intn(8))
			if rng.Intn(3) > 0 {
				d.put(hash(key), key, NewString(key, nil), 0)
			} else {
				d.remove(hash(key), key, 0)
			}
		}
		restored := &dict{}
		d.walk(0, func(h uint32, e *Entry) bool {
			restored.put(h, e.KeyBytes(), NewString(e.KeyBytes(), nil), 0)
			return true
		})
		if !slices.Equal(walked(d, 0), walked(restored, 0)) {
			t.Fatalf("round %d: the order changed", round)
		}
	}
}

// TestKeysOfOneHashFit stores far more keys under the highest hash than fit behind the end of a
// table. A greater span makes no room for them.
func TestKeysOfOneHashFit(t *testing.T) {
	d := &dict{}
	const n = 500
	for i := range n {
		key := fmt.Appendf(nil, "%d", i)
		d.put(^uint32(0), key, NewString(key, nil), 0)
	}
	if got := walked(d, ^uint32(0)); len(got) != n || got[0] != "0" || got[n-1] != fmt.Sprint(n-1) {
		t.Fatalf("walk gives %d keys, want %d in the order they came", len(got), n)
	}
	places := 0
	for _, s := range d.segments() {
		places += len(s.entries)
	}
	if places > 20*n {
		t.Fatalf("%d places for %d keys", places, n)
	}
}

// TestSegmentsShrink: the memory of deleted keys is released.
func TestSegmentsShrink(t *testing.T) {
	d := &dict{}
	key := func(i int) []byte { return fmt.Appendf(nil, "%d", i) }
	const n = 20_000
	for i := range n {
		d.put(testHash(key(i)), key(i), NewString(key(i), nil), 0)
	}
	for i := range n - 100 {
		d.remove(testHash(key(i)), key(i), 0)
	}
	places := 0
	for _, s := range d.segments() {
		places += len(s.entries)
	}
	if places > 2000 {
		t.Fatalf("%d places for 100 keys", places)
	}
}

// TestCutKeepsSegments changes a dict whose segments a cut keeps. Those segments must not change.
func TestCutKeepsSegments(t *testing.T) {
	d := &dict{}
	put := func(i int, epoch uint64) {
		key := fmt.Appendf(nil, "%d", i)
		d.put(testHash(key), key, NewString(key, nil), epoch)
	}
	for i := range 10_000 {
		put(i, 0)
	}
	held := d.segments()
	var before bytes.Buffer
	dump := func(b *bytes.Buffer) {
		for _, s := range held {
			for i, e := range s.entries {
				if e != nil {
					fmt.Fprintf(b, "%d %p\n", s.hashes[i], e)
				}
			}
		}
	}
	for _, s := range held {
		s.cutEpoch = 9
	}
	dump(&before)
	for i := range 30_000 {
		put(i, 9)
	}
	for i := range 25_000 {
		key := fmt.Appendf(nil, "%d", i)
		d.remove(testHash(key), key, 9)
	}
	var after bytes.Buffer
	dump(&after)
	if !bytes.Equal(before.Bytes(), after.Bytes()) {
		t.Fatal("a held segment was changed")
	}
}
