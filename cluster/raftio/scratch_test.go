package raftio

import (
	"bytes"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hashicorp/raft"

	"lockstep/fsm"
)

// longEntries writes entries of 8 MB, a short one, and one without data into a log in bbolt.
func longEntries(t *testing.T) (boltLog, []*raft.Log) {
	t.Helper()
	b, err := openBolt(filepath.Join(t.TempDir(), BoltFile), logMmapBytes, nil)
	must(t, err)
	t.Cleanup(func() { b.Close() })
	var entries []*raft.Log
	for i := range uint64(3) {
		entries = append(entries, &raft.Log{Index: i + 1, Term: 1, Data: bytes.Repeat([]byte{byte(i)}, 8<<20)})
	}
	entries = append(entries, &raft.Log{Index: 4, Term: 1, Data: []byte("short")}, &raft.Log{Index: 5, Term: 1})
	must(t, b.StoreLogs(entries))
	return boltLog{b}, entries
}

// However many goroutines read long entries at the same time, none of them copies an entry again
// and again while it grows: reading 8 MB takes a few allocations, from the first read on.
func TestLongEntriesAreReadAtOnce(t *testing.T) {
	log, entries := longEntries(t)
	const readers, few = 2 * roomsMax, 60
	r := newRooms()
	read := func(i int) {
		var l raft.Log
		if err := r.read(log.BoltStore, uint64(i+1), &l); err != nil || !bytes.Equal(l.Data, entries[i].Data) {
			t.Errorf("entry %d: %v, or its data has changed", i+1, err)
		}
	}
	allocs := testing.AllocsPerRun(1, func() {
		var all sync.WaitGroup
		for reader := range readers {
			all.Go(func() { read(reader % len(entries)) })
		}
		all.Wait()
	})
	if allocs > readers*few {
		t.Errorf("%v allocations for %d reads", allocs, readers)
	}
}

// An entry stays as it is when the room it was read in is used again.
func TestAnEntryDoesNotLieInTheRoomItWasReadIn(t *testing.T) {
	log, entries := longEntries(t)
	r := newRooms()
	var got [5]raft.Log
	for range 2 {
		for i := range got {
			must(t, r.read(log.BoltStore, uint64(i+1), &got[i]))
		}
	}
	for i := range got {
		if !bytes.Equal(got[i].Data, entries[i].Data) {
			t.Errorf("entry %d has changed", i+1)
		}
	}
}

func TestLogsInBoltAreReadInRooms(t *testing.T) {
	log, closeLog, err := openLog(t.TempDir(), StoreBolt, silent(), nil)
	must(t, err)
	defer closeLog()
	if _, reads := log.(boltLog); !reads {
		t.Error("they are read otherwise")
	}
}

// BenchmarkReadingALongEntry reads the longest entry, with several readers at the same time.
func BenchmarkReadingALongEntry(b *testing.B) {
	store, err := openBolt(filepath.Join(b.TempDir(), BoltFile), logMmapBytes, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	if err := store.StoreLog(&raft.Log{Index: 1, Term: 1, Data: make([]byte, fsm.EntryBytesMax)}); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(fsm.EntryBytesMax)
	b.SetParallelism(2)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			var l raft.Log
			if err := (boltLog{store}).GetLog(1, &l); err != nil {
				b.Fatal(err)
			}
		}
	})
}
