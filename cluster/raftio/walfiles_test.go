package raftio

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	walfs "github.com/hashicorp/raft-wal/fs"
)

// TestWALFilesHoldWhatIsWritten: zeros are written only over parts that were never written, and
// never beyond the end of the file.
func TestWALFilesHoldWhatIsWritten(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it uses one goroutine")
	}
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		dir, size := t.TempDir(), int64(3*readyStep+random.IntN(5000))
		files := walFiles{walfs.New(), func(string) error { return nil }}
		f, err := files.Create(dir, "f", uint64(size))
		if err != nil {
			t.Fatal(err)
		}
		want := make([]byte, size)
		for at := int64(0); at < size; {
			if random.IntN(40) == 0 {
				// The node restarts: it does not know which part it has made ready.
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
				if f, err = files.OpenWriter(dir, "f"); err != nil {
					t.Fatal(err)
				}
			}
			n := 1 + random.Int64N(3000)
			if random.IntN(10) == 0 {
				n = 1 + random.Int64N(3*readyWriteMax)
			}
			p := want[at:min(at+n, size)]
			for i := range p {
				p[i] = byte(1 + random.IntN(255))
			}
			if n, err := f.WriteAt(p, at); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
			if random.IntN(5) > 0 {
				// Otherwise the same place is written again, as after a failed append.
				at += int64(len(p))
			}
			if random.IntN(30) == 0 {
				if err := f.Sync(); err != nil {
					t.Fatal(err)
				}
				same(t, dir, want[:at], size)
			}
		}
		same(t, dir, want, size)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// same compares the bytes that were written.
func same(t *testing.T, dir string, want []byte, size int64) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(got)) != size {
		t.Fatalf("%d bytes instead of %d", len(got), size)
	}
	if !bytes.HasPrefix(got, want) {
		t.Fatal("the file holds something else")
	}
}

// BenchmarkAppend appends an entry of 1,500 bytes at a time, with raft-wal's own
// files and with ours:
//
//	go test -run '^$' -bench Append -benchtime 5000x -count 5 ./cluster/raftio
func BenchmarkAppend(b *testing.B) {
	theirs := func(dir string) (*wal.WAL, error) { return wal.Open(dir, wal.WithLogger(hclog.NewNullLogger())) }
	ours := func(dir string) (*wal.WAL, error) { return openWAL(dir, hclog.NewNullLogger(), func(error) {}) }
	for name, open := range map[string]func(string) (*wal.WAL, error){"theirs": theirs, "ours": ours} {
		b.Run(name, func(b *testing.B) {
			w, err := open(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			for i := range b.N {
				if err := w.StoreLog(&raft.Log{Index: uint64(i + 1), Term: 1, Data: bytes.Repeat([]byte{1}, 1500)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
