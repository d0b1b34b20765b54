package powercut

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"lockstep/cluster/raftio"
)

// sharedSuffix marks a kind of log store that groups share.
const sharedSuffix = ", shared"

// segmentBytes is the length of raft-wal's files here. With the 64 MiB of lockstepd, writing the
// files after each power cut would take most of the time.
const segmentBytes = 4 << 20

func init() { raftio.WALSegmentBytes = segmentBytes }

// stores are those of the group under test and, if the log is shared, those of another group that
// writes to it at the same time.
type stores struct {
	*raftio.Stores
	other   *raftio.Stores
	journal *raftio.Journal
}

// openStores opens a group's stores as lockstepd does. A failing store ends the process there, and
// the worker here.
func openStores(dir, kind string) (*stores, error) {
	store, shared := strings.CutSuffix(kind, sharedSuffix)
	s := &stores{}
	var err error
	if shared {
		s.journal, err = raftio.OpenJournal(filepath.Join(dir, "journal"), store, []string{filepath.Join(dir, "group"), filepath.Join(dir, "other")}, fatal, silent())
		if err == nil {
			s.other, err = s.openGroup(filepath.Join(dir, "other"), store, 7)
		}
		dir = filepath.Join(dir, "group")
	}
	if err == nil {
		s.Stores, err = s.openGroup(dir, store, 3)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *stores) openGroup(dir, kind string, group uint32) (*raftio.Stores, error) {
	return raftio.OpenStores(&raftio.StoresConfig{
		Dir: dir, Kind: kind, Journal: s.journal, Group: group,
		Guards: raftio.Guards{StallLimit: time.Minute, Fatal: fatal}, Log: silent(),
	})
}

func fatal(err error) { panic(err) }

func silent() hclog.Logger {
	return raftio.NewLogger(slog.New(slog.NewTextHandler(io.Discard, nil)), "powercut")
}

// append appends to the group's log and, if it is shared, at the same time sizeBytes to the other
// group's.
func (s *stores) append(logs []*raft.Log, sizeBytes int) error {
	if s.other == nil {
		return s.Log.StoreLogs(logs)
	}
	last, err := s.other.Log.LastIndex()
	if err != nil {
		return err
	}
	over := make(chan error, 1)
	go func() {
		over <- s.other.Log.StoreLog(&raft.Log{Index: last + 1, Term: 1, Type: raft.LogCommand, Data: bytes.Repeat([]byte("other"), sizeBytes/5)})
	}()
	return errors.Join(s.Log.StoreLogs(logs), <-over)
}

// Close closes all stores that are open.
func (s *stores) Close() error {
	var errs []error
	for _, g := range []*raftio.Stores{s.Stores, s.other} {
		if g != nil {
			errs = append(errs, g.Close())
		}
	}
	if s.journal != nil {
		errs = append(errs, s.journal.Close())
	}
	return errors.Join(errs...)
}
