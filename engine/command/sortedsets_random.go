package command

import (
	"math"

	"lockstep/engine/zset"
)

// randomPicksMax bounds how often ZRANDMEMBER picks with repetition.
const randomPicksMax = 1 << 22

func runZRandMember(c *Ctx, args [][]byte) {
	if len(args) > 2 {
		c.randomRanked(args)
		return
	}
	s, ok := c.ReadSortedSet(args[1])
	switch {
	case !ok:
	case s == nil:
		c.Out.Null()
	default:
		c.Out.Bulk(s.At(c.Chance().Below(s.Len())).Member)
	}
}

// randomRanked is ZRANDMEMBER with a count.
func (c *Ctx) randomRanked(args [][]byte) {
	count, ok := c.IntArg(args[2])
	withScores := len(args) == 4
	switch {
	case !ok:
		return
	case count == math.MinInt64:
		c.Out.Error(ErrNotInt64)
		return
	case len(args) > 4, withScores && !EqualFold(args[3], "withscores"):
		c.Out.Error(ErrSyntax)
		return
	case withScores && (count < -math.MaxInt64/2 || count > math.MaxInt64/2):
		c.Out.Error(ErrOutOfRange)
		return
	}
	s, ok := c.ReadSortedSet(args[1])
	switch {
	case !ok:
	case s == nil || count == 0:
		c.Out.Array(0)
	case count < -randomPicksMax:
		c.Out.Error(ErrOutOfRange)
	case count < 0:
		c.entriesHeader(int(-count), withScores)
		chance := c.Chance()
		for range -count {
			c.Member()
			c.writeEntry(s.At(chance.Below(s.Len())), withScores)
		}
	default:
		c.differentMembers(s, count, withScores)
	}
}

// differentMembers answers up to count members, each at most once.
func (c *Ctx) differentMembers(s *zset.Set, count int64, withScores bool) {
	n := int(min(count, int64(s.Len())))
	c.entriesHeader(n, withScores)
	chance := c.Chance()
	if n*3 > s.Len() {
		// Walk once and take each member with the chance it still has.
		left := s.Len()
		for _, e := range s.From(0) {
			c.Item()
			if chance.Below(left) < n {
				c.writeEntry(e, withScores)
				n--
			}
			left--
		}
		return
	}
	// Few of many: draw again what was drawn before.
	drawn := make(map[int]bool, n)
	for len(drawn) < n {
		c.Member()
		i := chance.Below(s.Len())
		if !drawn[i] {
			drawn[i] = true
			c.writeEntry(s.At(i), withScores)
		}
	}
}
