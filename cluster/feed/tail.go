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
	addr    string
	hearing uint64
	begins  uint64
}

// tail is one feed at its gateway: a cursor that moves through subscriptions.
type tail struct {
	in     *Intake
	shard  int
	want   Want
	cancel context.CancelFunc
	// live is true while a subscription is open.
	live atomic.Bool
	// ending, under the intake's lock, is true once the tail was cancelled, live or not;
	// another tail may have to follow it.
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
	errGone    = errors.New("feed: the hearing has ended")
)

// run receives until ctx ends, through as many subscriptions as needed.
func (t *tail) run(ctx context.Context) {
	events := t.want.Events != 0
	if events {
		// From before the subscription begins, so that nothing is delivered twice.
		t.in.setQuiet(t.shard, true)
		t.in.Told(t.shard, t.in.cfg.Queued(t.shard))
		defer t.handOver(ctx)
	}
	for try, begun := 0, false; ctx.Err() == nil; try++ {
		if !t.open(ctx, try < leaderTries) {
			t.in.cfg.Doubt(t.shard)
			pause(ctx, min(t.in.pace.first<<min(try, 10), t.in.pace.most))
			continue
		}
		if begun {
			t.in.gaps.Add(1)
		}
		try, begun = 0, true
		t.setLive(true)
		t.follow(ctx)
		t.setLive(false)
	}
}

func (t *tail) setLive(live bool) {
	t.live.Store(live)
	t.in.mu.Lock()
	t.in.movedLocked()
	t.in.mu.Unlock()
}

// handOver lets this node's own replica report, once it has run what the feed has reported: its
// events follow those. If no replica of this node is enough, another feed continues.
func (t *tail) handOver(ctx context.Context) {
	deadline := time.Now().Add(handoverMax)
	ctx = context.WithoutCancel(ctx)
	for time.Now().Before(deadline) {
		if _, events := t.in.cfg.Wants(); events == 0 || t.in.cfg.Executed(t.shard) >= t.in.told[t.shard].Load() {
			break
		}
		if !t.in.cfg.Own(t.shard) {
			return
		}
		pause(ctx, time.Millisecond)
	}
	t.in.setQuiet(t.shard, false)
}

// leaderTries is how often the gateway looks for the leader before it accepts any
// replica. That takes about as long as an election; nothing changes meanwhile.
const leaderTries = 6

// open subscribes at the first source that serves.
func (t *tail) open(ctx context.Context, leaderOnly bool) bool {
	for _, addr := range t.sources(leaderOnly) {
		p, ok := t.ask(ctx, addr, leaderOnly)
		if !ok {
			continue
		}
		t.at, t.number = p, 0
		if t.want.Events == 0 {
			t.in.cfg.Sink.Unheard(t.shard)
		}
		return true
	}
	return false
}

// ask subscribes at one source.
func (t *tail) ask(ctx context.Context, addr string, leads bool) (place, bool) {
	o := open{shard: uint64(t.shard), want: t.want, node: t.in.cfg.Node, leads: leads}
	if t.want.Events != 0 {
		o.from = t.in.told[t.shard].Load()
	}
	s, err := t.call(ctx, addr, o.append(nil), t.in.pace.open)
	p := place{addr: addr, hearing: s.number(), begins: s.number()}
	if err != nil || s.bad {
		return place{}, false
	}
	t.hear(p.begins)
	return p, true
}

// prefer lets the shard's leader take over a feed of changes, because followers run the
// log later. Both subscriptions report until the old one has reported everything that the
// new one does not, so there is no gap. A change reported twice does no harm. A keyspace
// event reported twice would, so a feed of events stays at its replica.
func (t *tail) prefer(ctx context.Context, told uint64, leads bool) {
	switch {
	case t.next.hearing != 0:
		if told >= t.next.begins {
			t.close(t.at)
			t.at, t.next, t.number = t.next, place{}, 0
		}
		return
	case leads, t.want.Events != 0, time.Now().Before(t.preferAt):
		return
	}
	t.preferAt = time.Now().Add(preferEvery)
	if leader := t.in.cfg.Leader(t.shard); leader != "" && leader != t.at.addr {
		if p, ok := t.ask(ctx, leader, true); ok {
			t.next = p
			return
		}
	}
	t.in.cfg.Doubt(t.shard)
}

// close ends a subscription at its source.
func (t *tail) close(p place) {
	if p.hearing != 0 {
		t.in.cfg.Peers.Go(p.addr, Kind, appendAll([]byte{opClose}, p.hearing), func([]byte, error) {})
	}
}

// sources are the addresses to ask: the leader's first, and last the one whose
// subscription was lost.
func (t *tail) sources(leaderOnly bool) []string {
	leader := t.in.cfg.Leader(t.shard)
	if leaderOnly {
		return []string{leader}[:min(len(leader), 1)]
	}
	addrs := slices.DeleteFunc(slices.Clone(t.in.cfg.Replicas(t.shard)), func(addr string) bool { return addr == leader || addr == t.at.addr })
	if leader != "" && leader != t.at.addr {
		addrs = slices.Insert(addrs, 0, leader)
	}
	if t.at.addr != "" {
		addrs = append(addrs, t.at.addr)
	}
	return addrs
}

// hear notes a position before the changes up to it are delivered.
func (t *tail) hear(position uint64) {
	raise(&t.in.heard[t.shard], position)
	if t.want.Events != 0 {
		t.in.Told(t.shard, position)
	}
}

// follow receives from one subscription until it ends.
func (t *tail) follow(ctx context.Context) {
	defer func() {
		t.close(t.at)
		t.close(t.next)
		t.next = place{}
	}()
	last := time.Now()
	for ctx.Err() == nil {
		s, err := t.call(ctx, t.at.addr, appendAll([]byte{opPoll}, t.at.hearing, t.number), t.in.pace.poll)
		switch {
		case err == nil:
			if t.take(ctx, &s) != nil {
				return
			}
			last = time.Now()
		case errors.Is(err, errGone), errors.Is(err, errSilent), time.Since(last) > t.in.pace.resume:
			return
		default:
			// The connection broke; the subscription may still exist.
			pause(ctx, t.in.pace.first)
		}
	}
}

// take delivers the items of an answer to a poll.
func (t *tail) take(ctx context.Context, s *scanner) error {
	number, position, told, leads := s.number(), s.number(), s.number(), s.number() == 1
	if s.bad || number != t.number && number != t.number+1 || number == t.number && len(s.b) > 0 {
		return errNonsense
	}
	t.hear(position)
	if number != t.number {
		t.number = number
		t.in.batches.Add(1)
		if err := scanItems(s.b, t); err != nil {
			return err
		}
	}
	t.prefer(ctx, told, leads)
	return nil
}

// event implements hearer.
func (t *tail) event(class command.EventClass, event string, db int, key []byte) {
	t.in.cfg.Sink.Event(t.shard, class, event, db, key)
}

// changed implements hearer.
func (t *tail) changed(by fsm.TxnID, keys [][]byte) {
	if by != (fsm.TxnID{}) {
		by.Node = t.in.cfg.Node
	}
	t.in.cfg.Sink.Changed(t.shard, by, keys)
}

// errSilent is returned if a connected source does not answer in time.
var errSilent = errors.New("feed: no answer in time")

// call sends a request, waits for its answer, and checks the status.
func (t *tail) call(ctx context.Context, addr string, payload []byte, patience time.Duration) (scanner, error) {
	type result struct {
		answer []byte
		err    error
	}
	done := make(chan result, 1)
	t.in.cfg.Peers.Go(addr, Kind, payload, func(answer []byte, err error) { done <- result{answer, err} })
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
