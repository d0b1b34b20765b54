package shard

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

type hclogLogger = hclog.Logger

// adapter is the raft.FSM in front of a StateMachine.
type adapter struct {
	g *Group
	// mu keeps reload from Raft's own calls, which come from one goroutine.
	mu sync.Mutex
}

var (
	_ raft.BatchingFSM        = (*adapter)(nil)
	_ raft.ConfigurationStore = (*adapter)(nil)
)

// Apply implements raft.FSM.
func (a *adapter) Apply(l *raft.Log) any { return a.ApplyBatch([]*raft.Log{l})[0] }

// ApplyBatch implements raft.BatchingFSM. Its results mean nothing: replies go
// another way.
func (a *adapter) ApplyBatch(logs []*raft.Log) []any {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range logs {
		if l.Type == raft.LogConfiguration {
			go a.g.refreshVoters()
		}
		if l.Type != raft.LogCommand {
			continue
		}
		if err := a.g.cfg.SM.Apply(l.Index, l.Data); err != nil {
			a.g.cfg.Fatal(fmt.Errorf("group %d: %w", a.g.cfg.ID, err))
			// Nothing behind this entry may be applied; the process is ending.
			select {}
		}
	}
	return make([]any, len(logs))
}

// StoreConfiguration implements raft.ConfigurationStore. Raft keeps the
// configuration itself; having the method lets it take snapshots while a change
// of configuration is the last entry.
func (a *adapter) StoreConfiguration(uint64, raft.Configuration) { go a.g.refreshVoters() }

// Snapshot implements raft.FSM.
func (a *adapter) Snapshot() (raft.FSMSnapshot, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, err := a.g.cfg.SM.Snapshot()
	if err != nil {
		return nil, err
	}
	return fsmSnapshot{s}, nil
}

// reload writes the state out and loads it again, between two batches.
func (g *Group) reload(context.Context) error {
	a := g.adapter.Load()
	a.mu.Lock()
	defer a.mu.Unlock()
	s, err := g.cfg.SM.Snapshot()
	if err != nil {
		return err
	}
	defer s.Release()
	var image bytes.Buffer
	if err := s.Persist(&image); err != nil {
		return err
	}
	return g.cfg.SM.Restore(&image)
}

// Restore implements raft.FSM.
func (a *adapter) Restore(r io.ReadCloser) error {
	defer r.Close()
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.g.cfg.SM.Restore(r)
}

// fsmSnapshot is the raft.FSMSnapshot in front of a Snapshot.
type fsmSnapshot struct{ s Snapshot }

// Persist implements raft.FSMSnapshot.
func (f fsmSnapshot) Persist(sink raft.SnapshotSink) error {
	if err := f.s.Persist(sink); err != nil {
		_ = sink.Cancel()
		return err
	}
	return sink.Close()
}

// Release implements raft.FSMSnapshot.
func (f fsmSnapshot) Release() { f.s.Release() }
