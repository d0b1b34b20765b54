package raftio

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"golang.org/x/sys/unix"
)

// snapshot writes a snapshot as Raft does.
func snapshot(t *testing.T, s *Stores, index, term, configurationIndex uint64, voters ...string) string {
	t.Helper()
	_, trans := raft.NewInmemTransport("a:1")
	defer trans.Close()
	c := raft.DecodeConfiguration(configurationEntry(1, 1, voters...).Data)
	s.Snapshots.Own(index)
	sink, err := s.Snapshots.Create(1, index, term, c, configurationIndex, trans)
	must(t, err)
	_, err = sink.Write([]byte("the state"))
	must(t, err)
	must(t, sink.Close())
	must(t, sink.Close())
	s.Snapshots.OwnEnded()
	return sink.ID()
}

// broken checks that stores are refused.
func broken(t *testing.T, dir, kind, want string) {
	t.Helper()
	s, err := OpenStores(&StoresConfig{Dir: dir, Kind: kind, Guards: Guards{StallLimit: time.Minute, Fatal: func(error) {}}, Log: silent()})
	if err == nil {
		s.Close()
		t.Errorf("it opens")
	} else if !strings.Contains(err.Error(), want) {
		t.Errorf("%v does not say %q", err, want)
	}
}

func TestLeftoversOfSnapshotsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	s, _ := opened(t, dir, StoreBolt)
	must(t, s.Close())
	leftover := filepath.Join(dir, SnapshotsDir, "2-100-1234.tmp")
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
		must(t, damage(filepath.Join(dir, SnapshotsDir, id)))
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
	must(t, os.Remove(filepath.Join(dir, SnapshotsDir, old, "meta.json")))
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
		must(t, os.RemoveAll(filepath.Join(dir, SnapshotsDir, id)))
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
		// The process ends before it has handled the contradiction.
		must(t, s.Close())
		s, f := opened(t, dir, kind)
		bounds(t, s.Log, 0, 0)
		must(t, s.Log.StoreLogs(commands(11, 12, 4)))
		f.none(t)
	}
}

// Two replicas are left of a group that was recovered, and continue from their own snapshots. The
// one whose snapshot ends later, but in an earlier term, led for a while. Now it follows the other.
func TestALogThatBeginsBehindTheSnapshotOfAnotherHistoryGoes(t *testing.T) {
	for _, kind := range bothKinds {
		dir := t.TempDir()
		s, _ := opened(t, dir, kind)
		told := uint64(0)
		s.Snapshots.Contradicted = func(index uint64) { told = index }
		snapshot(t, s, 20, 3, 1, "a")
		must(t, s.Log.StoreLogs(commands(21, 22, 7)))
		snapshot(t, s, 10, 4, 1, "a")
		if told != 10 {
			t.Errorf("%s: told %d", kind, told)
		}
		if s.Log.StoreLogs(commands(23, 23, 8)) == nil {
			t.Errorf("%s: what is about to be emptied took an entry", kind)
		}
		// The process ends before it has handled the contradiction.
		must(t, s.Close())
		s, f := opened(t, dir, kind)
		bounds(t, s.Log, 0, 0)
		must(t, s.Log.StoreLogs(commands(11, 12, 8)))
		f.none(t)
	}
}

// The entries before a snapshot that was installed past the end of the log may never have been
// committed. A leader that is elected before it appends anything must not send them.
func TestALogThatEndsBeforeASnapshotGoes(t *testing.T) {
	for _, kind := range bothKinds {
		dir := t.TempDir()
		s, f := opened(t, dir, kind)
		must(t, s.Log.StoreLogs(commands(1, 20, 3)))
		snapshot(t, s, 25, 4, 1, "a")
		for _, i := range []uint64{1, 20} {
			if err := s.Log.GetLog(i, &raft.Log{}); !errors.Is(err, raft.ErrLogNotFound) {
				t.Errorf("%s: entry %d is still there: %v", kind, i, err)
			}
		}
		bounds(t, s.Log, 0, 0)
		// This request came before the snapshot.
		if s.Log.StoreLogs(commands(21, 24, 4)) == nil {
			t.Errorf("%s: the log begins before the snapshot's end", kind)
		}
		must(t, s.Log.StoreLogs(commands(26, 27, 4)))
		bounds(t, s.Log, 26, 27)
		must(t, s.Close())
		// The process ends before the log has been deleted.
		snapshots, err := raft.NewFileSnapshotStoreWithLogger(dir, snapshotsKept, silent())
		must(t, err)
		_, trans := raft.NewInmemTransport("a:1")
		defer trans.Close()
		sink, err := snapshots.Create(1, 30, 5, raft.Configuration{}, 1, trans)
		must(t, err)
		must(t, sink.Close())
		s, f2 := opened(t, dir, kind)
		bounds(t, s.Log, 0, 0)
		must(t, s.Log.StoreLogs(commands(31, 32, 5)))
		bounds(t, s.Log, 31, 32)
		f.none(t)
		f2.none(t)
	}
}

// A leader that does not know how far this replica is must not set it back.
func TestAnOlderSnapshotIsRefused(t *testing.T) {
	s, err := OpenStores(&StoresConfig{Dir: t.TempDir(), Kind: "wal", Guards: Guards{StallLimit: time.Minute, Fatal: func(error) {}}, Log: silent()})
	must(t, err)
	defer s.Close()
	snapshot(t, s, 2993, 5, 1, "a")
	_, trans := raft.NewInmemTransport("a:1")
	defer trans.Close()
	c := raft.DecodeConfiguration(configurationEntry(1, 1, "a").Data)
	if _, err := s.Snapshots.Create(1, 2165, 5, c, 1, trans); !errors.Is(err, errOlder) {
		t.Errorf("index 2165 behind 2993: %v", err)
	}
	snapshot(t, s, 2993, 5, 1, "a")
	snapshot(t, s, 3034, 5, 1, "a")
	all, err := s.Snapshots.List()
	must(t, err)
	if all[0].Index != 3034 {
		t.Errorf("the newest ends at %d", all[0].Index)
	}
	// A snapshot of a newer term is not older, even if it is shorter: see Create.
	if _, err := s.Snapshots.Create(1, 4000, 4, c, 1, trans); !errors.Is(err, errOlder) {
		t.Errorf("of term 4 behind term 5: %v", err)
	}
	snapshot(t, s, 3000, 6, 1, "a")
}

// ownSnapshot begins a snapshot of the replica's own, up to the middle of its log.
func ownSnapshot(t *testing.T, s *Stores) (raft.SnapshotSink, raft.Transport) {
	t.Helper()
	must(t, s.Log.StoreLogs(commands(1, 150, 1)))
	_, trans := raft.NewInmemTransport("a:1")
	t.Cleanup(func() { trans.Close() })
	s.Snapshots.Own(100)
	own, err := s.Snapshots.Create(1, 100, 1, raft.Configuration{}, 1, trans)
	must(t, err)
	OwnSink(own)
	return own, trans
}

// While a lagging replica writes its own snapshot, a leader may send it one, so that the replica's
// own one is older by the time it is complete.
func TestASnapshotThatWasOvertakenIsGivenUp(t *testing.T) {
	dir := t.TempDir()
	s, f := opened(t, dir, StoreBolt)
	own, _ := ownSnapshot(t, s)
	_, err := own.Write([]byte("the state"))
	must(t, err)
	snapshot(t, s, 200, 1, 1, "a")
	if err := own.Close(); !errors.Is(err, errOlder) {
		t.Errorf("it took its place: %v", err)
	}
	must(t, own.Cancel())
	if all, err := s.Snapshots.List(); err != nil || len(all) != 1 || all[0].Index != 200 {
		t.Errorf("%v, %v", all, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, SnapshotsDir, "*"+unfinishedSuffix)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	f.none(t)
}

// Raft records its own snapshot after the snapshot is complete, and would then go back to it from a
// newer one that a leader has sent.
func TestASnapshotWaitsUntilRaftHasDoneWithItsOwn(t *testing.T) {
	s, f := opened(t, t.TempDir(), StoreBolt)
	own, trans := ownSnapshot(t, s)
	must(t, own.Close())
	sent, err := s.Snapshots.Create(1, 200, 1, raft.Configuration{}, 1, trans)
	must(t, err)
	over := make(chan error, 1)
	go func() { over <- sent.Close() }()
	eventually(t, "it waits, or is in its place", func() bool { return waitsFor("(*watchedSink).Close") || len(over) > 0 })
	if all, err := s.Snapshots.List(); err != nil || all[0].Index != 100 {
		t.Errorf("the newest is of %d: %v", all[0].Index, err)
	}
	s.Snapshots.OwnEnded()
	must(t, <-over)
	if all, err := s.Snapshots.List(); err != nil || all[0].Index != 200 {
		t.Errorf("the newest is of %d: %v", all[0].Index, err)
	}
	s.Snapshots.OwnEnded()
	f.none(t)
}

// A leader's snapshot may end where this replica is about to write its own, and come first.
func TestALeadersSnapshotIsNotTakenForTheOwn(t *testing.T) {
	s, f := opened(t, t.TempDir(), StoreBolt)
	must(t, s.Log.StoreLogs(commands(1, 100, 1)))
	_, trans := raft.NewInmemTransport("a:1")
	defer trans.Close()
	s.Snapshots.Own(100)
	for _, own := range []bool{false, true} {
		sink, err := s.Snapshots.Create(1, 100, 1, raft.Configuration{}, 1, trans)
		must(t, err)
		if own {
			OwnSink(sink)
		}
		made := time.Now().UnixMilli()
		must(t, sink.Close())
		if held := s.Snapshots.held.Load(); held != own {
			t.Fatalf("the next one waits: %v; it is the own: %v", held, own)
		}
		for time.Now().UnixMilli() <= made {
			runtime.Gosched() // the library names a snapshot by the millisecond
		}
	}
	s.Snapshots.OwnEnded()
	f.none(t)
}

// noRoom lets no file of this process grow beyond a number of bytes until end is called.
func noRoom(t *testing.T, bytes uint64) (end func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var before unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &before))
	must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: before.Max}))
	return func() {
		must(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &before))
		signal.Reset(syscall.SIGXFSZ)
	}
}

// If there is no room for a snapshot, its written part must not fill the disk: each attempt would
// leave as much, until the log has no room.
func TestNothingIsLeftOfASnapshotThatFailed(t *testing.T) {
	const fits = 4 << 20 // more than the other files of the test have
	for what, fail := range map[string]func(dir string, sink raft.SnapshotSink) error{
		"no room for the state": func(_ string, sink raft.SnapshotSink) error {
			end := noRoom(t, fits)
			defer end()
			_, err := sink.Write(make([]byte, 2*fits))
			return errors.Join(err, sink.Cancel())
		},
		"no room for the end of the state": func(_ string, sink raft.SnapshotSink) error {
			_, err := sink.Write(make([]byte, fits))
			must(t, err)
			_, err = sink.Write(make([]byte, 100))
			must(t, err)
			end := noRoom(t, fits)
			defer end()
			return sink.Close()
		},
		"no description": func(dir string, sink raft.SnapshotSink) error {
			_, err := sink.Write(make([]byte, fits))
			must(t, err)
			description := filepath.Join(dir, SnapshotsDir, sink.ID()+".tmp", "meta.json")
			must(t, errors.Join(os.Remove(description), os.Mkdir(description, 0o700)))
			err = sink.Close()
			must(t, sink.Cancel())
			return err
		},
	} {
		dir := t.TempDir()
		s, f := opened(t, dir, StoreBolt)
		sink := begun(t, s)
		unfinished := filepath.Join(dir, SnapshotsDir, sink.ID()+".tmp")
		state, err := os.Open(filepath.Join(unfinished, "state.bin"))
		must(t, err)
		defer state.Close()
		if err := fail(dir, sink); err == nil {
			t.Errorf("%s: it did not fail", what)
		}
		if _, err := os.Stat(unfinished); !os.IsNotExist(err) {
			t.Errorf("%s: it is still there: %v", what, err)
		}
		// The library may still have the file open.
		if info, err := state.Stat(); err != nil || info.Size() != 0 {
			t.Errorf("%s: it still takes %d bytes: %v", what, info.Size(), err)
		}
		if all, err := s.Snapshots.List(); err != nil || len(all) != 0 {
			t.Errorf("%s: %d snapshots: %v", what, len(all), err)
		}
		snapshot(t, s, 5, 1, 1, "a")
		f.none(t)
	}
}

// begun begins a snapshot of half a log.
func begun(t *testing.T, s *Stores) raft.SnapshotSink {
	t.Helper()
	must(t, s.Log.StoreLogs(commands(1, 10, 1)))
	_, trans := raft.NewInmemTransport("a:1")
	defer trans.Close()
	s.Snapshots.Own(5)
	sink, err := s.Snapshots.Create(1, 5, 1, raft.Configuration{}, 1, trans)
	must(t, err)
	return sink
}

// lateFailure fails after the snapshot is in its place.
type lateFailure struct{ raft.SnapshotSink }

func (l lateFailure) Close() error { return errors.Join(l.SnapshotSink.Close(), errDied) }

func TestACompleteSnapshotStaysWhateverFailsBehindIt(t *testing.T) {
	dir := t.TempDir()
	s, _ := opened(t, dir, StoreBolt)
	sink := begun(t, s)
	w := sink.(*watchedSink)
	w.SnapshotSink = lateFailure{w.SnapshotSink}
	_, err := sink.Write([]byte("the state"))
	must(t, err)
	for range 2 {
		if err := sink.Close(); !errors.Is(err, errDied) {
			t.Errorf("closed: %v", err)
		}
	}
	must(t, s.Close())
	s, _ = opened(t, dir, StoreBolt)
	if all, err := s.Snapshots.List(); err != nil || len(all) != 1 || all[0].Size != int64(len("the state")) {
		t.Errorf("%v: %v", all, err)
	}
}

// A replica that has the entries behind a snapshot is not set back by a leader that sends that
// snapshot again: it would take the old members for the current ones. The replica's own snapshots,
// and snapshots that contradict its log, are accepted.
func TestASnapshotBeyondWhichTheLogGoesIsRefused(t *testing.T) {
	for _, kind := range []string{StoreBolt, StoreWAL} {
		s, _ := opened(t, t.TempDir(), kind)
		_, trans := raft.NewInmemTransport("a:1")
		defer trans.Close()
		c := raft.DecodeConfiguration(configurationEntry(1, 1, "a").Data)
		sent := func(index, term uint64) error {
			sink, err := s.Snapshots.Create(1, index, term, c, 1, trans)
			if err == nil {
				must(t, sink.Cancel())
			}
			return err
		}
		must(t, s.Log.StoreLogs(commands(1, 20, 3)))
		snapshot(t, s, 10, 3, 1, "a")
		for _, index := range []uint64{10, 11, 19} {
			if err := sent(index, 3); !errors.Is(err, errCovered) {
				t.Errorf("%s: index %d of a log of 20: %v", kind, index, err)
			}
		}
		must(t, sent(20, 3))
		must(t, sent(25, 3))
		must(t, sent(15, 4))
		// The log may no longer have the entries before the end of the snapshot.
		must(t, s.Log.DeleteRange(1, 10))
		if err := sent(10, 3); !errors.Is(err, errCovered) {
			t.Errorf("%s: the newest snapshot once more: %v", kind, err)
		}
		snapshot(t, s, 15, 3, 1, "a")
	}
}

// An older snapshot that is whole, or was half deleted when the process ended, does no harm. One of
// another history may be the longer one.
func TestAnOlderButLongerSnapshotDoesNotMatter(t *testing.T) {
	for what, half := range map[string]bool{"whole": false, "half deleted": true} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			s, _ := opened(t, dir, StoreBolt)
			old := filepath.Join(dir, SnapshotsDir, snapshot(t, s, 200, 5, 1, "a"))
			kept := filepath.Join(t.TempDir(), "kept")
			must(t, os.CopyFS(kept, os.DirFS(old)))
			snapshot(t, s, 150, 6, 1, "a")
			snapshot(t, s, 160, 7, 1, "a")
			must(t, s.Close())
			if _, err := os.Stat(old); !os.IsNotExist(err) {
				t.Fatal("it was not deleted")
			}
			must(t, os.CopyFS(old, os.DirFS(kept)))
			if half {
				must(t, os.Remove(filepath.Join(old, "meta.json")))
			}
			s, _ = opened(t, dir, StoreBolt)
			if term, index, err := s.End(); term != 7 || index != 160 {
				t.Errorf("it ends at %d of term %d: %v", index, term, err)
			}
		})
	}
}

// Raft may give up a snapshot between its announcement and its start.
func TestASnapshotThatWasNeverBegunVouchesForNoOther(t *testing.T) {
	s, _ := opened(t, t.TempDir(), StoreBolt)
	must(t, s.Log.StoreLogs(commands(1, 20, 3)))
	s.Snapshots.Own(10)
	s.Snapshots.OwnEnded()
	_, trans := raft.NewInmemTransport("a:1")
	defer trans.Close()
	if sink, err := s.Snapshots.Create(1, 10, 3, raft.Configuration{}, 1, trans); !errors.Is(err, errCovered) {
		t.Errorf("a leader's: %v", err)
		if err == nil {
			must(t, sink.Cancel())
		}
	}
}

// Right behind an installed snapshot Raft may write a snapshot of its own, and the first entry.
func TestASnapshotOverAnEmptyLogDeletesNothing(t *testing.T) {
	s, f := opened(t, t.TempDir(), StoreBolt)
	snapshot(t, s, 100, 1, 1, "a")
	_, trans := raft.NewInmemTransport("a:1")
	defer trans.Close()
	own, err := s.Snapshots.Create(1, 100, 1, raft.Configuration{}, 1, trans)
	must(t, err)
	s.cache.mu.Lock() // Close, below, sees an empty log and then waits in GetLog
	over := make(chan error, 1)
	go func() { over <- own.Close() }()
	eventually(t, "it looks into the log", func() bool { return standsIn("(*cache).GetLog", "sync.(*RWMutex).RLock") || len(over) > 0 })
	must(t, s.log.StoreLogs(commands(101, 101, 1)))
	s.cache.mu.Unlock()
	must(t, <-over)
	bounds(t, s.Log, 101, 101)
	f.none(t)
}

// Raft subtracts the end of its snapshot from the end of its log, unsigned, and would write the
// same snapshot again and again.
func TestAnEmptyLogEndsWithTheNewestSnapshotWhileRaftRuns(t *testing.T) {
	for _, kind := range bothKinds {
		s, f := opened(t, t.TempDir(), kind)
		must(t, s.Log.StoreLogs(commands(1, 100, 1)))
		snapshot(t, s, 100, 1, 1, "a")
		must(t, s.EmptyLog())
		bounds(t, s.Log, 0, 0) // a Raft that starts reads the last entry
		s.Begun()
		bounds(t, s.Log, 0, 100)
		must(t, s.Log.StoreLogs(commands(101, 102, 1)))
		bounds(t, s.Log, 101, 102)
		f.none(t)
	}
}

// ninth is an Arrival that counts nine bytes as a whole snapshot.
type ninth int

func (n *ninth) Write(b []byte) (int, error) { *n += ninth(len(b)); return len(b), nil }
func (n *ninth) Err() error {
	if *n != 9 {
		return fmt.Errorf("%d bytes", *n)
	}
	return nil
}

// TestASnapshotThatDoesNotArriveWholeIsRefused: it is refused before Raft replaces its log by it. A
// node that could not read such a snapshot ended, and could not start again.
func TestASnapshotThatDoesNotArriveWholeIsRefused(t *testing.T) {
	dir := t.TempDir()
	s, fatals := opened(t, dir, StoreBolt)
	s.Snapshots.Arriving = func() Arrival { return new(ninth) }
	must(t, s.Log.StoreLogs(sealedLogs(commands(1, 5, 1)...)))
	_, trans := raft.NewInmemTransport("a:1")
	defer trans.Close()
	members := raft.DecodeConfiguration(configurationEntry(1, 1, "a").Data)
	arrive := func(index uint64, pieces ...string) error {
		sink, err := s.Snapshots.Create(1, index, 2, members, 1, trans)
		must(t, err)
		for _, p := range pieces {
			_, err := sink.Write([]byte(p))
			must(t, err)
		}
		return sink.Close()
	}
	if err := arrive(9, "the", " sta"); !errors.Is(err, errArrival) {
		t.Fatalf("%v", err)
	}
	bounds(t, s.Log, 1, 5)
	if all, err := s.Snapshots.List(); err != nil || len(all) != 0 {
		t.Fatalf("%v, %v", all, err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, SnapshotsDir)); err != nil || len(left) != 0 {
		t.Fatalf("%v is left, %v", left, err)
	}
	must(t, arrive(9, "the s", "tate"))
	// The replica's own snapshots are not checked.
	s.Snapshots.Own(12)
	sink, err := s.Snapshots.Create(1, 12, 2, members, 1, trans)
	must(t, err)
	OwnSink(sink)
	_, err = sink.Write([]byte("short"))
	must(t, errors.Join(err, sink.Close()))
	s.Snapshots.OwnEnded()
	fatals.none(t)
}
