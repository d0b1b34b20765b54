package clock

import (
	"math"
	"slices"
)

// Reading is what another node has reported about its wall clock: how far that clock is ahead of
// this node's monotonic clock, at least and at most. The other node read its clock at some moment
// between the question and the arrival of the answer.
type Reading struct {
	LeastUs, MostUs int64
	// AtUs is when the answer came, on this node's monotonic clock.
	AtUs int64
}

// Take returns the reading of a wall clock that showed wallUs at some moment between sentUs and
// gotUs of the monotonic clock.
func Take(wallUs, sentUs, gotUs int64) Reading {
	return Reading{LeastUs: minus(wallUs, gotUs), MostUs: minus(wallUs, sentUs), AtUs: gotUs}
}

// Never and Always are the bounds if there is no majority.
const (
	Never  = math.MinInt64
	Always = math.MaxInt64
)

// Majority returns what more than half of n clocks say, given the readings of some of them: a
// majority says that the time is at least leastUs, and a majority says that it is at most mostUs
// (Never and Always if too few were read). If a majority of the clocks is right, each of these two
// majorities has at least one right member.
func Majority(n int, readings []Reading) (leastUs, mostUs int64) {
	needed := n/2 + 1
	if n < 1 || len(readings) < needed {
		return Never, Always
	}
	least, most := make([]int64, len(readings)), make([]int64, len(readings))
	for i, r := range readings {
		least[i], most[i] = r.LeastUs, r.MostUs
	}
	slices.Sort(least)
	slices.Sort(most)
	return least[len(least)-needed], most[needed-1]
}

// Away is how far a time is outside the bounds: positive if after them, negative if before, 0
// within.
func Away(us, leastUs, mostUs int64) int64 {
	switch {
	case leastUs != Never && us < leastUs:
		return minus(us, leastUs)
	case mostUs != Always && us > mostUs:
		return minus(us, mostUs)
	}
	return 0
}

// Now is what a node knows about the time of day at one moment.
type Now struct {
	// MonoUs is the moment on this node's monotonic clock, OwnUs the time that its wall clock shows
	// then.
	MonoUs, OwnUs int64
	// LeastUs and MostUs are what a majority says: see Majority.
	LeastUs, MostUs int64
}

// Known reports whether there is a majority.
func (n *Now) Known() bool { return n.LeastUs != Never }

// Alone is the Now of a node that has no other voter to ask: its own clock is the majority.
func Alone(monoUs, wallUs int64) Now {
	return Now{MonoUs: monoUs, OwnUs: wallUs, LeastUs: wallUs, MostUs: wallUs}
}

// plus and minus do not overflow: other nodes may report any number.
func plus(a, b int64) int64 {
	switch sum := a + b; {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64 - 1
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64 + 1
	default:
		return sum
	}
}

func minus(a, b int64) int64 { return plus(a, -b) }

// FromMs converts milliseconds to microseconds. A time that does not fit becomes the nearest one
// that does.
func FromMs(ms int64) int64 { return min(max(ms, math.MinInt64/1000), math.MaxInt64/1000) * 1000 }

// ToMs converts microseconds to milliseconds, rounded down.
func ToMs(us int64) int64 {
	ms := us / 1000
	if us%1000 < 0 {
		ms--
	}
	return ms
}
