package raftio

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/types"
)

// sized returns entries with data of the given lengths.
func sized(first, term uint64, sizes ...int) []*raft.Log {
	var logs []*raft.Log
	for i, n := range sizes {
		l := &raft.Log{Index: first + uint64(i), Term: term, Type: raft.LogCommand, Data: make([]byte, n)}
		for j := range l.Data {
			l.Data[j] = byte(int(term) + i + j)
		}
		logs = append(logs, l)
	}
	return logs
}

// tailFile is raft-wal's newest file in a group's folder.
func tailFile(t *testing.T, dir string) *os.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, WALDir, "*.wal"))
	must(t, err)
	slices.Sort(paths)
	f, err := os.OpenFile(paths[len(paths)-1], os.O_RDWR, 0)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// tear resets the sector at a place to its contents before an append that ends there or later.
func tear(t *testing.T, f *os.File, at, end int64) {
	t.Helper()
	write(t, f, at, make([]byte, min(sectorBytes-at%sectorBytes, end-at))...)
}

func write(t *testing.T, f *os.File, at int64, b ...byte) {
	t.Helper()
	_, err := f.WriteAt(b, at)
	must(t, err)
}

// The rest of one torn append is where the next append ends, and must not make that one look whole.
func TestTornAppendDoesNotVouchForTheNext(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it uses one goroutine")
	}
	dir := t.TempDir()
	s, _ := opened(t, dir, StoreWAL)
	must(t, s.Log.StoreLogs(sized(1, 1, 100)))
	must(t, s.Log.StoreLogs(sized(2, 1, 1400, 1400, 1400)))
	must(t, s.Close())
	f := tailFile(t, dir)
	last, _, err := lastAppend(f, 1)
	must(t, err)
	write(t, f, last.commit, make([]byte, frameHeaderBytes)...)

	s, _ = opened(t, dir, StoreWAL)
	bounds(t, s.Log, 1, 1)
	// The second append is shorter by the length of a commit, so it ends where a frame began.
	must(t, s.Log.StoreLogs(sized(2, 2, 1392)))
	must(t, s.Close())
	last, _, err = lastAppend(f, 1)
	must(t, err)
	if last.entries != 2 {
		t.Fatalf("%d entries: what was torn is still there", last.entries)
	}
	tear(t, f, (last.begin/sectorBytes+1)*sectorBytes, last.end)

	s, fatal := opened(t, dir, StoreWAL)
	bounds(t, s.Log, 1, 1)
	must(t, s.Log.StoreLogs(sized(2, 3, 50)))
	bounds(t, s.Log, 1, 2)
	fatal.none(t)
}

// unlistedSeal makes a log of four entries whose newest file is sealed although the list of files
// does not show it: the power failed during a cut.
func unlistedSeal(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s, _ := opened(t, dir, StoreWAL)
	must(t, s.Log.StoreLogs(commands(1, 3, 1)))
	must(t, s.Log.StoreLogs(commands(4, 4, 1)))
	must(t, s.Close())
	list := filepath.Join(dir, WALDir, metadb.FileName)
	before, err := os.ReadFile(list)
	must(t, err)
	s, _ = opened(t, dir, StoreWAL)
	must(t, s.Log.DeleteRange(4, 4))
	must(t, s.Close())
	must(t, os.WriteFile(list, before, 0o600))
	must(t, os.Remove(tailFile(t, dir).Name()))
	return dir
}

func TestSealedFileThatIsNotListedTakesAppendsAgain(t *testing.T) {
	for _, torn := range []bool{false, true} {
		t.Run(fmt.Sprint("torn ", torn), func(t *testing.T) {
			dir := unlistedSeal(t)
			if torn {
				f := tailFile(t, dir)
				last, _, err := lastAppend(f, 1)
				must(t, err)
				if last.index == 0 {
					t.Fatal("there is no seal")
				}
				tear(t, f, last.begin, last.end)
			}
			s, fatal := opened(t, dir, StoreWAL)
			bounds(t, s.Log, 1, 4)
			must(t, s.Log.StoreLogs(commands(5, 7, 2)))
			must(t, s.Close())
			s, _ = opened(t, dir, StoreWAL)
			bounds(t, s.Log, 1, 7)
			var l raft.Log
			for i := uint64(1); i <= 7; i++ {
				must(t, s.Log.GetLog(i, &l))
			}
			must(t, s.Log.DeleteRange(3, 7))
			must(t, s.Log.StoreLogs(commands(3, 4, 3)))
			bounds(t, s.Log, 1, 4)
			fatal.none(t)
		})
	}
}

func TestFailureToBeginAFileIsTold(t *testing.T) {
	var told error
	l := walLogger{silent(), func(err error) { told = err }}
	l.Error("failed to delete old segment", "err", errors.New("not now"))
	if told != nil {
		t.Errorf("told of %v", told)
	}
	full := errors.New("no space left")
	l.Error("rotate error", "err", full)
	if !errors.Is(told, full) {
		t.Errorf("told of %v", told)
	}
}

// A new file of the log for which the disk had no room stays behind, empty or short. The next start
// makes it again, and the start after that finds it long enough.
func TestAFileThatTheDiskHadNoRoomForIsMadeAnew(t *testing.T) {
	for _, left := range []int64{0, 200} {
		dir := t.TempDir()
		s, _ := opened(t, dir, StoreWAL)
		must(t, s.Close())
		must(t, tailFile(t, dir).Truncate(left))
		s, _ = opened(t, dir, StoreWAL)
		must(t, s.Log.StoreLogs(commands(1, 3, 1)))
		must(t, s.Close())
		s, fatal := opened(t, dir, StoreWAL)
		bounds(t, s.Log, 1, 3)
		fatal.none(t)
		must(t, s.Close())
	}
}

func TestBoltFileTornWhileItWasMadeIsMadeAnew(t *testing.T) {
	for _, kind := range bothKinds {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, StableFile+newSuffix), make([]byte, 9000), 0o600))
		must(t, os.WriteFile(filepath.Join(dir, BoltFile+newSuffix), []byte("torn"), 0o600))
		s, _ := opened(t, dir, kind)
		must(t, s.Log.StoreLogs(commands(1, 3, 1)))
		must(t, s.Stable.SetUint64([]byte("CurrentTerm"), 7))
		must(t, s.Close())
		s, _ = opened(t, dir, kind)
		bounds(t, s.Log, 1, 3)
	}
}

// An entry that is damaged in the middle of the log was acknowledged, and so were all entries
// behind it. They must not be taken for the rest of a torn append and cut off.
func TestDamageBeforeAWholeAppendIsNotATornAppend(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it uses one goroutine")
	}
	dir := t.TempDir()
	s, _ := opened(t, dir, StoreWAL)
	f := tailFile(t, dir)
	var appends []walAppend
	for i := range 5 {
		must(t, s.Log.StoreLogs(sized(uint64(1+2*i), 1, 200, 300+i)))
		last, _, err := lastAppend(f, 1)
		must(t, err)
		appends = append(appends, last)
	}
	must(t, s.Close())
	sound := make([]byte, appends[4].end)
	_, err := f.ReadAt(sound, 0)
	must(t, err)

	for what, damage := range map[string]func(a walAppend){
		"type of an entry":           func(a walAppend) { write(t, f, max(a.begin, walHeaderBytes), 0x41) },
		"an entry's head":            func(a walAppend) { write(t, f, max(a.begin, walHeaderBytes), make([]byte, 8)...) },
		"length of an entry":         func(a walAppend) { write(t, f, max(a.begin, walHeaderBytes)+6, 0x02) },
		"type of a commit":           func(a walAppend) { write(t, f, a.commit, 0x43) },
		"everything but the commit":  func(a walAppend) { write(t, f, a.begin, make([]byte, a.commit-a.begin)...) },
		"the commit and some before": func(a walAppend) { write(t, f, a.commit-64, make([]byte, 72)...) },
	} {
		for number, a := range appends[:4] {
			write(t, f, 0, sound...)
			damage(a)
			damaged := make([]byte, len(sound))
			_, err := f.ReadAt(damaged, 0)
			must(t, err)
			t.Log(what, number)
			broken(t, dir, StoreWAL, "is damaged behind byte")
			after := make([]byte, len(sound))
			_, err = f.ReadAt(after, 0)
			must(t, err)
			if !bytes.Equal(damaged, after) {
				t.Error("the file was changed")
			}
		}
	}
	write(t, f, 0, sound...)
	s, fatal := opened(t, dir, StoreWAL)
	bounds(t, s.Log, 1, 10)
	fatal.none(t)
}

// An append is torn in any way that a power failure can leave, and its data look like a log.
func TestTornAppendIsRemovedWhateverIsLeftOfIt(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it uses one goroutine")
	}
	dir := t.TempDir()
	s, _ := opened(t, dir, StoreWAL)
	f := tailFile(t, dir)
	must(t, s.Log.StoreLogs(sized(1, 1, 100, 200)))
	must(t, s.Log.StoreLogs(sized(3, 1, 700)))
	last, _, err := lastAppend(f, 1)
	must(t, err)
	sofar := make([]byte, last.end)
	_, err = f.ReadAt(sofar, 0)
	must(t, err)
	// These entries hold a copy of the file so far, at each offset within a frame.
	var logs []*raft.Log
	for i := range uint64(frameHeaderBytes) {
		logs = append(logs, &raft.Log{Index: 4 + i, Term: 1, Type: raft.LogCommand, Data: append(make([]byte, i), sofar...)})
	}
	must(t, s.Log.StoreLogs(logs))
	must(t, s.Close())
	next, _, err := lastAppend(f, 1)
	must(t, err)
	whole := make([]byte, next.end)
	_, err = f.ReadAt(whole, 0)
	must(t, err)
	for at := next.begin; at < next.end; at = (at/sectorBytes + 3) * sectorBytes {
		write(t, f, 0, whole...)
		tear(t, f, at, next.end)
		s, fatal := opened(t, dir, StoreWAL)
		bounds(t, s.Log, 1, 3)
		fatal.none(t)
		must(t, s.Close())
	}
}

// halfDead is a list of files whose disk fails at one change, and then reports success again.
type halfDead struct {
	types.MetaStore
	changes, failsAt int
}

func (h *halfDead) CommitState(s types.PersistentState) error {
	if h.changes++; h.changes == h.failsAt {
		return errDied
	}
	return h.MetaStore.CommitState(s)
}

// raft-wal begins a new file in parallel with other work. If writing the list of files fails then,
// a goroutine that waits to cut the log must not write the list: its write may overwrite pages that
// the disk needs.
func TestTheListOfFilesIsNotChangedBehindAFailure(t *testing.T) {
	dir := t.TempDir()
	// The first change makes the first file.
	list := &halfDead{MetaStore: &metadb.BoltMetaDB{}, failsAt: 2}
	told := make(chan error, 1)
	w, err := wal.Open(dir, wal.WithMetaStore(&walList{MetaStore: list}), wal.WithSegmentSize(64<<10),
		wal.WithLogger(walLogger{silent(), func(err error) { told <- err }}))
	must(t, err)
	defer w.Close()
	must(t, w.StoreLogs(sized(1, 1, 40<<10, 40<<10)))
	if err := w.DeleteRange(1, 1); !errors.Is(err, errDied) {
		t.Errorf("cut: %v", err)
	}
	if err := <-told; !errors.Is(err, errDied) {
		t.Errorf("told of %v", err)
	}
	if list.changes != list.failsAt {
		t.Errorf("the list was changed %d times", list.changes)
	}
}
