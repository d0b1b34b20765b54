package node

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"lockstep/cluster/feed"
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/fsm"
)

// feeds let this node's clients hear of changes in every shard: from its own
// replica, or over a feed from another node's (package feed). They also tell
// other nodes what this one's replicas run.
type feeds struct {
	n      *Node
	source *feed.Source
	intake *feed.Intake
	// shards are what replicas tell, and whom.
	shards []teller
}

// awaitFeeds is how long a client waits that has asked to be told of changes, and
// a shard is out of reach.
const awaitFeeds = time.Second

func newFeeds(n *Node) *feeds {
	f := &feeds{n: n, shards: make([]teller, n.shardCount())}
	f.source = feed.NewSource(len(f.shards), func(i int) feed.Replica {
		if s := n.replica(i); s != nil {
			return s
		}
		return nil
	})
	for i := range f.shards {
		f.shards[i] = teller{events: &n.events, table: n.tracking.Shard(i), outlet: f.source.Shard(i)}
	}
	f.intake = feed.NewIntake(feed.Config{
		Shards: len(f.shards), Node: n.self.Incarnation, Sink: f, Peers: n.transport,
		Wants:    func() (bool, command.EventClass) { return n.tracking.Tracking(), n.events.listened() },
		Own:      f.own,
		Queued:   f.queued,
		Executed: f.executed,
		Leader:   f.leader,
		Replicas: f.replicas,
		Cut:      f.cut,
		Doubt:    func(i int) { n.router.Doubt(i) },
		Panics:   n.panics.peers,
	})
	n.tracking.OnFirst(f.intake.Kick)
	return f
}

// kickFeeds makes the feeds look at what is wanted.
func (n *Node) kickFeeds() {
	if n.serving.Load() {
		n.feeds.intake.Kick()
	}
}

// own tells whether this node's replica of a shard is in the group and has
// caught up.
func (f *feeds) own(i int) bool {
	s := f.n.replica(i)
	if s == nil || !s.Votes() {
		return false
	}
	view := f.n.machine.View()
	if i >= len(view.Shards) {
		return true
	}
	_, goes := view.Shards[i].GoingFrom(f.n.self.ID())
	return !goes
}

func (f *feeds) queued(i int) uint64 {
	if s := f.n.replica(i); s != nil {
		return s.Queued()
	}
	return 0
}

func (f *feeds) executed(i int) uint64 {
	if s := f.n.replica(i); s != nil {
		return s.Executed()
	}
	return 0
}

// leader is the address of a shard's leader, if that is another node that can be reached.
func (f *feeds) leader(i int) string {
	if l := f.n.router.Leader(i); !l.Self && l.Addr != f.n.router.CutOff(i) {
		return l.Addr
	}
	return ""
}

// cut tells whether this node is cut off from a shard's leader, and others are not.
func (f *feeds) cut(i int) bool {
	if s := f.n.replica(i); s != nil {
		if l := s.Leader(); !l.Self && l.Addr == "" {
			f.n.router.Suspect(i)
		}
	}
	return f.n.router.CutOff(i) != ""
}

// replicas are the addresses of the nodes that have replicas of a shard, but that of a leader
// that cannot be reached.
func (f *feeds) replicas(i int) []string {
	shut := f.n.router.CutOff(i)
	return slices.DeleteFunc(f.n.replicaAddrs(i), func(addr string) bool { return addr == shut })
}

// serve handles a request of another node's intake.
func (f *feeds) serve(payload []byte, reply func([]byte)) { f.source.Serve(payload, reply) }

// Unheard implements feed.Sink.
func (f *feeds) Unheard(int) { f.n.tracking.TellAll() }

// Changed implements feed.Sink.
func (f *feeds) Changed(i int, by fsm.TxnID, keys [][]byte) { f.shards[i].table.Changed(by, keys) }

// Event implements feed.Sink.
func (f *feeds) Event(_ int, class command.EventClass, event string, db int, key []byte) {
	f.n.events.Event(class, event, db, key)
}

// Quiet implements feed.Sink.
func (f *feeds) Quiet(i int, quiet bool) { f.shards[i].quiet.Store(quiet) }

// AwaitChanges implements client.Feeds.
func (f *feeds) AwaitChanges() (done func()) {
	ctx, cancel := context.WithTimeout(f.n.ctx, awaitFeeds)
	defer cancel()
	return f.intake.AwaitChanges(ctx)
}

// AwaitEvents implements client.Feeds.
func (f *feeds) AwaitEvents() {
	ctx, cancel := context.WithTimeout(f.n.ctx, awaitFeeds)
	defer cancel()
	f.intake.AwaitEvents(ctx)
}

// teller is whom this node's replica of a shard tells what its txns do: this
// node's clients, and other nodes. It implements fsm.Tracker and
// command.Observer.
type teller struct {
	events *events
	table  fsm.Tracker
	outlet *feed.Outlet
	// quiet: a feed gives this node's clients the keyspace events.
	quiet atomic.Bool
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
	return t.outlet.Wants(classes) || !t.quiet.Load() && t.events.Wants(classes)
}

// Event implements command.Observer.
func (t *teller) Event(class command.EventClass, event string, db int, key []byte) {
	if !t.quiet.Load() {
		t.events.Event(class, event, db, key)
	}
	t.outlet.Event(class, event, db, key)
}

// Filled implements command.Observer.
func (*teller) Filled(int, []byte, engine.Kind) {}

// Gone implements command.Observer.
func (*teller) Gone(int, []byte) {}
