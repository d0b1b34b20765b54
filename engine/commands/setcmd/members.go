package setcmd

import (
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/set"
)

// readSet is Read for a set. It returns nil if there is none. If the key holds another kind of
// value it answers the error itself and returns false.
func readSet(c *command.Ctx, key []byte) (*set.Set, bool) {
	return command.ReadAs[*set.Set](c, key, engine.KindSet)
}

// writeSet is Write for a set, like readSet.
func writeSet(c *command.Ctx, key []byte) (*set.Set, *engine.Entry, bool) {
	return command.WriteAs[*set.Set](c, key, engine.KindSet)
}

// editSet changes the set that writeSet returned. If there is none it makes one for count members,
// of which first is one.
func editSet(c *command.Ctx, key []byte, e *engine.Entry, first []byte, count int, change func(*set.Set)) {
	fresh := func() *set.Set { return set.New(first, count, setLimits(c.Settings)) }
	command.Edit(c, key, engine.KindSet, e, fresh, change)
}

func runSAdd(c *command.Ctx, args [][]byte) {
	key, members := args[1], args[2:]
	s, e, ok := writeSet(c, key)
	if !ok {
		return
	}
	l, given := setLimits(c.Settings), len(members)
	if e != nil {
		for len(members) > 0 && s.Has(members[0]) {
			c.Member()
			members = members[1:]
		}
		if len(members) == 0 {
			expectMembers(c, key, e, given)
			c.Out.Int(0)
			return
		}
	}
	added := 0
	editSet(c, key, e, members[0], given, func(s *set.Set) {
		s.Expect(given, l)
		for _, member := range members {
			c.Member()
			if s.Add(member, l) {
				added++
			}
		}
		c.Notify(command.EventSet, "sadd", key)
	})
	c.Out.Int(int64(added))
}

// expectMembers gives a set the form that it needs for so many members although none of them was
// new, as Redis does. Clients that watch the key see no change.
func expectMembers(c *command.Ctx, key []byte, e *engine.Entry, given int) {
	if l := setLimits(c.Settings); setOf(e).Outgrown(given, l) {
		e = c.Mutate(key, e)
		setOf(e).Expect(given, l)
		c.KS.Changed(c.DB, e, e.Version)
	}
}

func runSRem(c *command.Ctx, args [][]byte) {
	key, members := args[1], args[2:]
	s, e, ok := writeSet(c, key)
	if !ok {
		return
	}
	for e != nil && len(members) > 0 && !s.Has(members[0]) {
		c.Member()
		members = members[1:]
	}
	removed := 0
	if e != nil && len(members) > 0 {
		editSet(c, key, e, nil, 0, func(s *set.Set) {
			for _, member := range members {
				c.Member()
				if s.Remove(member) {
					removed++
				}
			}
			c.Notify(command.EventSet, "srem", key)
		})
	}
	c.Out.Int(int64(removed))
}

func runSMove(c *command.Ctx, args [][]byte) {
	source, destination, member := args[1], args[2], args[3]
	from, e, ok := writeSet(c, source)
	if !ok {
		return
	}
	if e == nil {
		c.Out.Int(0)
		return
	}
	to, toEntry, ok := writeSet(c, destination)
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
	c.Worked(2 * command.WorkMember)
	isNew := to == nil || !to.Has(member)
	editSet(c, source, e, nil, 0, func(s *set.Set) {
		s.Remove(member)
		c.Notify(command.EventSet, "srem", source)
	})
	if isNew {
		editSet(c, destination, toEntry, member, 1, func(s *set.Set) {
			s.Add(member, setLimits(c.Settings))
			c.Notify(command.EventSet, "sadd", destination)
		})
	}
}

func runSCard(c *command.Ctx, args [][]byte) {
	s, ok := readSet(c, args[1])
	if !ok {
		return
	}
	if s == nil {
		c.Out.Int(0)
		return
	}
	c.Out.Int(int64(s.Len()))
}

func runSIsMember(c *command.Ctx, args [][]byte) {
	if s, ok := readSet(c, args[1]); ok {
		hasMember(c, s, args[2])
	}
}

func runSMIsMember(c *command.Ctx, args [][]byte) {
	s, ok := readSet(c, args[1])
	if !ok {
		return
	}
	c.Out.Array(len(args) - 2)
	for _, member := range args[2:] {
		c.Member()
		hasMember(c, s, member)
	}
}

func hasMember(c *command.Ctx, s *set.Set, member []byte) {
	if s != nil && s.Has(member) {
		c.Out.Int(1)
	} else {
		c.Out.Int(0)
	}
}

func runSMembers(c *command.Ctx, args [][]byte) {
	if s, ok := readSet(c, args[1]); ok {
		writeMembers(c, s)
	}
}

// writeMembers answers all members of a set. A nil set is empty.
func writeMembers(c *command.Ctx, s *set.Set) {
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
