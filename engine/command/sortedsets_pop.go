package command

import (
	"lockstep/engine"
	"lockstep/engine/reply"
	"lockstep/engine/zset"
)

// popForm is how a pop answers.
type popForm uint8

const (
	popFlat   popForm = iota // ZPOPMIN: member, score, member, score
	popPairs                 // ZPOPMIN with a count in RESP3: pairs
	popKeyed                 // BZPOPMIN: key, member, score
	popNested                // ZMPOP: key and pairs
)

func runZPopMin(c *Ctx, args [][]byte) { c.zpop(args, false) }
func runZPopMax(c *Ctx, args [][]byte) { c.zpop(args, true) }

func (c *Ctx) zpop(args [][]byte, highest bool) {
	if len(args) > 3 {
		c.Out.Error(ErrSyntax)
		return
	}
	count, form := int64(1), popFlat
	if len(args) == 3 {
		var ok bool
		if count, ok = ParseInt(args[2]); !ok || count < 0 {
			c.Out.Error(ErrNotPositive)
			return
		}
		if c.Out.Proto == reply.RESP3 {
			form = popPairs
		}
	}
	s, e, ok := c.writeSortedSet(args[1])
	if !ok {
		return
	}
	if s == nil || count == 0 {
		c.Out.Array(0)
		return
	}
	c.popFrom(args[1], e, count, highest, form)
}

// popFrom removes up to count members and answers them.
func (c *Ctx) popFrom(key []byte, e *engine.Entry, count int64, highest bool, form popForm) {
	c.changeSortedSet(key, e, func(s *zset.Set) {
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
		c.popEntries(s, n, highest, form == popPairs || form == popNested)
		s.RemoveRange(from, n, c.Member)
		c.Notify(EventSortedSet, event, key)
	})
}

// popEntries answers the n members at an end.
func (c *Ctx) popEntries(s *zset.Set, n int, highest, paired bool) {
	first, entries := 0, s.From
	if highest {
		first, entries = s.Len()-1, s.Backward
	}
	if n == 1 { // a walk costs more than what it walks to
		c.popEntry(s.At(first), paired)
		return
	}
	for _, entry := range entries(first) {
		c.popEntry(entry, paired)
		if n--; n == 0 {
			break
		}
	}
}

func (c *Ctx) popEntry(e zset.Entry, paired bool) {
	c.Item()
	if paired {
		c.Out.Array(2)
	}
	c.Out.Bulk(e.Member)
	c.Out.Double(e.Score)
}

// popFirst pops from the first key that holds a sorted set. It returns false,
// having answered nothing, when there is none.
func (c *Ctx) popFirst(p *CountedPop, form popForm) bool {
	for _, key := range p.Keys {
		s, e, ok := c.writeSortedSet(key)
		switch {
		case !ok:
			return true
		case s != nil:
			c.popFrom(key, e, p.Count, p.Second, form)
			return true
		}
	}
	return false
}

func runZMPop(c *Ctx, args [][]byte) {
	p, problem := ParseCountedPop(args[1:], SortedSetEnds)
	if problem != "" {
		c.Out.Error(problem)
	} else if !c.popFirst(&p, popNested) {
		c.Out.NullArray()
	}
}

// popOrBlock pops, or answers that there was nothing in time.
func (c *Ctx) popOrBlock(p *CountedPop, timeout []byte, form popForm) {
	if c.TimeoutArg(timeout) && !c.popFirst(p, form) {
		c.Out.NullArray()
	}
}

func runBZPopMin(c *Ctx, args [][]byte) { c.bzpop(args, false) }
func runBZPopMax(c *Ctx, args [][]byte) { c.bzpop(args, true) }

func (c *Ctx) bzpop(args [][]byte, highest bool) {
	last := len(args) - 1
	c.popOrBlock(&CountedPop{args[1:last], highest, 1}, args[last], popKeyed)
}

func runBZMPop(c *Ctx, args [][]byte) {
	p, problem := ParseCountedPop(args[2:], SortedSetEnds)
	if problem != "" {
		c.Out.Error(problem)
	} else {
		c.popOrBlock(&p, args[1], popNested)
	}
}
