package raftio

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// badStore fails or hangs at each append.
type badStore struct {
	*raft.InmemStore
	err  error
	hang chan struct{}
}

func (b *badStore) StoreLogs(logs []*raft.Log) error {
	if b.hang != nil {
		<-b.hang
	}
	return b.err
}

func TestHangingDiskEndsTheProcess(t *testing.T) {
	f := newFatals()
	dog := NewWatchdog(20*time.Millisecond, f.fatal)
	defer dog.Close()
	hang := make(chan struct{})
	defer close(hang)
	s, err := guardLog(&badStore{raft.NewInmemStore(), nil, hang}, Guards{}, dog, NewConfigurations(nil))
	must(t, err)
	go func() { _ = s.StoreLogs(commands(1, 1, 1)) }()
	if err := f.await(t); !strings.Contains(err.Error(), "writing the log has taken more than 20ms") {
		t.Error(err)
	}
}

func TestFailingDiskEndsTheProcess(t *testing.T) {
	full := errors.New("no space left on device")
	s, f := guarded(t, &badStore{InmemStore: raft.NewInmemStore(), err: full}, nil)
	for range 3 {
		if err := s.StoreLogs(commands(1, 1, 1)); !errors.Is(err, full) {
			t.Error(err)
		}
	}
	if all := f.all(); len(all) != 1 || !errors.Is(all[0], full) {
		t.Errorf("told %v", all)
	}
}

func TestFailingStableStoreEndsTheProcess(t *testing.T) {
	f := newFatals()
	dog := NewWatchdog(time.Minute, f.fatal)
	defer dog.Close()
	s := guardStable(&dyingStore{InmemStore: raft.NewInmemStore(), dies: 1}, dog)
	_ = s.SetUint64([]byte("CurrentTerm"), 1)
	if err := f.await(t); !errors.Is(err, errDied) {
		t.Error(err)
	}
}

func TestWhatIsNotThereIsNoFailure(t *testing.T) {
	for _, kind := range bothKinds {
		s, f := opened(t, t.TempDir(), kind)
		if err := s.Log.GetLog(5, &raft.Log{}); !errors.Is(err, raft.ErrLogNotFound) {
			t.Errorf("%s: %v", kind, err)
		}
		f.none(t)
	}
}

// A process that stood still for a minute has ticked once since, whatever the
// clock says.
func TestPauseOfTheProcessIsNotTakenForTheDisks(t *testing.T) {
	f := newFatals()
	dog := NewWatchdog(time.Hour, f.fatal)
	defer dog.Close()
	dog.begin("a write")
	for range looksPerLimit {
		if what := dog.overdue(); what != "" {
			t.Fatal("too early")
		}
	}
	if dog.overdue() != "a write" {
		t.Error("never")
	}
}

func TestClosedStoresTellNothing(t *testing.T) {
	s, f := opened(t, t.TempDir(), StoreBolt)
	must(t, s.Close())
	if err := s.Log.StoreLogs(commands(1, 1, 1)); err == nil {
		t.Error("a closed store takes entries")
	}
	f.none(t)
}
