// Package router sends a client's calls to the leaders of their shards. The
// leader is this node's own replica, or another node one hop away over the peer
// connection. After a change of leader the router asks the next leader, until
// the outcome of the calls is known. A node can serve shards of which it has no
// replica; leaders.go explains how the node learns who leads them.
//
// Invariants:
//   - A write runs at most once. The router numbers every bundle of writes
//     (lanes.go). If the router does not learn the outcome of a bundle it sends the
//     bundle again under the same numbers, and the state machine drops the second
//     copy.
//   - An error says what the client may conclude. When a leader dies the client
//     sees a pause. It gets an error only when its time is used up:
//     cluster.ErrNoLeader if the bundle was certainly never proposed, otherwise
//     cluster.ErrUnknown.
//   - The calls of one client to one shard run in the order given. The router
//     sends them in phases, and each phase is answered before the next begins:
//     first the reads before the first write; then the writes, with the reads
//     between them, as one or more bundles; then the reads after the last write.
//   - Go never waits. Callbacks and timers drive a sending (sending.go,
//     watch.go), so that a loop which serves many clients can call Go. Only
//     blocking commands (block.go) and Do keep a goroutine waiting.
//
// The router does not redirect clients to the leader as Redis Cluster does: a
// client library without cluster support works with any node. Redirecting is a
// setting of package client, which then answers before it calls the router.
package router

import (
	"context"
	"sync/atomic"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/script"
	"lockstep/fsm"
	"lockstep/ground/caught"
)

// Shard is this node's replica of a shard, as the router needs it.
type Shard interface {
	Writes
	Reads
	Waits
	Progress
	// Leader is the shard's leader as this replica knows it.
	Leader() shard.Leader
}

// Writes appends bundles to a shard's log.
type Writes interface {
	Propose(o shard.Offer, done func(shard.Result))
	// TakeBack drops a bundle that is not in the log yet, by the identity of its first
	// txn.
	TakeBack(id fsm.TxnID)
	// InTheWay is what holds up a command that has keys in these hash slots. No slots
	// mean a command that locks everything. It returns nil if nothing holds the command
	// up.
	InTheWay(hashSlots []uint16) *cluster.BusyError
}

// Reads answers read-only txns.
type Reads interface {
	Read(ctx context.Context, deadline time.Time, txns []fsm.Txn, atLeast uint64) ([]shard.Reply, error)
	// ReadNow answers the reads at the front that need not wait.
	ReadNow(txns []fsm.Txn, atLeast uint64) []shard.Reply
	// ReadOwn answers from this replica's state, whichever node leads.
	ReadOwn(ctx context.Context, txns []fsm.Txn, atLeast uint64) ([]shard.Reply, error)
}

// Waits is for blocking commands; see block.go.
type Waits interface {
	Wait(w shard.Wait, road shard.Road, told func(shard.Result))
	LeaveWait(id fsm.TxnID)
	TakeList(list []byte) error
}

// Progress is how much of the log a replica has received and run.
type Progress interface {
	// Votes reports whether the replica has caught up with its group once.
	Votes() bool
	// Queued is the index of the last entry that this replica has started to run.
	Queued() uint64
	// Taken is the index up to which a read on this replica sees everything.
	Taken() uint64
	WaitTaken(ctx context.Context, index uint64) error
	// ReadIndex is an index that covers everything that was acknowledged before the call.
	// Only the leader knows one.
	ReadIndex(ctx context.Context) (uint64, error)
}

// Peers sends requests to other nodes.
type Peers interface {
	// Go sends a request and calls done once with the answer, from any
	// goroutine; errors are ErrNotSent or ErrMaybeSent of package transport.
	Go(addr string, kind uint8, payload []byte, done func([]byte, error))
}

// Layout is the shards and their hash slots. It never changes after a cluster has been
// created.
type Layout interface {
	// ShardOfSlot is the index of the shard that owns a hash slot.
	ShardOfSlot(slot uint16) int
	Shards() int
}

// Counters count what happened to requests on their way.
type Counters struct {
	Forwarded, Retried, Unknown, NoLeader atomic.Uint64
	// Relayed counts the requests to a leader that went through another node, and
	// PassedOn the requests of other nodes that this one passed on to a leader.
	Relayed, PassedOn atomic.Uint64
	// TextsLeftOut counts scripts that were sent as their SHA1 only, and TextsSentAgain
	// calls that were sent again because a shard no longer had the script.
	TextsLeftOut, TextsSentAgain atomic.Uint64
	// Renewed counts new boot numbers, taken because a shard knew others of this gateway.
	Renewed atomic.Uint64
	// Refused counts requests of other nodes that were malformed or spoke for another
	// node.
	Refused atomic.Uint64
}

// Config is the parameters of a router.
type Config struct {
	Node, Boot uint64
	Layout     Layout
	// Replica returns this node's replica of a shard, or nil if there is none.
	Replica func(index int) Shard
	// Replicas are the peer addresses of the other nodes that should have a
	// replica of a shard.
	Replicas func(index int) []string
	// Known is the leader of a shard as nodes have told each other. It has no address if
	// no leader is known. Learn records what a replica says about its leader.
	Known func(index int) shard.Leader
	Learn func(index int, said shard.Leader)
	// Disprove is called when a node, by its incarnation, has not reached the term of the
	// leader that Known returned. It may be nil.
	Disprove func(index int, claim shard.Leader, by uint64)
	// SilentFor is the time for which nothing has come over the connection to a peer and no
	// part of a long request has been sent. It is very long if there is no connection.
	// Member reports whether an incarnation is that of a node of the cluster. Both may be
	// nil.
	SilentFor func(addr string) time.Duration
	Member    func(node uint64) bool
	// Heard is the index up to which this node has received changes from other nodes'
	// replicas of a shard. It may be nil.
	Heard func(index int) uint64
	Peers Peers
	// Scripts is the scripts that a shard has, as far as this node knows: their texts
	// need not be sent with each EVAL. If Scripts is nil, all texts are sent.
	Scripts func(index int) *script.Cache
	// Reboot returns a boot number of this gateway that is greater than behind, and stays
	// greater after restarts. With it, a shard counts the old numbers of this gateway as
	// those of an earlier process. It may be nil.
	Reboot func(index int, behind uint64) (uint64, error)
	// Numbered is called with the identities of txns whose calls name their client,
	// before they are sent. It may be nil.
	Numbered func(index int, first fsm.TxnID, calls []*cluster.Call)
	// Panics records faults of the code that handles requests. It may be nil.
	Panics *caught.Panics
	// TimeoutMs is how long a call may wait for a leader or for its outcome.
	TimeoutMs func() int
}

// Router routes calls.
type Router struct {
	cfg      Config
	lanes    []identities
	Counters Counters
	leaders  leaders
	ways     ways
	server   Server
	// fresh says how old this node's replicas are.
	fresh freshness
	// turns counts stale reads, to deal them out to the replicas in rounds.
	turns atomic.Uint32
	// waitIDs are the identities of this gateway's blocking commands, by shard.
	waitIDs []waitIDs
	// forwardedWaits is how many of those commands wait at other nodes now.
	forwardedWaits atomic.Int64
	// watch checks the requests that have no answer yet.
	watch watch
	// hopMax is hopBytesMax, except in tests.
	hopMax int
}

// New returns a router.
func New(cfg Config) *Router {
	shards := cfg.Layout.Shards()
	r := &Router{cfg: cfg, lanes: make([]identities, shards), waitIDs: make([]waitIDs, shards), hopMax: hopBytesMax}
	r.server.router = r
	r.fresh = freshness{router: r, ages: make([]age, shards)}
	r.leaders = leaders{router: r, rows: make([]leaderRow, len(r.lanes))}
	r.ways = ways{router: r, rows: make([]way, len(r.lanes))}
	for i := range r.lanes {
		r.lanes[i].now.Store(&lanes{node: cfg.Node, boot: cfg.Boot})
	}
	return r
}

// Shards is the number of shards.
func (r *Router) Shards() int { return r.cfg.Layout.Shards() }

// ShardOfSlot is the number of the shard that owns a hash slot.
func (r *Router) ShardOfSlot(slot uint16) int { return r.cfg.Layout.ShardOfSlot(slot) }

// Go answers the calls of one client, and does not wait. In the end each call has Reply
// or Err set, except for calls after large replies, which the caller must bring again
// (cluster.Call.Answered).
//
// Go returns true if the calls are answered when it returns. Otherwise Go calls done once, when they are answered:
// from any goroutine, and perhaps before Go returns. done must not block. alone is true if that goroutine has no
// other results to deliver, so that the caller may go on in it.
//
// When ctx ends, the calls are answered soon, with the outcome that is known by then.
func (r *Router) Go(ctx context.Context, calls []*cluster.Call, done func(alone bool)) (answered bool) {
	if index, ok := r.sameShard(calls); ok {
		return r.run(route{ctx: ctx, index: index}, calls, done)
	}
	var open atomic.Int32 // open counts parts, each for another shard, and this call itself
	open.Store(1)
	answer := func(alone bool) {
		if open.Add(-1) == 0 {
			done(alone)
		}
	}
	deadline := r.deadlineNow()
	for index, part := range r.partition(calls) {
		if len(part) == 0 {
			continue
		}
		open.Add(1)
		if r.run(route{ctx, index, deadline}, part, answer) {
			open.Add(-1)
		}
	}
	return open.Add(-1) == 0
}

// Do is Go, and waits for the answers.
func (r *Router) Do(ctx context.Context, calls []*cluster.Call) {
	answered := make(chan struct{})
	if !r.Go(ctx, calls, func(bool) { close(answered) }) {
		<-answered
	}
}

// sameShard reports whether all calls go to one shard, the common case.
func (r *Router) sameShard(calls []*cluster.Call) (int, bool) {
	first := -1
	for _, c := range calls {
		index, ok := r.shardOf(c)
		if !ok || (first >= 0 && index != first) {
			return 0, false
		}
		first = index
	}
	return first, first >= 0
}

func (r *Router) shardOf(c *cluster.Call) (int, bool) {
	if len(c.Slots) == 0 {
		return c.Shard, c.Shard >= 0 && c.Shard < len(r.lanes)
	}
	index := r.cfg.Layout.ShardOfSlot(c.Slots[0])
	for _, s := range c.Slots[1:] {
		if r.cfg.Layout.ShardOfSlot(s) != index {
			return 0, false
		}
	}
	return index, true
}

// partition sorts the calls by shard, and answers those that no single shard can run.
func (r *Router) partition(calls []*cluster.Call) [][]*cluster.Call {
	parts := make([][]*cluster.Call, len(r.lanes))
	for _, c := range calls {
		if index, ok := r.shardOf(c); ok {
			parts[index] = append(parts[index], c)
		} else {
			c.Err = cluster.ErrCrossSlot
		}
	}
	return parts
}

// run sends one client's calls to one shard. Each phase starts when the one before is
// answered.
func (r *Router) run(at route, calls []*cluster.Call, done func(alone bool)) (answered bool) {
	for {
		n, logged := phase(calls)
		then := done
		if n < len(calls) {
			if at.deadline.IsZero() {
				at.deadline = r.deadlineNow()
			}
			then = r.behind(at, calls[:n], calls[n:], done)
		}
		if logged {
			r.write(at, calls[:n], false, then)
			return false
		}
		if !r.read(at, calls[:n], then) {
			return false
		}
		if n == len(calls) || !calls[n-1].Answered() {
			return true
		}
		calls = calls[n:]
	}
}

// behind starts the next phase when the calls before it are answered. A new goroutine
// runs the phase, because the goroutine that brings the answers has other callers to
// answer.
func (r *Router) behind(at route, before, rest []*cluster.Call, done func(alone bool)) func(alone bool) {
	return func(alone bool) {
		if before[len(before)-1].Answered() {
			go r.runNext(at, rest, done)
		} else {
			done(alone) // the replies are large: the caller writes them out and asks for the rest
		}
	}
}

// runNext runs on a goroutine of its own.
func (r *Router) runNext(at route, calls []*cluster.Call, done func(alone bool)) {
	answered := true
	defer func() {
		if p := recover(); p != nil {
			r.cfg.Panics.Note(faulty, p)
			failAll(calls, cluster.ErrUnknown)
		}
		if answered {
			done(true)
		}
	}()
	answered = r.run(at, calls, done)
}

const (
	// bundleTxnsMax and bundleBytesMax bound a bundle of several txns.
	bundleTxnsMax  = 1024
	bundleBytesMax = 256 << 10
)

// phase returns how many of the calls go next, and whether they go through the log. A
// read goes through the log if a write stands before it and another one after it, unless
// the read may take long: in the log it would run on every replica, and a read that scans
// would hold the global lock.
func phase(calls []*cluster.Call) (n int, logged bool) {
	if calls[0].ReadOnly {
		for n = 1; n < len(calls) && calls[n].ReadOnly && calls[n].Stale == calls[0].Stale && calls[n].Fresh == calls[0].Fresh; n++ {
		}
		return n, false
	}
	bytes, lastWrite := 0, 0
	for i, c := range calls {
		bytes += fsm.TxnSize(&c.Txn)
		if i >= bundleTxnsMax || (i > 0 && bytes > bundleBytesMax) || (c.ReadOnly && !joinsLog(c)) {
			break
		}
		if !c.ReadOnly {
			lastWrite = i
		}
	}
	return lastWrite + 1, true
}

func joinsLog(c *cluster.Call) bool {
	if c.Stale {
		return false
	}
	for i := range c.Txn.Ops {
		spec, _ := commands.Lookup(c.Txn.Ops[i].Args)
		if spec == nil || spec.Scope != command.ScopeKeys || spec.Plan != nil || spec.TakesLong(c.Txn.Ops[i].Args) {
			return false
		}
	}
	return true
}
