package journal

import (
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/batching"
)

// batchBytesMax bounds how much is written at once for several callers. A single append may be
// longer.
const batchBytesMax = 16 << 20

// delayLimits say how long a write waits for the groups that were in the last one.
var delayLimits = batching.Limits{Share: 0.25, Most: time.Second, AnyIsEnough: true, RestMax: 64, Trust: 1}

// Journal is the log that groups share.
type Journal struct {
	store      raft.LogStore
	slackBytes int64

	// mu guards everything below. It is not held while the store works.
	mu     sync.RWMutex
	groups map[uint32]*Log
	// writing is true while a goroutine holds the pen; queue are the requests that wait for it.
	writing bool
	queue   []*request
	// delay lets groups that write all the time leave together.
	delay *batching.Delay
	space space
	// copied is up to where entries at the front were looked at to be written
	// again; pruning tells that blocks at the front are being deleted.
	copied  uint64
	pruning bool
	// broken is the reason why nothing can be written any more.
	broken error
}

// request is a write for one group.
type request struct {
	log *Log
	// entries are the group's new entries; if there are none, cut says which entries are gone.
	entries []*raft.Log
	cut     header
	bytes   int
	// wake is told when the request is done, and when its caller has the pen, or has waited for
	// others with it.
	wake chan struct{}
	done bool
	err  error
}

// Open reads a journal. From then on no other code may use the store.
func Open(store raft.LogStore) (*Journal, error) {
	j := &Journal{store: store, slackBytes: slackBytesUsual, groups: map[uint32]*Log{}}
	j.delay = batching.New(delayLimits, j.late)
	if err := j.replay(); err != nil {
		return nil, err
	}
	return j, nil
}

// Group returns the log of a group. It is empty if the journal has no entries of the group. There
// is one Log per group.
func (j *Journal) Group(id uint32) *Log {
	j.mu.Lock()
	defer j.mu.Unlock()
	l, ok := j.groups[id]
	if !ok {
		l = &Log{journal: j, group: id}
		j.groups[id] = l
	}
	return l
}

// Drop deletes a group's log: its replica has left the node.
func (j *Journal) Drop(id uint32) error {
	l := j.Group(id)
	if first, _ := l.ends(); first == 0 {
		return nil
	}
	return j.do(&request{log: l, cut: header{kind: dropped, group: id}})
}

// Groups returns the groups that have entries, in no order.
func (j *Journal) Groups() []uint32 {
	j.mu.RLock()
	defer j.mu.RUnlock()
	var ids []uint32
	for id, l := range j.groups {
		if !l.places.empty() {
			ids = append(ids, id)
		}
	}
	return ids
}

// do has a request written, and returns when that is done.
func (j *Journal) do(r *request) error {
	r.wake = make(chan struct{}, 1)
	j.mu.Lock()
	j.queue = append(j.queue, r)
	if j.delay.Full(len(j.queue)) {
		j.queue[0].wake <- struct{}{}
	}
	if j.writing {
		j.mu.Unlock()
		<-r.wake
		if r.done {
			return r.err
		}
		j.mu.Lock()
	}
	// This goroutine has the pen, and r is the first request of the queue.
	j.writing = true
	if j.delay.Start(len(j.queue)) {
		j.mu.Unlock()
		<-r.wake
		j.mu.Lock()
	}
	j.writeLocked()
	if len(j.queue) > 0 {
		j.queue[0].wake <- struct{}{}
	} else {
		j.writing = false
	}
	j.mu.Unlock()
	return r.err
}

// late lets the holder of the pen write for those that have come.
func (j *Journal) late() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.delay.Late(len(j.queue)) {
		j.queue[0].wake <- struct{}{}
	}
}

// writeLocked writes what waits. The lock is open while the store works.
func (j *Journal) writeLocked() {
	batch, began := j.takeLocked(), time.Now()
	if j.broken == nil {
		j.broken = j.writeBatchLocked(batch)
	}
	j.delay.Landed(began, len(batch), len(j.queue), false)
	for i, r := range batch {
		r.done, r.err = true, j.broken
		if i > 0 {
			r.wake <- struct{}{}
		}
	}
	if j.broken == nil {
		j.broken = j.pruneLocked()
	}
}

// takeLocked takes the requests of one batch off the queue. The first is the caller's own.
func (j *Journal) takeLocked() []*request {
	n, bytes := 0, 0
	for n < len(j.queue) && (n == 0 || bytes+j.queue[n].bytes <= batchBytesMax) {
		bytes += j.queue[n].bytes
		n++
	}
	batch := slices.Clone(j.queue[:n])
	j.queue = slices.Delete(j.queue, 0, n)
	return batch
}

// writeBatchLocked makes the records of a batch, stores them, and records their places.
func (j *Journal) writeBatchLocked(batch []*request) error {
	b, records, bytes := builder{next: j.space.end}, 0, 0
	for _, r := range batch {
		records, bytes = records+max(1, len(r.entries)), bytes+r.bytes
	}
	if err := j.addCopiesLocked(&b, records, bytes); err != nil {
		return err
	}
	for _, r := range batch {
		if r.cut.kind != 0 {
			b.mark(r.cut)
		}
		for _, e := range r.entries {
			b.entry(entryOf, r.log.group, e)
		}
	}
	j.mu.Unlock()
	err := j.store.StoreLogs(b.pointers())
	j.mu.Lock()
	if err != nil {
		return err
	}
	for i := range b.records {
		j.wroteLocked(&b, i)
	}
	return nil
}

// wroteLocked records that one record is on disk.
func (j *Journal) wroteLocked(b *builder, i int) {
	h, at := b.heads[i], b.place(i)
	j.space.grow(at)
	l := j.groups[h.group]
	switch h.kind {
	case entryOf:
		// Raft deletes entries before it replaces them; to be sure, do it here as well.
		j.space.free(l.places.cutFrom(h.index)...)
		l.places.push(h.index, at)
		j.space.use(at)
	case copyOf:
		old, _ := l.places.find(h.index)
		j.space.free(old)
		l.places.move(h.index, at)
		j.space.use(at)
	case cutBelow:
		j.space.free(l.places.cutBelow(h.index)...)
	case cutFrom:
		j.space.free(l.places.cutFrom(h.index)...)
	case dropped:
		j.space.free(l.places.cutFrom(0)...)
	}
}
