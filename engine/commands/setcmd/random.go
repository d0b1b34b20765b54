package setcmd

import (
	"math"
	"slices"

	"lockstep/engine/command"
	"lockstep/engine/set"
)

// picks draws count different numbers below n, ascending. Each choice is equally likely. count is
// at most n.
func picks(r *command.Chance, count, n int) []int {
	picked := make([]int, 0, count)
	const scanRatio = 16
	if n/scanRatio <= count {
		// Go over all numbers, and take each with the probability that is left for it (Fan, Muller,
		// Rezucha 1962).
		for i := 0; len(picked) < count; i++ {
			if r.Below(n-i) < count-len(picked) {
				picked = append(picked, i)
			}
		}
		return picked
	}
	// Floyd's method (Bentley, Floyd 1987) takes one draw for each number.
	taken := make(map[int]bool, count)
	for high := n - count; high < n; high++ {
		i := r.Below(high + 1)
		if taken[i] {
			i = high
		}
		taken[i] = true
		picked = append(picked, i)
	}
	slices.Sort(picked)
	return picked
}

func runSPop(c *command.Ctx, args [][]byte) {
	if len(args) > 3 {
		c.Out.Error(command.ErrSyntax)
		return
	}
	if len(args) == 3 {
		popMembers(c, args[1], args[2])
		return
	}
	key := args[1]
	s, e, ok := writeSet(c, key)
	if !ok {
		return
	}
	if e == nil {
		c.Out.Null()
		return
	}
	var buf [numberRoom]byte
	place := c.Chance().Below(s.Len())
	c.Out.Bulk(s.At(place, buf[:]))
	editSet(c, key, e, nil, 0, func(s *set.Set) {
		s.RemoveAt([]int{place}, c.Item)
		c.Notify(command.EventSet, "spop", key)
	})
}

// numberRoom is enough bytes for the text of an integer.
const numberRoom = 20

// moveRatio: Redis makes a new set of the members that stay if at least moveRatio times as many are
// removed.
const moveRatio = 5

// popMembers is SPOP with a count.
func popMembers(c *command.Ctx, key, countArg []byte) {
	count, ok := command.ParseInt(countArg)
	if !ok || count < 0 {
		c.Out.Error(command.ErrNotPositive)
		return
	}
	s, e, ok := writeSet(c, key)
	if !ok {
		return
	}
	if e == nil || count == 0 {
		c.Out.Set(0)
		return
	}
	if count >= int64(s.Len()) {
		writeMembers(c, s)
		c.Notify(command.EventSet, "spop", key)
		c.Delete(key)
		c.Notify(command.EventGeneric, "del", key)
		return
	}
	places := picks(c.Chance(), int(count), s.Len())
	writePlaces(c, s, places, c.Out.Set)
	l, stay := setLimits(c.Settings), s.Len()-len(places)
	editSet(c, key, e, nil, 0, func(s *set.Set) {
		if stay*moveRatio <= len(places) {
			s.Retain(places, l, c.Item)
		} else {
			s.RemoveAt(places, c.Member)
		}
		c.Notify(command.EventSet, "spop", key)
	})
}

// writePlaces answers the members at ascending places.
func writePlaces(c *command.Ctx, s *set.Set, places []int, header func(int)) {
	header(len(places))
	var buf [numberRoom]byte
	for _, i := range places {
		c.Member()
		c.Out.Bulk(s.At(i, buf[:]))
	}
}

func runSRandMember(c *command.Ctx, args [][]byte) {
	if len(args) > 3 {
		c.Out.Error(command.ErrSyntax)
		return
	}
	if len(args) == 3 {
		randomMembers(c, args[1], args[2])
		return
	}
	s, ok := readSet(c, args[1])
	if !ok {
		return
	}
	if s == nil {
		c.Out.Null()
		return
	}
	var buf [numberRoom]byte
	c.Out.Bulk(s.At(c.Chance().Below(s.Len()), buf[:]))
}

// randomMembers is SRANDMEMBER with a count: that many different members, or, if the count is
// negative, that many draws of any member.
func randomMembers(c *command.Ctx, key, countArg []byte) {
	count, ok := c.IntArg(countArg)
	if !ok {
		return
	}
	if count == math.MinInt64 {
		c.Out.Error(command.ErrNotInt64)
		return
	}
	s, ok := readSet(c, key)
	if !ok {
		return
	}
	switch {
	case s == nil || count == 0:
		c.Out.Array(0)
	case count < 0:
		repeatedMembers(c, s, -count)
	default:
		places := picks(c.Chance(), int(min(count, int64(s.Len()))), s.Len())
		writePlaces(c, s, places, c.Out.Array)
	}
}

// repeatedMembers draws a member count times. The reply may have as many bytes as the longest
// string (proto-max-bulk-len), while Redis goes on until its memory is used up.
func repeatedMembers(c *command.Ctx, s *set.Set, count int64) {
	const elementBytesMin = int64(len("$0\r\n\r\n"))
	bytesMax := c.Settings.ValueBytesMax
	if count > bytesMax/elementBytesMin {
		c.Out.Error(command.ErrOutOfRange)
		return
	}
	begin, chance := c.Out.Len(), c.Chance()
	var buf [numberRoom]byte
	c.Out.Array(int(count))
	for range count {
		c.Member()
		c.Out.Bulk(s.At(chance.Below(s.Len()), buf[:]))
		if int64(c.Out.Len()-begin) > bytesMax {
			c.Out.Truncate(begin)
			c.Out.Error(command.ErrOutOfRange)
			return
		}
	}
}
