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
	// subscriptionsMax is the most subscriptions that a node serves.
	subscriptionsMax = 1024
	// subscriptionBytesMax bounds what waits for the gateway of one subscription, sourceBytesMax
	// what waits for all of them.
	subscriptionBytesMax = 8 << 20
	sourceBytesMax       = 64 << 20
	// batchBytesMax is the length at which a batch takes no more items.
	batchBytesMax = 128 << 10
	// subscriptionExpiry is how long a subscription waits for its gateway.
	subscriptionExpiry = 5 * time.Second
	// leaderless is how long a replica without a known leader may be a source.
	leaderless = 5 * time.Second
	// beat is how often a poll is answered although there is nothing to report.
	beat = 500 * time.Millisecond
)

// Replica is what a source needs of this node's replica of a shard.
type Replica interface {
	// Queued is the index of the last entry that the replica has begun to run.
	Queued() uint64
	// Executed is the index up to which every txn of every entry has run.
	Executed() uint64
	// Votes reports whether the replica has caught up with its group.
	Votes() bool
	// Leader is the leader of the shard as the replica knows it.
	Leader() shard.Leader
}

// Source is the publisher of a node: it serves the subscriptions of gateways. Any goroutine may
// call its methods.
type Source struct {
	// replica returns this node's replica of a shard, or nil.
	replica func(index int) Replica
	outlets []Outlet
	// waiting counts the bytes that wait for all subscriptions. Bytes that the peer
	// connection holds count there.
	waiting atomic.Int64
	// limits are constants, except in tests.
	bytesMax       int
	beat, patience time.Duration

	mu            sync.Mutex // guards subscriptions
	subscriptions map[uint64]*subscription
}

// NewSource returns a source for the shards, of which this node may have replicas.
func NewSource(shards int, replica func(index int) Replica) *Source {
	s := &Source{
		replica: replica, outlets: make([]Outlet, shards), subscriptions: map[uint64]*subscription{},
		bytesMax: subscriptionBytesMax, beat: beat, patience: subscriptionExpiry,
	}
	for i := range s.outlets {
		s.outlets[i].subscriptions.Store(&[]*subscription{})
	}
	return s
}

// Outlet takes the reports of a shard's replica about what its txns do. It implements
// fsm.Tracker and command.Observer.
type Outlet struct {
	// changes counts the subscriptions that want changes; events are the classes that
	// some subscription wants.
	changes atomic.Int64
	events  atomic.Uint32
	// subscriptions is replaced, never changed.
	subscriptions atomic.Pointer[[]*subscription]
	mu            sync.Mutex // held while subscriptions, changes and events are replaced
}

// Shard is the outlet of a shard.
func (s *Source) Shard(index int) *Outlet { return &s.outlets[index] }

// Subscriptions is the number of subscriptions that are served.
func (s *Source) Subscriptions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.subscriptions)
}

// Tracking implements fsm.Tracker.
func (o *Outlet) Tracking() bool { return o.changes.Load() > 0 }

// Changed implements fsm.Tracker.
func (o *Outlet) Changed(by fsm.TxnID, keys [][]byte) {
	if !o.Tracking() {
		return
	}
	for _, x := range *o.subscriptions.Load() {
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
	for _, x := range *o.subscriptions.Load() {
		if x.want.Events&class != 0 {
			x.event(class, event, db, key)
		}
	}
}

// Filled implements command.Observer.
func (*Outlet) Filled(int, []byte, engine.Kind) {}

// Gone implements command.Observer.
func (*Outlet) Gone(int, []byte) {}

func (o *Outlet) add(x *subscription) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.setLocked(append(slices.Clone(*o.subscriptions.Load()), x))
}

func (o *Outlet) remove(x *subscription) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.setLocked(slices.DeleteFunc(slices.Clone(*o.subscriptions.Load()), func(other *subscription) bool { return other == x }))
}

func (o *Outlet) setLocked(all []*subscription) {
	o.subscriptions.Store(&all)
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
		if x := s.subscription(id); x != nil && !in.bad {
			x.poll(received, reply)
			return
		}
		reply([]byte{statusGone})
		return
	case opClose:
		if x := s.subscription(in.number()); x != nil {
			x.end()
		}
		reply([]byte{statusDone})
		return
	}
	reply(NotReady())
}

func (s *Source) subscription(id uint64) *subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.subscriptions[id]
}

// fit reports whether a replica receives changes: it votes, and has a leader.
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
	x := &subscription{source: s, outlet: &s.outlets[o.shard], replica: replica, want: o.want, node: o.node, from: o.from}
	x.polled = time.Now()
	x.led = x.polled
	if !s.enter(x) {
		reply(NotReady())
		return
	}
	x.outlet.add(x)
	// Only now: a txn of a later entry begins to run later, and is reported.
	position := replica.Queued()
	if s.replica(int(o.shard)) != replica {
		// The replica has just been closed, perhaps before End could find this subscription.
		x.end()
	}
	x.watch()
	reply(appendAll([]byte{statusDone}, x.id, position))
}

// enter gives a subscription its number. It returns false if there are too many.
func (s *Source) enter(x *subscription) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.subscriptions) >= subscriptionsMax {
		return false
	}
	for x.id == 0 || s.subscriptions[x.id] != nil {
		// A random number, so that no subscription of an earlier process is mistaken for it.
		x.id = rand.Uint64()
	}
	s.subscriptions[x.id] = x
	return true
}

// forget removes a subscription that has ended.
func (s *Source) forget(x *subscription) {
	x.outlet.remove(x)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.subscriptions, x.id)
}

// End ends the subscriptions to a shard whose replica is closed.
func (s *Source) End(index int) {
	for _, x := range *s.outlets[index].subscriptions.Load() {
		x.end()
	}
}
