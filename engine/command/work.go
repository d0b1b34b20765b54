package command

import (
	"math"

	"lockstep/engine/script"
)

// What a txn does is counted as work: one unit is about a nanosecond of one core of a server of
// the 2020s (script.Millisecond). Work is counted, not measured: it depends on what was done alone,
// so it is the same number on every replica and at every replay. Programs pay for each instruction
// and whatever else they do; commands pay in advance for what goes over whole values (Ctx.steps), or
// as they go along (Ctx.worked). What costs little more than its arguments pays for those.

// WorkSecond is the work of a second of one core.
const WorkSecond = 1000 * script.Millisecond

// Prices, in units of work.
const (
	workCommand = 150 // of a command that does next to nothing
	workArg     = 30  // of an argument
	workStep    = 250
	workOne     = 50 // of one that Ctx.worked counts
	// workArgBytes are bytes of arguments that cost one.
	workArgBytes    = 16
	workPayloadByte = 2
	workStreamEntry = 250  // an entry of a stream that is read from a payload
	workFloat       = 1500 // of a sum with as many digits as Redis's
)

// Work is the work that the txn has done so far, beside what its commands take for their arguments.
func (c *Ctx) Work() int64 {
	c.settle()
	return c.work
}

// settle ends the count of a command: what it announced may be what it has also counted one by one.
func (c *Ctx) settle() {
	c.work += max(c.announced, c.counted)
	c.announced, c.counted = 0, 0
}

// CommandWork is the work that a command takes for its arguments, whatever it does with them.
func CommandWork(args [][]byte) int64 {
	bytes := 0
	for _, a := range args {
		bytes += len(a)
	}
	return int64(workCommand + len(args)*workArg + bytes/workArgBytes)
}

// workMax is how much work the txn may do before its commands are refused.
func (c *Ctx) workMax() int64 {
	limit := int64(math.MaxInt64)
	if ms := c.Settings.TxnWorkMaxMs; ms != 0 {
		limit = ms * script.Millisecond
	}
	if c.bound != 0 {
		limit = min(limit, c.bound)
	}
	return limit
}

// announce counts work that the command is about to do, and tells whether the txn may do so much.
func (c *Ctx) announce(work int64) bool {
	if left := c.workLeft(); work > left {
		c.short = true
		return false
	}
	c.announced += work
	return true
}

// did counts work that the command has done.
func (c *Ctx) did(work int) { c.counted += int64(work) }

// workLeft is how much work the txn may still do.
func (c *Ctx) workLeft() int64 { return c.workMax() - c.work - max(c.announced, c.counted) }

// Exhausted tells that the txn has done all the work that it may do: commands of a transaction are
// refused then.
func (c *Ctx) Exhausted() bool { return c.workLeft() < 0 }

// ProgramWorkMax is the most work that the programs of one txn do before they are ended.
func (s *Settings) ProgramWorkMax() int64 { return s.ScriptWorkMaxMs * script.Millisecond }
