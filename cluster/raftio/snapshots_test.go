package raftio

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

// snapshot writes a snapshot as Raft does.
func snapshot(t *testing.T, s *Stores, index, term, configurationIndex uint64, voters ...string) string {
	t.Helper()
	_, trans := raft.NewInmemTransport("a:1")
	defer trans.Close()
	c := raft.DecodeConfiguration(configurationEntry(1, 1, voters...).Data)
	sink, err := s.Snapshots.Create(1, index, term, c, configurationIndex, trans)
	must(t, err)
	_, err = sink.Write([]byte("the state"))
	must(t, err)
	must(t, sink.Close())
	must(t, sink.Close())
	return sink.ID()
}

// broken opens stores that must be refused.
func broken(t *testing.T, dir, kind, want string) {
	t.Helper()
	s, err := OpenStores(dir, kind, Guards{StallLimit: 1e9, Fatal: func(error) {}}, nil, silent())
	if err == nil {
		s.Close()
		t.Errorf("it opens")
	} else if !strings.Contains(err.Error(), want) {
		t.Errorf("%v does not say %q", err, want)
	}
}

func TestLeftoversOfSnapshotsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	leftover := filepath.Join(dir, snapshotsDir, "2-100-1234.tmp")
	must(t, os.MkdirAll(leftover, 0o700))
	must(t, os.WriteFile(filepath.Join(leftover, "state.bin"), []byte("half"), 0o600))
	opened(t, dir, StoreBolt)
	if _, err := os.Stat(leftover); !os.IsNotExist(err) {
		t.Error("it is still there")
	}
}

func TestDamagedNewestSnapshotIsRefused(t *testing.T) {
	for what, damage := range map[string]func(dir string) error{
		"state": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "state.bin"), []byte("the stale"), 0o600)
		},
		"short state": func(dir string) error { return os.Truncate(filepath.Join(dir, "state.bin"), 3) },
		"no state":    func(dir string) error { return os.Remove(filepath.Join(dir, "state.bin")) },
		"description": func(dir string) error { return os.WriteFile(filepath.Join(dir, "meta.json"), []byte("{"), 0o600) },
	} {
		dir := t.TempDir()
		s, _ := opened(t, dir, StoreBolt)
		must(t, s.Log.StoreLogs(commands(1, 10, 1)))
		snapshot(t, s, 4, 1, 1, "a")
		id := snapshot(t, s, 8, 1, 1, "a")
		must(t, s.Close())
		must(t, damage(filepath.Join(dir, snapshotsDir, id)))
		t.Log(what)
		broken(t, dir, StoreBolt, "snapshot "+id+" is damaged")
	}
}

func TestDamagedOldSnapshotDoesNotMatter(t *testing.T) {
	dir := t.TempDir()
	s, _ := opened(t, dir, StoreBolt)
	must(t, s.Log.StoreLogs(commands(1, 10, 1)))
	old := snapshot(t, s, 4, 1, 1, "a")
	snapshot(t, s, 8, 1, 1, "a")
	must(t, s.Close())
	must(t, os.Remove(filepath.Join(dir, snapshotsDir, old, "meta.json")))
	opened(t, dir, StoreBolt)
}

func TestLogThatBeginsBehindItsSnapshotIsRefused(t *testing.T) {
	for _, kind := range bothKinds {
		dir := t.TempDir()
		s, _ := opened(t, dir, kind)
		must(t, s.Log.StoreLogs(commands(1, 10, 1)))
		id := snapshot(t, s, 8, 1, 1, "a")
		must(t, s.Log.DeleteRange(1, 8))
		must(t, s.Close())
		must(t, os.RemoveAll(filepath.Join(dir, snapshotsDir, id)))
		broken(t, dir, kind, "the log begins at 9 and the newest snapshot ends at 0")
	}
}

func TestLogThatContradictsASnapshotIsNoticed(t *testing.T) {
	for _, kind := range bothKinds {
		dir := t.TempDir()
		s, _ := opened(t, dir, kind)
		told := uint64(0)
		s.Snapshots.Contradicted = func(index uint64) { told = index }
		must(t, s.Log.StoreLogs(commands(1, 20, 3)))
		snapshot(t, s, 5, 3, 1, "a")
		if told != 0 {
			t.Errorf("%s: its own snapshot contradicts it", kind)
		}
		snapshot(t, s, 10, 4, 1, "a")
		if told != 10 {
			t.Errorf("%s: told %d", kind, told)
		}
		// The process ends before anything is done about it.
		must(t, s.Close())
		s, f := opened(t, dir, kind)
		bounds(t, s.Log, 0, 0)
		must(t, s.Log.StoreLogs(commands(11, 12, 4)))
		f.none(t)
	}
}
