package command

import "lockstep/engine"

// ReadString is Read for a string. It answers WRONGTYPE itself and returns
// false when the key holds something else. The entry is nil if there is none.
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

// SetString stores a string under key, in place of whatever was there, with an
// expiry (0: none).
func (c *Ctx) SetString(key, value []byte, expireAtMs int64) {
	isNew := c.isNew(c.DB, key)
	c.touchStored(c.KS.SetString(c.slot(key), c.DB, key, value, expireAtMs, c.TxnNo))
	c.changed(key)
	c.notifyNew(isNew, c.DB, key)
}

// Replace stores a string under key, whose entry is e or nil, and keeps the
// expiry.
func (c *Ctx) Replace(key []byte, e *engine.Entry, value []byte) {
	if e == nil {
		c.SetString(key, value, 0)
		return
	}
	c.touchStored(c.KS.SetText(c.slot(key), c.DB, e, value, c.TxnNo))
	c.changed(key)
}

// changeText changes the text of the string under key, whose entry is e or nil,
// after it was made at least length bytes long with zero bytes. The string
// grows in place from then on.
func (c *Ctx) changeText(key []byte, e *engine.Entry, length int, change func(text []byte)) {
	if e != nil && e.Growable() {
		e = c.Mutate(key, e)
		change(e.GrowText(length))
		c.Changed(e)
		return
	}
	n := engine.NewRawString(key, textOf(e), length)
	change(n.GrowText(0))
	if e != nil {
		n.ExpireAtMs = e.ExpireAtMs
	}
	c.Put(c.DB, n)
}

// textOf is a string's text, nil where there is none.
func textOf(e *engine.Entry) []byte {
	if e == nil {
		return nil
	}
	return e.Text()
}
