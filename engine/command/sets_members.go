package command

import (
	"lockstep/engine"
	"lockstep/engine/set"
)

// readSet is Read for a set: nil if there is none, false if the key holds
// something else, which it answers itself.
func (c *Ctx) readSet(key []byte) (*set.Set, bool) { return ReadAs[*set.Set](c, key, engine.KindSet) }

// writeSet is Write for a set, like readSet.
func (c *Ctx) writeSet(key []byte) (*set.Set, *engine.Entry, bool) {
	return WriteAs[*set.Set](c, key, engine.KindSet)
}

// editSet changes the set that writeSet returned, or a new one for count
// members, the first of them given.
func (c *Ctx) editSet(key []byte, e *engine.Entry, first []byte, count int, change func(*set.Set)) {
	fresh := func() *set.Set { return set.New(first, count, c.Settings.set()) }
	Edit(c, key, engine.KindSet, e, fresh, change)
}

func runSAdd(c *Ctx, args [][]byte) {
	key, members := args[1], args[2:]
	s, e, ok := c.writeSet(key)
	if !ok {
		return
	}
	l, given := c.Settings.set(), len(members)
	if e != nil {
		for len(members) > 0 && s.Has(members[0]) {
			c.Member()
			members = members[1:]
		}
		if len(members) == 0 {
			c.expectMembers(key, e, given)
			c.Out.Int(0)
			return
		}
	}
	added := 0
	c.editSet(key, e, members[0], given, func(s *set.Set) {
		s.Expect(given, l)
		for _, member := range members {
			c.Member()
			if s.Add(member, l) {
				added++
			}
		}
		c.Notify(EventSet, "sadd", key)
	})
	c.Out.Int(int64(added))
}

// expectMembers gives a set the form it needs for so many members although
// none of them was new, as Redis does. Watching clients see no change.
func (c *Ctx) expectMembers(key []byte, e *engine.Entry, given int) {
	if l := c.Settings.set(); setOf(e).Outgrown(given, l) {
		e = c.Mutate(key, e)
		setOf(e).Expect(given, l)
		c.KS.Changed(c.DB, e, e.Version)
	}
}

func runSRem(c *Ctx, args [][]byte) {
	key, members := args[1], args[2:]
	s, e, ok := c.writeSet(key)
	if !ok {
		return
	}
	for e != nil && len(members) > 0 && !s.Has(members[0]) {
		c.Member()
		members = members[1:]
	}
	removed := 0
	if e != nil && len(members) > 0 {
		c.editSet(key, e, nil, 0, func(s *set.Set) {
			for _, member := range members {
				c.Member()
				if s.Remove(member) {
					removed++
				}
			}
			c.Notify(EventSet, "srem", key)
		})
	}
	c.Out.Int(int64(removed))
}

func runSMove(c *Ctx, args [][]byte) {
	source, destination, member := args[1], args[2], args[3]
	from, e, ok := c.writeSet(source)
	if !ok {
		return
	}
	if e == nil {
		c.Out.Int(0)
		return
	}
	to, toEntry, ok := c.writeSet(destination)
	if !ok {
		return
	}
	if !from.Has(member) {
		c.Out.Int(0)
		return
	}
	c.Out.Int(1)
	if e == toEntry {
		return
	}
	c.Worked(2 * WorkMember)
	isNew := to == nil || !to.Has(member)
	c.editSet(source, e, nil, 0, func(s *set.Set) {
		s.Remove(member)
		c.Notify(EventSet, "srem", source)
	})
	if isNew {
		c.editSet(destination, toEntry, member, 1, func(s *set.Set) {
			s.Add(member, c.Settings.set())
			c.Notify(EventSet, "sadd", destination)
		})
	}
}

func runSCard(c *Ctx, args [][]byte) {
	s, ok := c.readSet(args[1])
	if !ok {
		return
	}
	if s == nil {
		c.Out.Int(0)
		return
	}
	c.Out.Int(int64(s.Len()))
}

func runSIsMember(c *Ctx, args [][]byte) {
	if s, ok := c.readSet(args[1]); ok {
		c.hasMember(s, args[2])
	}
}

func runSMIsMember(c *Ctx, args [][]byte) {
	s, ok := c.readSet(args[1])
	if !ok {
		return
	}
	c.Out.Array(len(args) - 2)
	for _, member := range args[2:] {
		c.Member()
		c.hasMember(s, member)
	}
}

func (c *Ctx) hasMember(s *set.Set, member []byte) {
	if s != nil && s.Has(member) {
		c.Out.Int(1)
	} else {
		c.Out.Int(0)
	}
}

func runSMembers(c *Ctx, args [][]byte) {
	if s, ok := c.readSet(args[1]); ok {
		c.writeMembers(s)
	}
}

// writeMembers answers all members of a set; nil is an empty one.
func (c *Ctx) writeMembers(s *set.Set) {
	if s == nil {
		c.Out.Set(0)
		return
	}
	c.Out.Set(s.Len())
	for member := range s.All() {
		c.Item()
		c.Out.Bulk(member)
	}
}
