package feed

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"lockstep/engine/command"
	"lockstep/fsm"
)

// pace are the times that tests shorten.
type pace struct {
	// open is how long a source may take to begin a subscription, poll how long to answer
	// a poll; it answers every beat.
	open, poll time.Duration
	// resume is how long the gateway asks for a subscription whose connection broke.
	resume time.Duration
	// first and most bound the pause between two rounds of asking.
	first, most time.Duration
}

var usualPace = pace{
	open: time.Second, poll: 6 * beat, resume: time.Second,
	first: 10 * time.Millisecond, most: 500 * time.Millisecond,
}

// preferEvery is how often a feed that is not the leader's looks for the leader.
const preferEvery = time.Second

// place is a subscription at its source. It reports every change behind begins.
type place struct {
	addr   string
	id     uint64
	begins uint64
}

// cursor is one feed at its gateway; it moves through subscriptions.
type cursor struct {
	consumer *Consumer
	shard    int
	want     Want
	cancel   context.CancelFunc
	// live is true while a subscription is open.
	live atomic.Bool
	// ending, under the consumer's lock, is true once the cursor was cancelled, live or not;
	// another cursor may have to follow it.
	ending bool

	// Only run uses the following fields. at is the subscription. next is a subscription at the
	// shard's leader that should take over.
	at, next place
	// number is the number of the newest batch.
	number uint64
	// preferAt is when the leader may be looked for again.
	preferAt time.Time
}

var (
	errRefused = errors.New("feed: refused")
	errGone    = errors.New("feed: the subscription has ended")
)

// run receives until ctx ends, through as many subscriptions as needed.
func (cur *cursor) run(ctx context.Context) {
	events := cur.want.Events != 0
	if events {
		// From before the subscription begins, so that nothing is delivered twice.
		cur.consumer.setMuted(cur.shard, true)
		cur.consumer.Told(cur.shard, cur.consumer.cfg.Queued(cur.shard))
		defer cur.handOver(ctx)
	}
	for try, begun := 0, false; ctx.Err() == nil; try++ {
		if !cur.open(ctx, try < leaderTries) {
			cur.consumer.cfg.Doubt(cur.shard)
			pause(ctx, min(cur.consumer.pace.first<<min(try, 10), cur.consumer.pace.most))
			continue
		}
		if begun {
			cur.consumer.gaps.Add(1)
		}
		try, begun = 0, true
		cur.setLive(true)
		cur.follow(ctx)
		cur.setLive(false)
	}
}

func (cur *cursor) setLive(live bool) {
	cur.live.Store(live)
	cur.consumer.mu.Lock()
	cur.consumer.movedLocked()
	cur.consumer.mu.Unlock()
}

// handOver lets this node's own replica report, once it has run what the feed has reported: its
// events follow those. If no replica of this node is enough, another feed continues.
func (cur *cursor) handOver(ctx context.Context) {
	deadline := time.Now().Add(handoverMax)
	ctx = context.WithoutCancel(ctx)
	for time.Now().Before(deadline) {
		if _, events := cur.consumer.cfg.Wants(); events == 0 || cur.consumer.cfg.Executed(cur.shard) >= cur.consumer.told[cur.shard].Load() {
			break
		}
		if !cur.consumer.cfg.Own(cur.shard) {
			return
		}
		pause(ctx, time.Millisecond)
	}
	cur.consumer.setMuted(cur.shard, false)
}

// leaderTries is how often the gateway looks for the leader before it accepts any
// replica. That takes about as long as an election; nothing changes meanwhile.
const leaderTries = 6

// open subscribes at the first source that serves.
func (cur *cursor) open(ctx context.Context, leaderOnly bool) bool {
	for _, addr := range cur.sources(leaderOnly) {
		p, ok := cur.subscribe(ctx, addr, leaderOnly)
		if !ok {
			continue
		}
		cur.at, cur.number = p, 0
		if cur.want.Events == 0 {
			cur.consumer.cfg.Sink.Gap(cur.shard)
		}
		return true
	}
	return false
}

// subscribe subscribes at one source.
func (cur *cursor) subscribe(ctx context.Context, addr string, leads bool) (place, bool) {
	o := open{shard: uint64(cur.shard), want: cur.want, node: cur.consumer.cfg.Node, leads: leads}
	if cur.want.Events != 0 {
		o.from = cur.consumer.told[cur.shard].Load()
	}
	s, err := cur.call(ctx, addr, o.append(nil), cur.consumer.pace.open)
	p := place{addr: addr, id: s.number(), begins: s.number()}
	if err != nil || s.bad {
		return place{}, false
	}
	cur.notePosition(p.begins)
	return p, true
}

// moveToLeader lets the shard's leader take over a feed of changes, because followers run the
// log later. Both subscriptions report until the old one has reported everything that the
// new one does not, so there is no gap. A change reported twice does no harm. A keyspace
// event reported twice would, so a feed of events stays at its replica.
func (cur *cursor) moveToLeader(ctx context.Context, told uint64, leads bool) {
	switch {
	case cur.next.id != 0:
		if told >= cur.next.begins {
			cur.close(cur.at)
			cur.at, cur.next, cur.number = cur.next, place{}, 0
		}
		return
	case leads, cur.want.Events != 0, time.Now().Before(cur.preferAt):
		return
	}
	cur.preferAt = time.Now().Add(preferEvery)
	if leader := cur.consumer.cfg.Leader(cur.shard); leader != "" && leader != cur.at.addr {
		if p, ok := cur.subscribe(ctx, leader, true); ok {
			cur.next = p
			return
		}
	}
	cur.consumer.cfg.Doubt(cur.shard)
}

// close ends a subscription at its source.
func (cur *cursor) close(p place) {
	if p.id != 0 {
		cur.consumer.cfg.Peers.Go(p.addr, Kind, appendAll([]byte{opClose}, p.id), func([]byte, error) {})
	}
}

// sources are the addresses to ask: the leader's first, and last the one whose
// subscription was lost.
func (cur *cursor) sources(leaderOnly bool) []string {
	leader := cur.consumer.cfg.Leader(cur.shard)
	if leaderOnly {
		return []string{leader}[:min(len(leader), 1)]
	}
	addrs := slices.DeleteFunc(slices.Clone(cur.consumer.cfg.Replicas(cur.shard)), func(addr string) bool { return addr == leader || addr == cur.at.addr })
	if leader != "" && leader != cur.at.addr {
		addrs = slices.Insert(addrs, 0, leader)
	}
	if cur.at.addr != "" {
		addrs = append(addrs, cur.at.addr)
	}
	return addrs
}

// notePosition notes a position before the changes up to it are delivered.
func (cur *cursor) notePosition(position uint64) {
	raise(&cur.consumer.heard[cur.shard], position)
	if cur.want.Events != 0 {
		cur.consumer.Told(cur.shard, position)
	}
}

// follow receives from one subscription until it ends.
func (cur *cursor) follow(ctx context.Context) {
	defer func() {
		cur.close(cur.at)
		cur.close(cur.next)
		cur.next = place{}
	}()
	last := time.Now()
	for ctx.Err() == nil {
		s, err := cur.call(ctx, cur.at.addr, appendAll([]byte{opPoll}, cur.at.id, cur.number), cur.consumer.pace.poll)
		switch {
		case err == nil:
			if cur.deliver(ctx, &s) != nil {
				return
			}
			last = time.Now()
		case errors.Is(err, errGone), errors.Is(err, errSilent), time.Since(last) > cur.consumer.pace.resume:
			return
		default:
			// The connection broke; the subscription may still exist.
			pause(ctx, cur.consumer.pace.first)
		}
	}
}

// deliver delivers the items of an answer to a poll.
func (cur *cursor) deliver(ctx context.Context, s *scanner) error {
	number, position, told, leads := s.number(), s.number(), s.number(), s.number() == 1
	if s.bad || number != cur.number && number != cur.number+1 || number == cur.number && len(s.b) > 0 {
		return errNonsense
	}
	cur.notePosition(position)
	if number != cur.number {
		cur.number = number
		cur.consumer.batches.Add(1)
		if err := scanItems(s.b, cur); err != nil {
			return err
		}
	}
	cur.moveToLeader(ctx, told, leads)
	return nil
}

// event implements itemReceiver.
func (cur *cursor) event(class command.EventClass, event string, db int, key []byte) {
	cur.consumer.cfg.Sink.Event(cur.shard, class, event, db, key)
}

// changed implements itemReceiver.
func (cur *cursor) changed(by fsm.TxnID, keys [][]byte) {
	if by != (fsm.TxnID{}) {
		by.Node = cur.consumer.cfg.Node
	}
	cur.consumer.cfg.Sink.Changed(cur.shard, by, keys)
}

// errSilent is returned if a connected source does not answer in time.
var errSilent = errors.New("feed: no answer in time")

// call sends a request, waits for its answer, and checks the status.
func (cur *cursor) call(ctx context.Context, addr string, payload []byte, patience time.Duration) (scanner, error) {
	type result struct {
		answer []byte
		err    error
	}
	done := make(chan result, 1)
	cur.consumer.cfg.Peers.Go(addr, Kind, payload, func(answer []byte, err error) { done <- result{answer, err} })
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var r result
	select {
	case r = <-done:
	case <-timer.C:
		return scanner{}, errSilent
	case <-ctx.Done():
		return scanner{}, ctx.Err()
	}
	if r.err != nil {
		return scanner{}, r.err
	}
	s := scanner{b: r.answer}
	switch s.byte() {
	case statusDone:
		return s, nil
	case statusGone:
		return s, errGone
	}
	return s, errRefused
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
