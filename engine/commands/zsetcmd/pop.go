package zsetcmd

import (
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/reply"
	"lockstep/engine/zset"
)

// popForm is the form of a pop's reply.
type popForm uint8

const (
	popFlat   popForm = iota // ZPOPMIN: member, score, member, score
	popPairs                 // ZPOPMIN with a count in RESP3: pairs
	popKeyed                 // BZPOPMIN: key, member, score
	popNested                // ZMPOP: key and pairs
)

func runZPopMin(c *command.Ctx, args [][]byte) { zpop(c, args, false) }
func runZPopMax(c *command.Ctx, args [][]byte) { zpop(c, args, true) }

func zpop(c *command.Ctx, args [][]byte, highest bool) {
	if len(args) > 3 {
		c.Out.Error(command.ErrSyntax)
		return
	}
	count, form := int64(1), popFlat
	if len(args) == 3 {
		var ok bool
		if count, ok = command.ParseInt(args[2]); !ok || count < 0 {
			c.Out.Error(command.ErrNotPositive)
			return
		}
		if c.Out.Proto == reply.RESP3 {
			form = popPairs
		}
	}
	s, e, ok := writeSortedSet(c, args[1])
	if !ok {
		return
	}
	if s == nil || count == 0 {
		c.Out.Array(0)
		return
	}
	popFrom(c, args[1], e, count, highest, form)
}

// popFrom removes up to count members and answers them.
func popFrom(c *command.Ctx, key []byte, e *engine.Entry, count int64, highest bool, form popForm) {
	changeSortedSet(c, key, e, func(s *zset.Set) {
		n := int(min(count, int64(s.Len())))
		switch form {
		case popFlat:
			c.Out.Array(2 * n)
		case popPairs:
			c.Out.Array(n)
		case popKeyed:
			c.Out.Array(1 + 2*n)
			c.Out.Bulk(key)
		case popNested:
			c.Out.Array(2)
			c.Out.Bulk(key)
			c.Out.Array(n)
		}
		from, event := 0, "zpopmin"
		if highest {
			from, event = s.Len()-n, "zpopmax"
		}
		popEntries(c, s, n, highest, form == popPairs || form == popNested)
		s.RemoveRange(from, n, c.Member)
		c.Notify(command.EventSortedSet, event, key)
	})
}

// popEntries answers the n members at an end.
func popEntries(c *command.Ctx, s *zset.Set, n int, highest, paired bool) {
	first, entries := 0, s.From
	if highest {
		first, entries = s.Len()-1, s.Backward
	}
	if n == 1 { // a walk to one member costs more than reading it
		popEntry(c, s.At(first), paired)
		return
	}
	for _, entry := range entries(first) {
		popEntry(c, entry, paired)
		if n--; n == 0 {
			break
		}
	}
}

func popEntry(c *command.Ctx, e zset.Entry, paired bool) {
	c.Item()
	if paired {
		c.Out.Array(2)
	}
	c.Out.Bulk(e.Member)
	c.Out.Double(e.Score)
}

// popFirst pops from the first key that holds a sorted set. If there is none it answers nothing and
// returns false.
func popFirst(c *command.Ctx, p *command.CountedPop, form popForm) bool {
	for _, key := range p.Keys {
		s, e, ok := writeSortedSet(c, key)
		switch {
		case !ok:
			return true
		case s != nil:
			popFrom(c, key, e, p.Count, p.Second, form)
			return true
		}
	}
	return false
}

func runZMPop(c *command.Ctx, args [][]byte) {
	p, problem := command.ParseCountedPop(args[1:], command.SortedSetEnds)
	if problem != "" {
		c.Out.Error(problem)
	} else if !popFirst(c, &p, popNested) {
		c.Out.NullArray()
	}
}

// popOrBlock pops, or answers null because it found nothing.
func popOrBlock(c *command.Ctx, p *command.CountedPop, timeout []byte, form popForm) {
	if c.TimeoutArg(timeout) && !popFirst(c, p, form) {
		c.Out.NullArray()
	}
}

func runBZPopMin(c *command.Ctx, args [][]byte) { bzpop(c, args, false) }
func runBZPopMax(c *command.Ctx, args [][]byte) { bzpop(c, args, true) }

func bzpop(c *command.Ctx, args [][]byte, highest bool) {
	last := len(args) - 1
	popOrBlock(c, &command.CountedPop{Keys: args[1:last], Second: highest, Count: 1}, args[last], popKeyed)
}

func runBZMPop(c *command.Ctx, args [][]byte) {
	p, problem := command.ParseCountedPop(args[2:], command.SortedSetEnds)
	if problem != "" {
		c.Out.Error(problem)
	} else {
		popOrBlock(c, &p, args[1], popNested)
	}
}
