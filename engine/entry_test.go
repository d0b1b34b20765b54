package engine

import (
	"bytes"
	"math/rand"
	"testing"
)

// TestEntriesKeepTheirBytes makes strings of all lengths around those where
// their layout changes, overwrites, copies and renames them, and expects key
// and text to be what they should.
func TestEntriesKeepTheirBytes(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	random := func(n int) []byte {
		b := make([]byte, n)
		rng.Read(b)
		return b
	}
	lengths := []int{0, 1, 7, 8, 9, 100, packedMax - 1, packedMax, packedMax + 1, 3 * packedMax}
	for _, keyLen := range lengths {
		for _, textLen := range lengths {
			key, text := random(keyLen), random(textLen)
			e := NewString(key, text)
			e.ExpireAtMs = 5
			check := func(what string, e *Entry, key, text []byte) {
				t.Helper()
				if !bytes.Equal(e.KeyBytes(), key) || e.Key() != string(key) || !bytes.Equal(e.Text(), text) || e.ExpireAtMs != 5 || e.Kind() != KindString {
					t.Fatalf("%s: key of %d, text of %d bytes are wrong", what, keyLen, textLen)
				}
			}
			check("new", e, key, text)
			other := random(rng.Intn(20))
			check("copied", e.Copied(other), other, text)
			check("cloned", e.clone(), key, text)
			for range 5 {
				text := random(max(0, textLen+rng.Intn(40)-20))
				before := bytes.Clone(e.Text())
				if e.setText(text) {
					check("overwritten", e, key, text)
				} else {
					check("not overwritten", e, key, before)
				}
			}
			check("renamed", e.renamed(other), other, e.Text())
		}
	}
}

// TestOverwritingReusesMemory expects a text of the same length to be taken in
// place, and one that is much shorter not to keep the memory.
func TestOverwritingReusesMemory(t *testing.T) {
	e := NewString([]byte("key"), make([]byte, 100))
	if !e.setText(bytes.Repeat([]byte("x"), 100)) || !e.setText(bytes.Repeat([]byte("y"), 95)) {
		t.Error("a text of the same length is not taken")
	}
	if e.setText([]byte("z")) {
		t.Error("one byte keeps the memory of a hundred")
	}
}
