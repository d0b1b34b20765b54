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
	// Gap reports a gap: keys of a shard may have changed without a report.
	Gap(shard int)
	// Changed reports that a txn changed keys; a nil key stands for all keys.
	Changed(shard int, by fsm.TxnID, keys [][]byte)
	// Event reports a keyspace event.
	Event(shard int, class command.EventClass, event string, db int, key []byte)
	// Mute says whether to drop the events of this node's own replica of a shard, because a
	// feed reports them or has reported them.
	Mute(shard int, muted bool)
}

// Config is the configuration of a Consumer.
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
	// reviewEvery is how often a Consumer with clients looks for replicas on this node.
	reviewEvery = 200 * time.Millisecond
	// handoverMax is how long a replica may take to run what a feed has reported.
	handoverMax = 10 * time.Second
)

// Consumer is a node as a gateway: it runs the node's feeds. Any goroutine may call its methods.
type Consumer struct {
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

	mu      sync.Mutex // guards what follows
	cursors [kinds][]*cursor
	// muted are the shards whose own replica's events are dropped.
	muted []bool
	// awaited counts the callers that wait for feeds of changes, which they will want.
	awaited int
	// moved is closed and replaced when a cursor has come to life, or may no longer be needed.
	moved chan struct{}
}

// NewConsumer returns a consumer; Run makes it work.
func NewConsumer(cfg Config) *Consumer {
	c := &Consumer{cfg: cfg, pace: usualPace, Stepper: stepper.New(), heard: make([]atomic.Uint64, cfg.Shards), told: make([]atomic.Uint64, cfg.Shards), moved: make(chan struct{}), muted: make([]bool, cfg.Shards)}
	for k := range c.cursors {
		c.cursors[k] = make([]*cursor, cfg.Shards)
	}
	return c
}

// Heard is the index up to which changes of a shard may have been received. A read whose
// result a client may keep must see that entry.
func (c *Consumer) Heard(shard int) uint64 { return c.heard[shard].Load() }

// Told notes that this node's replica of a shard, now closed, has reported the entries up
// to an index, including their keyspace events. They count as received.
func (c *Consumer) Told(shard int, index uint64) {
	raise(&c.heard[shard], index)
	raise(&c.told[shard], index)
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
func (c *Consumer) Run(ctx context.Context) { c.Stepper.Run(ctx, c.review) }

// needsLocked returns what a kind of feed of a shard should report. It returns false if there
// should be no feed.
func (c *Consumer) needsLocked(kind, shard int) (Want, bool) {
	changes, events := c.cfg.Wants()
	if kind == kindEvents {
		// A replica that is cut off reports its events late, but reports all of them.
		return Want{events}, events != 0 && !c.cfg.Own(shard)
	}
	// A change reported twice does no harm, so a replica that is cut off still reports.
	cut := c.cfg.Cut != nil && c.cfg.Cut(shard)
	return Want{}, (changes || c.awaited > 0) && (cut || !c.cfg.Own(shard))
}

// review starts and stops cursors. It returns the time until the next review, or 0 if there are no
// cursors and none is wanted.
func (c *Consumer) review(ctx context.Context) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	changes, events := c.cfg.Wants()
	busy := changes || events != 0 || c.awaited > 0
	for kind := range c.cursors {
		for i, cur := range c.cursors[kind] {
			want, needed := c.needsLocked(kind, i)
			switch {
			case cur == nil && needed:
				c.cursors[kind][i] = c.start(ctx, kind, i, want)
			case cur != nil && (!needed || cur.want != want):
				cur.ending = true
				cur.cancel()
			case cur == nil && kind == kindEvents:
				c.muteLocked(i, false) // the replica has come while no feed was open
			}
			busy = busy || cur != nil
		}
	}
	c.movedLocked()
	if !busy {
		return 0
	}
	return reviewEvery
}

// muteLocked drops the events of this node's own replica, or lets them through.
func (c *Consumer) muteLocked(shard int, muted bool) {
	if c.muted[shard] != muted {
		c.muted[shard] = muted
		c.cfg.Sink.Mute(shard, muted)
	}
}

func (c *Consumer) setMuted(shard int, muted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.muteLocked(shard, muted)
}

func (c *Consumer) movedLocked() {
	close(c.moved)
	c.moved = make(chan struct{})
}

func (c *Consumer) start(ctx context.Context, kind, shard int, want Want) *cursor {
	cur := &cursor{consumer: c, shard: shard, want: want}
	ctx, cur.cancel = context.WithCancel(ctx)
	go func() {
		defer c.Kick()
		defer c.ended(kind, shard)
		defer c.cfg.Panics.Catch("news of a shard from another node", func() { pause(ctx, c.pace.most) })
		cur.run(ctx)
	}()
	return cur
}

// ended notes that a cursor has ended.
func (c *Consumer) ended(kind, shard int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cursors[kind][shard] = nil
}

// AwaitChanges waits until the changes of all shards will be reported, or until ctx ends.
// The caller will want them once it returns.
func (c *Consumer) AwaitChanges(ctx context.Context) (done func()) {
	c.mu.Lock()
	c.awaited++
	c.mu.Unlock()
	c.await(ctx, kindChanges)
	return func() {
		c.mu.Lock()
		c.awaited--
		c.mu.Unlock()
		c.Kick()
	}
}

// AwaitEvents waits until the wanted keyspace events will be reported, or until ctx ends.
func (c *Consumer) AwaitEvents(ctx context.Context) { c.await(ctx, kindEvents) }

func (c *Consumer) await(ctx context.Context, kind int) {
	for kicked := false; ; kicked = true {
		c.mu.Lock()
		live, moved := c.allLiveLocked(kind), c.moved
		c.mu.Unlock()
		if live {
			return
		}
		if !kicked {
			// Once: each look ends the wait below.
			c.Kick()
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}

func (c *Consumer) allLiveLocked(kind int) bool {
	for i, cur := range c.cursors[kind] {
		if want, needed := c.needsLocked(kind, i); needed && (cur == nil || cur.ending || cur.want != want || !cur.live.Load()) {
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
func (c *Consumer) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := Counts{Batches: c.batches.Load(), Gaps: c.gaps.Load()}
	for kind := range c.cursors {
		for _, cur := range c.cursors[kind] {
			if cur == nil {
				continue
			}
			counts.Feeds++
			if cur.live.Load() {
				counts.Live++
			}
		}
	}
	return counts
}
