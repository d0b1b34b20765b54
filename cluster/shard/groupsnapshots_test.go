package shard

import (
	"io"
	"math"
	"testing"
	"time"

	"lockstep/cluster/raftio"
)

// The log between two snapshots grows with the snapshot, within bounds.
func TestTheLogGrowsWithTheState(t *testing.T) {
	c := GroupConfig{SnapshotEntries: 1000, SnapshotBytes: 100, SnapshotBytesMax: 1600}
	for _, x := range []struct {
		snapshot uint64
		want     logLength
	}{
		{0, logLength{1000, 100, snapshotWork}},
		{100, logLength{1000, 100, snapshotWork}},
		{250, logLength{2500, 250, 5 * snapshotWork / 2}},
		{1600, logLength{16_000, 1600, 16 * snapshotWork}},
		{math.MaxUint64, logLength{16_000, 1600, 16 * snapshotWork}},
	} {
		if got := c.logMax(x.snapshot); got != x.want {
			t.Errorf("behind a snapshot of %d bytes: %+v, want %+v", x.snapshot, got, x.want)
		}
	}
	if c.SnapshotBytesMax = 10; c.logMax(5000).bytes != 100 {
		t.Error("a bound below SnapshotBytes counts")
	}
}

func TestWhenALogIsCut(t *testing.T) {
	most := logLength{entries: 10, bytes: 100, work: time.Second}
	for _, x := range []struct {
		now       logLength
		due, held bool
	}{
		{logLength{9, 99, time.Second - 1}, false, false},
		{logLength{10, 0, 0}, true, false},
		{logLength{0, 100, 0}, true, false},
		{logLength{0, 0, time.Second}, true, false},
		{logLength{1000, heldMax*100 - 1, time.Hour}, true, false},
		{logLength{0, heldMax * 100, 0}, true, true},
	} {
		if got := most.reached(x.now, false); got != x.due {
			t.Errorf("%+v: %v", x.now, got)
		}
		if got := most.reached(x.now, true); got != x.held {
			t.Errorf("%+v, held: %v", x.now, got)
		}
	}
}

func TestTheLogBehindASnapshotIsMeasured(t *testing.T) {
	work := time.Duration(0)
	tail := logTail{worked: func() time.Duration { return work }}
	tail.all = logLength{entries: 5, bytes: 50}
	work = time.Second
	first := tail.now()
	tail.all = logLength{entries: 7, bytes: 90}
	work += time.Minute
	second := tail.now()
	tail.cover(second)
	tail.cover(first) // a leader's snapshot arrived before the node's own was written
	tail.all.bytes += 3
	work++
	if got, want := tail.length(), (logLength{0, 3, 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// weighty is a state machine with a long state.
type weighty struct {
	*counter
	bytes int
}

type weightySnapshot struct {
	Snapshot
	bytes int
}

func (m weighty) Snapshot() (Snapshot, error) {
	s, err := m.counter.Snapshot()
	return weightySnapshot{s, m.bytes}, err
}

func (s weightySnapshot) Persist(w io.Writer) error {
	if err := s.Snapshot.Persist(w); err != nil {
		return err
	}
	_, err := w.Write(make([]byte, s.bytes))
	return err
}

// A shard with a long state does not write a snapshot each time its log reaches the length that is
// enough for a short state, nor does it after a restart.
func TestALongStateIsWrittenOutLessOften(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, raftio.StoreWAL, func(c *GroupConfig) {
		c.SnapshotBytes, c.SnapshotBytesMax, c.SnapshotEntries = 64<<10, 2<<20, 100
		c.SM = weighty{c.SM.(*counter), 1 << 20}
	})
	n := w.leader()
	// due reports whether a snapshot is due when the log after the newest snapshot has a length.
	due := func(bytes uint64) bool {
		tail := &n.group.parts.fsm.tail
		w.until("a log of some length", func() bool { return tail.length().bytes >= bytes })
		bound := logBound{cfg: &n.group.cfg, parts: n.group.parts, acks: n.group.acks}
		return bound.isDue(tail.length())
	}
	w.must(n.group.Append(w.ctx(), make([]byte, 65<<10)))
	w.until("the first snapshot", func() bool { return n.group.Counts().Snapshots.Load() == 1 })
	for range 7 {
		w.must(n.group.Append(w.ctx(), make([]byte, 128<<10)))
	}
	if due(896 << 10) {
		t.Error("896 KB behind a snapshot of 1 MB are too much")
	}
	n.stop()
	n.start()
	n = w.leader()
	if due(896 << 10) {
		t.Error("behind a restart they are")
	}
	w.must(n.group.Append(w.ctx(), make([]byte, 160<<10)))
	w.until("another snapshot", func() bool { return n.group.Counts().Snapshots.Load() == 1 })
	if due(0) {
		t.Error("it is due at once again")
	}
}

func TestSnapshotsAreTakenByBytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, raftio.StoreWAL, func(c *GroupConfig) { c.SnapshotBytes = 1 << 20 })
	n := w.leader()
	for range 9 {
		w.must(n.group.Append(w.ctx(), make([]byte, 256<<10)))
	}
	w.until("a shorter log", func() bool {
		n.group.mu.Lock()
		defer n.group.mu.Unlock()
		first, err := n.group.parts.stores.Log.FirstIndex()
		return err == nil && first > 1
	})
}

func TestFewLongEntriesStayBehindASnapshot(t *testing.T) {
	for _, c := range []struct{ entriesMax, bytesMax, bytes, entries, want uint64 }{
		{10_000, 1000, 0, 0, 10_000}, {10_000, 1000, 100, 100, 1000}, {10, 1000, 100, 100, 10},
		{10_000, 1000, 1000, 2, 2}, {10_000, 1000, 5000, 1, 1},
	} {
		if got := trailing(c.entriesMax, c.bytesMax, c.bytes, c.entries); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
