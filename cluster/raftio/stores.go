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
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"lockstep/ground/durable"
)

// Kinds of log stores.
const (
	StoreBolt = "boltdb"
	StoreWAL  = "wal"
)

const (
	// StableFile holds a group's term and vote.
	StableFile = "stable.db"
	// BoltFile is a group's log in boltdb.
	BoltFile = "log.db"
	// WALDir is a group's log in raft-wal.
	WALDir = "wal"
	// lockTimeout is how long another process may hold a store's file.
	lockTimeout = time.Second
	// stableMmapBytes and logMmapBytes are address space, so that a growing file is not
	// mapped again, with all readers waiting, each time it doubles.
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

// Examine says what is wrong with an entry that another node has sent. It returns nil if
// nothing is wrong.
func (s *Stores) Examine(l *raft.Log) error { return s.log.examine(l) }

// HasState reports whether a folder holds a group.
func HasState(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, StableFile))
	return err == nil
}

// StoresConfig is the parameters of a group's stores.
type StoresConfig struct {
	Dir string
	// Kind of log store, StoreBolt or StoreWAL. A folder keeps the kind it was made
	// with.
	Kind string
	// Journal is the log that the node's groups share, or nil if the group has a log of
	// its own. A group that was made with a log of its own keeps it.
	Journal *Journal
	// Group is the group's number in the journal.
	Group  uint32
	Guards Guards
	// Changed is called with each configuration. It may be nil.
	Changed func(Configuration)
	Log     hclog.Logger
}

// OpenStores opens or makes a group's files. If Raft must not be started with them, it
// returns an error that says why.
func OpenStores(cfg *StoresConfig) (*Stores, error) {
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, err
	}
	if err := checkKind(cfg.Dir, cfg.Kind); err != nil {
		return nil, err
	}
	s := &Stores{Configurations: NewConfigurations(cfg.Changed), dog: NewWatchdog(cfg.Guards.StallLimit, cfg.Guards.Fatal)}
	s.dog.log = cfg.Log
	if err := noPanic(func() error { return s.open(cfg) }); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Stores) open(cfg *StoresConfig) error {
	fresh := !HasState(cfg.Dir)
	if fresh {
		if err := checkFresh(cfg.Dir); err != nil {
			return err
		}
	}
	shares, err := sharesJournal(cfg, fresh)
	if err != nil {
		return err
	}
	logIsThere := shares || hasLog(cfg.Dir, cfg.Kind)
	// This comes before everything except the mark, because it takes the lock.
	path := filepath.Join(cfg.Dir, StableFile)
	stable, err := openBolt(path, stableMmapBytes, beginStable)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, stable.Close)
	if s.Stable, err = guardStable(stable, s.dog); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !logIsThere {
		if err := checkNoTerm(cfg.Dir, s.Stable); err != nil {
			return err
		}
	}
	inner, err := s.groupLog(cfg, shares, fresh)
	if err != nil {
		return err
	}
	if s.log, err = guardLog(inner, cfg.Guards, s.dog, s.Configurations); err != nil {
		return err
	}
	s.cache = &cache{LogStore: s.log}
	s.Log = s.cache
	if s.Snapshots, err = openSnapshots(cfg.Dir, s.cache, s.Configurations, cfg.Log); err != nil {
		return err
	}
	if err := s.unfound(); err != nil {
		return err
	}
	if err := syncFolder(cfg.Dir); err != nil {
		return err
	}
	// The folder of all groups is made with the first group.
	return durable.Sync(filepath.Dir(filepath.Dir(cfg.Dir)))
}

// groupLog opens the group's log: its own, or its part of the shared one.
func (s *Stores) groupLog(cfg *StoresConfig, shares, fresh bool) (raft.LogStore, error) {
	if shares {
		return cfg.Journal.group(cfg.Group, fresh)
	}
	log, closeLog, err := openLog(cfg.Dir, cfg.Kind, cfg.Log, s.dog.fail)
	if err == nil {
		s.closers = append(s.closers, closeLog)
	}
	return log, err
}

// openLog opens or makes a log store in dir. failed is called if the store cannot go on
// and no call would return the error.
func openLog(dir, kind string, log hclog.Logger, failed func(error)) (raft.LogStore, func() error, error) {
	if kind == StoreWAL {
		path := filepath.Join(dir, WALDir)
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, nil, err
		}
		w, err := openWAL(path, log, failed)
		if err != nil {
			return nil, nil, err
		}
		return w, w.Close, nil
	}
	b, err := openBolt(filepath.Join(dir, BoltFile), logMmapBytes, nil)
	if err != nil {
		return nil, nil, err
	}
	return boltLog{b}, b.Close, nil
}

// openBolt opens a bbolt file, and makes it if it does not exist. fill writes the first
// contents. It may be nil. The list of free pages is not written at each commit: large
// lists made commits of one key take megabytes (hashicorp/consul#12141,
// moby/buildkit#6882).
func openBolt(path string, mmapBytes int, fill func(raft.StableStore) error) (*raftboltdb.BoltStore, error) {
	open := func(path string) (*raftboltdb.BoltStore, error) {
		return raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &bbolt.Options{
			Timeout: lockTimeout, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, InitialMmapSize: mmapBytes,
		}})
	}
	if err := makeBolt(path, open, fill); err != nil {
		return nil, err
	}
	b, err := open(path)
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("%s is in use by another process", path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// checkKind refuses a folder with a log of the other kind: two logs in one folder could
// contradict each other.
func checkKind(dir, kind string) error {
	if kind != StoreBolt && kind != StoreWAL {
		return fmt.Errorf("there is no log store %q; there are %s and %s", kind, StoreBolt, StoreWAL)
	}
	other, made := WALDir, StoreWAL
	if kind == StoreWAL {
		other, made = BoltFile, StoreBolt
	}
	if _, err := os.Stat(filepath.Join(dir, other)); err == nil {
		return fmt.Errorf("%s has a log of the store %s, and the node keeps its logs in %s; restore the data folder, or let the node join anew with an empty one", dir, made, kind)
	}
	return nil
}

// AppendedBytes counts the bytes of all entries written since the stores were opened.
func (s *Stores) AppendedBytes() uint64 { return s.log.AppendedBytes() }

// Hangs reports whether the disk hangs.
func (s *Stores) Hangs() bool { return s.dog.Hangs() }

// Begun records that Raft has read the stores and runs.
func (s *Stores) Begun() { s.log.begun.Store(true) }

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
