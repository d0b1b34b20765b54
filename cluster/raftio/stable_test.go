package raftio

import (
	"errors"
	"fmt"
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

// persistVote does what hashicorp/raft does.
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

func TestVoteIsWrittenInOnePiece(t *testing.T) {
	dog := NewWatchdog(time.Minute, func(error) {})
	defer dog.Close()
	for dies := 0; dies <= 4; dies++ {
		disk := &dyingStore{InmemStore: raft.NewInmemStore()}
		must(t, persistVote(guardStable(disk, dog), 5, "a"))
		disk.writes, disk.dies = 0, dies
		err := persistVote(guardStable(disk, dog), 6, "b")
		disk.dies = 0
		got := readVote(t, guardStable(disk, dog))
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
