package sortcmd

import (
	"bytes"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands/hashcmd"
	"lockstep/engine/hash"
	"lockstep/engine/hashslot"
)

// sortPattern leads from an element to a value. The element replaces the star in a key, and the
// field of a hash may follow. The pattern # is the element itself.
type sortPattern struct {
	element bool
	// star is set if there is a star; before and behind surround it.
	star           bool
	before, behind []byte
	field          []byte // empty if the key holds a string
}

func newSortPattern(text []byte) (p sortPattern) {
	p.element = string(text) == "#"
	if p.before, p.behind, p.star = bytes.Cut(text, []byte("*")); !p.star {
		return p
	}
	if behind, field, ok := bytes.Cut(p.behind, []byte("->")); ok && len(field) > 0 {
		p.behind, p.field = behind, field
	}
	return p
}

// constant reports whether the pattern leads to the same place from any element. A BY of this kind
// means not to sort.
func (p *sortPattern) constant() bool { return !p.star }

// stays reports whether all keys that the pattern leads to are in the hash slot of key: the pattern
// has the key's hash tag before the star, or leads to no other key at all.
func (p *sortPattern) stays(key []byte) bool {
	if !p.star {
		return true
	}
	tag := hashslot.Tag(p.before)
	return len(tag) < len(p.before) && hashslot.Of(p.before) == hashslot.Of(key)
}

// value returns the value that the pattern leads to from an element. look finds the value's entry.
// It returns false if there is none. The value is valid as long as nothing changes.
func (p *sortPattern) value(c *command.Ctx, look func(key []byte) *engine.Entry, element []byte) ([]byte, bool) {
	if p.element {
		return element, true
	}
	if !p.star {
		return nil, false
	}
	key := make([]byte, 0, len(p.before)+len(element)+len(p.behind))
	key = append(append(append(key, p.before...), element...), p.behind...)
	e := look(key)
	switch {
	case e == nil:
	case len(p.field) == 0 && e.Kind() == engine.KindString:
		return e.Text(), true
	case len(p.field) > 0 && e.Kind() == engine.KindHash:
		if field, ok := hashcmd.LiveField(c, e.Object().(*hash.Hash), p.field); ok {
			c.Due = c.Due || c.LeaderMs != 0 && field.GoneAt(c.LeaderMs)
			return field.Value, true
		}
	}
	return nil, false
}

// readsAll reports whether the user may read any key that SORT's patterns may lead to.
func readsAll(c *command.Ctx, args [][]byte) bool {
	if c.User == nil {
		return true
	}
	spec, _ := c.Commands.Lookup(args)
	return c.User.MayReadAll(spec, args)
}
