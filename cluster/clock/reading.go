package clock

import (
	"math"
	"slices"
)

// Reading is what another node has said of its wall clock: how far that is ahead of this node's monotonic clock, at
// least and at most. The answer was written at some moment between the question and its arrival.
type Reading struct {
	LeastUs, MostUs int64
	// AtUs is when the answer came, on this node's monotonic clock.
	AtUs int64
}

// Take returns the reading of a wall clock that showed wallUs at some moment between two of the monotonic clock.
func Take(wallUs, sentUs, gotUs int64) Reading {
	return Reading{LeastUs: minus(wallUs, gotUs), MostUs: minus(wallUs, sentUs), AtUs: gotUs}
}

// Never and Always are the bounds where no majority has said anything.
const (
	Never  = math.MinInt64
	Always = math.MaxInt64
)

// Majority says what more than half of n clocks say, of which these were read: that it is at least the one, and at
// most the other (Never and Always where too few were read). Of each of these two majorities one member at least is
// right, if a majority is.
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

// Away is how far a time is outside bounds: positive ahead of them, negative behind, 0 within.
func Away(us, leastUs, mostUs int64) int64 {
	switch {
	case leastUs != Never && us < leastUs:
		return minus(us, leastUs)
	case mostUs != Always && us > mostUs:
		return minus(us, mostUs)
	}
	return 0
}

// Now is what is known of the time of day at one moment.
type Now struct {
	// MonoUs is the moment on this node's monotonic clock, OwnUs what its wall clock shows then.
	MonoUs, OwnUs int64
	// LeastUs and MostUs are what a majority says: see Majority.
	LeastUs, MostUs int64
}

// Known reports whether a majority says anything.
func (n *Now) Known() bool { return n.LeastUs != Never }

// Alone is the time of a node that has no other voter to ask: its own clock is the majority.
func Alone(monoUs, wallUs int64) Now {
	return Now{MonoUs: monoUs, OwnUs: wallUs, LeastUs: wallUs, MostUs: wallUs}
}

// plus and minus do not overflow: what other nodes say may be anything.
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

// FromMs is a time in microseconds that is given in milliseconds, the nearest one that is a number.
func FromMs(ms int64) int64 { return min(max(ms, math.MinInt64/1000), math.MaxInt64/1000) * 1000 }

// ToMs is a time in milliseconds, rounded down.
func ToMs(us int64) int64 {
	ms := us / 1000
	if us%1000 < 0 {
		ms--
	}
	return ms
}
