package shard

import (
	"container/list"
	"context"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/stepper"
	"lockstep/engine/command"
	"lockstep/fsm"
)

const (
	// throttleFifths is the part of outstanding-work-max-ms that the leader fills by its
	// guess, in fifths. The rest is a margin: work that is guessed a little too low must
	// not be refused in the log.
	throttleFifths = 4
	// waitingShare is the part of the admitted work that may wait here: one part in
	// waitingShare. The rest is for work that need not wait.
	waitingShare = 2
	// throttleLookEvery is how often the throttle checks for expired waits, while any
	// bundle waits.
	throttleLookEvery = 10 * time.Millisecond
)

// throttle limits the work in the log that may take long to outstanding-work-max-ms, by
// the leader's guess. Further bundles wait here, in front of the log, in order of
// arrival: until there is room, or their time is over, or they are taken back because
// their client has gone or because of SCRIPT KILL. Work that does not take long passes
// the throttle.
type throttle struct {
	shard *Shard
	*stepper.Stepper

	mu    sync.Mutex // guards what follows, but lookAt
	guess estimates
	// waiting holds bundleCalls in order of arrival. byID finds them.
	waiting list.List
	byID    map[fsm.TxnID]*list.Element
	// txns and bytes are the sums over all that wait.
	txns    int
	bytes   int64
	stopped bool
	// lookAt is when the loop next checks for expired waits. Only the loop uses it.
	lookAt time.Time

	counts ThrottleCounts
}

// ThrottleCounts count the actions of a shard's throttle. They are not state.
type ThrottleCounts struct {
	// Waiting is how many txns wait now. Work is the work of the txns in the log that
	// have not run, by the leader's guess, in units of work.
	Waiting, Work atomic.Int64
	// Held counts bundles that had to wait, Expired those whose time was over, and
	// TakenBack those that were taken back.
	Held, Expired, TakenBack atomic.Uint64
}

// longBundle describes a bundle with txns that may take long.
type longBundle struct {
	throttle *throttle
	// until is how long it may wait. again is true if it may be in the log already.
	until time.Time
	again bool
	// costs are in the order of the txns. counted is true if they count as open. The
	// throttle's mutex guards both.
	costs   []cost
	counted bool
}

// cost describes one command that may take long.
type cost struct {
	txn int
	// program is true if it runs a program, which is of that kind.
	program bool
	kind    command.ProgramKind
	// lanes is true if its txn must hold the lane unless the txn is free. free is true if
	// the txn is free of the lane and this is its first cost. free does not change once
	// the bundle is let in.
	lanes, free bool
	// estimate is nil when the command is not counted any more.
	*estimate
}

func (h *throttle) init(s *Shard) {
	h.shard = s
	h.Stepper = stepper.New()
	h.guess.init(min(s.machine.Sched().LongPermits(), fsm.FreeMax))
	h.byID = map[fsm.TxnID]*list.Element{}
}

// weigh returns the costs of a bundle's txns. It returns nil if none takes long.
func (h *throttle) weigh(o *Offer) *longBundle {
	var l *longBundle
	for i := range o.Txns {
		t := &o.Txns[i]
		if !t.TakesLong() {
			continue
		}
		if l == nil {
			l = &longBundle{throttle: h, until: o.Until, again: o.Again}
		}
		for j := range t.Ops {
			if op := &t.Ops[j]; op.Spec() != nil && op.TakesLong() {
				l.costs = append(l.costs, h.costOf(i, op, t.Kind == fsm.KindExec))
			}
		}
	}
	return l
}

func (h *throttle) costOf(txn int, op *fsm.Op, inExec bool) cost {
	var buf [64]byte
	name := nameOf(buf[:0], op)
	c := cost{txn: txn, program: op.Spec().RunsProgram(), kind: op.Spec().ProgramKind(), lanes: op.MayTakeLong()}
	if inExec {
		// In a transaction a program locks everything.
		name = append(name, " exec"...)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c.estimate = h.guess.of(name, func() bool {
		if c.program {
			return !inExec && locksKeys(h.shard.machine.Programs(), op)
		}
		return c.lanes && op.Spec().Scope == command.ScopeKeys
	})
	return c
}

// pass lets a bundle into the log, or makes it wait.
func (h *throttle) pass(c *bundleCall) {
	if c.long == nil {
		h.shard.proposer.enqueue(c)
		return
	}
	switch goes, err := h.judge(c); {
	case err != nil:
		c.finish(Result{Err: err})
	case goes:
		h.shard.proposer.enqueue(c)
	default:
		h.Kick()
	}
}

func (h *throttle) judge(c *bundleCall) (goes bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case c.long.again:
		// Mostly it is in the log already, and its outcome must be learnt.
	case h.stopped:
		return false, cluster.ErrShuttingDown
	case h.dividesLocked(c):
		return false, cluster.ErrTooMuchAtOnce
	case h.tooLateLocked(c, time.Now()):
		h.counts.Expired.Add(1)
		return false, cluster.ErrOverworked
	case h.waiting.Len() == 0 && h.fitsLocked(c):
	case h.txns+len(c.replies) > int(h.shard.cfg.OutstandingTxnsMax/waitingShare), h.bytes+int64(len(c.bundle)) > h.shard.cfg.OutstandingBytesMax/waitingShare:
		return false, cluster.ErrOverloaded
	default:
		h.addLocked(c)
		return false, nil
	}
	h.countOpenLocked(c)
	return true, nil
}

// limit is how much work may be in the log by the leader's guess. It is 0 if there is no
// limit.
func (h *throttle) limit() int64 {
	settings := h.shard.machine.Settings()
	return settings.OutstandingWorkMaxMs * (command.WorkSecond / 1000) / 5 * throttleFifths
}

func workLocked(c *bundleCall) (sum int64) {
	for i := range c.long.costs {
		sum += c.long.costs[i].work
	}
	return sum
}

// tooLateLocked reports whether a bundle's time would be over before the work in the log
// has run: no client would wait for its outcome.
func (h *throttle) tooLateLocked(c *bundleCall, now time.Time) bool {
	ahead := min(h.guess.open, h.limit())
	return now.Add(time.Duration(ahead) * time.Second / command.WorkSecond).After(c.long.until)
}

// dividesLocked reports whether the txns of a bundle may go one by one, but not all at
// once.
func (h *throttle) dividesLocked(c *bundleCall) bool {
	limit := h.limit()
	return limit > 0 && len(c.replies) > 1 && workLocked(c) > limit
}

// fitsLocked reports whether a bundle may enter the log. A bundle that is larger than all
// the room may enter when nothing else is there.
func (h *throttle) fitsLocked(c *bundleCall) bool {
	limit, slow := h.limit(), 0
	if limit == 0 || h.guess.open == 0 {
		return true
	}
	for i := range c.long.costs {
		if c.long.costs[i].slow() {
			slow++
		}
	}
	return h.guess.open+workLocked(c) <= limit && (slow == 0 || h.guess.free == 0 || h.guess.free+slow <= h.guess.freeMax)
}

func (h *throttle) countOpenLocked(c *bundleCall) {
	costs := c.long.costs
	for i := range costs {
		h.guess.countOpen(costs[i].estimate)
		if i == 0 || costs[i].txn != costs[i-1].txn {
			costs[i].free = h.guess.takeFree(costs[i].estimate)
		}
	}
	c.long.counted = true
	h.counts.Work.Store(h.guess.open)
}

// endLocked ends the count of a command.
func (h *throttle) endLocked(k *cost) {
	h.guess.end(k.estimate)
	if k.free {
		h.guess.free--
	}
	k.estimate = nil
}

// freeOf returns the indexes, in an entry, of the txns that need not hold the lane. It
// returns nil if no txn of the entry must hold the lane.
func freeOf(e *pendingEntry) (free []int) {
	laned := false
	for i := range e.parts {
		p, end := &e.parts[i], e.txns
		if p.call.long == nil {
			continue
		}
		if i+1 < len(e.parts) {
			end = e.parts[i+1].first
		}
		costs := p.call.long.costs
		last := -1
		for j := sort.Search(len(costs), func(j int) bool { return costs[j].txn >= p.from }); j < len(costs); j++ {
			at := p.first + costs[j].txn - p.from
			if at >= end {
				break
			}
			if costs[j].free {
				free = append(free, at)
				last = at
			} else if costs[j].lanes && last != at {
				laned = true
			}
		}
	}
	if !laned {
		return nil
	}
	return append([]int{}, free...)
}

func (h *throttle) addLocked(c *bundleCall) {
	id, _ := fsm.BundleID(c.bundle)
	h.byID[id] = h.waiting.PushBack(c)
	h.txns, h.bytes = h.txns+len(c.replies), h.bytes+int64(len(c.bundle))
	h.counts.Held.Add(1)
	h.counts.Waiting.Store(int64(h.txns))
}

func (h *throttle) removeLocked(e *list.Element) *bundleCall {
	c := h.waiting.Remove(e).(*bundleCall)
	id, _ := fsm.BundleID(c.bundle)
	delete(h.byID, id)
	h.txns, h.bytes = h.txns-len(c.replies), h.bytes-int64(len(c.bundle))
	h.counts.Waiting.Store(int64(h.txns))
	return c
}

// ran records the outcome of a txn in a bundle that was let in, and its work, which is 0
// if the txn did not run now.
func (h *throttle) ran(l *longBundle, txn int, work int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := sort.Search(len(l.costs), func(i int) bool { return l.costs[i].txn >= txn })
	end := first
	for end < len(l.costs) && l.costs[end].txn == txn {
		end++
	}
	for i := first; i < end; i++ {
		if e := l.costs[i].estimate; e != nil {
			h.endLocked(&l.costs[i])
			if work > 0 {
				h.guess.learn(e, work/int64(end-first))
			}
		}
	}
	h.roomLocked()
}

// left records that a bundle is answered, whatever the outcome of its txns.
func (h *throttle) left(l *longBundle) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range l.costs {
		if l.counted && l.costs[i].estimate != nil {
			h.endLocked(&l.costs[i])
		}
	}
	h.roomLocked()
}

// roomLocked wakes the loop: there may be room for bundles that wait.
func (h *throttle) roomLocked() {
	h.counts.Work.Store(h.guess.open)
	if h.waiting.Len() > 0 {
		h.Kick()
	}
}

// loop lets waiting bundles go on, or ends their wait, until the shard is closed.
func (h *throttle) loop() {
	h.Run(h.shard.ctx, func(ctx context.Context) time.Duration {
		if ctx.Err() != nil {
			return idleEvery
		}
		if !h.shard.group.IsLeader() {
			h.end(cluster.ErrNotLeader, nil, func(*bundleCall) bool { return true })
		}
		if now := time.Now(); now.After(h.lookAt) {
			h.lookAt = now.Add(throttleLookEvery)
			h.end(cluster.ErrOverworked, &h.counts.Expired, func(c *bundleCall) bool { return h.tooLateLocked(c, now) })
		}
		for h.next() {
		}
		if h.counts.Waiting.Load() > 0 {
			return throttleLookEvery
		}
		return idleEvery
	})
	h.mu.Lock()
	h.stopped = true
	h.mu.Unlock()
	h.end(cluster.ErrShuttingDown, nil, func(*bundleCall) bool { return true })
}

// next lets the first waiting bundle go on. It returns false if none waits or there is no
// room for it.
func (h *throttle) next() bool {
	h.mu.Lock()
	e := h.waiting.Front()
	if e == nil {
		h.mu.Unlock()
		return false
	}
	c := e.Value.(*bundleCall)
	// The guess for one of its txns may have changed while it waited.
	divides, fits := h.dividesLocked(c), h.fitsLocked(c)
	if !divides && !fits {
		h.mu.Unlock()
		return false
	}
	h.removeLocked(e)
	if !divides {
		h.countOpenLocked(c)
	}
	h.mu.Unlock()
	if divides {
		c.finish(Result{Err: cluster.ErrTooMuchAtOnce})
	} else {
		h.shard.proposer.enqueue(c)
	}
	return true
}

// end answers the chosen waiting bundles with an error. It counts them first, unless the
// counter is nil: a client that has its answer finds the answer counted. It returns how many there were.
func (h *throttle) end(err error, counter *atomic.Uint64, chosen func(*bundleCall) bool) int {
	var ended []*bundleCall
	h.mu.Lock()
	for e := h.waiting.Front(); e != nil; {
		next := e.Next()
		if chosen(e.Value.(*bundleCall)) {
			ended = append(ended, h.removeLocked(e))
		}
		e = next
	}
	h.mu.Unlock()
	if counter != nil {
		counter.Add(uint64(len(ended)))
	}
	for _, c := range ended {
		c.finish(Result{Err: err})
	}
	return len(ended)
}

// TakeBack drops a bundle that waits in front of the log, by the identity of its first
// txn. It does nothing if the bundle is in the log, or unknown.
func (s *Shard) TakeBack(id fsm.TxnID) {
	h := &s.throttle
	h.mu.Lock()
	e := h.byID[id]
	if e == nil {
		h.mu.Unlock()
		return
	}
	c := h.removeLocked(e)
	h.mu.Unlock()
	h.counts.TakenBack.Add(1)
	c.finish(Result{Err: cluster.ErrTakenBack})
	h.Kick()
}

// takeBackPrograms drops all bundles that wait in front of the log and run a program of a
// kind. It returns how many there were.
func (h *throttle) takeBackPrograms(kind command.ProgramKind) int {
	n := h.end(cluster.ErrKilled, &h.counts.TakenBack, func(c *bundleCall) bool { return c.long.runs(kind) })
	h.Kick()
	return n
}

// runs reports whether the bundle runs a program of a kind.
func (l *longBundle) runs(kind command.ProgramKind) bool {
	for i := range l.costs {
		if l.costs[i].program && l.costs[i].kind == kind {
			return true
		}
	}
	return false
}

// ThrottleCounts returns the counters of the shard's throttle.
func (s *Shard) ThrottleCounts() *ThrottleCounts { return &s.throttle.counts }
