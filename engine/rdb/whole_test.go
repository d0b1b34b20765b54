package rdb

import (
	"bytes"
	"errors"
	"math/rand"
	"testing"
)

// TestAFileIsWholeWhateverPiecesItComesIn: a file is complete however it is split into pieces, and
// not if it was changed or cut anywhere.
func TestAFileIsWholeWhateverPiecesItComesIn(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for n := range 40 {
		file := append([]byte("REDIS0009"), make([]byte, 1+n)...)
		r.Read(file[9:])
		sum := checksum(0, file)
		for i := range 8 {
			file = append(file, byte(sum>>(8*i)))
		}
		whole := func(file []byte) error {
			var w Whole
			for rest := file; len(rest) > 0; {
				k := 1 + r.Intn(min(len(rest), 12))
				if got, err := w.Write(rest[:k]); got != k || err != nil {
					t.Fatal(got, err)
				}
				rest = rest[k:]
			}
			return w.Err()
		}
		for range 20 {
			if err := whole(file); err != nil {
				t.Fatalf("%d bytes: %v", len(file), err)
			}
			bad := bytes.Clone(file)
			bad[r.Intn(len(bad))] ^= 1 << r.Intn(8)
			if err := whole(bad); !errors.Is(err, ErrChecksum) {
				t.Fatalf("a changed one of %d bytes: %v", len(file), err)
			}
			if err := whole(file[:r.Intn(len(file))]); !errors.Is(err, ErrChecksum) {
				t.Fatalf("a cut one of %d bytes: %v", len(file), err)
			}
		}
	}
}
