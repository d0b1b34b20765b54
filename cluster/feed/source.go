package feed

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/cluster/shard"
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/fsm"
)

const (
	// hearingsMax bounds the hearings that a node serves.
	hearingsMax = 1024
	// hearingBytesMax bounds what waits for one hearing's gateway, sourceBytesMax
	// what waits for all.
	hearingBytesMax = 8 << 20
	sourceBytesMax  = 64 << 20
	// batchBytesMax is the length at which a batch takes no more items.
	batchBytesMax = 128 << 10
	// hearingExpiry is for how long a hearing waits for its gateway.
	hearingExpiry = 5 * time.Second
	// leaderless is for how long a replica may know of no leader and be a source.
	leaderless = 5 * time.Second
	// beat is how often a poll is answered although there is nothing to tell.
	beat = 500 * time.Millisecond
)

// Replica is what a source needs of this node's replica of a shard.
type Replica interface {
	// Queued is the index of the last entry that the replica has begun to run.
	Queued() uint64
	// Executed is the index up to which every txn of every entry has run.
	Executed() uint64
	// Votes tells whether the replica has caught up with its group.
	Votes() bool
	// Leader is who leads the shard as the replica knows it.
	Leader() shard.Leader
}

// Source is a node's side that tells. All methods may be called by any
// goroutine.
type Source struct {
	// replica returns this node's replica of a shard; nil: none.
	replica func(index int) Replica
	outlets []Outlet
	// waiting counts the bytes of all hearings; those with the peer connection
	// count there.
	waiting atomic.Int64
	// limits are constants, but for tests.
	bytesMax       int
	beat, patience time.Duration

	mu       sync.Mutex
	hearings map[uint64]*hearing
}

// NewSource returns a source for shards, of which this node may have replicas.
func NewSource(shards int, replica func(index int) Replica) *Source {
	s := &Source{
		replica: replica, outlets: make([]Outlet, shards), hearings: map[uint64]*hearing{},
		bytesMax: hearingBytesMax, beat: beat, patience: hearingExpiry,
	}
	for i := range s.outlets {
		s.outlets[i].hearings.Store(&[]*hearing{})
	}
	return s
}

// Outlet is the place where a shard's replica tells what its txns do. It
// implements fsm.Tracker and command.Observer.
type Outlet struct {
	// changes counts the hearings that want changes; events are the classes that
	// some hearing wants.
	changes atomic.Int64
	events  atomic.Uint32
	// hearings is replaced, never changed, under mu.
	hearings atomic.Pointer[[]*hearing]
	mu       sync.Mutex
}

// Shard is the outlet of a shard.
func (s *Source) Shard(index int) *Outlet { return &s.outlets[index] }

// Hearings is the number of hearings that are served.
func (s *Source) Hearings() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.hearings)
}

// Tracking implements fsm.Tracker.
func (o *Outlet) Tracking() bool { return o.changes.Load() > 0 }

// Changed implements fsm.Tracker.
func (o *Outlet) Changed(by fsm.TxnID, keys [][]byte) {
	if !o.Tracking() {
		return
	}
	for _, x := range *o.hearings.Load() {
		if x.want.Events == 0 {
			x.changed(by, keys)
		}
	}
}

// Wants implements command.Observer.
func (o *Outlet) Wants(classes command.EventClass) bool { return o.events.Load()&uint32(classes) != 0 }

// Event implements command.Observer.
func (o *Outlet) Event(class command.EventClass, event string, db int, key []byte) {
	if !o.Wants(class) {
		return
	}
	for _, x := range *o.hearings.Load() {
		if x.want.Events&class != 0 {
			x.event(class, event, db, key)
		}
	}
}

// Filled implements command.Observer.
func (*Outlet) Filled(int, []byte, engine.Kind) {}

// Gone implements command.Observer.
func (*Outlet) Gone(int, []byte) {}

func (o *Outlet) add(x *hearing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.setLocked(append(slices.Clone(*o.hearings.Load()), x))
}

func (o *Outlet) remove(x *hearing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.setLocked(slices.DeleteFunc(slices.Clone(*o.hearings.Load()), func(other *hearing) bool { return other == x }))
}

func (o *Outlet) setLocked(all []*hearing) {
	o.hearings.Store(&all)
	changes, events := 0, command.EventClass(0)
	for _, x := range all {
		events |= x.want.Events
		if x.want.Events == 0 {
			changes++
		}
	}
	o.changes.Store(int64(changes))
	o.events.Store(uint32(events))
}

// NotReady is the answer of a node that has not opened its replicas yet.
func NotReady() []byte { return []byte{statusRefused} }

// Serve handles a request of Kind. It does not block.
func (s *Source) Serve(payload []byte, reply func([]byte)) {
	in := scanner{b: payload}
	switch in.byte() {
	case opOpen:
		o := open{shard: in.number(), want: Want{command.EventClass(in.number())}, node: in.number(), leads: in.number() == 1, from: in.number()}
		if in.bad || o.shard >= uint64(len(s.outlets)) {
			break
		}
		s.open(&o, reply)
		return
	case opPoll:
		id, received := in.number(), in.number()
		if x := s.hearing(id); x != nil && !in.bad {
			x.poll(received, reply)
			return
		}
		reply([]byte{statusGone})
		return
	case opClose:
		if x := s.hearing(in.number()); x != nil {
			x.end()
		}
		reply([]byte{statusDone})
		return
	}
	reply(NotReady())
}

func (s *Source) hearing(id uint64) *hearing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hearings[id]
}

// fit tells whether a replica hears of changes: it votes, and has a leader.
func fit(r Replica) bool {
	l := r.Leader()
	return r.Votes() && (l.Self || l.Addr != "")
}

func (s *Source) open(o *open, reply func([]byte)) {
	replica := s.replica(int(o.shard))
	if replica == nil || !fit(replica) || o.leads && !replica.Leader().Self {
		reply(NotReady())
		return
	}
	x := &hearing{source: s, outlet: &s.outlets[o.shard], replica: replica, want: o.want, node: o.node, from: o.from}
	x.polled = time.Now()
	x.led = x.polled
	if !s.enter(x) {
		reply(NotReady())
		return
	}
	x.outlet.add(x)
	// Only now: a txn of a later entry begins to run later, and is told of.
	position := replica.Queued()
	if s.replica(int(o.shard)) != replica {
		// It has just been closed, perhaps before End could know of this hearing.
		x.end()
	}
	x.watch()
	reply(appendAll([]byte{statusDone}, x.id, position))
}

// enter gives a hearing its number; false: there are too many.
func (s *Source) enter(x *hearing) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.hearings) >= hearingsMax {
		return false
	}
	for x.id == 0 || s.hearings[x.id] != nil {
		// By chance, so that no hearing of an earlier process is taken for it.
		x.id = rand.Uint64()
	}
	s.hearings[x.id] = x
	return true
}

// forget removes a hearing that has ended.
func (s *Source) forget(x *hearing) {
	x.outlet.remove(x)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.hearings, x.id)
}

// End ends the hearings of a shard whose replica is closed.
func (s *Source) End(index int) {
	for _, x := range *s.outlets[index].hearings.Load() {
		x.end()
	}
}
