package zsetcmd

import (
	"lockstep/engine/command"
)

func runZCard(c *command.Ctx, args [][]byte) {
	s, ok := ReadSortedSet(c, args[1])
	switch {
	case !ok:
	case s == nil:
		c.Out.Int(0)
	default:
		c.Out.Int(int64(s.Len()))
	}
}

func runZScore(c *command.Ctx, args [][]byte) {
	s, ok := ReadSortedSet(c, args[1])
	if !ok {
		return
	}
	if s != nil {
		if score, ok := s.Score(args[2]); ok {
			c.Out.Double(score)
			return
		}
	}
	c.Out.Null()
}

func runZMScore(c *command.Ctx, args [][]byte) { EachScore(c, args, c.Out.Null, c.Out.Double) }

// EachScore calls some for each of the members that exists, and none for each that does not.
func EachScore(c *command.Ctx, args [][]byte, none func(), some func(score float64)) {
	s, ok := ReadSortedSet(c, args[1])
	if !ok {
		return
	}
	c.Out.Array(len(args) - 2)
	for _, member := range args[2:] {
		c.Member()
		found := false
		var score float64
		if s != nil {
			score, found = s.Score(member)
		}
		if found {
			some(score)
		} else {
			none()
		}
	}
}

func runZRank(c *command.Ctx, args [][]byte)    { zrank(c, args, false) }
func runZRevRank(c *command.Ctx, args [][]byte) { zrank(c, args, true) }

func zrank(c *command.Ctx, args [][]byte, reverse bool) {
	withScore := false
	switch {
	case len(args) > 4:
		name := "zrank"
		if reverse {
			name = "zrevrank"
		}
		c.Out.Error(command.ErrArityOf(name))
		return
	case len(args) == 4:
		if !command.EqualFold(args[3], "withscore") {
			c.Out.Error(command.ErrSyntax)
			return
		}
		withScore = true
	}
	s, ok := ReadSortedSet(c, args[1])
	if !ok {
		return
	}
	rank, score, found := 0, 0.0, false
	if s != nil {
		rank, score, found = s.Rank(args[2])
	}
	if !found {
		if withScore {
			c.Out.NullArray()
		} else {
			c.Out.Null()
		}
		return
	}
	if reverse {
		rank = s.Len() - 1 - rank
	}
	if withScore {
		c.Out.Array(2)
	}
	c.Out.Int(int64(rank))
	if withScore {
		c.Out.Double(score)
	}
}

func runZCount(c *command.Ctx, args [][]byte) {
	var r scoreRange
	if !r.parse(c, args[2], args[3]) {
		return
	}
	if s, ok := ReadSortedSet(c, args[1]); ok {
		from, to := 0, 0
		if s != nil {
			from, to = r.places(s)
		}
		c.Out.Int(int64(max(to-from, 0)))
	}
}

func runZLexCount(c *command.Ctx, args [][]byte) {
	var r lexRange
	if !r.parse(c, args[2], args[3]) {
		return
	}
	if s, ok := ReadSortedSet(c, args[1]); ok {
		from, to := 0, 0
		if s != nil {
			c.Member()
			from, to = r.places(s, false)
		}
		c.Out.Int(int64(to - from))
	}
}
