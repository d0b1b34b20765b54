package engine

import (
	"bytes"
	"math/rand"
	"testing"
)

// TestEntriesKeepTheirBytes makes strings of all lengths around those at which their layout
// changes. It overwrites, copies and renames them, and checks key and text.
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

// TestOverwritingReusesMemory: a text of the same length reuses the memory, and a much shorter one
// does not keep it.
func TestOverwritingReusesMemory(t *testing.T) {
	e := NewString([]byte("key"), make([]byte, 100))
	if !e.setText(bytes.Repeat([]byte("x"), 100)) || !e.setText(bytes.Repeat([]byte("y"), 95)) {
		t.Error("a text of the same length is not taken")
	}
	if e.setText([]byte("z")) {
		t.Error("one byte keeps the memory of a hundred")
	}
}

// TestATextThatShrinksGivesItsMemoryBack: a text that becomes slightly shorter again and again does
// not keep its first memory, and the memory is counted correctly.
func TestATextThatShrinksGivesItsMemoryBack(t *testing.T) {
	k := New(Config{LockSlots: 1})
	key, text := []byte("key"), make([]byte, packedMax)
	first := k.SetString(0, 0, key, text, 0, 1)
	for txnNo := uint64(2); len(text) > 8; txnNo++ {
		text = text[:len(text)-8]
		k.SetString(0, 0, key, text, 0, txnNo)
	}
	e := k.Find(0, 0, key)
	if e == first {
		t.Errorf("%d bytes keep the memory of %d", len(text), packedMax)
	}
	if n := k.MemoryBytes(); n != int64(e.MemoryBytes()) || n > 128 {
		t.Errorf("%d bytes are counted, %d of the entry", n, e.MemoryBytes())
	}
	// Spare memory is used again.
	e = k.SetString(0, 0, key, make([]byte, 100), 0, 1)
	k.SetString(0, 0, key, make([]byte, 90), 0, 2)
	if k.SetString(0, 0, key, make([]byte, 100), 0, 3) != e {
		t.Error("a text that is as long as once before gets other memory")
	}
	k.Remove(0, 0, key, 4)
	if n := k.MemoryBytes(); n != 0 {
		t.Errorf("%d bytes of nothing", n)
	}
}
