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

// waitWatchEvery is how often a wait looks whether another node leads by now, and
// waitDoubtEvery how often it asks. A leader that is lost mostly says so itself; and of
// waits there may be tens of thousands, for hours.
const (
	waitWatchEvery = 4 * watchEvery
	waitDoubtEvery = 2 * time.Second
)

// goneMax is how long a client that has gone is taken back from the leader: nobody waits for
// the answer.
const goneMax = 500 * time.Millisecond

// waiterPause is how long a wait that was refused waits before asking again.
const waiterPause = 20 * time.Millisecond

// waitIDs hands out identities for the waits of one shard's clients: each a lane, which is
// used again when the wait has ended, and a number.
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

// Block runs a blocking command: it has one of the keys waited for, for no longer than
// the timeout (0: for ever) nor than ctx lasts. waits is called once when the shard's
// leader has the client among those that wait. Block returns false if the command found
// nothing in time; else call has Reply or Err.
//
// What is taken from a list reaches this gateway or is not taken: the wait has an
// identity, by which a leader can be asked again what became of it (fsm/serve.go). So
// nothing is an answer only when it is certain that nothing was taken and nothing will
// be, and that the leader which says so leads: ErrNoLeader, where no leader was found in
// time and none can have served the wait; else ErrUnknown.
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
	// begun is when the command came.
	begun time.Time
	// lane is that of the wait's identity, numbers are those of this gateway that it is of.
	lane    uint32
	numbers *lanes
	// at is the leader that was asked last, self if that is this node.
	at     string
	self   bool
	doubts doubts
	// via is the node through which it was asked. It is "" if it was asked directly.
	via string
	// asked is how often a leader was asked by this identity.
	asked int
	// waits is called once, when the client begins to wait, and is nil after that.
	waits func()
	// unserved is true if the wait has ended, and the client has got nothing.
	unserved bool
}

// goOn takes the answer to a request. It returns true if the command has been answered.
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
		// The next leader is asked.
		pause(ctx, waiterPause)
	}
	return false
}

// ended takes the outcome of a wait. It returns true if the command has been answered.
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

// pause waits for d. It returns false if ctx ended before.
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

// renumber gives the wait another identity, for the shard takes this one for given up: this
// gateway has begun anew, or must (lanes.go). Whether the wait was served before, nobody
// knows then, unless it was asked for only once. It returns true if that is the answer.
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

// end ends a wait whose time is over, or whose client was unblocked or has gone. late allows some overtime for it.
// end returns false if the client has certainly got nothing.
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

// ask sends the wait to the leader and waits for its answer, or until another
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
		done(shard.Result{Err: cluster.ErrNotLeader}) // it has just been closed
	} else {
		replica.Wait(b.wait, nil, done)
	}
	return b.await(ctx, leader, told)
}

// doubts are about requests of which it is not known whether they have had, or will have,
// the wait served. A request whose answer is not waited for any more may be answered yet.
type doubts struct {
	mu sync.Mutex // guards open, doubt
	// open is how many requests have no answer; doubt: one was answered so that the
	// client may be served on and on.
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
		// The leader has not taken it in.
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
			// A wait is long; whether its leader still leads has to be asked for where
			// no replica here would hear of another.
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

// inDoubt is the error of a command that may have been served. It waits for the leader to say what is in the way.
func (b *blocked) inDoubt() error {
	told := make(chan *cluster.BusyError, 1)
	b.router.inTheWay(b.index, []*cluster.Call{b.call}, func(busy *cluster.BusyError) { told <- busy })
	return doubtful(<-told, time.Since(b.begun))
}
