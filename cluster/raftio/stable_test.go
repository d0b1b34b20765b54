package raftio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// dyingStore ends, like its process, before write number dies.
type dyingStore struct {
	*raft.InmemStore
	writes, dies int
}

var errDied = errors.New("the process died")

func (d *dyingStore) write() error {
	d.writes++
	if d.dies > 0 && d.writes >= d.dies {
		return errDied
	}
	return nil
}

func (d *dyingStore) Set(key, value []byte) error {
	if err := d.write(); err != nil {
		return err
	}
	return d.InmemStore.Set(key, value)
}

func (d *dyingStore) SetUint64(key []byte, value uint64) error {
	if err := d.write(); err != nil {
		return err
	}
	return d.InmemStore.SetUint64(key, value)
}

// persistVote stores a vote as hashicorp/raft does.
func persistVote(s raft.StableStore, term uint64, candidate string) error {
	if err := s.SetUint64([]byte(keyVoteTerm), term); err != nil {
		return err
	}
	return s.Set([]byte(keyVoteCand), []byte(candidate))
}

func readVote(t *testing.T, s raft.StableStore) string {
	t.Helper()
	term, err1 := s.GetUint64([]byte(keyVoteTerm))
	cand, err2 := s.Get([]byte(keyVoteCand))
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	return fmt.Sprintf("%d %s", term, cand)
}

func stableOn(t *testing.T, inner raft.StableStore, dog *Watchdog) *StableStore {
	t.Helper()
	s, err := guardStable(inner, dog)
	must(t, err)
	return s
}

func TestVoteIsWrittenInOnePiece(t *testing.T) {
	dog := NewWatchdog(time.Minute, func(error) {})
	defer dog.Close()
	for dies := 0; dies <= 4; dies++ {
		disk := &dyingStore{InmemStore: raft.NewInmemStore()}
		must(t, beginStable(disk))
		must(t, persistVote(stableOn(t, disk, dog), 5, "a"))
		disk.writes, disk.dies = 0, dies
		err := persistVote(stableOn(t, disk, dog), 6, "b")
		disk.dies = 0
		got := readVote(t, stableOn(t, disk, dog))
		if want := map[bool]string{true: "6 b", false: "5 a"}[err == nil]; got != want {
			t.Errorf("died at write %d (%v): the vote is %s", dies, err, got)
		}
	}
}

func TestVoteOutlivesTheProcess(t *testing.T) {
	dir := t.TempDir()
	s, f := opened(t, dir, StoreBolt)
	if _, err := s.Stable.GetUint64([]byte(keyVoteTerm)); err == nil || err.Error() != "not found" {
		t.Errorf("no vote: Raft knows it by another text than %v", err)
	}
	must(t, s.Stable.SetUint64([]byte("CurrentTerm"), 7))
	must(t, persistVote(s.Stable, 7, "n1:7000"))
	must(t, s.Close())
	s, _ = opened(t, dir, StoreBolt)
	if got := readVote(t, s.Stable); got != "7 n1:7000" {
		t.Error(got)
	}
	if term, err := s.Stable.GetUint64([]byte("CurrentTerm")); term != 7 || err != nil {
		t.Error(term, err)
	}
	f.none(t)
}

// A flipped bit anywhere in a record is noticed, and so is a missing record.
func TestADamagedTermOrVoteIsNoticed(t *testing.T) {
	dog := NewWatchdog(time.Minute, func(error) {})
	defer dog.Close()
	disk := raft.NewInmemStore()
	refused := func(what string) {
		t.Helper()
		if _, err := guardStable(disk, dog); !errors.Is(err, errStable) || !strings.Contains(err.Error(), rejoin) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("no record")
	must(t, beginStable(disk))
	s := stableOn(t, disk, dog)
	must(t, s.SetUint64([]byte("CurrentTerm"), 5))
	must(t, persistVote(s, 5, "n1:7000"))
	must(t, s.Set([]byte("other"), nil))
	record, err := disk.Get(keyRecord)
	must(t, err)
	if got := stableOn(t, disk, dog); len(got.values) != 4 {
		t.Errorf("read back: %v", got.values)
	}
	for bit := range 8 * len(record) {
		damaged := bytes.Clone(record)
		damaged[bit/8] ^= 1 << (bit % 8)
		must(t, disk.Set(keyRecord, damaged))
		refused(fmt.Sprintf("bit %d", bit))
	}
	for end := range record {
		must(t, disk.Set(keyRecord, record[:end]))
		refused(fmt.Sprintf("%d bytes of it", end))
	}
}

// A write that did not reach the disk is not visible to readers either.
func TestAWriteThatFailedChangesNothing(t *testing.T) {
	dog := NewWatchdog(time.Minute, func(error) {})
	defer dog.Close()
	disk := &dyingStore{InmemStore: raft.NewInmemStore()}
	must(t, beginStable(disk))
	s := stableOn(t, disk, dog)
	must(t, s.SetUint64([]byte("CurrentTerm"), 5))
	disk.dies = 1
	if err := s.SetUint64([]byte("CurrentTerm"), 6); !errors.Is(err, errDied) {
		t.Error(err)
	}
	if term, err := s.GetUint64([]byte("CurrentTerm")); term != 5 || err != nil {
		t.Error(term, err)
	}
}

func FuzzParseStable(f *testing.F) {
	f.Add(appendStable(nil, map[string][]byte{"CurrentTerm": {1, 2}, "": nil}))
	f.Fuzz(func(t *testing.T, record []byte) {
		parseStable(binary.LittleEndian.AppendUint32(bytes.Clone(record), crc32.Checksum(record, castagnoli)))
		if values, ok := parseStable(record); ok {
			if again, ok := parseStable(appendStable(nil, values)); !ok || len(again) != len(values) {
				t.Errorf("%v is read back as %v", values, again)
			}
		}
	})
}
