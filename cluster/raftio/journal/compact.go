package journal

import "github.com/hashicorp/raft"

const (
	// slackBytesUsual is how much longer than twice its entries a journal may be before entries at
	// its front are written again.
	slackBytesUsual = 64 << 20
	// copyRecords and copyBytes bound how much is read at the front for a short batch, and so how
	// much longer the callers wait. A longer batch may read twice as much as it brings: at that
	// point at least half of the journal is dead, so the front is freed faster than the end grows.
	copyRecords = 256
	copyBytes   = 256 << 10
	// Dead blocks at the front are deleted once there are pruneBlocksMin of them or they are
	// pruneBytesMin long, because a deletion is a sync as well. pruneBlocksMax bounds one deletion,
	// for stores in which a longer one costs more.
	pruneBlocksMin = 8
	pruneBytesMin  = 16 << 20
	pruneBlocksMax = 1
)

// addCopiesLocked adds some of the entries nearest to the front to a batch if too much of the
// journal is dead. records and bytes are the size of the batch without them. The lock is open while
// they are read: only the holder of the pen adds, moves or deletes entries.
func (j *Journal) addCopiesLocked(b *builder, records, bytes int) error {
	s := &j.space
	if s.bytes <= 2*s.liveBytes+j.slackBytes {
		return nil
	}
	records, bytes = max(2*records, copyRecords), max(2*bytes, copyBytes)
	j.copied = max(s.begin, j.copied)
	for ; records > 0 && bytes > 0; records-- {
		position := s.nextLive(j.copied)
		if position >= s.end {
			break
		}
		j.mu.Unlock()
		var r raft.Log
		h, err := j.read(position, &r)
		j.mu.Lock()
		if err != nil {
			return err
		}
		bytes -= len(r.Data)
		if h.kind == entryOf || h.kind == copyOf {
			l := j.groups[h.group]
			if at, ok := l.places.find(h.index); ok && at.position == position {
				r.Index = h.index
				b.entry(copyOf, h.group, &r)
			}
		}
		j.copied = position + 1
	}
	return nil
}

// read reads the record at a position. It leaves the group's own Extensions in r.
func (j *Journal) read(position uint64, r *raft.Log) (header, error) {
	if err := j.store.GetLog(position, r); err != nil {
		return header{}, err
	}
	h, rest, err := splitHeader(r, position)
	r.Extensions = rest
	return h, err
}

// pruneLocked deletes dead blocks at the front if there are enough of them. The lock is open while
// the store works.
func (j *Journal) pruneLocked() error {
	n, bytes := j.space.deadFront()
	if n < pruneBlocksMin && bytes < pruneBytesMin && !j.pruning {
		return nil
	}
	j.pruning = n > pruneBlocksMax
	if n == 0 {
		return nil
	}
	if m, ok := j.store.(raft.MonotonicLogStore); !ok || !m.IsMonotonic() {
		n = min(n, pruneBlocksMax)
	}
	begin := j.space.begin
	j.space.cut(n)
	end := j.space.begin
	j.mu.Unlock()
	err := j.store.DeleteRange(begin, end-1)
	j.mu.Lock()
	return err
}
