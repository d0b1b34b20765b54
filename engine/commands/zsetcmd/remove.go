package zsetcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/zset"
)

func runZRem(c *command.Ctx, args [][]byte) {
	key, members := args[1], args[2:]
	s, e, ok := writeSortedSet(c, key)
	if !ok {
		return
	}
	removed := 0
	if s != nil {
		for len(members) > 0 {
			c.Member()
			if _, ok := s.Score(members[0]); ok {
				break
			}
			members = members[1:]
		}
	}
	if s == nil || len(members) == 0 {
		c.Out.Int(0)
		return
	}
	changeSortedSet(c, key, e, func(s *zset.Set) {
		for _, member := range members {
			c.Member()
			if s.Remove(member) {
				removed++
			}
		}
		c.Notify(command.EventSortedSet, "zrem", key)
	})
	c.Out.Int(int64(removed))
}

func runZRemRangeByRank(c *command.Ctx, args [][]byte) {
	start, ok := c.IntArg(args[2])
	if !ok {
		return
	}
	stop, ok := c.IntArg(args[3])
	if !ok {
		return
	}
	removeRange(c, args[1], "zremrangebyrank", func(s *zset.Set) (from, to int) { return rankPlaces(s.Len(), start, stop) })
}

func runZRemRangeByScore(c *command.Ctx, args [][]byte) {
	var r scoreRange
	if r.parse(c, args[2], args[3]) {
		removeRange(c, args[1], "zremrangebyscore", r.places)
	}
}

func runZRemRangeByLex(c *command.Ctx, args [][]byte) {
	var r lexRange
	if r.parse(c, args[2], args[3]) {
		removeRange(c, args[1], "zremrangebylex", func(s *zset.Set) (from, to int) { return r.places(s, false) })
	}
}

func removeRange(c *command.Ctx, key []byte, event string, places func(*zset.Set) (from, to int)) {
	s, e, ok := writeSortedSet(c, key)
	if !ok {
		return
	}
	from, to := 0, 0
	if s != nil {
		from, to = places(s)
	}
	if from >= to {
		c.Out.Int(0)
		return
	}
	changeSortedSet(c, key, e, func(s *zset.Set) {
		s.RemoveRange(from, to-from, c.Member)
		c.Notify(command.EventSortedSet, event, key)
	})
	c.Out.Int(int64(to - from))
}

// rankPlaces turns the indexes of ZRANGE into places. Negative indexes count from the end, and stop
// is part of the range.
func rankPlaces(n int, start, stop int64) (from, to int) {
	length := int64(n)
	if start < 0 {
		start = max(start+length, 0)
	}
	if stop < 0 {
		stop += length
	}
	stop = min(stop, length-1)
	if start > stop {
		return 0, 0
	}
	return int(start), int(stop) + 1
}
