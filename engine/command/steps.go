package command

// The work that counts as one step. A step is about the work for one member when sorted sets are
// combined, some tenths of a microsecond.
const (
	StepBytes        = 512
	stepBytesCopied  = 128 // memory costs more than time
	StepListElements = 16
	StepPairs        = 128 // of LCS
	StepKeys         = 4   // of KEYS, and the keys that SCAN and its like visit
	StepRegisters    = 64  // of a HyperLogLog
	StepsStored      = 2   // for each member of a sorted set that is made
	StepsSort        = 2   // for each element that SORT visits
	StepPending      = 2   // pending entries of a stream, consumers, functions
	stepTries        = 64  // of a pattern (package glob)
	StepRuns         = 64  // of registers, of a sparse HyperLogLog
)

// ErrWork is the reply to a command that would do more work than its txn may do.
const ErrWork = "ERR the work of one command or transaction is more than txn-max-work-ms; it changed nothing"

// Steps takes n steps from the work that the txn may do, and reports whether the txn may do that.
// If not it has answered the error, and the command must change nothing.
//
// One command can name one large key a million times, and one transaction can walk over the key a
// million times, for a few bytes each. The log brings that to every replica. So work on whole
// values for a short reply, and writes of data that was not in the log, count here before the work
// is done. Data that a client sends or receives has limits of its own. The count depends only on
// the state and is the same on all replicas.
func (c *Ctx) Steps(n int64) bool {
	ok := c.TakeSteps(n)
	if !ok {
		c.Out.Error(ErrWork)
	}
	return ok
}

// TextSteps is Steps for walking over so many bytes.
func (c *Ctx) TextSteps(bytes int64) bool { return c.Steps(max(bytes, 0) / StepBytes) }

// CopySteps is Steps for writing so many bytes.
func (c *Ctx) CopySteps(bytes int64) bool { return c.Steps(max(bytes, 0) / stepBytesCopied) }

// OutOfTries replaces the reply from begin on by an error if there were no steps left for matching.
// It reports whether it did so.
func (c *Ctx) OutOfTries(begin int) bool {
	if c.TriesOver {
		c.Out.Truncate(begin)
		c.Out.Error(ErrWork)
	}
	return c.TriesOver
}
