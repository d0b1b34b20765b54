package router

import (
	"context"
	"errors"
	"sync"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/fsm"
)

// waitWatchEvery is how often a wait checks whether another node leads by now, and
// waitDoubtEvery how often it asks the leader. A leader that loses its lead mostly says
// so itself, and there may be tens of thousands of waits that last for hours.
const (
	waitWatchEvery = 4 * watchEvery
	waitDoubtEvery = 2 * time.Second
)

// goneMax is how long the router tries to take the wait of a client that has gone back
// from the leader. No client waits for that answer.
const goneMax = 500 * time.Millisecond

// waiterPause is the pause before a wait that was refused asks again.
const waiterPause = 20 * time.Millisecond

// waitIDs hands out identities for the waits of one shard's clients. An identity is a
// lane and a number. The lane is used again when the wait has ended.
type waitIDs struct {
	mu   sync.Mutex // guards free, seqs
	free []uint32
	seqs []uint64
}

// take returns a lane and a number. It returns false if there are too many waits.
func (w *waitIDs) take() (lane uint32, seq uint64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.free); n > 0 {
		lane = w.free[n-1]
		w.free = w.free[:n-1]
	} else if len(w.seqs) < fsm.WaitLanes {
		lane = uint32(len(w.seqs))
		w.seqs = append(w.seqs, 0)
	} else {
		return 0, 0, false
	}
	w.seqs[lane]++
	return lane, w.seqs[lane], true
}

func (w *waitIDs) give(lane uint32) {
	w.mu.Lock()
	w.free = append(w.free, lane)
	w.mu.Unlock()
}

// Block runs a blocking command. The command waits for one of its keys, but not longer
// than the timeout (0 means no limit), and not longer than ctx lasts. waits is called once,
// when the shard's leader has queued the client. Block returns false if the command found
// nothing in time. Otherwise call has Reply or Err.
//
// An element that is taken from a list either reaches this gateway or stays in the list:
// the wait has an identity, by which the router can ask any later leader what became of
// it (fsm/serve.go). Block therefore reports that the command found nothing only when a
// node that certainly leads says so, and when nothing was taken and nothing will be.
// Otherwise the error is ErrNoLeader if no leader was found in time and none can have
// served the wait, and ErrUnknown if one may have.
func (r *Router) Block(ctx context.Context, timeout time.Duration, call *cluster.Call, waits func()) bool {
	index, ok := r.shardOf(call)
	if !ok {
		call.Err = cluster.ErrCrossSlot
		return true
	}
	b := &blocked{router: r, index: index, call: call, wait: shard.Wait{Txn: call.Txn}, waits: waits, begun: time.Now()}
	if !b.number() {
		call.Err = cluster.ErrOverloaded
		return true
	}
	defer func() { r.waitIDs[index].give(b.lane) }()
	own, cancel := ctx, context.CancelFunc(func() {})
	if timeout > 0 {
		own, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	for own.Err() == nil {
		if b.goOn(own, b.ask(own)) {
			return true
		}
	}
	overtime := cluster.BlockOvertime
	if why := context.Cause(ctx); errors.Is(why, cluster.ErrClientGone) || errors.Is(why, context.Canceled) {
		overtime = goneMax
	}
	late, cancelLate := context.WithTimeout(context.WithoutCancel(ctx), overtime)
	defer cancelLate()
	if call.ReadOnly {
		return b.endRead(late, ctx.Err() != nil)
	}
	return b.end(late, ctx.Err() != nil)
}

// blocked is one client's blocking command.
type blocked struct {
	router *Router
	index  int
	call   *cluster.Call
	wait   shard.Wait
	// begun is when the command arrived.
	begun time.Time
	// lane is the lane of the wait's identity, and numbers are the lanes of this gateway
	// with the boot number of that identity.
	lane    uint32
	numbers *lanes
	// at is the leader that was asked last. self is true if that is this node.
	at     string
	self   bool
	doubts doubts
	// via is the node through which the leader was asked. It is "" if it was asked
	// directly.
	via string
	// asked is how often a leader was asked under this identity.
	asked int
	// waits is called once, when the client begins to wait, and is nil after that.
	waits func()
	// unserved is true if the wait has ended and the client has got nothing.
	unserved bool
}

// goOn handles the answer to a request. It returns true if the command has been answered.
func (b *blocked) goOn(ctx context.Context, res shard.Result) bool {
	b.wait.Tried = false
	err := res.Err
	switch {
	case err == nil:
		return b.ended(res.Replies[0])
	case errors.Is(err, shard.ErrRenew):
		if b.waits != nil {
			b.waits()
			b.waits = nil
		}
	case errors.Is(err, shard.ErrTurn), errors.Is(err, shard.ErrAtOnce):
		return b.read(ctx, errors.Is(err, shard.ErrAtOnce))
	case !b.doubts.any() && refusesWait(err):
		b.call.Err = err
		return true
	default:
		// The next round asks the next leader.
		pause(ctx, waiterPause)
	}
	return false
}

// ended handles the outcome of a wait. It returns true if the command has been answered.
func (b *blocked) ended(reply shard.Reply) bool {
	switch reply.Outcome {
	case fsm.OutcomeDone:
		b.call.Reply = reply.Bytes
	case fsm.OutcomeReplyLost:
		b.call.Err = cluster.ErrReplyLost
	case fsm.OutcomeUnserved:
		b.unserved = true
		return false
	default:
		return b.renumber(fsm.StaleBoot(reply.Bytes))
	}
	return true
}

// pause waits for d. It returns false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// number gives the wait an identity. It returns false if there are too many waits.
func (b *blocked) number() bool {
	r := b.router
	lane, seq, ok := r.waitIDs[b.index].take()
	if !ok {
		return false
	}
	b.lane, b.numbers = lane, r.lanes[b.index].now.Load()
	b.wait.ID = fsm.TxnID{Origin: fsm.Origin{Node: b.numbers.node, Boot: b.numbers.boot, Lane: fsm.WaitLane + lane}, Seq: seq}
	if r.cfg.Numbered != nil && b.call.Client != 0 {
		r.cfg.Numbered(b.index, b.wait.ID, []*cluster.Call{b.call})
	}
	return true
}

// renumber gives the wait another identity, because the shard counts this one as given
// up: this gateway has taken a new boot number, or must take one (lanes.go). If the wait
// was asked for more than once, it may have been served, and no node can tell. Then the
// answer is an error, and renumber returns true.
func (b *blocked) renumber(boot uint64) bool {
	b.router.renew(b.index, b.numbers, boot)
	if b.asked > 1 {
		b.call.Err = cluster.ErrUnknown
		return true
	}
	b.router.waitIDs[b.index].give(b.lane)
	if b.asked = 0; !b.number() {
		b.call.Err = cluster.ErrOverloaded
		return true
	}
	return false
}

// refusesWait reports whether a leader refuses a wait for good.
func refusesWait(err error) bool {
	return refusesForGood(err) || errors.Is(err, cluster.ErrOverloaded)
}

// end ends a wait whose time is over, or whose client was unblocked or has gone. late is
// the context of the extra time for that. end returns false if the client has certainly
// got nothing.
func (b *blocked) end(late context.Context, gone bool) bool {
	if gone && !b.doubts.any() {
		return false
	}
	b.wait.Last, b.wait.Settles = true, gone
	for late.Err() == nil {
		switch answered := b.goOn(late, b.ask(late)); {
		case answered:
			return true
		case b.unserved:
			return false
		}
	}
	if b.doubts.any() {
		b.router.Counters.Unknown.Add(1)
		b.call.Err = b.inDoubt()
	} else {
		b.router.Counters.NoLeader.Add(1)
		b.call.Err = cluster.ErrNoLeader
	}
	return true
}

// ask sends the wait to the leader. It returns when the leader answers or when another
// node leads.
func (b *blocked) ask(ctx context.Context) shard.Result {
	leader := b.router.Leader(b.index)
	addr, self := leader.Addr, leader.Self
	if addr == "" && !self {
		return shard.Result{Err: cluster.ErrNoLeader}
	}
	b.at, b.self = addr, self
	b.wait.Again = b.doubts.any()
	told := make(chan shard.Result, 1)
	done := func(res shard.Result) {
		b.doubts.answered(res.Err)
		told <- res
	}
	if !b.call.ReadOnly {
		b.doubts.asked()
		b.asked++
	}
	if replica := b.router.cfg.Replica(b.index); !self {
		b.forward(addr, done)
	} else if replica == nil {
		done(shard.Result{Err: cluster.ErrNotLeader}) // the replica has just been closed
	} else {
		replica.Wait(b.wait, nil, done)
	}
	return b.await(ctx, leader, told)
}

// doubts counts the requests that may have had the wait served, or may still have it
// served. A request can be answered after the router has stopped waiting for it.
type doubts struct {
	mu sync.Mutex // guards open, doubt
	// open is how many requests have no answer. doubt is true if an answer left it open whether
	// the client may still be served.
	open  int
	doubt bool
}

func (d *doubts) any() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open > 0 || d.doubt
}

func (d *doubts) asked() {
	d.mu.Lock()
	d.open++
	d.mu.Unlock()
}

func (d *doubts) answered(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = max(d.open-1, 0)
	switch {
	case err == nil, errors.Is(err, shard.ErrLeft):
		d.doubt = false
	case errors.Is(err, cluster.ErrNotLeader), refusesWait(err):
		// The leader has not accepted the wait.
	default:
		d.doubt = true
	}
}

// await waits for a leader's answer.
func (b *blocked) await(ctx context.Context, leader shard.Leader, told <-chan shard.Result) shard.Result {
	timer := time.NewTicker(waitWatchEvery)
	defer timer.Stop()
	doubt := time.Now().Add(doubtAfter)
	for {
		select {
		case res := <-told:
			return res
		case <-ctx.Done():
			return shard.Result{Err: ctx.Err()}
		case <-timer.C:
			// A wait is long. Without a replica of the shard this node does not learn of
			// a new leader by itself, so it asks now and then whether this one still
			// leads.
			if now := time.Now(); !leader.Self && now.After(doubt) {
				b.router.ways.doubt(b.index, leader.Addr)
				if b.router.cfg.Replica(b.index) == nil {
					b.router.leaders.ask(b.index)
				}
				doubt = now.Add(waitDoubtEvery)
			}
			if via := b.router.ways.via(b.index, leader.Addr); !leader.Self && via != "" && via != b.via {
				return shard.Result{Err: errAbandoned}
			}
			if now := b.router.leaders.of(b.index); (now.Addr != leader.Addr || now.Self != leader.Self) && (now.Addr != "" || now.Self) {
				return shard.Result{Err: errAbandoned}
			}
		}
	}
}

// inDoubt is the error of a command that may have been served. It waits for the leader to
// say what holds the command up.
func (b *blocked) inDoubt() error {
	told := make(chan *cluster.BusyError, 1)
	b.router.inTheWay(b.index, []*cluster.Call{b.call}, func(busy *cluster.BusyError) { told <- busy })
	return doubtful(<-told, time.Since(b.begun))
}
