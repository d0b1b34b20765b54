package raftio

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft-wal/metadb"
)

// A group with a missing part must not start again: it would have forgotten its acknowledgements or
// its votes.
func TestAGroupOfWhichAPartIsGoneIsRefused(t *testing.T) {
	for what, c := range map[string]struct {
		kind, part, says string
	}{
		"vote":              {StoreBolt, StableFile, "stable.db is gone"},
		"vote, wal":         {StoreWAL, StableFile, "stable.db is gone"},
		"log":               {StoreBolt, BoltFile, "the log of"},
		"log, wal":          {StoreWAL, WALDir, "the log of"},
		"list of files":     {StoreWAL, filepath.Join(WALDir, metadb.FileName), "the log of"},
		"log and snapshots": {StoreBolt, "*o[gt]*", "the log of"},
	} {
		dir := t.TempDir()
		s, _ := opened(t, dir, c.kind)
		must(t, s.Stable.SetUint64(keyTerm, 3))
		must(t, s.Log.StoreLogs(commands(1, 10, 1)))
		snapshot(t, s, 5, 1, 1, "a")
		must(t, s.Close())
		parts, err := filepath.Glob(filepath.Join(dir, c.part))
		must(t, err)
		if len(parts) == 0 {
			t.Fatalf("%s: there is no %s", what, c.part)
		}
		for _, part := range parts {
			must(t, os.RemoveAll(part))
		}
		t.Log(what)
		for range 2 {
			broken(t, dir, c.kind, c.says)
		}
	}
}

// bbolt would make a new file out of an empty one.
func TestAnEmptyFileIsNotMadeAnew(t *testing.T) {
	for _, c := range []struct{ kind, part string }{
		{StoreBolt, StableFile}, {StoreBolt, BoltFile}, {StoreWAL, StableFile}, {StoreWAL, filepath.Join(WALDir, metadb.FileName)},
	} {
		dir := t.TempDir()
		s, _ := opened(t, dir, c.kind)
		must(t, s.Stable.SetUint64(keyTerm, 3))
		must(t, s.Log.StoreLogs(commands(1, 10, 1)))
		must(t, s.Close())
		must(t, os.Truncate(filepath.Join(dir, c.part), 0))
		t.Log(c.part)
		for range 2 {
			broken(t, dir, c.kind, "is empty")
		}
	}
}

// A crash while the files are made leaves some of them, and no term.
func TestAGroupThatWasCutShortWhenItWasMadeIsMade(t *testing.T) {
	for _, kind := range bothKinds {
		dir := t.TempDir()
		s, _ := opened(t, dir, kind)
		must(t, s.Close())
		must(t, os.RemoveAll(filepath.Join(dir, SnapshotsDir)))
		must(t, os.RemoveAll(filepath.Join(dir, WALDir)))
		must(t, os.RemoveAll(filepath.Join(dir, BoltFile)))
		s, f := opened(t, dir, kind)
		must(t, s.Log.StoreLogs(commands(1, 10, 1)))
		f.none(t)
	}
}

// The journal is the log of all its groups. If it is gone, for example because its volume is not
// mounted, another must not take its place, however often the node starts.
func TestAJournalThatGroupsShareIsNotMadeAnew(t *testing.T) {
	for _, kind := range bothKinds {
		for _, leave := range []bool{false, true} {
			s := &sharing{t: t, dir: t.TempDir(), kind: kind, ended: newFatals()}
			s.start(1, 2)
			must(t, s.stores[1].Log.StoreLogs(commands(1, 10, 3)))
			s.stop()
			dir := filepath.Join(s.dir, "journal")
			must(t, os.Rename(dir, dir+".aside"))
			if leave {
				must(t, os.Mkdir(dir, 0o700))
			}
			for range 2 {
				if j, err := s.openJournal(); err == nil {
					j.Close()
					t.Errorf("%s, folder left %v: it is made anew", kind, leave)
				} else if !strings.Contains(err.Error(), "the journal is gone from "+dir) {
					t.Error(err)
				}
			}
			must(t, os.RemoveAll(dir))
			must(t, os.Rename(dir+".aside", dir))
			s.start(1, 2)
			if s.last(1) != 10 {
				t.Errorf("the log ends at %d", s.last(1))
			}
			s.stop()
		}
	}
}

// The journal keeps a group's entries even if the group's vote is gone.
func TestWhatAJournalHasOfAGroupIsKeptThoughItsVoteIsGone(t *testing.T) {
	s := &sharing{t: t, dir: t.TempDir(), kind: StoreWAL, ended: newFatals()}
	s.start(1)
	must(t, s.stores[1].Stable.SetUint64(keyTerm, 3))
	must(t, s.stores[1].Log.StoreLogs(commands(1, 10, 3)))
	s.stop()
	stable := filepath.Join(s.groupDir(1), StableFile)
	must(t, os.Rename(stable, stable+".aside"))
	s.start()
	if _, err := s.open(1, s.journal); err == nil || !strings.Contains(err.Error(), "stable.db is gone") {
		t.Error(err)
	}
	s.stop()
	must(t, os.Rename(stable+".aside", stable))
	s.start(1)
	if s.last(1) != 10 {
		t.Errorf("the log ends at %d", s.last(1))
	}
	s.stop()
}
