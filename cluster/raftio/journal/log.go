package journal

import (
	"fmt"

	"github.com/hashicorp/raft"
)

// Log is one group's log in the journal, as a raft.LogStore. It may be read, and cut at its front,
// during an append.
type Log struct {
	journal *Journal
	group   uint32
	// places is guarded by the journal's mu.
	places places
}

var _ raft.LogStore = (*Log)(nil)

func (l *Log) ends() (first, last uint64) {
	l.journal.mu.RLock()
	defer l.journal.mu.RUnlock()
	return l.places.ends()
}

// FirstIndex implements raft.LogStore.
func (l *Log) FirstIndex() (uint64, error) {
	first, _ := l.ends()
	return first, nil
}

// LastIndex implements raft.LogStore.
func (l *Log) LastIndex() (uint64, error) {
	_, last := l.ends()
	return last, nil
}

// GetLog implements raft.LogStore.
func (l *Log) GetLog(index uint64, into *raft.Log) error {
	for {
		before, ok := l.find(index)
		if !ok {
			return raft.ErrLogNotFound
		}
		h, err := l.journal.read(before.position, into)
		if err == nil && h.group == l.group && h.index == index {
			into.Index = index
			return nil
		}
		// The entry may have been moved while it was read here.
		if after, ok := l.find(index); ok && after == before {
			if err == nil {
				err = ErrCorrupt
			}
			return fmt.Errorf("entry %d of group %d at %d: %w", index, l.group, before.position, err)
		}
	}
}

func (l *Log) find(index uint64) (place, bool) {
	l.journal.mu.RLock()
	defer l.journal.mu.RUnlock()
	return l.places.find(index)
}

// StoreLog implements raft.LogStore.
func (l *Log) StoreLog(e *raft.Log) error { return l.StoreLogs([]*raft.Log{e}) }

// StoreLogs implements raft.LogStore. The entries must follow each other and the last entry of the
// log.
func (l *Log) StoreLogs(entries []*raft.Log) error {
	if len(entries) == 0 {
		return nil
	}
	_, last := l.ends()
	r := &request{log: l, entries: entries}
	for i, e := range entries {
		if want := entries[0].Index + uint64(i); e.Index != want || last != 0 && e.Index > last+1+uint64(i) {
			return fmt.Errorf("entry %d of group %d does not follow entry %d", e.Index, l.group, max(last, want-1))
		}
		r.bytes += len(e.Data)
	}
	return l.journal.do(r)
}

// DeleteRange implements raft.LogStore for a range at either end of the log.
func (l *Log) DeleteRange(from, to uint64) error {
	first, last := l.ends()
	from, to = max(from, first), min(to, last)
	switch {
	case first == 0 || from > to:
		return nil
	case from == first:
		return l.journal.do(&request{log: l, cut: header{kind: cutBelow, group: l.group, index: to + 1}})
	case to == last:
		return l.journal.do(&request{log: l, cut: header{kind: cutFrom, group: l.group, index: from}})
	}
	return fmt.Errorf("entries %d to %d of group %d stand in the middle of %d to %d", from, to, l.group, first, last)
}
