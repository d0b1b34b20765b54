package relay

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"lockstep/cluster/feed"
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/fsm"
	"lockstep/ground/caught"
	"lockstep/node/member"
	"lockstep/proto/tracking"
)

// Facts are what the feeds need from their node.
type Facts struct {
	Member   *member.Member
	Tracking *tracking.Table
	Events   *Events
	Panics   *caught.Panics
	// Ctx ends with the node.
	Ctx context.Context
}

// Feeds report changes in every shard to this node's clients: from this node's replica, or over a
// feed from another node's replica (package feed). They also report to other nodes what the
// replicas of this node execute.
type Feeds struct {
	Facts
	// Source reports to other nodes what this node's replicas execute. Consumer receives their
	// reports.
	Source   *feed.Source
	Consumer *feed.Consumer
	// shards are the receivers of the replicas' reports, by shard.
	shards []teller
}

// awaitFeeds is how long a client that has asked for changes waits while a shard cannot be reached.
const awaitFeeds = time.Second

// NewFeeds returns feeds that work once Consumer runs.
func NewFeeds(f Facts) *Feeds {
	m := f.Member
	fs := &Feeds{Facts: f, shards: make([]teller, m.ShardCount())}
	fs.Source = feed.NewSource(len(fs.shards), func(i int) feed.Replica {
		if s := m.Replica(i); s != nil {
			return s
		}
		return nil
	})
	for i := range fs.shards {
		fs.shards[i] = teller{events: f.Events, table: f.Tracking.Shard(i), outlet: fs.Source.Shard(i)}
	}
	fs.Consumer = feed.NewConsumer(feed.Config{
		Shards: len(fs.shards), Node: m.Self.Incarnation, Sink: fs, Peers: m.Transport,
		Wants:    func() (bool, command.EventClass) { return f.Tracking.Tracking(), f.Events.listened() },
		Own:      fs.own,
		Queued:   fs.queued,
		Executed: fs.executed,
		Leader:   fs.leader,
		Replicas: fs.replicas,
		Cut:      fs.cut,
		Doubt:    func(i int) { m.Router.Doubt(i) },
		Panics:   f.Panics,
	})
	f.Tracking.OnFirst(fs.Consumer.Kick)
	return fs
}

// Teller receives the reports of a replica of this node on its txns.
type Teller interface {
	fsm.Tracker
	command.Observer
}

// Teller returns the receiver for the replica of a shard.
func (f *Feeds) Teller(shard int) Teller { return &f.shards[shard] }

// Serve answers another node's consumer, once this node's replicas are open.
func (f *Feeds) Serve(payload []byte, reply func([]byte)) { f.Source.Serve(payload, reply) }

// own reports whether this node's replica of a shard is in the group and has caught up.
func (f *Feeds) own(i int) bool {
	s := f.Member.Replica(i)
	if s == nil || !s.Votes() {
		return false
	}
	view := f.Member.Machine.View()
	if i >= len(view.Shards) {
		return true
	}
	_, goes := view.Shards[i].GoingFrom(f.Member.Self.ID())
	return !goes
}

func (f *Feeds) queued(i int) uint64 {
	if s := f.Member.Replica(i); s != nil {
		return s.Queued()
	}
	return 0
}

func (f *Feeds) executed(i int) uint64 {
	if s := f.Member.Replica(i); s != nil {
		return s.Executed()
	}
	return 0
}

// leader is the address of a shard's leader, or "" if that is this node or cannot be reached.
func (f *Feeds) leader(i int) string {
	if l := f.Member.Router.Leader(i); !l.Self && l.Addr != f.Member.Router.CutOff(i) {
		return l.Addr
	}
	return ""
}

// cut reports whether this node is cut off from a shard's leader while other nodes are not.
func (f *Feeds) cut(i int) bool {
	if s := f.Member.Replica(i); s != nil {
		if l := s.Leader(); !l.Self && l.Addr == "" {
			f.Member.Router.Suspect(i)
		}
	}
	return f.Member.Router.CutOff(i) != ""
}

// replicas are the addresses of the other nodes that have replicas of a shard. A leader that this node cannot
// reach is left out.
func (f *Feeds) replicas(i int) []string {
	shut := f.Member.Router.CutOff(i)
	return slices.DeleteFunc(f.Member.ReplicaAddrs(i), func(addr string) bool { return addr == shut })
}

// Gap implements feed.Sink.
func (f *Feeds) Gap(int) { f.Tracking.TellAll() }

// Changed implements feed.Sink.
func (f *Feeds) Changed(i int, by fsm.TxnID, keys [][]byte) { f.shards[i].table.Changed(by, keys) }

// Event implements feed.Sink.
func (f *Feeds) Event(_ int, class command.EventClass, event string, db int, key []byte) {
	f.Events.Event(class, event, db, key)
}

// Mute implements feed.Sink.
func (f *Feeds) Mute(i int, muted bool) { f.shards[i].muted.Store(muted) }

// AwaitChanges implements client.Feeds.
func (f *Feeds) AwaitChanges() (done func()) {
	ctx, cancel := context.WithTimeout(f.Ctx, awaitFeeds)
	defer cancel()
	return f.Consumer.AwaitChanges(ctx)
}

// AwaitEvents implements client.Feeds.
func (f *Feeds) AwaitEvents() {
	ctx, cancel := context.WithTimeout(f.Ctx, awaitFeeds)
	defer cancel()
	f.Consumer.AwaitEvents(ctx)
}

// teller passes the reports of this node's replica of a shard on to this node's clients and to
// other nodes. It implements fsm.Tracker and command.Observer.
type teller struct {
	events *Events
	table  fsm.Tracker
	outlet *feed.Outlet
	// muted means that a feed brings the keyspace events to this node's clients instead.
	muted atomic.Bool
}

// Tracking implements fsm.Tracker.
func (t *teller) Tracking() bool { return t.table.Tracking() || t.outlet.Tracking() }

// Changed implements fsm.Tracker.
func (t *teller) Changed(by fsm.TxnID, keys [][]byte) {
	t.table.Changed(by, keys)
	t.outlet.Changed(by, keys)
}

// Wants implements command.Observer.
func (t *teller) Wants(classes command.EventClass) bool {
	return t.outlet.Wants(classes) || !t.muted.Load() && t.events.Wants(classes)
}

// Event implements command.Observer.
func (t *teller) Event(class command.EventClass, event string, db int, key []byte) {
	if !t.muted.Load() {
		t.events.Event(class, event, db, key)
	}
	t.outlet.Event(class, event, db, key)
}

// Filled implements command.Observer.
func (*teller) Filled(int, []byte, engine.Kind) {}

// Gone implements command.Observer.
func (*teller) Gone(int, []byte) {}
