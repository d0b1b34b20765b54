package raftio

import (
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

var bothKinds = []string{StoreBolt, StoreWAL}

func silent() hclog.Logger { return NewLogger(slog.New(slog.NewTextHandler(io.Discard, nil)), "test") }

// fatals records why the process would have ended.
type fatals struct {
	mu   sync.Mutex
	errs []error
	told chan struct{}
}

func newFatals() *fatals { return &fatals{told: make(chan struct{}, 16)} }

func (f *fatals) fatal(err error) {
	f.mu.Lock()
	f.errs = append(f.errs, err)
	f.mu.Unlock()
	f.told <- struct{}{}
}

func (f *fatals) all() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]error(nil), f.errs...)
}

// await waits until the process would have ended.
func (f *fatals) await(t *testing.T) error {
	t.Helper()
	select {
	case <-f.told:
		return f.all()[0]
	case <-time.After(time.Minute):
		t.Fatal("the process would not have ended")
		return nil
	}
}

func (f *fatals) none(t *testing.T) {
	t.Helper()
	if all := f.all(); len(all) > 0 {
		t.Errorf("the process would have ended: %v", all)
	}
}

// opened opens stores in a folder, for the duration of the test.
func opened(t *testing.T, dir, kind string) (*Stores, *fatals) {
	t.Helper()
	f := newFatals()
	cfg := &StoresConfig{Dir: dir, Kind: kind, Guards: Guards{StallLimit: time.Minute, Fatal: f.fatal}, Log: silent()}
	s, err := OpenStores(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, f
}

// guarded returns a guarded store over inner.
func guarded(t *testing.T, inner raft.LogStore, verify func(*raft.Log) error) (*LogStore, *fatals) {
	t.Helper()
	f := newFatals()
	dog := NewWatchdog(time.Minute, f.fatal)
	t.Cleanup(dog.Close)
	s, err := guardLog(inner, Guards{Verify: verify}, dog, NewConfigurations(nil))
	if err != nil {
		t.Fatal(err)
	}
	return s, f
}

// commands are entries first to last of a term.
func commands(first, last, term uint64) []*raft.Log {
	var logs []*raft.Log
	for i := first; i <= last; i++ {
		logs = append(logs, &raft.Log{Index: i, Term: term, Type: raft.LogCommand, Data: []byte{byte(i), byte(term), 'x'}})
	}
	return logs
}

func configurationEntry(index, term uint64, voters ...string) *raft.Log {
	var c raft.Configuration
	for _, v := range voters {
		c.Servers = append(c.Servers, raft.Server{ID: raft.ServerID(v), Address: raft.ServerAddress(v + ":1")})
	}
	return &raft.Log{Index: index, Term: term, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(c)}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bounds checks the ends of a log.
func bounds(t *testing.T, s raft.LogStore, first, last uint64) {
	t.Helper()
	f, err1 := s.FirstIndex()
	l, err2 := s.LastIndex()
	if err1 != nil || err2 != nil || f != first || l != last {
		t.Fatalf("the log is %d to %d (%v, %v), not %d to %d", f, l, err1, err2, first, last)
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !condition(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}
