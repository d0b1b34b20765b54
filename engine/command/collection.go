package command

import "lockstep/engine"

// collection is a value of several elements. A key never holds an empty one.
type collection interface {
	engine.Object
	Len() int
}

// ReadAs returns the value of a key for a command that reads it, or the zero T if there is no such
// key. If the key holds another kind of value it answers WRONGTYPE and returns false.
func ReadAs[T engine.Object](c *Ctx, key []byte, kind engine.Kind) (value T, ok bool) {
	e := c.Read(key)
	if e == nil {
		return value, true
	}
	if e.Kind() != kind {
		c.Out.Error(ErrWrongType)
		return value, false
	}
	return e.Object().(T), true
}

// WriteAs is ReadAs for a command that will change or replace the value. The caller may only read
// the value; a change goes through Edit.
func WriteAs[T engine.Object](c *Ctx, key []byte, kind engine.Kind) (value T, e *engine.Entry, ok bool) {
	e = c.Write(key)
	if e == nil {
		return value, nil, true
	}
	if e.Kind() != kind {
		c.Out.Error(ErrWrongType)
		return value, nil, false
	}
	return e.Object().(T), e, true
}

// Edit changes the collection under key in place. Its entry e is the result of WriteAs; if that is
// nil, fresh makes the collection. If change leaves the collection empty the key is deleted. Edit
// reports whether the key still exists. The event of the command comes before that of the deletion,
// so change calls Notify.
func Edit[T collection](c *Ctx, key []byte, kind engine.Kind, e *engine.Entry, fresh func() T, change func(T)) bool {
	if e == nil {
		value := fresh()
		// The event for the new key comes before the events of the change.
		events := c.HoldEvents(func() { change(value) })
		if value.Len() == 0 {
			return false
		}
		c.Put(c.DB, engine.NewObject(key, kind, value))
		c.Release(events)
		return true
	}
	e = c.Mutate(key, e)
	value := e.Object().(T)
	change(value)
	c.Changed(e)
	if value.Len() > 0 {
		return true
	}
	c.Delete(key)
	c.Notify(EventGeneric, "del", key)
	return false
}

// Store puts a collection under key, without an expiry, in place of whatever is there, as the STORE
// forms of commands do. An empty collection deletes the key. If there is something to store it
// sends event, of class.
func (c *Ctx) Store(key []byte, kind engine.Kind, value collection, class EventClass, event string) {
	if value.Len() > 0 {
		c.Put(c.DB, engine.NewObject(key, kind, value))
		c.Notify(class, event, key)
		return
	}
	if c.Write(key) != nil && c.Delete(key) {
		c.Notify(EventGeneric, "del", key)
	}
}
