package raftio

import (
	"bytes"
	"sync"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// boltLog is a log in bbolt whose long entries are read at once.
type boltLog struct{ *raftboltdb.BoltStore }

// GetLog implements raft.LogStore.
func (b boltLog) GetLog(index uint64, l *raft.Log) error {
	return entryScratch.get(b.BoltStore, index, l)
}

// scratch is memory into which entries are read. raft-boltdb's decoder does not know how
// long an entry is, and where it has no room makes some more, 256 KiB at a time, and
// copies all it has each time: 60 MB took seconds, for which the disk was blamed. Where
// there is room it takes milliseconds.
type scratch struct {
	mu  sync.Mutex
	mem []byte
	// spared counts the reads in a row that would have done with far less.
	spared int
}

const (
	// scratchBytesMin is how much is kept in any case, scratchSpareMax after how many
	// short entries it is no more than that.
	scratchBytesMin = 256 << 10
	scratchSpareMax = 1024
)

// entryScratch serves all groups of the process, one entry at a time.
var entryScratch scratch

// get reads an entry. Who comes while somebody else reads does without.
func (s *scratch) get(store raft.LogStore, index uint64, l *raft.Log) error {
	if !s.mu.TryLock() {
		return store.GetLog(index, l)
	}
	defer s.mu.Unlock()
	if s.mem == nil {
		s.mem = make([]byte, 0, scratchBytesMin)
	}
	l.Data = s.mem
	err := store.GetLog(index, l)
	needed := len(l.Data)
	if needed <= cap(s.mem) {
		l.Data = bytes.Clone(l.Data)
	}
	s.fit(needed)
	return err
}

// fit makes more room for the next entry, or gives back what is not needed.
func (s *scratch) fit(needed int) {
	switch {
	case needed > cap(s.mem):
		s.mem, s.spared = make([]byte, 0, needed+needed/4), 0
	case cap(s.mem) == scratchBytesMin || needed > cap(s.mem)/4:
		s.spared = 0
	default:
		if s.spared++; s.spared > scratchSpareMax {
			s.mem, s.spared = nil, 0
		}
	}
}
