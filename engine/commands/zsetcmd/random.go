package zsetcmd

import (
	"math"

	"lockstep/engine/command"
	"lockstep/engine/zset"
)

// randomPicksMax bounds how often ZRANDMEMBER picks with repetition.
const randomPicksMax = 1 << 22

func runZRandMember(c *command.Ctx, args [][]byte) {
	if len(args) > 2 {
		randomRanked(c, args)
		return
	}
	s, ok := ReadSortedSet(c, args[1])
	switch {
	case !ok:
	case s == nil:
		c.Out.Null()
	default:
		c.Out.Bulk(s.At(c.Chance().Below(s.Len())).Member)
	}
}

// randomRanked is ZRANDMEMBER with a count.
func randomRanked(c *command.Ctx, args [][]byte) {
	count, ok := c.IntArg(args[2])
	withScores := len(args) == 4
	switch {
	case !ok:
		return
	case count == math.MinInt64:
		c.Out.Error(command.ErrNotInt64)
		return
	case len(args) > 4, withScores && !command.EqualFold(args[3], "withscores"):
		c.Out.Error(command.ErrSyntax)
		return
	case withScores && (count < -math.MaxInt64/2 || count > math.MaxInt64/2):
		c.Out.Error(command.ErrOutOfRange)
		return
	}
	s, ok := ReadSortedSet(c, args[1])
	switch {
	case !ok:
	case s == nil || count == 0:
		c.Out.Array(0)
	case count < -randomPicksMax:
		c.Out.Error(command.ErrOutOfRange)
	case count < 0:
		entriesHeader(c, int(-count), withScores)
		chance := c.Chance()
		for range -count {
			c.Member()
			writeEntry(c, s.At(chance.Below(s.Len())), withScores)
		}
	default:
		differentMembers(c, s, count, withScores)
	}
}

// differentMembers answers up to count members, each at most once.
func differentMembers(c *command.Ctx, s *zset.Set, count int64, withScores bool) {
	n := int(min(count, int64(s.Len())))
	entriesHeader(c, n, withScores)
	chance := c.Chance()
	if n*3 > s.Len() {
		// Walk once, and take each member with the probability that is left for it.
		left := s.Len()
		for _, e := range s.From(0) {
			c.Item()
			if chance.Below(left) < n {
				writeEntry(c, e, withScores)
				n--
			}
			left--
		}
		return
	}
	// Few members of many: a member that was drawn before is drawn again.
	drawn := make(map[int]bool, n)
	for len(drawn) < n {
		c.Member()
		i := chance.Below(s.Len())
		if !drawn[i] {
			drawn[i] = true
			writeEntry(c, s.At(i), withScores)
		}
	}
}
