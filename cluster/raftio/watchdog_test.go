package raftio

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
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

// shortened is a store whose file is mapped and has become shorter.
type shortened struct {
	*raft.InmemStore
	mapped []byte
}

func (s *shortened) GetLog(uint64, *raft.Log) error {
	if s.mapped[0] == 0 {
		return raft.ErrLogNotFound
	}
	return nil
}

// If a file becomes shorter while a store has it mapped, the process ends with a reason that says
// what to do.
func TestAFileThatBecameShorterEndsTheProcessInWords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mapped")
	must(t, os.WriteFile(path, make([]byte, 4096), 0o600))
	file, err := os.Open(path)
	must(t, err)
	defer file.Close()
	mapped, err := syscall.Mmap(int(file.Fd()), 0, 4096, syscall.PROT_READ, syscall.MAP_SHARED)
	must(t, err)
	defer func() { _ = syscall.Munmap(mapped) }()
	inner := &shortened{raft.NewInmemStore(), mapped}
	must(t, inner.StoreLogs(commands(1, 3, 1)))
	s, f := guarded(t, inner, nil)
	must(t, os.Truncate(path, 0))
	if err := s.GetLog(2, &raft.Log{}); err == nil || !strings.Contains(err.Error(), rejoin) {
		t.Errorf("the read said %v", err)
	}
	if all := f.all(); len(all) != 1 || !strings.Contains(all[0].Error(), rejoin) {
		t.Errorf("told %v", all)
	}
}

func TestFailingStableStoreEndsTheProcess(t *testing.T) {
	f := newFatals()
	dog := NewWatchdog(time.Minute, f.fatal)
	defer dog.Close()
	disk := &dyingStore{InmemStore: raft.NewInmemStore()}
	must(t, beginStable(disk))
	s := stableOn(t, disk, dog)
	disk.dies = 1
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

// slowReads takes an hour per read.
type slowReads struct{ *raft.InmemStore }

func (s *slowReads) GetLog(index uint64, l *raft.Log) error {
	<-time.After(time.Hour)
	return s.InmemStore.GetLog(index, l)
}

// Reading an entry needs a processor, which may be busy. However long it takes, other nodes keep
// hearing this leader, and the process goes on.
func TestASlowReadIsNotTakenForADiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFatals()
		dog := NewWatchdog(time.Minute, f.fatal)
		defer dog.Close()
		s, err := guardLog(&slowReads{raft.NewInmemStore()}, Guards{}, dog, NewConfigurations(nil))
		must(t, err)
		must(t, s.StoreLogs(commands(1, 1, 1)))
		read := make(chan error, 1)
		go func() { read <- s.GetLog(1, &raft.Log{}) }()
		<-time.After(59 * time.Minute)
		if dog.Hangs() {
			t.Error("the disk is said to hang")
		}
		must(t, <-read)
		f.none(t)
	})
}

// A process that stood still for a minute counts one tick for it, whatever the clock shows.
func TestPauseOfTheProcessIsNotTakenForTheDisks(t *testing.T) {
	f := newFatals()
	dog := NewWatchdog(time.Hour, f.fatal)
	defer dog.Close()
	dog.begin("a write")
	for range looksPerLimit {
		if what := dog.look(); what != "" {
			t.Fatal("too early")
		}
	}
	if dog.look() != "a write" {
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

// hangStore is a log store whose disk hangs while mu is held.
type hangStore struct {
	*raft.InmemStore
	mu sync.Mutex
	// writing counts the calls under way.
	writing atomic.Int64
}

func (h *hangStore) StoreLogs(logs []*raft.Log) error {
	h.writing.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.writing.Add(-1) // so that a goroutine that holds mu sees no call that has ended
	return h.InmemStore.StoreLogs(logs)
}

// hangable is a member of a group whose disk can be made to hang.
type hangable struct {
	id    raft.ServerID
	addr  raft.ServerAddress
	disk  *hangStore
	raft  *raft.Raft
	dog   *Watchdog
	trans *Transport
}

// hangableHeartbeat is long enough that a busy machine rarely causes an election. hangableLease is
// shorter, as the library demands. hangableLimit is several times as long as it takes to notice a
// hanging disk and to elect another leader.
const (
	hangableLimit     = 12 * time.Second
	hangableHeartbeat = time.Second
	hangableLease     = 900 * time.Millisecond
)

func newHangable(t *testing.T, id string) *hangable {
	f := newFatals()
	t.Cleanup(func() { f.none(t) })
	h := &hangable{id: raft.ServerID(id), disk: &hangStore{InmemStore: raft.NewInmemStore()}}
	h.dog = NewWatchdog(hangableLimit, f.fatal)
	t.Cleanup(h.dog.Close)
	trans, addr := networkedOn(t, id, NewAcks(), h.dog.Hangs)
	h.trans, h.addr = trans, raft.ServerAddress(addr)
	trans.transfers.heartbeat = hangableHeartbeat
	return h
}

func (h *hangable) start(t *testing.T, all raft.Configuration) {
	log, err := guardLog(h.disk, Guards{}, h.dog, NewConfigurations(nil))
	must(t, err)
	cfg := raft.DefaultConfig()
	cfg.LocalID, cfg.Logger = h.id, silent()
	cfg.HeartbeatTimeout, cfg.ElectionTimeout, cfg.LeaderLeaseTimeout = hangableHeartbeat, hangableHeartbeat, hangableLease
	snapshots, stable := raft.NewInmemSnapshotStore(), raft.NewInmemStore()
	must(t, raft.BootstrapCluster(cfg, log, stable, snapshots, h.trans, all))
	h.raft, err = raft.NewRaft(cfg, &raft.MockFSM{}, log, stable, snapshots, h.trans)
	must(t, err)
	t.Cleanup(func() { _ = h.raft.Shutdown().Error() })
}

// leaderOf waits until one of the members leads.
func leaderOf(t *testing.T, of []*hangable) *hangable {
	t.Helper()
	var leader *hangable
	eventually(t, "one leads", func() bool {
		i := slices.IndexFunc(of, func(h *hangable) bool { return h.raft.State() == raft.Leader })
		if i >= 0 {
			leader = of[i]
		}
		return i >= 0
	})
	return leader
}

// hangLeader makes the disk of the leader hang while it writes an entry: the test's entry or, right
// after its election, its own first one.
func hangLeader(t *testing.T, members []*hangable) (leader *hangable, release func()) {
	t.Helper()
	for {
		leader = leaderOf(t, members)
		leader.disk.mu.Lock()
		release = sync.OnceFunc(leader.disk.mu.Unlock)
		t.Cleanup(release)
		refused := make(chan error, 1)
		go func() { refused <- leader.raft.Apply([]byte("stuck"), 0).Error() }()
		eventually(t, "an entry to be written, or refused", func() bool { return leader.disk.writing.Load() > 0 || len(refused) > 0 })
		if leader.disk.writing.Load() > 0 && leader.raft.State() == raft.Leader {
			return leader, release
		}
		release() // it no longer led
	}
}

// A leader whose disk hangs is replaced, and follows when its disk works again. Its process goes
// on.
func TestALeaderWhoseDiskHangsIsReplacedAndComesBack(t *testing.T) {
	var members []*hangable
	var all raft.Configuration
	for _, id := range []string{"a", "b", "c"} {
		h := newHangable(t, id)
		members = append(members, h)
		all.Servers = append(all.Servers, raft.Server{ID: h.id, Address: h.addr})
	}
	for _, h := range members {
		h.start(t, all)
	}
	old, release := hangLeader(t, members)
	others := slices.DeleteFunc(slices.Clone(members), func(h *hangable) bool { return h == old })
	eventually(t, "the others go on", func() bool { return leaderOf(t, others).raft.Apply([]byte("goes on"), 0).Error() == nil })
	if old.raft.State() != raft.Leader {
		t.Fatal("the disk did not hang")
	}
	release()
	eventually(t, "the old leader follows the new", func() bool {
		_, id := old.raft.LeaderWithID()
		i := slices.IndexFunc(others, func(h *hangable) bool { return h.id == id && h.raft.State() == raft.Leader })
		return i >= 0 && old.raft.State() == raft.Follower && old.raft.AppliedIndex() >= others[i].raft.CommitIndex()
	})
}

// hangingStable hangs at each write.
type hangingStable struct {
	raft.StableStore
	hang chan struct{}
}

func (h *hangingStable) Set([]byte, []byte) error {
	<-h.hang
	return nil
}

func TestAProbeFindsADiskThatHangs(t *testing.T) {
	dog := NewWatchdog(time.Second, newFatals().fatal)
	defer dog.Close()
	hang := make(chan struct{})
	disk := raft.NewInmemStore()
	must(t, beginStable(disk))
	s := &Stores{dog: dog, Stable: stableOn(t, &hangingStable{disk, hang}, dog)}
	probed := make(chan error, 1)
	go func() { probed <- s.Probe() }()
	eventually(t, "the disk to hang", s.Hangs)
	close(hang)
	must(t, <-probed)
	if s.Hangs() {
		t.Error("it hangs still")
	}
}
