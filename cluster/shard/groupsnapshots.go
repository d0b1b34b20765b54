package shard

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/raftio"
)

const (
	// snapshotBytesUsual and snapshotBytesMaxUsual are the defaults of
	// GroupConfig.SnapshotBytes and SnapshotBytesMax.
	snapshotBytesUsual    = 256 << 20
	snapshotBytesMaxUsual = 4 << 30
	// snapshotWork is the work after which a snapshot is taken, if the state is no longer
	// than SnapshotBytes: a restart does that work again.
	snapshotWork = 5 * time.Second
	// snapshotEvery is the pause between two snapshots, and after a failed one.
	// logLookEvery is how often the length of the log is checked.
	snapshotEvery = 5 * time.Second
	logLookEvery  = time.Second
	// heldMax is how many times as long as usual the log may become while a snapshot is
	// sent. heldAfter is how long the member that receives the snapshot may take to catch
	// up.
	heldMax   = 4
	heldAfter = time.Minute
	// heldClose is how many entries a member may lack and still count as caught up.
	heldClose = 64
)

// logLength is the length of a part of the log. work is how long one core is busy with it.
type logLength struct {
	entries, bytes uint64
	work           time.Duration
}

// logMax is how long the log after a snapshot may become before the next snapshot is due:
// as long as the snapshot, but no shorter than SnapshotBytes and no longer than
// SnapshotBytesMax. So snapshots write about as many bytes as the log does, however large
// the state is. Entries and work grow in proportion.
func (c *GroupConfig) logMax(snapshotBytes uint64) logLength {
	bytes := max(c.SnapshotBytes, min(snapshotBytes, c.SnapshotBytesMax))
	times := float64(bytes) / float64(c.SnapshotBytes)
	return logLength{
		entries: uint64(float64(c.SnapshotEntries) * times),
		bytes:   bytes,
		work:    time.Duration(float64(snapshotWork) * times),
	}
}

// reached reports whether a log of this length must be cut. held is true if a member
// needs the log. Then only its bytes count.
func (most logLength) reached(now logLength, held bool) bool {
	if held {
		return now.bytes >= heldMax*most.bytes
	}
	return now.entries >= most.entries || now.bytes >= most.bytes || now.work >= most.work
}

// logTail measures the log after the newest snapshot. It counts the applied entries: a
// restart applies them again, and so counts them again.
type logTail struct {
	// worked is how much work the state machine has done. If it is nil, work is not
	// counted.
	worked func() time.Duration

	mu           sync.Mutex // guards all, covered
	all, covered logLength
}

// applied counts entries.
func (t *logTail) applied(logs []*raft.Log) {
	bytes := 0
	for _, l := range logs {
		bytes += len(l.Data)
	}
	t.mu.Lock()
	t.all.entries += uint64(len(logs))
	t.all.bytes += uint64(bytes)
	t.mu.Unlock()
}

// now is where the log ends.
func (t *logTail) now() logLength {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.all
	if t.worked != nil {
		now.work = t.worked()
	}
	return now
}

// cover records that there is a snapshot of everything up to end, which now returned
// earlier.
func (t *logTail) cover(end logLength) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if end.entries >= t.covered.entries {
		t.covered = end
	}
}

// length is the length of the log after the newest snapshot.
func (t *logTail) length() logLength {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	return logLength{now.entries - t.covered.entries, now.bytes - t.covered.bytes, now.work - t.covered.work}
}

// logBound takes the snapshots that cut the log. The library's own rule counts only
// entries, and an entry may have a hundred bytes or a megabyte.
type logBound struct {
	cfg    *GroupConfig
	parts  *groupParts
	acks   *raftio.Acks
	tuning *tuning
}

func (b *logBound) loop() {
	p := b.parts
	tick := time.NewTicker(logLookEvery)
	defer tick.Stop()
	var rested time.Time
	for {
		select {
		case <-tick.C:
		case <-p.stop:
			return
		}
		length := p.fsm.tail.length()
		if time.Now().Before(rested) || !b.isDue(length) {
			continue
		}
		b.boundTrailing(length)
		_ = takeSnapshot(p.raft) // the library logs the error
		rested = time.Now().Add(snapshotEvery)
	}
}

// isDue reports whether a snapshot should be taken.
func (b *logBound) isDue(length logLength) bool {
	least := b.cfg.logMax(0)
	return least.reached(length, false) && b.cfg.logMax(b.parts.snapshotBytes()).reached(length, b.isAwaited())
}

// snapshotBytes is the length of the newest snapshot. It returns 0 if there is none.
func (p *groupParts) snapshotBytes() uint64 {
	all, err := p.stores.Snapshots.List()
	if err != nil || len(all) == 0 {
		return 0
	}
	return uint64(max(0, all[0].Size))
}

// isAwaited reports whether a member needs the log, because a snapshot is being sent to
// it or was sent lately: the member needs the entries since the snapshot. If they were
// cut meanwhile, it would need another snapshot, and under load that would never end.
func (b *logBound) isAwaited() bool {
	p := b.parts
	if p.raft.State() != raft.Leader {
		return false
	}
	last, term := p.raft.LastIndex(), p.raft.CurrentTerm()
	return slices.ContainsFunc(p.trans.Installing(heldAfter), func(id raft.ServerID) bool { return b.acks.Match(id, term)+heldClose < last })
}

// boundTrailing sets how many entries stay behind a snapshot. If they are as long as the
// latest ones, they have no more bytes than the log may have without a snapshot.
func (b *logBound) boundTrailing(length logLength) {
	most := b.cfg.logMax(b.parts.snapshotBytes())
	entries := uint64(float64(b.cfg.TrailingEntries) * float64(most.bytes) / float64(b.cfg.SnapshotBytes))
	err := b.tuning.change(b.parts.raft, func(c *raft.ReloadableConfig) {
		c.TrailingLogs = trailing(entries, most.bytes, length.bytes, length.entries)
	})
	if err != nil {
		b.cfg.Log.Warn("the length of the log behind snapshots could not be set", "group", b.cfg.ID, "err", err)
	}
}

// TakeSnapshot writes a snapshot and cuts the log.
func (g *Group) TakeSnapshot() error { return takeSnapshot(g.raft.Load()) }

func takeSnapshot(r *raft.Raft) error {
	err := r.Snapshot().Error()
	if errors.Is(err, raft.ErrNothingNewToSnapshot) {
		return nil
	}
	return err
}

// trailing is how many entries may stay: at most entriesMax, and at most as many as fit
// in bytesMax at the average length of the latest entries.
func trailing(entriesMax, bytesMax, bytes, entries uint64) uint64 {
	if bytes == 0 || entries == 0 {
		return entriesMax
	}
	return min(entriesMax, max(1, uint64(float64(bytesMax)/float64(bytes)*float64(entries))))
}
