package raftio

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	wal "github.com/hashicorp/raft-wal"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Kinds of log stores.
const (
	StoreBolt = "boltdb"
	StoreWAL  = "wal"
)

// EntryBytesMax is the longest entry a log store takes: raft-wal's records end
// at 64 MiB, and what stands around the data needs room too.
const EntryBytesMax = 60 << 20

const (
	stableFile = "stable.db"
	boltFile   = "log.db"
	walDir     = "wal"
	// lockTimeout is how long another process may hold a store's file.
	lockTimeout = time.Second
	// stableMmapBytes and logMmapBytes are address space, so that a growing file
	// is not mapped anew, with all readers waiting, at each doubling.
	stableMmapBytes = 1 << 20
	logMmapBytes    = 256 << 20
)

// Stores are one Raft group's files.
type Stores struct {
	// Log is the guarded log store behind a cache of recent entries.
	Log            raft.LogStore
	Stable         raft.StableStore
	Snapshots      *Snapshots
	Configurations *Configurations

	log     *LogStore
	cache   *cache
	dog     *Watchdog
	closers []func() error
}

// HasState tells whether a folder holds a group.
func HasState(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, stableFile))
	return err == nil
}

// OpenStores opens or makes a group's files in dir, and refuses, in words, what
// Raft must not be started with. changed is told of each configuration; it may
// be nil. A folder keeps the kind of log store it was made with.
func OpenStores(dir, kind string, g Guards, changed func(Configuration), log hclog.Logger) (*Stores, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := checkKind(dir, kind); err != nil {
		return nil, err
	}
	s := &Stores{Configurations: NewConfigurations(changed), dog: NewWatchdog(g.StallLimit, g.Fatal)}
	if err := s.open(dir, kind, g, log); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Stores) open(dir, kind string, g Guards, log hclog.Logger) error {
	// First of all, for it takes the lock.
	stable, err := openBolt(filepath.Join(dir, stableFile), stableMmapBytes)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, stable.Close)
	s.Stable = guardStable(stable, s.dog)
	inner, err := s.openLog(dir, kind)
	if err != nil {
		return err
	}
	if s.log, err = guardLog(inner, g, s.dog, s.Configurations); err != nil {
		return err
	}
	s.cache = &cache{LogStore: s.log}
	s.Log = s.cache
	s.Snapshots, err = openSnapshots(dir, s.log, s.Configurations, log)
	return err
}

func (s *Stores) openLog(dir, kind string) (raft.LogStore, error) {
	if kind == StoreWAL {
		path := filepath.Join(dir, walDir)
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
	b, err := openBolt(filepath.Join(dir, boltFile), logMmapBytes)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, b.Close)
	return b, nil
}

// openBolt opens a bbolt file. Its list of free pages is not written at each
// commit: large ones made commits of one key take megabytes
// (hashicorp/consul#12141, moby/buildkit#6882).
func openBolt(path string, mmapBytes int) (*raftboltdb.BoltStore, error) {
	b, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &bbolt.Options{
		Timeout: lockTimeout, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, InitialMmapSize: mmapBytes,
	}})
	if errors.Is(err, bolterrors.ErrTimeout) {
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
	other, made := walDir, StoreWAL
	if kind == StoreWAL {
		other, made = boltFile, StoreBolt
	}
	if _, err := os.Stat(filepath.Join(dir, other)); err == nil {
		return fmt.Errorf("%s was made with raft-log-store %s; start with that, or let the node join anew with an empty folder", dir, made)
	}
	return nil
}

// AppendedBytes counts the bytes of all entries written since the stores were
// opened.
func (s *Stores) AppendedBytes() uint64 { return s.log.AppendedBytes() }

// EmptyLog deletes all entries of the log.
func (s *Stores) EmptyLog() error { return s.cache.Empty() }

// Close closes the files.
func (s *Stores) Close() error {
	s.dog.Close()
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	return errors.Join(errs...)
}
