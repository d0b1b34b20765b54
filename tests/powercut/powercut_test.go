package powercut

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"lockstep/cluster/raftio"
	"lockstep/tests/kit/proc"
)

// TestMain makes the test binary a worker when it is run as one.
func TestMain(m *testing.M) {
	if text := os.Getenv(workerEnv); text != "" {
		if err := work(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var kinds = []string{raftio.StoreBolt, raftio.StoreWAL, raftio.StoreBolt + sharedSuffix, raftio.StoreWAL + sharedSuffix}

const (
	generations    = 3
	cutsPerSession = 20
	opsPerSession  = 30
)

// lineages is the number of lineages for each kind of store.
func lineages() uint64 {
	if proc.Long() {
		return 60
	}
	return 2
}

// TestAcknowledgedIsThereAfterThePowerFailed: each generation is killed, opened again in the same
// folder with nothing synced in between, and ends with a power cut, whose folder is the start of
// the next.
func TestAcknowledgedIsThereAfterThePowerFailed(t *testing.T) {
	needStrace(t)
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cuts, acked, entries, lost := 0, 0, 0, uint64(0)
			for seed := range lineages() {
				l := newLineage(t, kind, seed)
				for g := 0; g < generations && l.live(g); g++ {
				}
				acked += l.acked
				entries += l.entries
				if err := errors.Join(l.wrong...); err != nil {
					t.Fatal(err)
				}
				if l.lost {
					lost++
				}
				cuts += l.cuts
			}
			if lost > 1+lineages()/8 {
				t.Errorf("%d of %d lineages were given up", lost, lineages())
			}
			t.Logf("%s: %d power cuts, %d acknowledgements, %d entries; none lost or wrong", kind, cuts, acked, entries)
		})
	}
}

// live runs one generation. It reports whether there can be another.
func (l *lineage) live(generation int) bool {
	l.t.Helper()
	l.play(l.session(order{Ops: opsPerSession, KillAfter: 4 + l.rng.IntN(opsPerSession-4)}), 0, cutsPerSession)
	if l.lost || len(l.wrong) > 0 {
		return false
	}
	next := l.play(l.session(order{Ops: opsPerSession}), 0, cutsPerSession)
	if len(l.wrong) > 0 {
		return false
	}
	if generation < generations-1 {
		l.restart(next)
	}
	return true
}

// TestPowerCutsWhileTheFilesAreMade cuts the power after every call of the first opening:
// afterwards the stores are correct or do not exist at all.
func TestPowerCutsWhileTheFilesAreMade(t *testing.T) {
	needStrace(t)
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			l := newLineage(t, kind, 1)
			l.fates, l.cutsPerPlace = []fate{half, few, half, most}, 4
			l.play(l.session(order{Ops: 1}), 0, 1000)
			if err := errors.Join(l.wrong...); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d power cuts", l.cuts)
		})
	}
}

// TestPowerCutsWhileANewFileIsBegun fills the first file of raft-wal and cuts the power around the
// place where that file is sealed and the next one is started.
func TestPowerCutsWhileANewFileIsBegun(t *testing.T) {
	needStrace(t)
	t.Parallel()
	l := newLineage(t, raftio.StoreWAL, 99)
	const entryBytes = 3 * segmentBytes / 8
	calls := l.session(order{Fill: 3, FillBytes: entryBytes, Ops: 3})
	last := 0
	for i, c := range calls {
		if c.name == "pwrite64" && c.ret > entryBytes {
			last = i
		}
	}
	if last == 0 {
		t.Fatal("the worker wrote no long entries")
	}
	l.play(calls, last, 18)
	if err := errors.Join(l.wrong...); err != nil {
		t.Fatal(err)
	}
	files := 0
	for path := range l.disk.live {
		if len(path) > 4 && path[len(path)-4:] == ".wal" {
			files++
		}
	}
	if files < 2 {
		t.Errorf("%d files: no new one was begun", files)
	}
}

// TestWhatCouldNotBeSyncedIsWrittenAgain: a sync fails, and the process ends. The next process
// still finds the data, because the kernel keeps it in memory, and continues from there. Then the
// power fails.
func TestWhatCouldNotBeSyncedIsWrittenAgain(t *testing.T) {
	failedSyncs(t, 2*lineages(), order{Ops: 6}, cutsPerSession)
}

// TestPowerCutsWhileItIsWrittenAgain cuts the power after each call of the opening after a failed
// sync.
func TestPowerCutsWhileItIsWrittenAgain(t *testing.T) {
	failedSyncs(t, 2*lineages(), order{Ops: 1}, 1000)
}

// failedSyncs makes syncs fail for each kind of store, and cuts the power during the session that
// follows, which executes the order next.
func failedSyncs(t *testing.T, lineages uint64, next order, cutsThen int) {
	needStrace(t)
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cuts, kept := 0, 0
			for seed := range lineages {
				l := newLineage(t, kind, 1000+seed)
				l.fates = []fate{nothing, few}
				l.play(l.session(order{Ops: 8}), 0, 0)
				l.play(l.session(order{Ops: opsPerSession, SyncsFail: 8 + l.rng.IntN(24)}), 0, 2)
				if l.lost {
					continue
				}
				kept++
				l.fates, l.cutsPerPlace = []fate{nothing, few, half}, 2
				l.play(l.session(next), 0, cutsThen)
				if err := errors.Join(l.wrong...); err != nil {
					t.Fatalf("lineage %d: %v", seed, err)
				}
				cuts += l.cuts
			}
			if kept == 0 {
				t.Error("nothing can be said of any lineage")
			}
			t.Logf("%s: %d power cuts behind syncs that failed", kind, cuts)
		})
	}
}

// TestDiskThatDoesNotSyncIsNoticed: if the test found no error with a disk that ignores syncs, it
// would find no error at all.
func TestDiskThatDoesNotSyncIsNoticed(t *testing.T) {
	needStrace(t)
	for _, kind := range kinds {
		for _, deaf := range []string{"files", "folders"} {
			t.Run(kind+", "+deaf, func(t *testing.T) {
				t.Parallel()
				l := newLineage(t, kind, 5)
				l.disk.deafFiles, l.disk.deafFolders = deaf == "files", deaf == "folders"
				// Any other fate may make bbolt panic where no test can recover.
				l.fates = []fate{nothing}
				l.play(l.session(order{Ops: opsPerSession}), 0, 40)
				if len(l.wrong) == 0 {
					t.Errorf("that %s are never synced was not noticed in %d power cuts", deaf, l.cuts)
				}
			})
		}
	}
}
