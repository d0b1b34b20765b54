package fsm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/engine"
	"lockstep/engine/sched"
)

// changeLog is a Tracker that records the changes.
type changeLog struct {
	mu    sync.Mutex
	deaf  bool
	told  []string
	queue func() uint64
	// entries are the entries of the txns, by sequence number. early counts the changes that were
	// reported before their entry counted as queued.
	entries map[uint64]uint64
	early   int
}

// Tracking implements Tracker.
func (l *changeLog) Tracking() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.deaf
}

// Changed implements Tracker.
func (l *changeLog) Changed(by TxnID, keys [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for _, key := range keys {
		if key == nil {
			names = append(names, "(all)")
		} else {
			names = append(names, string(key))
		}
	}
	l.told = append(l.told, fmt.Sprintf("%d/%d/%d/%d %s", by.Node, by.Boot, by.Lane, by.Seq, strings.Join(names, " ")))
	if l.queue() < l.entries[by.Seq] {
		l.early++
	}
}

func trackedMachine(t *testing.T) (*Machine, *changeLog) {
	l := &changeLog{}
	m := New(Config{Group: 7, Engine: engine.Config{LockSlots: 64}, Sched: sched.Config{Permits: 8, Workers: 4}, Tracker: l})
	l.queue = m.Queued
	t.Cleanup(m.Close)
	return m, l
}

func (l *changeLog) take(t *testing.T, m *Machine) []string {
	t.Helper()
	if err := m.WaitExecuted(context.Background(), m.Queued()); err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	told := l.told
	l.told = nil
	return told
}

func ownBundle(seq uint64, txns ...Txn) Bundle {
	return Bundle{Origin: Origin{Node: 5, Boot: 2, Lane: 9}, FirstSeq: seq, AckedBelow: seq, Txns: txns}
}

func TestATrackerHearsEachTxnOnceWithItsIdentity(t *testing.T) {
	m, l := trackedMachine(t)
	l.entries = map[uint64]uint64{1: 1, 2: 1, 3: 1, 4: 3, 5: 4, 6: 5}
	exec := Txn{Kind: KindExec, Proto: 2, Ops: slices.Concat(txnOf(0, "set", "c", "1").Ops, txnOf(3, "get", "c").Ops, txnOf(3, "set", "d", "1").Ops)}
	bundle := ownBundle(1, txnOf(0, "mset", "a", "1", "b", "2"), txnOf(0, "get", "a"), exec)
	for i := range uint64(2) {
		if err := m.Apply(i+1, entryOf(i+1, bundle)); err != nil {
			t.Fatal(err)
		}
	}
	told := l.take(t, m)
	slices.Sort(told) // txns on different slots run side by side
	if want := []string{"5/2/9/1 a b", "5/2/9/3 c d"}; !slices.Equal(told, want) {
		t.Errorf("told %q, not %q", told, want)
	}
	// A transaction whose watch fails changes nothing.
	exec.Watches = []Watch{{Key: []byte("a"), Version: 999}}
	if err := m.Apply(3, entryOf(3, ownBundle(4, exec))); err != nil {
		t.Fatal(err)
	}
	if told := l.take(t, m); len(told) > 0 {
		t.Errorf("told %q", told)
	}
	// A Tracker that does not track gets no changes, not even later.
	l.deaf = true
	if err := m.Apply(4, entryOf(4, ownBundle(5, txnOf(0, "set", "a", "2")))); err != nil {
		t.Fatal(err)
	}
	told = l.take(t, m)
	l.mu.Lock()
	l.deaf = false
	l.mu.Unlock()
	if err := m.Apply(5, entryOf(5, ownBundle(6, txnOf(0, "set", "b", "2")))); err != nil {
		t.Fatal(err)
	}
	if told = append(told, l.take(t, m)...); !slices.Equal(told, []string{"5/2/9/6 b"}) {
		t.Errorf("told %q", told)
	}
	if l.early > 0 {
		t.Errorf("%d changes before their entry was queued", l.early)
	}
}

// A snapshot changes every key. When that is reported, its index is queued: keys that are
// registered from then on are read from a state that is at least as new. The index is not executed
// yet: a client that sees it as executed has been notified.
func TestASnapshotIsAChangeOfEveryKey(t *testing.T) {
	from, _ := trackedMachine(t)
	if err := from.Apply(1, entryOf(1, ownBundle(1, txnOf(0, "set", "a", "1")))); err != nil {
		t.Fatal(err)
	}
	m, l := trackedMachine(t)
	l.queue = m.Queued
	watch := &watchQueued{changeLog: l, m: m}
	m.cfg.Tracker = watch
	if err := m.Restore(bytes.NewReader(imageOf(t, from))); err != nil {
		t.Fatal(err)
	}
	if told := l.take(t, m); !slices.Equal(told, []string{"0/0/0/0 (all)"}) || watch.queued != 1 || watch.executed != 0 {
		t.Errorf("told %q when %d was queued and %d executed", told, watch.queued, watch.executed)
	}
	if m.Taken() != 1 || m.Executed() != 1 {
		t.Errorf("taken %d, executed %d", m.Taken(), m.Executed())
	}
}

// watchQueued records how far the machine was when it reported a change.
type watchQueued struct {
	*changeLog
	m                *Machine
	queued, executed uint64
}

// Changed implements Tracker.
func (w *watchQueued) Changed(by TxnID, keys [][]byte) {
	w.queued, w.executed = w.m.Queued(), w.m.Executed()
	w.changeLog.Changed(by, keys)
}

func TestWaitTakenWaitsForTheEntryAndNoLonger(t *testing.T) {
	m, _ := trackedMachine(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := m.WaitTaken(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("before the entry: %v", err)
	}
	const waiting = 20
	got := make(chan string, waiting)
	for i := range waiting {
		go func() {
			index := uint64(i%2 + 1)
			if err := m.WaitTaken(t.Context(), index); err != nil {
				got <- err.Error()
				return
			}
			txn := txnOf(0, "get", "a")
			reply, _ := m.Read(t.Context(), &txn, ReadOptions{})
			if string(reply) < fmt.Sprintf("$1\r\n%d\r\n", index) {
				got <- fmt.Sprintf("behind entry %d: %q", index, reply)
				return
			}
			got <- ""
		}()
	}
	for i := range uint64(2) {
		if err := m.Apply(i+1, entryOf(i+1, ownBundle(i+1, txnOf(0, "set", "a", fmt.Sprint(i+1))))); err != nil {
			t.Fatal(err)
		}
	}
	for range waiting {
		if problem := <-got; problem != "" {
			t.Error(problem)
		}
	}
}
