package shard

import (
	"lockstep/engine"
	"lockstep/engine/command"
)

// observer reports filled keys to the waiters, and passes everything on.
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
		o.waiters.looker.swapped(db)
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
