package hashcmd

import (
	"math"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/hash"
)

func hashLimits(c *command.Ctx) hash.Limits {
	return hash.Limits{EntriesMax: c.Settings.HashPackEntriesMax, ValueBytesMax: c.Settings.HashPackValueBytesMax}
}

// readHash returns the hash under key, or nil if there is none. If the key holds another kind of
// value it answers WRONGTYPE and returns false.
//
// Expired fields are still in the hash: use LiveField, Live and LenAt.
func readHash(c *command.Ctx, key []byte) (h *hash.Hash, ok bool) {
	h, ok = command.ReadAs[*hash.Hash](c, key, engine.KindHash)
	if h != nil && h.Timed() && c.LeaderMs > c.NowMs && h.LenAt(c.LeaderMs) < h.LenAt(c.NowMs) {
		c.Due = true
	}
	return h, ok
}

// writeHash is readHash for a command that may change the hash. The command passes the entry, nil
// if there is none, on to editHash. writeHash itself changes nothing, not even a key that has
// expired.
func writeHash(c *command.Ctx, key []byte) (h *hash.Hash, e *engine.Entry, ok bool) {
	e = c.Peek(key)
	if e == nil {
		return nil, nil, true
	}
	if e.Kind() != engine.KindHash {
		c.Out.Error(command.ErrWrongType)
		return nil, nil, false
	}
	c.Touch(e)
	return e.Object().(*hash.Hash), e, true
}

// LiveField returns a field of a hash, which may be nil.
func LiveField(c *command.Ctx, h *hash.Hash, name []byte) (hash.Field, bool) {
	if h == nil {
		return hash.Field{}, false
	}
	c.Member()
	f, ok := h.Get(name)
	if !ok || f.GoneAt(c.NowMs) {
		return hash.Field{}, false
	}
	return f, true
}

// editHash changes the hash under key, whose entry is e or nil, as Edit does. Before change runs,
// expired fields, or a key that has expired, are removed.
func editHash(c *command.Ctx, key []byte, e *engine.Entry, change func(h *hash.Hash)) {
	if e == nil {
		c.Write(key)
	}
	command.Edit(c, key, engine.KindHash, e, hash.New, func(h *hash.Hash) {
		if h.Purge(c.NowMs, math.MaxInt) > 0 {
			c.Notify(command.EventHash, "hexpired", key)
		}
		change(h)
	})
}
