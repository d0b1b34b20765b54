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

// popsSeveral and popsCounted tell whether a command is given a count.
func popsSeveral(args [][]byte) bool { return len(args) > 2 }

func popsCounted(args [][]byte) bool {
	return len(args) > 2 && equalFold(args[len(args)-2], "count")
}

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
		if count, ok = parseInt(args[2]); !ok || count < 0 {
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
		from, entries := 0, s.From(0)
		if highest {
			from, entries = s.Len()-n, s.Backward(s.Len()-1)
		}
		left := n
		for _, entry := range entries {
			if form == popPairs || form == popNested {
				c.Out.Array(2)
			}
			c.Out.Bulk(entry.Member)
			c.Out.Double(entry.Score)
			if left--; left == 0 {
				break
			}
		}
		s.RemoveRange(from, n)
		event := "zpopmin"
		if highest {
			event = "zpopmax"
		}
		c.Notify(EventSortedSet, event, key)
	})
}

// popFirst pops from the first key that holds a sorted set. It returns false,
// having answered nothing, when there is none.
func (c *Ctx) popFirst(keys [][]byte, count int64, highest bool, form popForm) bool {
	for _, key := range keys {
		s, e, ok := c.writeSortedSet(key)
		switch {
		case !ok:
			return true
		case s != nil:
			c.popFrom(key, e, count, highest, form)
			return true
		}
	}
	return false
}

// popQuery is what ZMPOP is asked for.
type popQuery struct {
	keys    [][]byte
	highest bool
	count   int64
}

// parse reads the arguments from the number of keys on. It answers the error
// itself.
func (q *popQuery) parse(c *Ctx, args [][]byte) bool {
	n, ok := parseInt(args[0])
	if !ok || n < 1 {
		c.Out.Error(ErrNumKeys)
		return false
	}
	if n >= int64(len(args)-1) {
		c.Out.Error(ErrSyntax)
		return false
	}
	q.keys, args = args[1:1+n], args[1+n:]
	switch {
	case equalFold(args[0], "min"):
	case equalFold(args[0], "max"):
		q.highest = true
	default:
		c.Out.Error(ErrSyntax)
		return false
	}
	q.count = -1
	for args = args[1:]; len(args) > 0; args = args[2:] {
		if q.count != -1 || len(args) == 1 || !equalFold(args[0], "count") {
			c.Out.Error(ErrSyntax)
			return false
		}
		if q.count, ok = parseInt(args[1]); !ok || q.count < 1 {
			c.Out.Error(ErrCountPositive)
			return false
		}
	}
	q.count = max(q.count, 1)
	return true
}

func runZMPop(c *Ctx, args [][]byte) {
	var q popQuery
	if q.parse(c, args[1:]) && !c.popFirst(q.keys, q.count, q.highest, popNested) {
		c.Out.NullArray()
	}
}

// popOrBlock pops, or answers that there was nothing in time.
func (c *Ctx) popOrBlock(q popQuery, timeout []byte, form popForm) {
	if c.timeoutArg(timeout) && !c.popFirst(q.keys, q.count, q.highest, form) {
		c.Out.NullArray()
	}
}

func runBZPopMin(c *Ctx, args [][]byte) {
	last := len(args) - 1
	c.popOrBlock(popQuery{args[1:last], false, 1}, args[last], popKeyed)
}

func runBZPopMax(c *Ctx, args [][]byte) {
	last := len(args) - 1
	c.popOrBlock(popQuery{args[1:last], true, 1}, args[last], popKeyed)
}

func runBZMPop(c *Ctx, args [][]byte) {
	var q popQuery
	if q.parse(c, args[2:]) {
		c.popOrBlock(q, args[1], popNested)
	}
}
