package raftio

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/fsm"
)

func TestEntriesComeBackAsTheyWereWritten(t *testing.T) {
	for _, kind := range bothKinds {
		dir := t.TempDir()
		s, _ := opened(t, dir, kind)
		must(t, s.Log.StoreLog(configurationEntry(1, 1, "a")))
		must(t, s.Log.StoreLog(&raft.Log{Index: 2, Term: 1, Type: raft.LogNoop}))
		must(t, s.Log.StoreLogs(commands(3, 300, 2)))
		must(t, s.Close())

		s, f := opened(t, dir, kind)
		bounds(t, s.Log, 1, 300)
		var l raft.Log
		for i := uint64(3); i <= 300; i++ {
			must(t, s.Log.GetLog(i, &l))
			if l.Index != i || l.Term != 2 || l.Type != raft.LogCommand || string(l.Data) != string([]byte{byte(i), 2, 'x'}) {
				t.Fatalf("%s: entry %d is %+v", kind, i, l)
			}
		}
		must(t, s.Log.GetLog(2, &l))
		f.none(t)
	}
}

// flips are what a flipped bit can do to a stored entry.
var flips = map[string]func(*raft.Log){
	"index":         func(l *raft.Log) { l.Index ^= 4 },
	"term":          func(l *raft.Log) { l.Term ^= 1 },
	"type":          func(l *raft.Log) { l.Type = raft.LogNoop },
	"data":          func(l *raft.Log) { l.Data = append([]byte{l.Data[0] ^ 1}, l.Data[1:]...) },
	"checksum":      func(l *raft.Log) { l.Extensions = []byte{1, 2, 3, 4} },
	"checksum gone": func(l *raft.Log) { l.Extensions = nil },
}

func TestEntryThatChangedOnDiskEndsTheProcess(t *testing.T) {
	for what, flip := range flips {
		for _, l := range []*raft.Log{commands(1, 1, 1)[0], configurationEntry(1, 1, "a")} {
			disk := raft.NewInmemStore()
			s, f := guarded(t, disk, nil)
			must(t, s.StoreLog(l))
			stored := *l
			flip(&stored)
			index := stored.Index
			stored.Index = 1
			must(t, disk.StoreLog(&stored))
			stored.Index = index
			if err := s.GetLog(1, &raft.Log{}); !errors.Is(err, errChecksum) {
				t.Errorf("%s: %v", what, err)
			}
			if err := f.await(t); !errors.Is(err, errChecksum) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

// A store whose index is damaged returns one entry under the index of another.
func TestEntryOfAnotherIndexEndsTheProcess(t *testing.T) {
	disk := raft.NewInmemStore()
	s, f := guarded(t, disk, nil)
	must(t, s.StoreLogs(commands(1, 3, 1)))
	var other raft.Log
	must(t, disk.GetLog(3, &other))
	shifted := &misplaced{disk, other}
	s.inner = shifted
	if err := s.GetLog(2, &raft.Log{}); !errors.Is(err, errMisplaced) {
		t.Error(err)
	}
	if err := f.await(t); !errors.Is(err, errMisplaced) || !strings.Contains(err.Error(), "entry 3 stands in the place of entry 2") {
		t.Error(err)
	}
}

// misplaced returns the same entry for every index.
type misplaced struct {
	*raft.InmemStore
	l raft.Log
}

func (m *misplaced) GetLog(_ uint64, l *raft.Log) error { *l = m.l; return nil }

// onceFailing fails once, and works afterwards.
type onceFailing struct {
	*raft.InmemStore
	failed bool
}

func (d *onceFailing) StoreLogs(logs []*raft.Log) error {
	if !d.failed {
		d.failed = true
		return errDied
	}
	return d.InmemStore.StoreLogs(logs)
}

// A sync that failed may succeed when it is repeated, although the disk has not stored the data:
// until the process has ended nothing more may be acknowledged.
func TestNothingIsAcknowledgedBehindAFailure(t *testing.T) {
	s, f := guarded(t, &onceFailing{InmemStore: raft.NewInmemStore()}, nil)
	for range 2 {
		if err := s.StoreLogs(commands(1, 1, 1)); !errors.Is(err, errDied) {
			t.Errorf("stored: %v", err)
		}
	}
	if err := s.DeleteRange(1, 1); err != nil {
		t.Error(err) // there is no entry to delete
	}
	bounds(t, s, 0, 0)
	f.await(t)
}

func TestEntryThatChangedOnItsWayIsNotStored(t *testing.T) {
	for what, flip := range flips {
		if what == "checksum gone" {
			continue
		}
		l := commands(1, 1, 1)[0]
		seal(l)
		flip(l)
		s, f := guarded(t, raft.NewInmemStore(), nil)
		if err := s.StoreLog(l); !errors.Is(err, errChecksum) {
			t.Errorf("%s: %v", what, err)
		}
		bounds(t, s, 0, 0)
		f.await(t)
	}
}

func TestEntryOfAnotherFormatEndsTheProcess(t *testing.T) {
	odd := errors.New("format 9")
	verify := func(l *raft.Log) error {
		if l.Data[0] == 2 {
			return odd
		}
		return nil
	}
	s, f := guarded(t, raft.NewInmemStore(), verify)
	must(t, s.StoreLogs(commands(1, 1, 1)))
	if err := s.StoreLogs(commands(2, 2, 1)); !errors.Is(err, odd) {
		t.Error(err)
	}
	if err := f.await(t); !strings.Contains(err.Error(), "entry 2 of term 1: format 9") {
		t.Error(err)
	}
}

func TestLogHasNoGap(t *testing.T) {
	for _, kind := range bothKinds {
		s, f := opened(t, t.TempDir(), kind)
		must(t, s.Log.StoreLogs(commands(1, 100, 1)))
		must(t, s.Log.StoreLogs(commands(201, 205, 2)))
		bounds(t, s.Log, 201, 205)
		if err := s.Log.GetLog(50, &raft.Log{}); !errors.Is(err, raft.ErrLogNotFound) {
			t.Errorf("%s: an entry from before the gap: %v", kind, err)
		}
		must(t, s.Log.StoreLogs(commands(206, 206, 2)))
		bounds(t, s.Log, 201, 206)
		f.none(t)
	}
}

func TestDeletedEntriesAreGone(t *testing.T) {
	for _, kind := range bothKinds {
		dir := t.TempDir()
		s, f := opened(t, dir, kind)
		must(t, s.Log.StoreLogs(commands(1, 1000, 1)))
		snapshot(t, s, 100, 1, 1, "a")
		must(t, s.Log.DeleteRange(1, 100))
		must(t, s.Log.DeleteRange(901, 1000))
		gone := func() {
			t.Helper()
			for _, i := range []uint64{0, 1, 100, 901, 1000} {
				if err := s.Log.GetLog(i, &raft.Log{}); !errors.Is(err, raft.ErrLogNotFound) {
					t.Errorf("%s: entry %d: %v", kind, i, err)
				}
			}
			bounds(t, s.Log, 101, 900)
		}
		gone()
		must(t, s.Close())
		s, _ = opened(t, dir, kind)
		gone()
		f.none(t)
	}
}

func TestLongRangesAreDeleted(t *testing.T) {
	const n = 3*deleteStep + 7
	for _, kind := range bothKinds {
		for _, c := range []struct{ from, to, first, last uint64 }{
			{1, n - 5, n - 4, n}, {1, n, 0, 0}, {10, n, 1, 9}, {0, 2000, 2001, n}, {n, n + 5, 1, n - 1}, {n + 1, n + 2, 1, n},
		} {
			s, f := opened(t, t.TempDir(), kind)
			must(t, s.Log.StoreLogs(commands(1, n, 1)))
			must(t, s.Log.DeleteRange(c.from, c.to))
			bounds(t, s.Log, c.first, c.last)
			must(t, s.Log.StoreLogs(commands(n+10, n+10, 2)))
			f.none(t)
		}
	}
}

// dyingLog stops working after some deletions.
type dyingLog struct {
	*raft.InmemStore
	left  int
	calls []string
}

func (d *dyingLog) DeleteRange(from, to uint64) error {
	if d.left--; d.left < 0 {
		return errDied
	}
	d.calls = append(d.calls, fmt.Sprintf("%d-%d", from, to))
	return d.InmemStore.DeleteRange(from, to)
}

func TestDeletionThatBreaksOffLeavesNoGap(t *testing.T) {
	const n = 3 * deleteStep
	for _, c := range []struct {
		from, to uint64
		calls    string
	}{
		{1, n - 1, "1-1024 1025-2048"},
		{2, n, "2049-3072 1025-2048"},
		// All entries may go because a leader has others, not because a snapshot has them.
		{1, n, "2049-3072 1025-2048"},
	} {
		d := &dyingLog{InmemStore: raft.NewInmemStore(), left: 2}
		s, f := guarded(t, d, nil)
		must(t, s.StoreLogs(commands(1, n, 1)))
		if err := s.DeleteRange(c.from, c.to); !errors.Is(err, errDied) {
			t.Error(err)
		}
		if got := strings.Join(d.calls, " "); got != c.calls {
			t.Errorf("deleting %d to %d: %s", c.from, c.to, got)
		}
		f.await(t)
	}
}

func TestMonotonicStoreStaysVisible(t *testing.T) {
	for kind, want := range map[string]bool{StoreBolt: false, StoreWAL: true} {
		s, _ := opened(t, t.TempDir(), kind)
		m, ok := s.Log.(raft.MonotonicLogStore)
		if !ok || m.IsMonotonic() != want {
			t.Errorf("%s: %v %v", kind, ok, ok && m.IsMonotonic())
		}
	}
}

func TestFolderKeepsItsKindOfLog(t *testing.T) {
	for i, kind := range bothKinds {
		dir := t.TempDir()
		s, _ := opened(t, dir, kind)
		must(t, s.Close())
		_, err := OpenStores(&StoresConfig{Dir: dir, Kind: bothKinds[1-i], Log: silent()})
		if err == nil || !strings.Contains(err.Error(), "has a log of the store "+kind+", and the node keeps its logs in "+bothKinds[1-i]) {
			t.Error(err)
		}
	}
	if _, err := OpenStores(&StoresConfig{Dir: t.TempDir(), Kind: "paper", Log: silent()}); err == nil || !strings.Contains(err.Error(), `no log store "paper"`) {
		t.Error(err)
	}
}

func TestFolderInUseIsSaidInWords(t *testing.T) {
	dir := t.TempDir()
	opened(t, dir, StoreBolt)
	if _, err := OpenStores(&StoresConfig{Dir: dir, Kind: StoreBolt, Guards: Guards{StallLimit: time.Minute, Fatal: func(error) {}}, Log: silent()}); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Error(err)
	}
}

func TestLongestEntryFits(t *testing.T) {
	for _, kind := range bothKinds {
		s, f := opened(t, t.TempDir(), kind)
		must(t, s.Log.StoreLog(&raft.Log{Index: 1, Term: 1, Data: make([]byte, fsm.EntryBytesMax)}))
		f.none(t)
	}
}
