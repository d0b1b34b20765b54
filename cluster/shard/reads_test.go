package shard

import (
	"context"
	"errors"
	"testing"
	"time"

	"lockstep/cluster"
	"lockstep/engine"
	"lockstep/engine/sched"
	"lockstep/fsm"
)

// If a leader has not begun to run what the asking node has run, it waits. If the wait is too long,
// the gateway must ask again.
func TestAReadWaitsForWhatTheAskingNodeHasSeen(t *testing.T) {
	m := fsm.New(fsm.Config{Group: 1, Engine: engine.Config{LockSlots: 16}, Sched: sched.Config{Permits: 2, Workers: 1}})
	t.Cleanup(m.Close)
	r := &reads{shard: &Shard{machine: m}}
	apply := func(index uint64) {
		t.Helper()
		b := fsm.NewEntryBuilder(1, fsm.EntryID{Node: 1, Boot: 1, N: index}, 1000, 64)
		b.Add(fsm.AppendBundle(nil, &fsm.Bundle{Txns: []fsm.Txn{{Proto: 2, Ops: []fsm.Op{{Args: [][]byte{[]byte("incr"), []byte("k")}}}}}}))
		if err := m.Apply(index, b.Finish()); err != nil {
			t.Fatal(err)
		}
	}
	apply(1)
	for _, atLeast := range []uint64{0, 1} {
		if err := r.catchUp(t.Context(), atLeast); err != nil {
			t.Fatal(err)
		}
	}
	waited := make(chan error, 1)
	go func() { waited <- r.catchUp(t.Context(), 3) }()
	apply(2)
	select {
	case err := <-waited:
		t.Fatalf("behind entry 2 of 3: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	apply(3)
	if err := <-waited; err != nil {
		t.Errorf("behind entry 3: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := r.catchUp(ctx, 99); !errors.Is(err, cluster.ErrNotLeader) {
		t.Errorf("an entry that does not come: %v", err)
	}
}
