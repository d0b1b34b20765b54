package command

import (
	"math"

	"lockstep/engine/glob"
)

// What counts as one step: about what a member takes when sorted sets are
// combined, some tenths of a microsecond.
const (
	stepBytes        = 64
	stepListElements = 16
	stepPairs        = 64 // of LCS
	stepKeys         = 4  // of KEYS, and what SCAN and its like visit
	stepRegisters    = 64 // of a HyperLogLog
	stepsSort        = 2  // for each element that SORT goes over
	stepPending      = 2  // pending entries of a stream, consumers, functions
	stepTries        = 64 // of a pattern (package glob)
	stepRuns         = 64 // of registers, of a sparse HyperLogLog
	stepInstructions = 4  // of a library that is loaded
)

// ErrSteps is the answer to a command for which its txn has no steps left.
const ErrSteps = "ERR the steps of one command or transaction are more than txn-steps-max; it changed nothing"

// steps takes so many steps of the txn's budget, and tells whether it has them.
// If not it has answered, and the command must change nothing.
//
// One command can name one large key a million times, and one transaction can
// go over it a million times, for a few bytes each; the log brings that to every
// replica. So what goes over whole values to answer little, or writes what was
// not in the log, counts here before it does so; what a client sent, or gets, is
// bounded by limits of its own. The count goes by the state alone and is the same
// on all replicas.
func (c *Ctx) steps(n int64) bool {
	ok := c.takeSteps(n)
	if !ok {
		c.Out.Error(ErrSteps)
	}
	return ok
}

// takeSteps is steps without an answer.
func (c *Ctx) takeSteps(n int64) bool {
	limit := c.Settings.TxnStepsMax
	if limit == 0 {
		return true
	}
	// Neither is negative, and a sum beyond the limit stays there.
	if n > limit || c.stepsTaken > limit-n {
		c.stepsTaken = limit
		return false
	}
	c.stepsTaken += n
	return true
}

// textSteps is steps for going over, or writing, so many bytes.
func (c *Ctx) textSteps(bytes int64) bool { return c.steps(max(bytes, 0) / stepBytes) }

// stepsLeft is how many steps the txn may still take.
func (c *Ctx) stepsLeft() int64 {
	if c.Settings.TxnStepsMax == 0 {
		return math.MaxInt64
	}
	return c.Settings.TxnStepsMax - c.stepsTaken
}

// matches tells whether a key or an element matches a pattern. That may be slow
// for both of some length, and an answer be short that has tried a million of
// them: so tries count. Once the txn has no steps left nothing matches, and the
// command must ask outOfTries before it ends.
func (c *Ctx) matches(pattern, text []byte, nocase bool) bool {
	if c.triesOver {
		return false
	}
	// But for the empty one: Redis's matcher does not get as far as a star then.
	if len(text) == 0 {
		return len(pattern) == 0
	}
	ok, tries := glob.MatchTries(pattern, text, nocase)
	if tries >= stepTries {
		c.triesOver = !c.takeSteps(int64(tries) / stepTries)
	}
	return ok
}

// outOfTries answers, in place of all that stands in Out from begin on, that
// there were no steps for matching; false: there were.
func (c *Ctx) outOfTries(begin int) bool {
	if c.triesOver {
		c.Out.Truncate(begin)
		c.Out.Error(ErrSteps)
	}
	return c.triesOver
}
