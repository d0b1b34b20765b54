package command

// What a txn has done is counted as work: one unit is about a nanosecond of one core of a
// server of the 2020s. Work is counted, not measured: the count is a function of what was
// done alone, so it is the same number on every replica and at every replay. Whatever has a
// budget is counted in it: the steps of commands (Ctx.steps) and all that programs do.

// WorkSecond is the work that one core does in about a second.
const WorkSecond = 1_000_000_000

// Prices, in units of work.
const (
	workTxn  = 1_000 // of a txn that does next to nothing
	workArg  = 50    // of an argument of a command
	workStep = 250   // of a step
)

// Work is the work that the txn has done so far.
func (c *Ctx) Work() int64 { return c.programWork + c.stepsTaken*workStep }

// CommandWork is the work that a command takes for its arguments, whatever it does with them.
func CommandWork(args [][]byte) int64 { return workTxn + int64(len(args))*workArg }

// ProgramWorkMax is the most work that the programs of one txn can do before they are ended.
func (s *Settings) ProgramWorkMax() int64 {
	l := s.scriptLimits()
	return min(l.WorkMax(), 1<<53) + s.StepsWorkMax()
}

// StepsWorkMax is the most work that the steps of one txn can take before its commands are
// refused.
func (s *Settings) StepsWorkMax() int64 { return min(s.TxnStepsMax, 1<<43) * workStep }
