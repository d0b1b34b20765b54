package shard

import (
	"time"

	"lockstep/engine"
	"lockstep/engine/commands"
	"lockstep/engine/sched"
	"lockstep/fsm"
)

// looker checks the keys that clients wait for: when a client comes, when one was served,
// and when the content of a database was replaced.
type looker struct {
	waiters *waiters
	// swaps are the databases whose content was replaced, by their number. The lock of the
	// table guards them.
	swaps [engine.Databases]swap
}

// swap records the last time the content of a database was replaced. It counts as the
// fill number filledAt of all its keys. looking is true while these are being checked.
type swap struct {
	filledAt uint64
	looking  bool
}

// laterLocked starts a check of keys without the lock, for a new client or for the
// clients that wait for them.
func (l *looker) laterLocked(keys []waitKey, newcomer *waiter) {
	if newcomer == nil {
		var due []waitKey
		for _, k := range keys {
			if q := l.waiters.table.keys[k]; q != nil && !q.looking {
				q.looking = true
				due = append(due, k)
			}
		}
		if keys = due; len(keys) == 0 {
			return
		}
	}
	l.waiters.shard.work(func() { l.look(keys, newcomer) })
}

// look reads the keys, and serves the clients that wait for them.
func (l *looker) look(keys []waitKey, newcomer *waiter) {
	w := l.waiters
	for _, k := range keys {
		w.table.mu.Lock()
		q := w.table.keys[k]
		if q == nil {
			w.table.mu.Unlock()
			continue
		}
		q.looking = false
		w.table.mu.Unlock()
		kind, there, offers := l.find(k)
		w.table.mu.Lock()
		if q := w.table.keys[k]; q != nil {
			w.tellReadersLocked(q)
			w.offerLocked(q, offers)
			l.foundLocked(k, kind, there, newcomer)
		}
		w.table.mu.Unlock()
	}
	if newcomer != nil {
		w.table.mu.Lock()
		defer w.table.mu.Unlock()
		newcomer.looked = true
		w.restLocked(newcomer)
	}
}

// foundLocked handles the value of one of a new client's keys, if newcomer is not nil. A
// value of another kind counts, too: it is an error to a new client.
func (l *looker) foundLocked(k waitKey, kind engine.Kind, there bool, newcomer *waiter) {
	switch {
	case newcomer == nil || newcomer.over || !newcomer.comes || !there:
	case newcomer.shared:
		l.waiters.turnLocked(newcomer, ErrAtOnce)
	case kind != k.kind && newcomer.flying == 0:
		l.waiters.flyLocked(newcomer, fsm.ServeComes)
	}
}

// find reads a key: whether it exists, its kind, and how many waiters it may serve.
func (l *looker) find(k waitKey) (kind engine.Kind, there bool, offers int) {
	s := l.waiters.shard
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
func (l *looker) swapped(db int) {
	w := l.waiters
	if w.table.number.Load() == 0 {
		return
	}
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	w.fills++
	s := &l.swaps[db]
	s.filledAt = w.fills
	if !s.looking {
		s.looking = true
		w.shard.work(func() { l.lookSwapped(db) })
	}
}

// lookSwapped checks all keys of a database, and again if its content was replaced
// meanwhile. A transaction may swap databases thousands of times, which must not cause as
// many checks of a million keys.
func (l *looker) lookSwapped(db int) {
	w := l.waiters
	// restTimes is how long it leaves the lock alone, as a multiple of the time it held
	// it.
	const restTimes = 10
	for looked := uint64(0); ; {
		begun := time.Now()
		w.table.mu.Lock()
		s := &l.swaps[db]
		if s.filledAt == looked {
			s.looking = false
			w.table.mu.Unlock()
			return
		}
		looked = s.filledAt
		w.fills++
		var keys []waitKey
		for k, q := range w.table.keys { // the order does not matter: all are checked
			if k.db == db {
				q.filledAt = w.fills
				keys = append(keys, k)
			}
		}
		w.table.mu.Unlock()
		held := time.Since(begun)
		l.look(keys, nil)
		pause(w.shard.ctx, restTimes*held)
	}
}
