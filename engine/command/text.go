package command

import "lockstep/engine"

// ReadString is Read for a string. If the key holds another kind of value it answers WRONGTYPE and
// returns false. The entry is nil if there is none.
func (c *Ctx) ReadString(key []byte) (*engine.Entry, bool) {
	return c.stringOnly(c.Read(key))
}

// WriteString is Write for a string, like ReadString.
func (c *Ctx) WriteString(key []byte) (*engine.Entry, bool) {
	return c.stringOnly(c.Write(key))
}

func (c *Ctx) stringOnly(e *engine.Entry) (*engine.Entry, bool) {
	if e != nil && e.Kind() != engine.KindString {
		c.Out.Error(ErrWrongType)
		return nil, false
	}
	return e, true
}

// SetString stores a string under key, in place of whatever is there, with an expiry (0 for none).
func (c *Ctx) SetString(key, value []byte, expireAtMs int64) {
	isNew := c.IsNew(c.DB, key)
	c.touchStored(c.KS.SetString(c.Slot(key), c.DB, key, value, expireAtMs, c.TxnNo))
	c.ChangedKey(key)
	c.notifyNew(isNew, c.DB, key)
}

// Replace stores a string under key, whose entry is e or nil, and keeps the expiry.
func (c *Ctx) Replace(key []byte, e *engine.Entry, value []byte) {
	if e == nil {
		c.SetString(key, value, 0)
		return
	}
	c.touchStored(c.KS.SetText(c.Slot(key), c.DB, e, value, c.TxnNo))
	c.ChangedKey(key)
}

// ChangeText changes the text of the string under key, whose entry is e or nil. It first makes the
// text at least length bytes long with zero bytes. From then on the string grows in place.
func (c *Ctx) ChangeText(key []byte, e *engine.Entry, length int, change func(text []byte)) {
	if e != nil && e.Growable() {
		e = c.Mutate(key, e)
		change(e.GrowText(length))
		c.Changed(e)
		return
	}
	n := engine.NewRawString(key, TextOf(e), length)
	change(n.GrowText(0))
	if e != nil {
		n.ExpireAtMs = e.ExpireAtMs
	}
	c.Put(c.DB, n)
}

// TextOf is a string's text, or nil if there is no string.
func TextOf(e *engine.Entry) []byte {
	if e == nil {
		return nil
	}
	return e.Text()
}
