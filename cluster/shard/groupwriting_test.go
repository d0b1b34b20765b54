package shard

import (
	"io"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/cluster/raftio"
)

// slowSnapshots is a counter whose snapshots are written only when the test allows it.
type slowSnapshots struct {
	*counter
	begun, goOn chan struct{}
}

func (s *slowSnapshots) Snapshot() (Snapshot, error) {
	inner, err := s.counter.Snapshot()
	return slowSnapshot{inner, s}, err
}

type slowSnapshot struct {
	Snapshot
	of *slowSnapshots
}

func (s slowSnapshot) Persist(w io.Writer) error {
	s.of.begun <- struct{}{}
	<-s.of.goOn
	return s.Snapshot.Persist(w)
}

// The owner of a group is told when a snapshot is being written, and when that ends.
func TestTheWritingOfASnapshotIsTold(t *testing.T) {
	sm := &slowSnapshots{counter: &counter{}, begun: make(chan struct{}, 1), goOn: make(chan struct{})}
	var writing, times atomic.Int64
	w := newWorld(t, 1, raftio.StoreBolt, func(c *GroupConfig) {
		c.SM = sm
		c.Writing = func(n int) { writing.Add(int64(n)); times.Add(1) }
	})
	w.write(3)
	done := make(chan error, 1)
	go func() { done <- w.nodes[0].group.TakeSnapshot() }()
	<-sm.begun
	if writing.Load() != 1 {
		t.Errorf("%d are written while one is", writing.Load())
	}
	close(sm.goOn)
	w.must(<-done)
	if writing.Load() != 0 || times.Load() != 2 {
		t.Errorf("%d are written, told %d times", writing.Load(), times.Load())
	}
}

// bigSnapshots is a counter whose snapshots take longer to write than any caller waits.
type bigSnapshots struct {
	*counter
	begun chan struct{}
}

func (s bigSnapshots) Snapshot() (Snapshot, error) { return s, nil }
func (s bigSnapshots) Release()                    {}

func (s bigSnapshots) Persist(w io.Writer) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for n, end := 0, time.After(2*patience); ; n++ {
		if _, err := w.Write([]byte{0}); err != nil {
			return err
		}
		if n == 1 {
			close(s.begun)
		}
		select {
		case <-tick.C:
		case <-end:
			return nil
		}
	}
}

// Closing a group, because its replica leaves the node, does not wait until its whole state is
// written: a node that cannot close a replica ends.
func TestAGroupIsClosedWhileASnapshotIsWritten(t *testing.T) {
	sm := bigSnapshots{&counter{}, make(chan struct{})}
	w := newWorld(t, 1, raftio.StoreBolt, func(c *GroupConfig) { c.SM = sm })
	w.write(3)
	done := make(chan error, 1)
	go func() { done <- w.nodes[0].group.TakeSnapshot() }()
	<-sm.begun
	w.nodes[0].stop()
	if err := <-done; err == nil {
		t.Error("the snapshot is whole")
	}
}

// Raft checks every few seconds whether its log has gone far beyond its snapshot. If no entries
// stay behind a snapshot, the log is empty until the next write.
func TestAGroupThatRestsWritesNoSnapshots(t *testing.T) {
	for _, store := range bothStores {
		w := newWorld(t, 1, store, func(c *GroupConfig) { c.TrailingEntries = 0 })
		n := w.nodes[0]
		for range 2 {
			w.write(3)
			w.must(n.group.TakeSnapshot())
			log := n.group.parts.stores.Log
			last, err := log.LastIndex()
			if first, _ := log.FirstIndex(); err != nil || first != 0 || last != n.group.Stats().LastIndex {
				t.Errorf("%s: the log is %d to %d (%v), and Raft is at %d", store, first, last, err, n.group.Stats().LastIndex)
			}
			n.stop()
			n.start()
		}
	}
}
