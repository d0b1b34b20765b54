package raftio

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	wal "github.com/hashicorp/raft-wal"
	"go.etcd.io/bbolt"
)

// Kinds of log stores.
const (
	StoreBolt = "boltdb"
	StoreWAL  = "wal"
)

// Stores are one Raft group's files.
type Stores struct {
	// Log is the guarded log store, behind a cache of recent entries.
	Log    raft.LogStore
	Stable raft.StableStore

	guarded *LogStore
	closers []func() error
}

// cacheEntries bounds the cache of recent entries by number; entries are at
// most some hundred KiB, most of them far less.
const cacheEntries = 128

// lockTimeout is how long another process may hold a store's file.
const lockTimeout = time.Second

// OpenStores opens or makes a group's log and stable store in dir. A folder
// keeps the kind of log store it was made with.
func OpenStores(dir, kind string, g Guards) (*Stores, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := checkKind(dir, kind); err != nil {
		return nil, err
	}
	s := &Stores{}
	stable, err := openBolt(filepath.Join(dir, "stable.db"), 1<<20)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, stable.Close)
	s.Stable = NewVoteStore(stable)
	inner, err := s.openLog(dir, kind)
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	s.guarded = GuardLog(inner, g)
	if s.Log, err = newCache(cacheEntries, s.guarded); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Stores) openLog(dir, kind string) (raft.LogStore, error) {
	if kind == StoreWAL {
		path := filepath.Join(dir, "wal")
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, err
		}
		w, err := wal.Open(path)
		if err != nil {
			return nil, fmt.Errorf("log store: %w", err)
		}
		s.closers = append(s.closers, w.Close)
		return w, nil
	}
	b, err := openBolt(filepath.Join(dir, "log.db"), 64<<20)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, b.Close)
	return b, nil
}

func openBolt(path string, mmapBytes int) (*raftboltdb.BoltStore, error) {
	b, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &bbolt.Options{
		Timeout: lockTimeout, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, InitialMmapSize: mmapBytes,
	}})
	if errors.Is(err, bbolt.ErrTimeout) {
		return nil, fmt.Errorf("%s is in use by another process", path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// checkKind makes a folder keep its kind of log store: two logs in one folder
// would be two truths.
func checkKind(dir, kind string) error {
	if kind != StoreBolt && kind != StoreWAL {
		return fmt.Errorf("there is no log store %q; there are %s and %s", kind, StoreBolt, StoreWAL)
	}
	other, made := "wal", StoreWAL
	if kind == StoreWAL {
		other, made = "log.db", StoreBolt
	}
	if _, err := os.Stat(filepath.Join(dir, other)); err == nil {
		return fmt.Errorf("%s was made with raft-log-store %s; start with that, or let the node join anew with an empty folder", dir, made)
	}
	return nil
}

// Close closes the files.
func (s *Stores) Close() error {
	if s.guarded != nil {
		s.guarded.Close()
	}
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	return errors.Join(errs...)
}

// monotonicCache is raft.LogCache for a store that takes no gaps; the library's
// own hides that.
type monotonicCache struct {
	*raft.LogCache
	store *LogStore
}

func newCache(n int, s *LogStore) (raft.LogStore, error) {
	c, err := raft.NewLogCache(n, s)
	if err != nil {
		return nil, err
	}
	return &monotonicCache{c, s}, nil
}

// IsMonotonic implements raft.MonotonicLogStore.
func (c *monotonicCache) IsMonotonic() bool { return c.store.IsMonotonic() }
