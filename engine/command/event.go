package command

import "lockstep/engine"

// EventClass is a class of keyspace events, which notify-keyspace-events
// chooses from (redis.io, "Redis keyspace notifications").
type EventClass uint16

// The classes, each with its letter in notify-keyspace-events.
const (
	EventGeneric   EventClass = 1 << iota // g
	EventString                           // $
	EventList                             // l
	EventSet                              // s
	EventHash                             // h
	EventSortedSet                        // z
	EventStream                           // t
	EventExpired                          // x
	EventEvicted                          // e
	EventMiss                             // m
	EventNew                              // n
)

// anyEvent is all classes.
const anyEvent EventClass = 1<<16 - 1

// Observer hears what commands do to keys, on every replica, while the txn
// holds the keys' slots. It must not block, keep key, or reach the keyspace.
type Observer interface {
	// Wants tells whether Event has use for an event of one of the classes now.
	// Nothing but the work of telling may depend on it.
	Wants(classes EventClass) bool
	// Event is a keyspace event.
	Event(class EventClass, event string, db int, key []byte)
	// Filled says that a key of a kind that commands wait for (a list, a sorted
	// set, a stream) was made or changed; with key nil, that the whole database
	// has another content (SWAPDB), or none.
	Filled(db int, key []byte, kind engine.Kind)
	// Gone says that a stream, or a group of it, is there no more: a client that
	// waits to read as one of a group is to be told so.
	Gone(db int, key []byte)
}

// Notify gives a keyspace event of a key in the selected database. Every
// handler that changes a key calls it, with Redis's class and name, after the
// change.
func (c *Ctx) Notify(class EventClass, event string, key []byte) {
	c.NotifyDB(class, event, c.DB, key)
}

// NotifyDB is Notify for a key in another database.
func (c *Ctx) NotifyDB(class EventClass, event string, db int, key []byte) {
	if c.Observer != nil {
		c.Observer.Event(class, event, db, key)
	}
}

// isNew tells, for the sake of the event alone, whether a key that is about to
// be stored does not exist. That it has expired is an event of its own.
func (c *Ctx) isNew(db int, key []byte) bool {
	if c.Observer == nil || !c.Observer.Wants(EventNew|EventExpired) {
		return false
	}
	e := c.KS.Find(c.slot(key), db, key)
	if e != nil && e.ExpiredAt(c.NowMs) {
		c.NotifyDB(EventExpired, "expired", db, key)
		return true
	}
	return e == nil
}

func (c *Ctx) notifyNew(isNew bool, db int, key []byte) {
	if isNew {
		c.NotifyDB(EventNew, "new", db, key)
	}
}

// heldEvents keeps events back until it is known whether, and behind what, they
// are to be given.
type heldEvents struct{ list []heldEvent }

type heldEvent struct {
	class EventClass
	event string
	db    int
	key   []byte
}

// Wants implements Observer.
func (h *heldEvents) Wants(EventClass) bool { return true }

// Event implements Observer. The key stays valid: it is an argument, or lies in
// the keyspace, and events are not held beyond the change.
func (h *heldEvents) Event(class EventClass, event string, db int, key []byte) {
	h.list = append(h.list, heldEvent{class, event, db, key})
}

// Filled implements Observer.
func (h *heldEvents) Filled(int, []byte, engine.Kind) {}

// Gone implements Observer.
func (h *heldEvents) Gone(int, []byte) {}

// holdEvents runs change and returns the events it gave, if somebody wants any.
func (c *Ctx) holdEvents(change func()) []heldEvent {
	if c.Observer == nil || !c.Observer.Wants(anyEvent) {
		change()
		return nil
	}
	var held heldEvents
	observer := c.Observer
	c.Observer = &held
	change()
	c.Observer = observer
	return held.list
}

// release gives events that were held.
func (c *Ctx) release(events []heldEvent) {
	for _, e := range events {
		c.NotifyDB(e.class, e.event, e.db, e.key)
	}
}

// filled tells the observer of a change of a value that commands may wait for.
func (c *Ctx) filled(db int, e *engine.Entry) {
	if c.Observer != nil && e.Fillable() {
		c.Observer.Filled(db, e.KeyBytes(), e.Kind())
	}
}

// databaseFilled tells the observer that a database has another content.
func (c *Ctx) databaseFilled(db int) {
	if c.Observer != nil {
		c.Observer.Filled(db, nil, engine.KindString)
	}
}
