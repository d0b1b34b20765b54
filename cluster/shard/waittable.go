package shard

import (
	"slices"
	"sync"
	"sync/atomic"

	"lockstep/engine"
	"lockstep/fsm"
)

// placesMax bounds the keys that clients wait for, and placesAtOnce how many of these are
// handled under one hold of the lock.
const (
	placesMax    = 1 << 20
	placesAtOnce = 1024
)

// waitTable holds the waiters of a shard, by their identity and in the queues of their
// keys.
type waitTable struct {
	// number is len(byID), to be read without the lock. takers is how many of these do
	// more than read.
	number, takers atomic.Int64

	// mu guards what follows, each waiter and waitQueue, and what waiters and looker say
	// it guards.
	mu   sync.Mutex
	byID map[fsm.TxnID]*waiter
	keys map[waitKey]*waitQueue
	// groups are, for each stream by its key without a group, the groups that have a
	// queue of their own.
	groups map[waitKey]map[string]struct{}
	// places is the number of waiters in all queues together: a waiter that waits for
	// several keys counts once for each. bytes are those of their commands.
	places, bytes int
	// arrivals numbers the waiters.
	arrivals uint64
	// placesMax is the constant, except in tests, which have less room.
	placesMax int
}

// waitKey names a queue: a key that may be filled with a kind of value. Each group of a
// stream has a queue of its own, because entries that one group has read are new to
// another.
type waitKey struct {
	db    int
	key   string
	kind  engine.Kind
	group string
}

// alone is the key without its group.
func (k waitKey) alone() waitKey { return k.of("") }

// of is the key with a group.
func (k waitKey) of(group string) waitKey {
	k.group = group
	return k
}

// waitQueue is the waiters of one waitKey, oldest first. shared are those that only read.
type waitQueue struct {
	list, shared []*waiter
	// filledAt is the number of the key's last fill. looking is true if the key is about
	// to be checked.
	filledAt uint64
	looking  bool
}

func (q *waitQueue) places() int { return len(q.list) + len(q.shared) }

func (t *waitTable) init() {
	t.placesMax = placesMax
	t.byID, t.keys, t.groups = map[fsm.TxnID]*waiter{}, map[waitKey]*waitQueue{}, map[waitKey]map[string]struct{}{}
}

// addLocked puts a waiter behind the others of its keys. It handles some keys at a time,
// and lets txns run in between. It returns false if the waiter was removed meanwhile, or
// if there is no room for all its keys. In that case the caller removes the waiter.
func (t *waitTable) addLocked(x *waiter) bool {
	t.arrivals++
	x.no = t.arrivals
	t.rememberLocked(x)
	keys := x.keys
	x.keys = nil
	for part := range slices.Chunk(keys, placesAtOnce) {
		if len(x.keys) > 0 {
			t.mu.Unlock()
			t.mu.Lock()
		}
		if x.over || t.places+len(part) > t.placesMax {
			return false
		}
		for _, k := range part {
			q := t.keys[k]
			if q == nil {
				q = t.openLocked(k)
			}
			if x.shared {
				q.shared = append(q.shared, x)
			} else {
				q.list = append(q.list, x)
			}
		}
		t.places += len(part)
		x.keys = append(x.keys, part...)
	}
	return true
}

// removeLocked removes a waiter from its queues, and forgets it. It releases the lock in
// between, as addLocked does.
func (t *waitTable) removeLocked(x *waiter) {
	if x.over {
		return
	}
	x.over = true
	t.forgetLocked(x)
	is := func(other *waiter) bool { return other == x }
	for part := range slices.Chunk(x.keys, placesAtOnce) {
		for _, k := range part {
			q := t.keys[k]
			if q == nil {
				continue // another goroutine dismissed it meanwhile
			}
			before := q.places()
			if x.shared {
				q.shared = slices.DeleteFunc(q.shared, is)
			} else {
				q.list = slices.DeleteFunc(q.list, is)
			}
			t.places -= before - q.places()
			if q.places() == 0 {
				t.closeLocked(k)
			}
		}
		if len(x.keys) > placesAtOnce {
			t.mu.Unlock()
			t.mu.Lock()
		}
	}
}

// rememberLocked records a waiter, and forgetLocked forgets it.
func (t *waitTable) rememberLocked(x *waiter) {
	t.byID[x.id] = x
	t.bytes += x.bytes
	t.countLocked(x, 1)
}

func (t *waitTable) forgetLocked(x *waiter) {
	if t.byID[x.id] == x {
		delete(t.byID, x.id)
		t.bytes -= x.bytes
		t.countLocked(x, -1)
	}
}

func (t *waitTable) countLocked(x *waiter, n int64) {
	t.number.Add(n)
	if !x.shared {
		t.takers.Add(n)
	}
}

// openLocked makes a queue.
func (t *waitTable) openLocked(k waitKey) *waitQueue {
	q := &waitQueue{}
	t.keys[k] = q
	if k.group != "" {
		if t.groups[k.alone()] == nil {
			t.groups[k.alone()] = map[string]struct{}{}
		}
		t.groups[k.alone()][k.group] = struct{}{}
	}
	return q
}

// closeLocked removes a queue that is empty.
func (t *waitTable) closeLocked(k waitKey) {
	delete(t.keys, k)
	if k.group == "" {
		return
	}
	delete(t.groups[k.alone()], k.group)
	if len(t.groups[k.alone()]) == 0 {
		delete(t.groups, k.alone())
	}
}

// eachQueueLocked calls f with the queues of a key, of one kind of value or, if any is
// true, of all kinds.
func (t *waitTable) eachQueueLocked(alone waitKey, any bool, f func(k waitKey, q *waitQueue)) {
	if any {
		for _, alone.kind = range []engine.Kind{engine.KindList, engine.KindSortedSet, engine.KindStream} {
			t.eachQueueLocked(alone, false, f)
		}
		return
	}
	if q := t.keys[alone]; q != nil {
		f(alone, q)
	}
	for group := range t.groups[alone] { // the order does not matter: each is served independently
		f(alone.of(group), t.keys[alone.of(group)])
	}
}

// clearLocked empties the table.
func (t *waitTable) clearLocked() {
	clear(t.byID)
	clear(t.keys)
	clear(t.groups)
	t.places, t.bytes = 0, 0
	t.number.Store(0)
	t.takers.Store(0)
}
