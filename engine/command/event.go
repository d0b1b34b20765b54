package command

import "lockstep/engine"

// EventClass is a class of keyspace events. notify-keyspace-events chooses among the classes
// (redis.io, "Redis keyspace notifications").
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

// AnyEvent is all classes.
const AnyEvent EventClass = 1<<16 - 1

// Observer is notified of changes to keys, on every replica, while the txn holds the keys' slots.
// It must not block, keep key, or use the keyspace.
type Observer interface {
	// Wants reports whether Event has a use for an event of one of the classes now. Only the work
	// of reporting may depend on the result.
	Wants(classes EventClass) bool
	// Event is a keyspace event.
	Event(class EventClass, event string, db int, key []byte)
	// Filled reports that a key of a kind that commands wait for (a list, a sorted set, a stream)
	// was made or changed. If key is nil, the whole database has new content (SWAPDB) or none.
	Filled(db int, key []byte, kind engine.Kind)
	// Gone reports that a stream, or one of its groups, no longer exists. Clients that wait to read
	// as a member of a group must be notified.
	Gone(db int, key []byte)
}

// Listeners are notified of the effects of commands.
type Listeners struct {
	// Observer gets the keyspace events. It may be nil.
	Observer Observer
	// Witness gets the effects of scripts, and Caller is the client that runs the script. It may be
	// nil.
	Witness Witness
	Caller  Caller
	// Changes collects the names of the keys that the txn changes. It may be nil.
	Changes *Changes
}

// Notify sends a keyspace event of a key in the selected database. Every handler that changes a key
// calls it after the change, with Redis's class and name.
func (c *Ctx) Notify(class EventClass, event string, key []byte) {
	c.NotifyDB(class, event, c.DB, key)
}

// NotifyDB is Notify for a key in another database.
func (l *Listeners) NotifyDB(class EventClass, event string, db int, key []byte) {
	if l.Observer != nil {
		l.Observer.Event(class, event, db, key)
	}
}

// IsNew reports whether a key that is about to be stored does not exist. The result is only for the
// event. If the key has expired, that is an event of its own.
func (c *Ctx) IsNew(db int, key []byte) bool {
	if c.Observer == nil || !c.Observer.Wants(EventNew|EventExpired) {
		return false
	}
	e := c.KS.Find(c.Slot(key), db, key)
	if e != nil && e.ExpiredAt(c.NowMs) {
		c.NotifyDB(EventExpired, "expired", db, key)
		return true
	}
	return e == nil
}

func (l *Listeners) notifyNew(isNew bool, db int, key []byte) {
	if isNew {
		l.NotifyDB(EventNew, "new", db, key)
	}
}

// heldEvents holds events back until it is clear whether to send them, and behind which other
// event.
type heldEvents struct{ list []heldEvent }

type heldEvent struct {
	class EventClass
	event string
	db    int
	key   []byte
}

// Wants implements Observer.
func (h *heldEvents) Wants(EventClass) bool { return true }

// Event implements Observer. The key stays valid: it is an argument or part of the keyspace, and
// events are held no longer than the change lasts.
func (h *heldEvents) Event(class EventClass, event string, db int, key []byte) {
	h.list = append(h.list, heldEvent{class, event, db, key})
}

// Filled implements Observer.
func (h *heldEvents) Filled(int, []byte, engine.Kind) {}

// Gone implements Observer.
func (h *heldEvents) Gone(int, []byte) {}

// HoldEvents runs change and returns the events that it sent, if the observer wants any.
func (l *Listeners) HoldEvents(change func()) []heldEvent {
	if l.Observer == nil || !l.Observer.Wants(AnyEvent) {
		change()
		return nil
	}
	var held heldEvents
	observer := l.Observer
	l.Observer = &held
	change()
	l.Observer = observer
	return held.list
}

// Release sends events that were held.
func (l *Listeners) Release(events []heldEvent) {
	for _, e := range events {
		l.NotifyDB(e.class, e.event, e.db, e.key)
	}
}

// filled notifies the observer of a changed value that commands may wait for.
func (l *Listeners) filled(db int, e *engine.Entry) {
	if l.Observer != nil && e.Fillable() {
		l.Observer.Filled(db, e.KeyBytes(), e.Kind())
	}
}

// DatabaseFilled notifies the observer that a database has new content.
func (l *Listeners) DatabaseFilled(db int) {
	if l.Observer != nil {
		l.Observer.Filled(db, nil, engine.KindString)
	}
}
