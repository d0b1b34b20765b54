package raftio

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// sharing is the folder of a node whose groups share a journal.
type sharing struct {
	t         *testing.T
	dir, kind string
	journal   *Journal
	stores    map[uint32]*Stores
	ended     *fatals
}

func (s *sharing) groupDir(group uint32) string {
	return filepath.Join(s.dir, "raft", fmt.Sprint("shard-", group))
}

func (s *sharing) start(groups ...uint32) {
	s.t.Helper()
	j, err := s.openJournal()
	if err != nil {
		s.t.Fatal(err)
	}
	s.journal, s.stores = j, map[uint32]*Stores{}
	if err := j.DropOthers(func(group uint32) bool { return HasFolder(s.groupDir(group)) }); err != nil {
		s.t.Fatal(err)
	}
	for _, g := range groups {
		stores, err := s.open(g, j)
		if err != nil {
			s.t.Fatal(err)
		}
		s.stores[g] = stores
	}
}

func (s *sharing) openJournal() (*Journal, error) {
	groups, err := filepath.Glob(filepath.Join(s.dir, "raft", "*"))
	if err != nil {
		s.t.Fatal(err)
	}
	return OpenJournal(filepath.Join(s.dir, "journal"), s.kind, groups, s.ended.fatal, silent())
}

func (s *sharing) open(group uint32, j *Journal) (*Stores, error) {
	return OpenStores(&StoresConfig{Dir: s.groupDir(group), Kind: s.kind, Journal: j, Group: group, Log: silent(), Guards: Guards{StallLimit: time.Minute, Fatal: s.ended.fatal}})
}

func (s *sharing) stop() {
	s.t.Helper()
	for _, stores := range s.stores {
		if err := stores.Close(); err != nil {
			s.t.Error(err)
		}
	}
	if err := s.journal.Close(); err != nil {
		s.t.Error(err)
	}
}

func (s *sharing) last(group uint32) uint64 {
	s.t.Helper()
	last, err := s.stores[group].Log.LastIndex()
	if err != nil {
		s.t.Fatal(err)
	}
	return last
}

// A group's log lives as long as its folder: a crash between the deletion of the folder and of the
// entries leaves nothing in the journal, and a group that comes back starts empty.
func TestGroupsThatShareAJournalKeepTheirLogsAndNoOthers(t *testing.T) {
	for _, kind := range bothKinds {
		t.Run(kind, func(t *testing.T) {
			s := &sharing{t: t, dir: t.TempDir(), kind: kind, ended: newFatals()}
			s.start(1, 2, 3)
			for g, stores := range s.stores {
				for i := range uint64(10 * g) {
					if err := stores.Log.StoreLog(&raft.Log{Index: i + 1, Term: 1, Data: fmt.Append(nil, g)}); err != nil {
						t.Fatal(err)
					}
				}
			}
			s.stop()
			if err := os.RemoveAll(s.groupDir(2)); err != nil {
				t.Fatal(err)
			}
			s.start(1, 3)
			if got := s.journal.journal.Groups(); len(got) != 2 {
				t.Errorf("the journal has entries of %v", got)
			}
			if s.last(1) != 10 || s.last(3) != 30 {
				t.Errorf("the logs end at %d and %d", s.last(1), s.last(3))
			}
			var l raft.Log
			if err := s.stores[3].Log.GetLog(30, &l); err != nil || string(l.Data) != "3" {
				t.Errorf("%+v, %v", l, err)
			}
			s.stop()
			s.start(1, 2, 3)
			if s.last(2) != 0 {
				t.Errorf("a new replica's log ends at %d", s.last(2))
			}
			// Only the folder was deleted, while the journal was open.
			must(t, s.stores[3].Close())
			must(t, os.RemoveAll(s.groupDir(3)))
			again, err := s.open(3, s.journal)
			must(t, err)
			s.stores[3] = again
			if s.last(3) != 0 {
				t.Errorf("a replica that came back has a log that ends at %d", s.last(3))
			}
			s.stop()
			if _, err := s.open(1, nil); err == nil {
				t.Error("a group is opened without the journal that has its log")
			}
			s.ended.none(t)
		})
	}
}
