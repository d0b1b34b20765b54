package shard

import (
	"time"

	"lockstep/engine"
	"lockstep/engine/commands"
	"lockstep/engine/sched"
	"lockstep/fsm"
)

// Checking the keys that clients wait for: when a client comes, when one was served, and
// when the content of a database was replaced.

// lookLaterLocked starts a check of keys without the lock, for a new client or for the
// clients that wait for them.
func (w *waiters) lookLaterLocked(keys []waitKey, newcomer *waiter) {
	if newcomer == nil {
		var due []waitKey
		for _, k := range keys {
			if q := w.keys[k]; q != nil && !q.looking {
				q.looking = true
				due = append(due, k)
			}
		}
		if keys = due; len(keys) == 0 {
			return
		}
	}
	w.shard.work(func() { w.look(keys, newcomer) })
}

// look reads the keys, and serves the clients that wait for them.
func (w *waiters) look(keys []waitKey, newcomer *waiter) {
	for _, k := range keys {
		w.mu.Lock()
		q := w.keys[k]
		if q == nil {
			w.mu.Unlock()
			continue
		}
		q.looking = false
		w.mu.Unlock()
		kind, there, offers := w.find(k)
		w.mu.Lock()
		if q := w.keys[k]; q != nil {
			w.tellReadersLocked(q)
			w.offerLocked(q, offers)
			w.foundLocked(k, kind, there, newcomer)
		}
		w.mu.Unlock()
	}
	if newcomer != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		newcomer.looked = true
		w.restLocked(newcomer)
	}
}

// foundLocked handles the value of one of a new client's keys, if newcomer is not nil. A
// value of another kind counts, too: it is an error to a new client.
func (w *waiters) foundLocked(k waitKey, kind engine.Kind, there bool, newcomer *waiter) {
	switch {
	case newcomer == nil || newcomer.over || !newcomer.comes || !there:
	case newcomer.shared:
		w.turnLocked(newcomer, ErrAtOnce)
	case kind != k.kind && newcomer.flying == 0:
		w.flyLocked(newcomer, fsm.ServeComes)
	}
}

// find reads a key: whether it exists, its kind, and how many waiters it may serve.
func (w *waiters) find(k waitKey) (kind engine.Kind, there bool, offers int) {
	s := w.shard
	ks, locks := s.machine.Keyspace(), s.machine.Sched()
	slot := ks.LockSlot([]byte(k.key))
	var ticket sched.Ticket
	access := sched.Access{Slots: []sched.SlotMode{{Slot: slot, Mode: sched.Shared}}}
	if locks.Lock(s.ctx, &ticket, &access) != nil {
		return 0, false, 0
	}
	defer locks.Unlock(&ticket)
	e := ks.Find(slot, k.db, []byte(k.key))
	if e != nil && e.ExpiredAt(ticket.Moment) {
		e = nil
	}
	if e != nil {
		kind = e.Kind()
	}
	return kind, e != nil, commands.Offers(e, k.kind, []byte(k.group))
}

// swapped starts a check of all awaited keys of a database whose content was replaced.
func (w *waiters) swapped(db int) {
	if w.number.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fills++
	s := &w.swaps[db]
	s.filledAt = w.fills
	if !s.looking {
		s.looking = true
		w.shard.work(func() { w.lookSwapped(db) })
	}
}

// lookSwapped checks all keys of a database, and again if its content was replaced
// meanwhile. A transaction may swap databases thousands of times, which must not cause as
// many checks of a million keys.
func (w *waiters) lookSwapped(db int) {
	// restTimes is how long it leaves the lock alone, as a multiple of the time it held
	// it.
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
		w.fills++
		var keys []waitKey
		for k, q := range w.keys { // the order does not matter: all are checked
			if k.db == db {
				q.filledAt = w.fills
				keys = append(keys, k)
			}
		}
		w.mu.Unlock()
		held := time.Since(begun)
		w.look(keys, nil)
		pause(w.shard.ctx, restTimes*held)
	}
}
