package command

// What counts as one step: about what a member takes when sorted sets are
// combined, some tenths of a microsecond.
const (
	StepBytes        = 512
	stepBytesCopied  = 128 // memory is dearer than time
	StepListElements = 16
	StepPairs        = 128 // of LCS
	StepKeys         = 4   // of KEYS, and what SCAN and its like visit
	StepRegisters    = 64  // of a HyperLogLog
	StepsStored      = 2   // for each member of a sorted set that is made
	StepsSort        = 2   // for each element that SORT goes over
	StepPending      = 2   // pending entries of a stream, consumers, functions
	stepTries        = 64  // of a pattern (package glob)
	StepRuns         = 64  // of registers, of a sparse HyperLogLog
)

// ErrWork is the answer to a command that would do more work than its txn may do.
const ErrWork = "ERR the work of one command or transaction is more than txn-max-work-ms; it changed nothing"

// Steps takes so many steps of the work that the txn may do, and tells whether it
// may. If not it has answered, and the command must change nothing.
//
// One command can name one large key a million times, and one transaction can
// go over it a million times, for a few bytes each; the log brings that to every
// replica. So what goes over whole values to answer little, or writes what was
// not in the log, counts here before it does so; what a client sent, or gets, is
// bounded by limits of its own. The count goes by the state alone and is the same
// on all replicas.
func (c *Ctx) Steps(n int64) bool {
	ok := c.TakeSteps(n)
	if !ok {
		c.Out.Error(ErrWork)
	}
	return ok
}

// TextSteps is Steps for going over so many bytes.
func (c *Ctx) TextSteps(bytes int64) bool { return c.Steps(max(bytes, 0) / StepBytes) }

// CopySteps is Steps for writing so many bytes.
func (c *Ctx) CopySteps(bytes int64) bool { return c.Steps(max(bytes, 0) / stepBytesCopied) }

// OutOfTries answers, in place of all that stands in Out from begin on, that
// there were no steps for matching; false: there were.
func (c *Ctx) OutOfTries(begin int) bool {
	if c.TriesOver {
		c.Out.Truncate(begin)
		c.Out.Error(ErrWork)
	}
	return c.TriesOver
}
