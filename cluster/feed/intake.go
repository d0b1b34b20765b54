package feed

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/cluster/stepper"
	"lockstep/engine/command"
	"lockstep/fsm"
	"lockstep/ground/caught"
)

// Peers sends requests to other nodes.
type Peers interface {
	// Go sends a request and calls done once with the answer, from any goroutine.
	Go(addr string, kind uint8, payload []byte, done func([]byte, error))
}

// Sink receives the changes that come to a gateway. For one shard and kind of feed one
// goroutine calls it.
type Sink interface {
	// Unheard reports a gap: keys of a shard may have changed without a report.
	Unheard(shard int)
	// Changed reports that a txn changed keys; a nil key stands for all keys.
	Changed(shard int, by fsm.TxnID, keys [][]byte)
	// Event reports a keyspace event.
	Event(shard int, class command.EventClass, event string, db int, key []byte)
	// Quiet says whether to drop the events of this node's own replica of a shard, because a
	// feed reports them or has reported them.
	Quiet(shard int, quiet bool)
}

// Config is the configuration of an Intake.
type Config struct {
	Shards int
	// Node is the incarnation of this node, the gateway.
	Node  uint64
	Sink  Sink
	Peers Peers
	// Wants reports whether a client of this node wants to know about changes of keys, and
	// which keyspace events clients want. Kick must follow when that has changed.
	Wants func() (changes bool, events command.EventClass)
	// Own reports whether this node's own replica of a shard is enough.
	Own func(shard int) bool
	// Cut, if set, reports whether this node is cut off from a shard's leader and its clients
	// are served through another node: then its own replica learns of changes late.
	Cut func(shard int) bool
	// Queued returns the index of the last entry that this node's replica has begun to run,
	// Executed the index up to which it has run all entries. Both return 0 if there is no replica.
	Queued, Executed func(shard int) uint64
	// Leader returns the peer address of a shard's leader, or "" if it is not known. Replicas
	// returns the peer addresses of all nodes that should have a replica.
	Leader   func(shard int) string
	Replicas func(shard int) []string
	// Doubt is called when the known leader, or the lack of one, turns out to be out of date.
	Doubt func(shard int)
	// Panics catches panics over the answers of a source; it may be nil. After a panic the feed
	// begins again.
	Panics *caught.Panics
}

// kinds of feeds of a shard.
const (
	kindChanges = iota
	kindEvents
	kinds
)

const (
	// reviewEvery is how often an Intake with clients looks for replicas on this node.
	reviewEvery = 200 * time.Millisecond
	// handoverMax is how long a replica may take to run what a feed has reported.
	handoverMax = 10 * time.Second
)

// Intake is the consumer of a node: it runs the node's feeds. Any goroutine may call
// its methods.
type Intake struct {
	// Kick makes it look again at what clients want.
	*stepper.Stepper
	cfg  Config
	pace pace
	// heard is each shard's newest position.
	heard []atomic.Uint64
	// told is each shard's index up to which keyspace events have been delivered.
	told []atomic.Uint64
	// gaps counts how often a feed had to begin again. batches counts the received batches.
	gaps, batches atomic.Uint64

	mu    sync.Mutex // guards what follows
	tails [kinds][]*tail
	// quiet are the shards whose own replica's events are dropped.
	quiet []bool
	// awaited counts the callers that wait for feeds of changes, which they will want.
	awaited int
	// moved is closed and replaced when a tail has come to life, or may no longer be
	// needed.
	moved chan struct{}
}

// NewIntake returns an intake; Run makes it work.
func NewIntake(cfg Config) *Intake {
	in := &Intake{cfg: cfg, pace: usualPace, Stepper: stepper.New(), heard: make([]atomic.Uint64, cfg.Shards), told: make([]atomic.Uint64, cfg.Shards), moved: make(chan struct{}), quiet: make([]bool, cfg.Shards)}
	for k := range in.tails {
		in.tails[k] = make([]*tail, cfg.Shards)
	}
	return in
}

// Heard is the index up to which changes of a shard may have been received. A read whose
// result a client may keep must see that entry.
func (in *Intake) Heard(shard int) uint64 { return in.heard[shard].Load() }

// Told notes that this node's replica of a shard, now closed, has reported the entries up
// to an index, including their keyspace events. They count as received.
func (in *Intake) Told(shard int, index uint64) {
	raise(&in.heard[shard], index)
	raise(&in.told[shard], index)
}

// raise makes a position no less than an index.
func raise(position *atomic.Uint64, index uint64) {
	for was := position.Load(); was < index; was = position.Load() {
		if position.CompareAndSwap(was, index) {
			return
		}
	}
}

// Run works until ctx ends. It sleeps while no client wants anything.
func (in *Intake) Run(ctx context.Context) { in.Stepper.Run(ctx, in.review) }

// needsLocked returns what a kind of feed of a shard should report. It returns false if there
// should be no feed.
func (in *Intake) needsLocked(kind, shard int) (Want, bool) {
	changes, events := in.cfg.Wants()
	if kind == kindEvents {
		// A replica that is cut off reports its events late, but reports all of them.
		return Want{events}, events != 0 && !in.cfg.Own(shard)
	}
	// A change reported twice does no harm, so a replica that is cut off still reports.
	cut := in.cfg.Cut != nil && in.cfg.Cut(shard)
	return Want{}, (changes || in.awaited > 0) && (cut || !in.cfg.Own(shard))
}

// review starts and stops tails. It returns the time until the next review, or 0 if there are no
// tails and none is wanted.
func (in *Intake) review(ctx context.Context) time.Duration {
	in.mu.Lock()
	defer in.mu.Unlock()
	changes, events := in.cfg.Wants()
	busy := changes || events != 0 || in.awaited > 0
	for kind := range in.tails {
		for i, t := range in.tails[kind] {
			want, needed := in.needsLocked(kind, i)
			switch {
			case t == nil && needed:
				in.tails[kind][i] = in.start(ctx, kind, i, want)
			case t != nil && (!needed || t.want != want):
				t.ending = true
				t.cancel()
			case t == nil && kind == kindEvents:
				in.quietLocked(i, false) // the replica has come while no feed was open
			}
			busy = busy || t != nil
		}
	}
	in.movedLocked()
	if !busy {
		return 0
	}
	return reviewEvery
}

// quietLocked drops the events of this node's own replica, or lets them through.
func (in *Intake) quietLocked(shard int, quiet bool) {
	if in.quiet[shard] != quiet {
		in.quiet[shard] = quiet
		in.cfg.Sink.Quiet(shard, quiet)
	}
}

func (in *Intake) setQuiet(shard int, quiet bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.quietLocked(shard, quiet)
}

func (in *Intake) movedLocked() {
	close(in.moved)
	in.moved = make(chan struct{})
}

func (in *Intake) start(ctx context.Context, kind, shard int, want Want) *tail {
	t := &tail{in: in, shard: shard, want: want}
	ctx, t.cancel = context.WithCancel(ctx)
	go func() {
		defer in.Kick()
		defer in.ended(kind, shard)
		defer in.cfg.Panics.Catch("news of a shard from another node", func() { pause(ctx, in.pace.most) })
		t.run(ctx)
	}()
	return t
}

// ended notes that a tail has ended.
func (in *Intake) ended(kind, shard int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.tails[kind][shard] = nil
}

// AwaitChanges waits until the changes of all shards will be reported, or until ctx ends.
// The caller will want them once it returns.
func (in *Intake) AwaitChanges(ctx context.Context) (done func()) {
	in.mu.Lock()
	in.awaited++
	in.mu.Unlock()
	in.await(ctx, kindChanges)
	return func() {
		in.mu.Lock()
		in.awaited--
		in.mu.Unlock()
		in.Kick()
	}
}

// AwaitEvents waits until the wanted keyspace events will be reported, or until ctx ends.
func (in *Intake) AwaitEvents(ctx context.Context) { in.await(ctx, kindEvents) }

func (in *Intake) await(ctx context.Context, kind int) {
	for kicked := false; ; kicked = true {
		in.mu.Lock()
		settled, moved := in.settledLocked(kind), in.moved
		in.mu.Unlock()
		if settled {
			return
		}
		if !kicked {
			// Once: each look ends the wait below.
			in.Kick()
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}

func (in *Intake) settledLocked(kind int) bool {
	for i, t := range in.tails[kind] {
		if want, needed := in.needsLocked(kind, i); needed && (t == nil || t.ending || t.want != want || !t.live.Load()) {
			return false
		}
	}
	return true
}

// Counts are what INFO shows.
type Counts struct {
	// Feeds is the number of feeds of this node; Live is how many of them report.
	Feeds, Live int
	// Batches is how many batches have come. Gaps is how often a feed began again.
	Batches, Gaps uint64
}

// Counts returns the current numbers.
func (in *Intake) Counts() Counts {
	in.mu.Lock()
	defer in.mu.Unlock()
	c := Counts{Batches: in.batches.Load(), Gaps: in.gaps.Load()}
	for kind := range in.tails {
		for _, t := range in.tails[kind] {
			if t == nil {
				continue
			}
			c.Feeds++
			if t.live.Load() {
				c.Live++
			}
		}
	}
	return c
}
