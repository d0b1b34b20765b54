package raftio

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"
)

// A long entry is read without being copied again and again: only the first of its kind is.
func TestLongEntriesAreReadAtOnce(t *testing.T) {
	b, err := openBolt(filepath.Join(t.TempDir(), BoltFile), logMmapBytes)
	must(t, err)
	defer b.Close()
	const long, few = 8 << 20, 60
	var entries []*raft.Log
	for i := range uint64(3) {
		entries = append(entries, &raft.Log{Index: i + 1, Term: 1, Data: bytes.Repeat([]byte{byte(i)}, long)})
	}
	entries = append(entries, &raft.Log{Index: 4, Term: 1, Data: []byte("short")}, &raft.Log{Index: 5, Term: 1})
	must(t, b.StoreLogs(entries))
	var s scratch
	var got [5]raft.Log
	for i := range got {
		must(t, s.get(b, uint64(i+1), &got[i]))
	}
	// None lies in what is used again.
	for i := range got {
		if !bytes.Equal(got[i].Data, entries[i].Data) {
			t.Errorf("entry %d has changed", i+1)
		}
	}
	if n := testing.AllocsPerRun(3, func() {
		var l raft.Log
		must(t, s.get(b, 2, &l))
	}); n > few {
		t.Errorf("%v allocations for an entry of %d bytes", n, long)
	}
	for range scratchSpareMax + 1 {
		var l raft.Log
		must(t, s.get(b, 4, &l))
	}
	if n := cap(s.mem); n > scratchBytesMin {
		t.Errorf("%d bytes are kept for short entries", n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if log, _, err := openLog(t.TempDir(), StoreBolt, silent(), nil); err != nil {
		t.Error(err)
	} else if _, reads := log.(boltLog); !reads {
		t.Error("logs in bbolt are read otherwise")
	}
	var l raft.Log
	if err := s.get(b, 3, &l); err != nil || !bytes.Equal(l.Data, entries[2].Data) {
		t.Error("beside another reader:", err)
	}
}
