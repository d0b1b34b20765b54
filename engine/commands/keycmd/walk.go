package keycmd

import (
	"math"

	"lockstep/engine"
	"lockstep/engine/command"
)

// walkChunk is the number of keys after which a walk releases the lock slot for a moment, so that
// writers get their turn.
const walkChunk = 512

// walk calls visit for the keys of a database from a place on, lock slot by lock slot and in hash
// order. It visits expired keys, too. It stops when at least limit keys were visited, or when visit
// returns false, but never between two keys of the same hash. next is the place to continue at;
// more is false if nothing is left. walk fails if it cannot lock a slot. walked is how many keys
// and lock slots the walk has visited.
func walk(c *command.Ctx, db int, from command.Place, limit int, visit func(e *engine.Entry) bool) (next command.Place, more bool, walked int, err error) {
	for at := from; int(at.Slot) < c.KS.LockSlots(); {
		s, err := walkStretch(c, db, at, min(limit, walkChunk), visit)
		if err != nil {
			return at, true, walked, err
		}
		walked += 1 + s.visited
		limit -= s.visited
		at = s.next(at)
		if limit <= 0 || s.stopped {
			return at, int(at.Slot) < c.KS.LockSlots(), walked, nil
		}
	}
	return command.Place{}, false, walked, nil
}

// walkStretch walks on in one lock slot.
func walkStretch(c *command.Ctx, db int, at command.Place, limit int, visit func(e *engine.Entry) bool) (stretch, error) {
	s := stretch{limit: limit, visit: visit}
	if err := c.Walk.Enter(at.Slot); err != nil {
		return s, err
	}
	c.KS.Slot(at.Slot).Walk(db, at.Hash, s.step)
	c.Walk.Leave(at.Slot)
	c.Worked(command.WorkItem * (1 + s.visited))
	return s, nil
}

func (s *stretch) step(hash uint32, e *engine.Entry) bool {
	if (s.visited >= s.limit || s.stopped) && hash != s.last {
		s.cut = true
		return false
	}
	s.visited++
	s.last = hash
	if !s.visit(e) {
		s.stopped = true
	}
	return true
}

// next is the place behind the stretch.
func (s *stretch) next(at command.Place) command.Place {
	if s.cut && s.last < math.MaxUint32 {
		return command.Place{Slot: at.Slot, Hash: s.last + 1}
	}
	return command.Place{Slot: at.Slot + 1}
}

// walkAll is walk over a whole database.
func walkAll(c *command.Ctx, db int, visit func(e *engine.Entry) bool) error {
	_, _, _, err := walk(c, db, command.Place{}, math.MaxInt, visit)
	return err
}

// failWalk answers for a walk that could not continue. Nothing was changed.
func failWalk(c *command.Ctx, err error) {
	c.Out.Error("TRYAGAIN the walk through the keys was cut short: " + err.Error())
}

// keyFilter selects the keys that KEYS and SCAN answer.
type keyFilter struct {
	// pattern is nil if every name matches.
	pattern []byte
	// typed is set if only keys of one type match. kind is the type's name.
	typed bool
	kind  []byte
}

func newKeyFilter(pattern []byte) keyFilter {
	if string(pattern) == "*" {
		pattern = nil
	}
	return keyFilter{pattern: pattern}
}

// admits reports whether the key exists and passes the filter.
func (f *keyFilter) admits(c *command.Ctx, e *engine.Entry) bool {
	if e.ExpiredAt(c.NowMs) {
		return false
	}
	if f.pattern != nil && !c.Matches(f.pattern, e.KeyBytes(), false) {
		return false
	}
	return !f.typed || command.EqualFold(f.kind, e.Kind().String())
}

// stretch is a part of a walk: the keys that are visited while a lock slot is held once.
type stretch struct {
	limit   int
	visit   func(e *engine.Entry) bool
	visited int
	last    uint32
	// stopped is set if visit returned false, cut if keys of the slot may be left.
	stopped, cut bool
}
