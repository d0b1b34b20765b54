package shard

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/cluster"
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/sched"
)

// ErrRenew ends a wait that has lasted long; the gateway asks again and keeps
// its place, which shows that it is still there.
var ErrRenew = errors.New("shard: the wait is to be renewed")

// ErrAtOnce gives a waiter the turn as it comes, for one of its keys is there
// already. If that holds another kind of value the waiter is to say so; to
// others such a key is as good as none.
var ErrAtOnce = errors.New("shard: a key is there already")

const (
	// waitersMax bounds the clients that wait at one shard.
	waitersMax = 1 << 17
	// placesMax bounds the keys they wait for, placesAtOnce how many of these
	// are looked after under one hold of the lock.
	placesMax    = 1 << 20
	placesAtOnce = 1024
	// renewEvery is how long one request waits. A waiter that is not renewed
	// for as long again is forgotten: its gateway has gone.
	renewEvery = 10 * time.Second
	// turnMax is how long a waiter may take its turn before the next one gets
	// one too. Only the order of service depends on it.
	turnMax = 5 * time.Second
	// waitersTick is how often that is looked at.
	waitersTick = time.Second
)

// WaiterID names one client's wait, all over the cluster.
type WaiterID struct{ Node, N uint64 }

// Wait is a request to be told when it is worth trying a blocking command.
type Wait struct {
	ID WaiterID
	DB int
	// Keys are those that may be filled, with a value of the kind; KindString
	// stands for any that commands wait for (an older gateway does not say).
	Keys [][]byte
	Kind engine.Kind
	// Group is the group that a waiter for streams reads as one of; nil: none, or an
	// older gateway does not say.
	Group []byte
	// Shared waiters only read, and are told all at once.
	Shared bool
	// Tried says that the waiter had its turn and found nothing; Renew that it
	// was ended by ErrRenew. Either keeps the waiter's place.
	Tried, Renew bool
}

// waiters are the clients that wait at a leader for keys to be filled: those of
// BLPOP and its like. They are in no log and no snapshot: a new leader begins
// with none, and gateways come again. Nothing but the order of service
// depends on them; what a waiter gets, it gets by an ordinary txn, tried when
// it is its turn. First come, first served: a key's oldest waiter has the turn
// until it leaves or finds nothing.
//
// The observer methods are called where txns run, with their lock slots held,
// so nothing under mu waits for a lock slot.
type waiters struct {
	shard *Shard
	// number is len(byID), to be looked at without the lock.
	number atomic.Int64

	mu   sync.Mutex
	byID map[WaiterID]*waiter
	keys map[waitKey]*waitQueue
	// groups are, for each stream by its key without a group, the groups that have a
	// queue of their own.
	groups map[waitKey]map[string]struct{}
	// places is how many waiters stand in all queues together, one that waits
	// for several keys once for each. fills numbers the changes of keys.
	places int
	fills  uint64
	// swaps are the databases that got another content, by their number.
	swaps [engine.Databases]swap
	// placesMax is the constant; tests have less room.
	placesMax int
}

// swap is what is known of the last time a database got another content: the
// fill that it counts as, of all its keys, and whether these are being looked at.
type swap struct {
	filledAt uint64
	looking  bool
}

// waitKey names a queue: a key that may be filled with a kind of value. Of a stream
// each group has a queue of its own, for what one group has read is new to another.
type waitKey struct {
	db    int
	key   string
	kind  engine.Kind
	group string
}

// filledBy tells whether a key's entry, nil if there is none, is what is waited
// for.
func (k waitKey) filledBy(e *engine.Entry) bool {
	return e != nil && (e.Kind() == k.kind || k.kind == engine.KindString && e.Fillable())
}

// alone is the key without its group.
func (k waitKey) alone() waitKey { return k.of("") }

// of is the key with a group.
func (k waitKey) of(group string) waitKey {
	k.group = group
	return k
}

type waiter struct {
	id     WaiterID
	keys   []waitKey
	shared bool
	// told ends the request at hand; nil while the gateway tries or has not come
	// again.
	told func(error)
	// since is when that began.
	since time.Time
	// toldAt is how many fills there had been when its last request ended.
	toldAt uint64
	// turn: the waiter was told to try. fresh: it is grouped, and never was.
	turn, fresh bool
}

// grouped tells whether the waiter reads as one of a stream's group. What is
// there for one group says nothing of another's entries, nor that there is such a
// group: so each tries once when it comes, as Redis has it do.
func (x *waiter) grouped() bool {
	return !x.shared && len(x.keys) > 0 && x.keys[0].kind == engine.KindStream
}

// waitQueue is one waitKey's waiters, oldest first; those that share by themselves.
type waitQueue struct {
	list, shared []*waiter
	// filled: it is worth trying. filledAt is the number of the key's last fill,
	// goneAt that of the last fill before a stream, or a group of it, went.
	filled           bool
	filledAt, goneAt uint64
}

// oldest is the waiter that has the next turn, beside those that share; nil:
// there is none.
func (q *waitQueue) oldest() *waiter {
	if len(q.list) == 0 {
		return nil
	}
	return q.list[0]
}

func (q *waitQueue) places() int { return len(q.list) + len(q.shared) }

func (w *waiters) init(s *Shard) {
	w.shard, w.placesMax = s, placesMax
	w.byID, w.keys, w.groups = map[WaiterID]*waiter{}, map[waitKey]*waitQueue{}, map[waitKey]map[string]struct{}{}
}

// Wait puts a waiter into the queues of its keys. told is called once, from any
// goroutine, and must not block: with nil or ErrAtOnce when it is the waiter's
// turn to try.
func (s *Shard) Wait(req Wait, told func(error)) {
	if s.readyTerm.Load() == 0 {
		told(cluster.ErrNotLeader)
		return
	}
	s.waiters.enter(&req, told)
}

// LeaveWait takes a waiter out: it has what it wanted, or gave up.
func (s *Shard) LeaveWait(id WaiterID) { s.waiters.leave(id) }

func (w *waiters) enter(req *Wait, told func(error)) {
	if !w.comeBack(req, told) {
		w.add(req, told)
	}
}

// comeBack takes the next request of a waiter that is known; false: it is not.
func (w *waiters) comeBack(req *Wait, told func(error)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := w.byID[req.ID]
	if x == nil {
		return false
	}
	if x.told != nil {
		x.tell(ErrRenew, w.fills) // a request that it no longer waits for
	}
	// What was filled while it was away counts, even if another found nothing.
	again, gone := false, false
	for _, k := range x.keys {
		q := w.keys[k]
		if w.filledAtLocked(k, q) > x.toldAt {
			q.filled, again = true, true
		}
		gone = gone || q.goneAt > x.toldAt && !x.shared
	}
	hadTurn := x.turn
	x.told, x.since, x.turn = told, time.Now(), false
	if gone {
		w.turnLocked(x, nil)
	}
	switch {
	case hadTurn && !req.Tried && !again:
		// It could not try, and what it was told of may be there still.
		w.beginLocked(x)
	case again || !req.Tried:
		w.offerLocked(x.keys, nil)
	default:
		w.emptyLocked(x)
	}
	return true
}

// emptyLocked takes note that a waiter has found nothing under its keys. Those
// that came meanwhile and gave older ones the first try have theirs now.
func (w *waiters) emptyLocked(x *waiter) {
	for _, k := range x.keys {
		q := w.keys[k]
		if q.oldest() != x && !(x.shared && len(q.list) == 0) {
			continue
		}
		q.filled = false
		for _, other := range q.list {
			if other.fresh {
				w.turnLocked(other, other)
			}
		}
	}
}

// beginLocked has the keys of a waiter looked at that has not tried. One that is
// grouped tries, but not before those who wait for something that has just come.
func (w *waiters) beginLocked(x *waiter) {
	if !x.grouped() {
		w.lookLater(x.keys, x)
		return
	}
	x.fresh = true
	busy := func(k waitKey) bool { q := w.keys[k]; return q.filled && q.oldest() != x }
	if !slices.ContainsFunc(x.keys, busy) {
		w.turnLocked(x, x)
	}
}

// add puts a new waiter into the queues of its keys, some at a time: txns come
// in between.
func (w *waiters) add(req *Wait, told func(error)) {
	keys := distinct(req)
	x := &waiter{id: req.ID, shared: req.Shared, since: time.Now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.byID[x.id] != nil:
		// Its request over a connection that broke was slower than the next one. A waiter
		// that stood in the queues twice could be taken out once.
		told(ErrRenew)
		return
	case len(w.byID) >= waitersMax:
		told(cluster.ErrOverloaded)
		return
	}
	x.toldAt = w.fills
	w.byID[x.id] = x
	w.number.Store(int64(len(w.byID)))
	for part := range slices.Chunk(keys, placesAtOnce) {
		if len(x.keys) > 0 {
			w.mu.Unlock()
			w.mu.Lock()
		}
		switch {
		case w.byID[x.id] != x:
			told(cluster.ErrNotLeader)
			return
		case w.places+len(part) > w.placesMax:
			w.dropLocked(x)
			told(cluster.ErrOverloaded)
			return
		}
		for _, k := range part {
			w.queueLocked(x, k)
		}
		x.keys = append(x.keys, part...)
	}
	if x.told == nil && !x.turn {
		x.told, x.since = told, time.Now()
	} else {
		told(ErrRenew) // the waiter's next request has come meanwhile, and may have been answered
	}
	w.beginLocked(x)
}

// distinct are the keys of a request, each once.
func distinct(req *Wait) []waitKey {
	seen := make(map[string]struct{}, len(req.Keys))
	keys, group := make([]waitKey, 0, len(req.Keys)), string(req.Group)
	for _, key := range req.Keys {
		if _, twice := seen[string(key)]; !twice {
			k := string(key)
			seen[k] = struct{}{}
			keys = append(keys, waitKey{req.DB, k, req.Kind, group})
		}
	}
	return keys
}

// queueLocked puts a waiter behind the others of a key.
func (w *waiters) queueLocked(x *waiter, k waitKey) {
	q := w.keys[k]
	if q == nil {
		q = &waitQueue{}
		w.keys[k] = q
		w.openLocked(k)
	}
	if x.shared {
		q.shared = append(q.shared, x)
	} else {
		q.list = append(q.list, x)
	}
	w.places++
}

func (w *waiters) leave(id WaiterID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if x := w.byID[id]; x != nil {
		w.dropLocked(x)
	}
}

// dropLocked forgets a waiter. It ends the request at hand, for that takes room
// where it came from; and it lets go of the lock in between, as add does.
func (w *waiters) dropLocked(x *waiter) {
	delete(w.byID, x.id)
	w.number.Store(int64(len(w.byID)))
	if x.told != nil {
		x.tell(ErrRenew, w.fills)
	}
	is := func(other *waiter) bool { return other == x }
	for part := range slices.Chunk(x.keys, placesAtOnce) {
		for _, k := range part {
			q := w.keys[k]
			if q == nil {
				continue // dismissed meanwhile
			}
			before := q.places()
			q.list, q.shared = slices.DeleteFunc(q.list, is), slices.DeleteFunc(q.shared, is)
			w.places -= before - q.places()
			if q.places() == 0 {
				w.closeLocked(k)
			}
		}
		w.offerLocked(part, nil)
		w.mu.Unlock()
		w.mu.Lock()
	}
	if x.turn {
		// It may have left something for the next one.
		w.lookLater(x.keys, nil)
	}
}

// openLocked takes note of a new queue's group.
func (w *waiters) openLocked(k waitKey) {
	if k.group == "" {
		return
	}
	if w.groups[k.alone()] == nil {
		w.groups[k.alone()] = map[string]struct{}{}
	}
	w.groups[k.alone()][k.group] = struct{}{}
}

// closeLocked forgets a queue in which nobody waits.
func (w *waiters) closeLocked(k waitKey) {
	delete(w.keys, k)
	if k.group == "" {
		return
	}
	delete(w.groups[k.alone()], k.group)
	if len(w.groups[k.alone()]) == 0 {
		delete(w.groups, k.alone())
	}
}

// filled is the part of command.Observer that waiters are for, of one key.
func (w *waiters) filled(db int, key []byte, kind engine.Kind) {
	if w.number.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.filledLocked(waitKey{db: db, key: string(key), kind: engine.KindString})
	alone := waitKey{db: db, key: string(key), kind: kind}
	w.filledLocked(alone)
	for group := range w.groups[alone] { // order does not matter: each is served for itself
		w.filledLocked(alone.of(group))
	}
}

func (w *waiters) filledLocked(k waitKey) {
	if q := w.keys[k]; q != nil {
		w.fills++
		q.filled, q.filledAt = true, w.fills
		w.offerLocked([]waitKey{k}, nil)
	}
}

// gone gives a turn to all who wait to read as one of a stream's groups: they
// find out what is there no more. One after the other would not do, for who
// finds his own group keeps the turn from the next.
func (w *waiters) gone(db int, key []byte) {
	if w.number.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	alone := waitKey{db: db, key: string(key), kind: engine.KindStream}
	w.fills++
	w.goneLocked(w.keys[alone])
	for group := range w.groups[alone] { // order does not matter: all are told
		w.goneLocked(w.keys[alone.of(group)])
	}
}

// goneLocked is gone for a queue, nil if there is none.
func (w *waiters) goneLocked(q *waitQueue) {
	if q == nil {
		return
	}
	q.goneAt = w.fills
	for _, x := range q.list {
		w.turnLocked(x, nil)
	}
}

// swapped wakes all who wait in a database that has another content now.
func (w *waiters) swapped(db int) {
	if w.number.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fills++
	s := &w.swaps[db]
	s.filledAt = w.fills
	if !s.looking && w.shard.ctx.Err() == nil {
		s.looking = true
		w.shard.working.Go(func() { w.lookSwapped(db) })
	}
}

// lookSwapped looks at all keys of a database, and again if it got another content
// meanwhile. A transaction may swap databases thousands of times, which must not
// be as many looks at a million keys.
func (w *waiters) lookSwapped(db int) {
	// restTimes is how many times as long as it holds the lock it leaves it alone.
	const restTimes = 10
	for looked := uint64(0); ; {
		begun := time.Now()
		w.mu.Lock()
		s := &w.swaps[db]
		if s.filledAt == looked {
			s.looking = false
			w.mu.Unlock()
			return
		}
		looked = s.filledAt
		var keys []waitKey
		for k := range w.keys { // order does not matter: all are looked at
			if k.db == db {
				keys = append(keys, k)
			}
		}
		w.mu.Unlock()
		held := time.Since(begun)
		w.look(keys, nil)
		pause(w.shard.ctx, restTimes*held)
	}
}

// filledAtLocked is the number of a key's last fill.
func (w *waiters) filledAtLocked(k waitKey, q *waitQueue) uint64 {
	return max(q.filledAt, w.swaps[k.db].filledAt)
}

// offerLocked gives turns to the waiters of filled keys: to all that share and
// have not been told of the last fill, and to the oldest of the others. The
// newcomer, if one of them is, is told that the key was there before it came.
func (w *waiters) offerLocked(keys []waitKey, newcomer *waiter) {
	for _, k := range keys {
		q := w.keys[k]
		if q == nil || !q.filled {
			continue
		}
		for _, x := range q.shared {
			if x == newcomer || w.filledAtLocked(k, q) > x.toldAt {
				w.turnLocked(x, newcomer)
			}
		}
		if x := q.oldest(); x != nil {
			w.turnLocked(x, newcomer)
		}
	}
}

// turnLocked gives a waiter the turn, if it waits for it.
func (w *waiters) turnLocked(x, newcomer *waiter) {
	if x.turn || x.told == nil {
		return
	}
	x.turn, x.fresh = true, false
	if x == newcomer {
		x.tell(ErrAtOnce, w.fills)
	} else {
		x.tell(nil, w.fills)
	}
}

// tell ends the request at hand, after so many fills.
func (x *waiter) tell(err error, fills uint64) {
	told := x.told
	x.told, x.since, x.toldAt = nil, time.Now(), fills
	told(err)
}

// lookLater has keys looked at without the lock.
func (w *waiters) lookLater(keys []waitKey, newcomer *waiter) {
	if w.shard.ctx.Err() == nil {
		w.shard.working.Go(func() { w.look(keys, newcomer) })
	}
}

// look finds out which keys are there, and offers them.
func (w *waiters) look(keys []waitKey, newcomer *waiter) {
	for _, k := range keys {
		w.mu.Lock()
		q := w.keys[k]
		if q == nil {
			w.mu.Unlock()
			continue
		}
		filledAt := w.filledAtLocked(k, q)
		w.mu.Unlock()
		e := w.find(k)
		w.mu.Lock()
		if q := w.keys[k]; q != nil {
			w.lookedLocked(k, q, e, filledAt, newcomer)
		}
		w.mu.Unlock()
	}
}

// lookedLocked takes note of a key's entry, nil if there is none, as it was after
// the fill filledAt.
func (w *waiters) lookedLocked(k waitKey, q *waitQueue, e *engine.Entry, filledAt uint64, newcomer *waiter) {
	there := k.filledBy(e)
	if newcomer != nil && newcomer.shared {
		// What it takes, nobody misses; and the others know of it.
		if e != nil {
			w.turnLocked(newcomer, newcomer)
		}
		return
	}
	if w.filledAtLocked(k, q) == filledAt {
		q.filled = there
	}
	w.offerLocked([]waitKey{k}, newcomer)
	switch {
	case !there && e != nil && newcomer != nil:
		// It came upon a value of another kind, and is to say so.
		w.turnLocked(newcomer, newcomer)
	case !there && newcomer == nil && k.kind == engine.KindStream:
		w.goneLocked(q)
	}
}

// find returns a key's entry, or nil.
func (w *waiters) find(k waitKey) *engine.Entry {
	s := w.shard
	ks, locks := s.machine.Keyspace(), s.machine.Sched()
	slot := ks.LockSlot([]byte(k.key))
	var ticket sched.Ticket
	access := sched.Access{Slots: []sched.SlotMode{{Slot: slot, Mode: sched.Shared}}}
	if locks.Lock(s.ctx, &ticket, &access) != nil {
		return nil
	}
	defer locks.Unlock(&ticket)
	return ks.Find(slot, k.db, []byte(k.key))
}

// dismiss ends all waits: this node no longer leads.
func (w *waiters) dismiss() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.byID {
		if x.told != nil {
			x.tell(cluster.ErrNotLeader, w.fills)
		}
	}
	clear(w.byID)
	clear(w.keys)
	clear(w.groups)
	w.places = 0
	w.number.Store(0)
}

// loop ends waits that have lasted long, and forgets waiters that have gone.
func (w *waiters) loop() {
	t := time.NewTicker(waitersTick)
	defer t.Stop()
	for {
		select {
		case <-w.shard.ctx.Done():
			w.dismiss()
			return
		case now := <-t.C:
			if w.number.Load() > 0 {
				w.sweep(now)
			}
		}
	}
}

func (w *waiters) sweep(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var gone []*waiter
	for _, x := range w.byID {
		age := now.Sub(x.since)
		switch {
		case x.told != nil && age > renewEvery:
			x.tell(ErrRenew, w.fills)
		case x.told == nil && age > renewEvery:
			gone = append(gone, x)
		case x.told == nil && x.turn && age > turnMax:
			w.passOnLocked(x)
		}
	}
	for _, x := range gone {
		if w.byID[x.id] == x && x.told == nil {
			w.dropLocked(x)
		}
	}
}

// passOnLocked puts a waiter that takes long behind the others.
func (w *waiters) passOnLocked(x *waiter) {
	for _, k := range x.keys {
		q := w.keys[k]
		if len(q.list) > 1 && q.oldest() == x {
			q.list = append(slices.Delete(q.list, 0, 1), x)
			q.filled = true
		}
	}
	w.offerLocked(x.keys, nil)
}

// Waiting is the number of clients that wait at this shard.
func (s *Shard) Waiting() int { return int(s.waiters.number.Load()) }

// observer tells waiters of filled keys, and passes everything on.
type observer struct {
	waiters *waiters
	next    command.Observer
}

// Wants implements command.Observer.
func (o *observer) Wants(classes command.EventClass) bool {
	return o.next != nil && o.next.Wants(classes)
}

// Event implements command.Observer.
func (o *observer) Event(class command.EventClass, event string, db int, key []byte) {
	if o.next != nil {
		o.next.Event(class, event, db, key)
	}
}

// Filled implements command.Observer.
func (o *observer) Filled(db int, key []byte, kind engine.Kind) {
	if key == nil {
		o.waiters.swapped(db)
	} else {
		o.waiters.filled(db, key, kind)
	}
	if o.next != nil {
		o.next.Filled(db, key, kind)
	}
}

// Gone implements command.Observer.
func (o *observer) Gone(db int, key []byte) {
	o.waiters.gone(db, key)
	if o.next != nil {
		o.next.Gone(db, key)
	}
}
