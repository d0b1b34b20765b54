package shard

import (
	"time"

	"lockstep/engine"
	"lockstep/engine/commands"
	"lockstep/engine/sched"
	"lockstep/fsm"
)

// Looking at the keys that clients wait for: when a client comes, when one was served,
// and when a database has another content.

// lookLaterLocked has keys looked at without the lock, for a newcomer or for the clients that
// wait for them.
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

// look finds out what is under keys, and serves the clients that wait for it.
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

// foundLocked tells a newcomer, if there is one, what is under one of its keys: also a
// value of another kind, which is an error to a newcomer.
func (w *waiters) foundLocked(k waitKey, kind engine.Kind, there bool, newcomer *waiter) {
	switch {
	case newcomer == nil || newcomer.over || !newcomer.comes || !there:
	case newcomer.shared:
		w.turnLocked(newcomer, ErrAtOnce)
	case kind != k.kind && newcomer.flying == 0:
		w.flyLocked(newcomer, fsm.ServeComes)
	}
}

// find tells what is under a key: whether anything, of which kind, and how many waiters
// it may serve.
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

// swapped has all keys looked at that are waited for in a database which has another
// content now.
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
		w.fills++
		var keys []waitKey
		for k, q := range w.keys { // order does not matter: all are looked at
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
