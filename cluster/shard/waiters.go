package shard

import (
	"errors"
	"time"

	"lockstep/cluster"
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/fsm"
)

// Answers to a Wait that are not replies.
var (
	// ErrRenew says that the client waits. The gateway asks again and keeps its place in
	// the queue, which shows that the gateway still runs. The answer comes first when the
	// client has been queued, and then every renewEvery.
	ErrRenew = errors.New("shard: the wait is to be renewed")
	// ErrTurn says that a read is worthwhile now. ErrAtOnce says the same because one of
	// the keys existed already when the client came. Only clients that read get these
	// answers.
	ErrTurn   = errors.New("shard: a key was filled")
	ErrAtOnce = errors.New("shard: a key is there already")
	// ErrLeft says that the client waits no longer and this leader has not served it, but
	// that the leader cannot prove that it still leads.
	ErrLeft = errors.New("shard: the wait has ended here")
)

const (
	// waitersMax bounds the clients that wait at one shard, and waitBytesMax the bytes of
	// their commands.
	waitersMax   = 1 << 17
	waitBytesMax = 256 << 20
	// renewEvery is how long one request waits. A waiter that is not renewed for as long
	// again is dropped: its gateway has gone.
	renewEvery = 10 * time.Second
	// quietMax is the longest silence of a gateway whose clients are served: what a
	// client gets after its gateway was lost is lost, too.
	quietMax = 5 * time.Second
	// waitersTick is how often the times of waiters are checked.
	waitersTick = time.Second
)

// Wait is a gateway's request for a client that waits.
type Wait struct {
	// ID is the wait's identity, of a lane for waits.
	ID fsm.TxnID
	// Txn is the blocking command.
	Txn fsm.Txn
	// Again says that the gateway has asked before and does not know the outcome: another
	// leader may have served the client.
	Again bool
	// Last ends the wait: the answer is final. Settles, with Last, takes no element that
	// was not taken before.
	Last, Settles bool
	// TwoWays, with Last, says that requests of this wait went to the leader by more than one
	// way. One of them may arrive after this one, so that the log has to end the wait.
	TwoWays bool
	// Tried says that a client that reads has tried and found nothing.
	Tried bool
}

// DecodeWait reads a wait's identity and command, encoded as a bundle of one txn. It
// points into data.
func DecodeWait(data []byte) (Wait, error) {
	b, err := fsm.DecodeBundle(data)
	if err != nil {
		return Wait{}, err
	}
	w := Wait{ID: fsm.TxnID{Origin: b.Origin, Seq: b.FirstSeq}}
	if len(b.Txns) != 1 || b.Txns[0].Kind != fsm.KindCommand || !w.ID.OfWait() {
		return w, errList
	}
	if err := fsm.CheckCalls(b.Txns); err != nil {
		return w, err
	}
	w.Txn = b.Txns[0]
	if spec, _ := commands.Lookup(w.Txn.Ops[0].Args); spec.Waits == nil {
		return w, errList
	}
	return w, nil
}

// Road is the way to a gateway on another node.
type Road interface {
	// SilentFor is the time for which nothing was heard from the gateway. It is very long if
	// the connection has ended.
	SilentFor() time.Duration
}

// waiters are the clients that wait at a leader for keys to be filled, with BLPOP and
// similar commands. They are in no log and no snapshot. A new leader takes them over from
// one that gives the leadership away (handover.go). Otherwise it starts with none, and
// the gateways ask again.
//
// First come, first served. The leader serves the clients that take elements: it puts the
// client's command into the log, right behind the write that may fill the key
// (follow.go). If the leader could not see in advance that a write fills the key, it puts
// the command there by itself afterwards (serve.go). Package fsm makes sure that this
// happens only once (serve.go there):
//
//   - A wait is served at most once, whatever leaders do and however often they are
//     asked.
//   - The gateway answers its client that nothing came only when no leader can serve
//     the wait any more: the leader has removed it, or the log has ended it.
//   - While a key exists that a client waits for, a KindServe for the oldest such client
//     is on its way, or the key is about to be checked.
//
// A client that only reads (XREAD) takes nothing from other clients. All of them are told
// at once that a read is worthwhile, and their gateways read.
//
// The observer methods are called where txns run, with their lock slots held. So no code
// that holds the lock of the table may wait for a lock slot.
type waiters struct {
	shard  *Shard
	table  waitTable
	looker looker

	// The lock of the table guards what follows.
	//
	// term is the one in which they wait.
	term uint64
	// fills numbers the changes of keys.
	fills uint64
	// flights wait to be put into the log. launching is true while that goes on.
	flights   []flight
	launching bool
	// holding is set while the leadership is being given away. heir is the list that was
	// handed to this node (handover.go).
	holding bool
	heir    *inheritance
}

// waiter is one client.
type waiter struct {
	id   fsm.TxnID
	txn  fsm.Txn
	keys []waitKey
	// shared is true if it only reads.
	shared bool
	bytes  int
	// no is its number in the order of all waiters.
	no uint64
	// told answers the open request. It is nil while the gateway has no request open.
	told func(Result)
	// since is when the request came, or was answered. road leads to the waiter's
	// gateway. It is nil if the gateway is this node.
	since time.Time
	road  Road

	// known is true if the gateway was told that the client waits. comes is true if the
	// client is new, so that a key of another kind is an error to it.
	known, comes bool
	// The next fields are for clients that take elements.
	//
	// flying is how many of its KindServes are on their way. unsure is how many of these
	// do not stand behind a write that certainly adds an element.
	flying, unsure int
	// looked is true if its keys were checked since it came, or the leader has tried to
	// serve it.
	looked bool
	// passed is true if others were served before it because its gateway could not be
	// reached.
	passed bool
	// last is true if the gateway waits for the end.
	last bool
	// over is true if it is in no queue any more. result is then its result, until the
	// gateway gets it.
	over   bool
	result *Result

	// The other fields are for clients that only read. toldAt is the number of fills when
	// its last request was answered. turn is true if it was told to try.
	toldAt uint64
	turn   bool
}

// grouped reports whether the waiter reads as one of a stream's groups. The entries for
// one group say nothing about those for another, nor whether that group exists. So each
// such waiter tries once when it comes, as in Redis.
func (x *waiter) grouped() bool {
	return !x.shared && len(x.keys) > 0 && x.keys[0].kind == engine.KindStream
}

// reachable reports whether a result will reach the client's gateway, and records if the
// client is passed over.
func (x *waiter) reachable() bool {
	yes := x.road == nil || x.road.SilentFor() < quietMax
	x.passed = x.passed || !yes
	return yes
}

func (w *waiters) init(s *Shard) {
	w.shard = s
	w.table.init()
	w.looker.waiters = w
}

// Wait puts a client into the queues of its keys, or renews one that is there. told is
// called once, from any goroutine, and must not block: with the command's result, with
// OutcomeUnserved if the wait has ended without one (Last), or with an error that says
// how to go on. road is the way back, or nil if the gateway is this node.
func (s *Shard) Wait(req Wait, road Road, told func(Result)) {
	w := &s.waiters
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	term := s.readyTerm.Load()
	if term == 0 || w.holding {
		told(Result{Err: cluster.ErrNotLeader})
		return
	}
	w.beginTermLocked(term)
	x := w.table.byID[req.ID]
	if x != nil && req.Last && req.TwoWays && !x.shared && x.result == nil {
		w.table.removeLocked(x)
		w.answerLocked(x, Result{Err: ErrRenew})
		x = nil
	}
	if x != nil {
		w.comeBackLocked(x, &req, road, told)
	} else if req.Last {
		x := newWaiter(&req)
		s.work(func() { w.endUnknown(x, req.Settles, told) })
	} else if x := w.enterLocked(&req, road, told); x == nil {
		return
	} else if x.comes = true; !x.shared && (x.grouped() || req.Again) {
		w.flyLocked(x, fsm.ServeComes)
	} else {
		w.looker.laterLocked(x.keys, x)
	}
}

// LeaveWait removes a client that has gone. A result that it might have got just now is
// lost.
func (s *Shard) LeaveWait(id fsm.TxnID) {
	w := &s.waiters
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	if x := w.table.byID[id]; x != nil {
		w.table.removeLocked(x)
		w.answerLocked(x, Result{Err: ErrRenew})
	}
}

// comeBackLocked handles the next request of a waiter that is known.
func (w *waiters) comeBackLocked(x *waiter, req *Wait, road Road, told func(Result)) {
	w.answerLocked(x, Result{Err: ErrRenew}) // answers a request that the gateway no longer waits for
	x.told, x.since, x.road = told, time.Now(), road
	switch {
	case x.result != nil:
		w.table.forgetLocked(x)
		w.answerLocked(x, *x.result)
		return
	case x.shared:
		w.readOnLocked(x, req)
		return
	}
	x.last = x.last || req.Last
	w.catchUpLocked(x)
	w.restLocked(x)
}

// catchUpLocked serves a waiter that was passed over and can be reached again.
func (w *waiters) catchUpLocked(x *waiter) {
	if x.passed && x.reachable() {
		x.passed = false
		w.looker.laterLocked(x.keys, nil)
	}
}

// restLocked handles a waiter that has no KindServe on its way.
func (w *waiters) restLocked(x *waiter) {
	switch {
	case x.flying > 0 || !x.looked || x.over || w.holding:
	case x.last:
		told := x.told
		x.told = nil
		w.table.removeLocked(x)
		w.proveLeft(told)
	case x.told != nil && !x.known:
		x.known = true
		w.answerLocked(x, Result{Err: ErrRenew})
	}
}

// answerLocked answers the open request, if there is one.
func (w *waiters) answerLocked(x *waiter, r Result) {
	if x.told != nil {
		told := x.told
		x.told, x.since, x.toldAt = nil, time.Now(), w.fills
		told(r)
	}
}

// enterLocked admits a new waiter. It returns nil if it has answered the waiter itself:
// there is no room, or the waiter was removed meanwhile.
func (w *waiters) enterLocked(req *Wait, road Road, told func(Result)) *waiter {
	x := newWaiter(req)
	x.told, x.since, x.road, x.toldAt = told, time.Now(), road, w.fills
	if len(w.table.byID) >= waitersMax || w.table.bytes+x.bytes > waitBytesMax {
		w.answerLocked(x, Result{Err: cluster.ErrOverloaded})
		return nil
	}
	if w.table.addLocked(x) {
		return x
	}
	if !x.over { // there is no room for all its keys
		w.table.removeLocked(x)
		w.answerLocked(x, Result{Err: cluster.ErrOverloaded})
	}
	return nil
}

// newWaiter returns the waiter of a request, with a copy of the arguments: a gateway that
// stops waiting reads its client's next command into the same memory.
func newWaiter(req *Wait) *waiter {
	own := req.Txn.Ops[0].Clone()
	op := &own
	spec, _ := commands.Lookup(op.Args)
	x := &waiter{id: req.ID, txn: req.Txn, shared: !spec.Writes(op.Args)}
	x.txn.Ops = []fsm.Op{own}
	x.txn.Kind, x.txn.Serve.Wait = fsm.KindServe, req.ID
	x.bytes = fsm.TxnSize(&x.txn)
	names, group := command.BlockKeys(spec, op.Args), string(commands.BlockGroup(op.Args))
	seen := make(map[string]struct{}, len(names))
	for _, name := range names {
		if _, twice := seen[string(name)]; !twice {
			k := string(name)
			seen[k] = struct{}{}
			x.keys = append(x.keys, waitKey{op.DB, k, spec.Waits.Kind, group})
		}
	}
	return x
}

// beginTerm starts a term.
func (w *waiters) beginTerm(term uint64) {
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	w.beginTermLocked(term)
	w.heir = nil
}

// beginTermLocked starts a term. The waiters of an earlier term are not served any more:
// their waits may have ended elsewhere.
func (w *waiters) beginTermLocked(term uint64) {
	if w.term != term {
		w.dismissLocked()
		w.term = term
	}
}

// dismiss ends all waits: this node no longer leads.
func (w *waiters) dismiss() {
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	w.dismissLocked()
	w.heir = nil
}

func (w *waiters) dismissLocked() {
	for _, x := range w.table.byID {
		x.over = true
		w.answerLocked(x, Result{Err: cluster.ErrUnknown})
	}
	w.table.clearLocked()
}

// loop renews waits that have lasted long, and drops waiters whose gateway has gone.
func (w *waiters) loop() {
	t := time.NewTicker(waitersTick)
	defer t.Stop()
	for {
		select {
		case <-w.shard.ctx.Done():
			w.dismiss()
			return
		case now := <-t.C:
			w.sweep(now)
		}
	}
}

func (w *waiters) sweep(now time.Time) {
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	if w.heir != nil && now.Sub(w.heir.came) > heirMax {
		w.heir = nil
	}
	var gone []*waiter
	for _, x := range w.table.byID {
		w.catchUpLocked(x)
		switch {
		case now.Sub(x.since) <= renewEvery:
		case x.told == nil && x.flying == 0:
			gone = append(gone, x)
		case !x.last:
			w.answerLocked(x, Result{Err: ErrRenew})
		}
	}
	for _, x := range gone {
		if x.told == nil {
			w.table.removeLocked(x)
			w.table.forgetLocked(x)
		}
	}
}

// Waiting is the number of clients that wait at this shard.
func (s *Shard) Waiting() int { return int(s.waiters.table.number.Load()) }
