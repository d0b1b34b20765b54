package zsetcmd

import (
	"iter"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/reply"
	"lockstep/engine/zset"
)

// rangeKind says whether a range is one of ranks, scores or texts.
type rangeKind uint8

const (
	rangeUnset rangeKind = iota // ZRANGE: the options decide
	rangeByRank
	rangeByScore
	rangeByLex
)

// rangeQuery is a query of ZRANGE and its relatives.
type rangeQuery struct {
	kind                rangeKind
	reverse, withScores bool
	// fixed is set if the command itself has a direction.
	fixed bool
	// offset members are skipped, and none are returned if it is negative. At most limit members
	// are returned, and all if it is negative.
	offset, limit int64
	start, stop   int64
	score         scoreRange
	lex           lexRange
}

// parse reads the range and the options. It answers the error itself.
func (q *rangeQuery) parse(c *command.Ctx, min, max []byte, options [][]byte, store bool) bool {
	q.limit = -1
	if !q.parseOptions(c, options, store) {
		return false
	}
	if q.kind == rangeUnset {
		q.kind = rangeByRank
	}
	switch {
	case q.limit != -1 && q.kind == rangeByRank:
		c.Out.Error(ErrRangeLimit)
		return false
	case q.withScores && q.kind == rangeByLex:
		c.Out.Error(ErrRangeLexScores)
		return false
	}
	if q.reverse && q.kind != rangeByRank {
		min, max = max, min
	}
	switch q.kind {
	case rangeByScore:
		return q.score.parse(c, min, max)
	case rangeByLex:
		return q.lex.parse(c, min, max)
	}
	q.offset = 0
	var ok bool
	if q.start, ok = c.IntArg(min); ok {
		q.stop, ok = c.IntArg(max)
	}
	return ok
}

func (q *rangeQuery) parseOptions(c *command.Ctx, options [][]byte, store bool) bool {
	fixedKind := q.kind != rangeUnset
	for i := 0; i < len(options); i++ {
		switch o := options[i]; {
		case !store && command.EqualFold(o, "withscores"):
			q.withScores = true
		case command.EqualFold(o, "limit") && i+2 < len(options):
			var ok bool
			if q.offset, ok = c.IntArg(options[i+1]); !ok {
				return false
			}
			if q.limit, ok = c.IntArg(options[i+2]); !ok {
				return false
			}
			i += 2
		case !q.fixed && !q.reverse && command.EqualFold(o, "rev"):
			q.reverse = true
		case !fixedKind && q.kind == rangeUnset && command.EqualFold(o, "bylex"):
			q.kind = rangeByLex
		case !fixedKind && q.kind == rangeUnset && command.EqualFold(o, "byscore"):
			q.kind = rangeByScore
		default:
			c.Out.Error(command.ErrSyntax)
			return false
		}
	}
	return true
}

// places returns the first place of the range in the set, and the place behind its last.
func (q *rangeQuery) places(s *zset.Set) (from, to int) {
	switch q.kind {
	case rangeByScore:
		return q.score.places(s)
	case rangeByLex:
		return q.lex.places(s, q.reverse)
	}
	from, to = rankPlaces(s.Len(), q.start, q.stop)
	if q.reverse {
		from, to = s.Len()-to, s.Len()-from
	}
	return from, to
}

// members returns the members of the range, and their number. The set may be nil.
func (q *rangeQuery) members(s *zset.Set) (count int, entries iter.Seq2[int, zset.Entry]) {
	if s == nil {
		return 0, nil
	}
	from, to := q.places(s)
	if q.offset < 0 || q.offset >= int64(to-from) {
		return 0, nil
	}
	count = to - from - int(q.offset)
	if q.limit >= 0 {
		count = int(min(int64(count), q.limit))
	}
	if q.reverse {
		return count, s.Backward(to - 1 - int(q.offset))
	}
	return count, s.From(from + int(q.offset))
}

// writeEntries answers the first count entries of a walk.
func writeEntries(c *command.Ctx, count int, entries iter.Seq2[int, zset.Entry], withScores bool) {
	entriesHeader(c, count, withScores)
	if count == 0 {
		return
	}
	for _, e := range entries {
		c.Item()
		writeEntry(c, e, withScores)
		if count--; count == 0 {
			return
		}
	}
}

// entriesHeader begins a reply of members with or without scores: one flat array in RESP2, pairs in
// RESP3.
func entriesHeader(c *command.Ctx, count int, withScores bool) {
	if withScores && c.Out.Proto != reply.RESP3 {
		count *= 2
	}
	c.Out.Array(count)
}

func writeEntry(c *command.Ctx, e zset.Entry, withScore bool) {
	if withScore && c.Out.Proto == reply.RESP3 {
		c.Out.Array(2)
	}
	c.Out.Bulk(e.Member)
	if withScore {
		c.Out.Double(e.Score)
	}
}

// zrange answers a range; args begin with the key.
func zrange(c *command.Ctx, args [][]byte, q rangeQuery) {
	if !q.parse(c, args[1], args[2], args[3:], false) {
		return
	}
	if s, ok := ReadSortedSet(c, args[0]); ok {
		count, entries := q.members(s)
		writeEntries(c, count, entries, q.withScores)
	}
}

func runZRange(c *command.Ctx, args [][]byte) { zrange(c, args[1:], rangeQuery{}) }

func runZRevRange(c *command.Ctx, args [][]byte) {
	zrange(c, args[1:], rangeQuery{kind: rangeByRank, fixed: true, reverse: true})
}

func runZRangeByScore(c *command.Ctx, args [][]byte) {
	zrange(c, args[1:], rangeQuery{kind: rangeByScore, fixed: true})
}

func runZRevRangeByScore(c *command.Ctx, args [][]byte) {
	zrange(c, args[1:], rangeQuery{kind: rangeByScore, fixed: true, reverse: true})
}

func runZRangeByLex(c *command.Ctx, args [][]byte) {
	zrange(c, args[1:], rangeQuery{kind: rangeByLex, fixed: true})
}

func runZRevRangeByLex(c *command.Ctx, args [][]byte) {
	zrange(c, args[1:], rangeQuery{kind: rangeByLex, fixed: true, reverse: true})
}

func runZRangeStore(c *command.Ctx, args [][]byte) {
	var q rangeQuery
	if !q.parse(c, args[3], args[4], args[5:], true) {
		return
	}
	s, ok := ReadSortedSet(c, args[2])
	if !ok {
		return
	}
	limits := SetLimits(c.Settings)
	count, entries := q.members(s)
	if !c.Steps(command.StepsStored * int64(max(count, 0))) {
		return
	}
	expected := 0
	if q.kind == rangeByRank {
		expected = count
	}
	result := newSortedSet(expected, 0, limits)
	if count > 0 {
		for _, e := range entries {
			c.Member()
			result.Put(e.Member, e.Score, limits)
			if result.Len() == count {
				break
			}
		}
	}
	c.Store(args[1], engine.KindSortedSet, result, command.EventSortedSet, "zrangestore")
	c.Out.Int(int64(count))
}
