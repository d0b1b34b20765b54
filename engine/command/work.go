package command

import (
	"math"

	"lockstep/engine/glob"
	"lockstep/engine/script"
)

// The effort of a txn is counted as work: one unit is about a nanosecond of one core of a server of
// the 2020s (script.Millisecond). Work is counted and not measured. It depends only on what was
// done, so it is the same number on every replica and at every replay. Programs pay for each
// instruction and everything else that they do. Commands pay in advance for walks over whole values
// (Ctx.Steps), or during their work (Ctx.Worked). Commands that cost little more than their
// arguments pay for the arguments.

// WorkSecond is the work of a second of one core.
const WorkSecond = 1000 * script.Millisecond

// The work of operations that long commands repeat, and the amount of work after which they rest:
// some tenths of a millisecond.
const (
	WorkItem       = 1  // to compare two elements, or to answer one
	WorkMember     = 4  // to look for a member, or to store one
	WorkUnpack     = 16 // to store an element of a payload
	workBeforeRest = 8000
)

// Prices, in units of work.
const (
	WorkCommand = 150 // of a command that does next to nothing
	workArg     = 30  // of an argument
	WorkStep    = 250
	WorkOne     = 50 // of a unit that Ctx.Worked counts
	// workArgBytes is how many bytes of arguments cost one unit.
	workArgBytes    = 16
	WorkPayloadByte = 2
	WorkStreamEntry = 250  // an entry of a stream that is read from a payload
	WorkFloat       = 1500 // of a sum with as many digits as Redis's
)

// Meter counts the work of a txn, and compares it with the limits of the settings.
type Meter struct {
	// Settings are the replicated limits that a handler uses.
	Settings *Settings
	// Rest yields the processor during long work. It may be nil. Other work that runs meanwhile is
	// on other slots, and changes nothing here.
	Rest func()
	// Bound is the most work, whatever the settings say. 0 means no bound.
	Bound int64
	// Short is set if the current command was refused something because there was not enough work
	// left.
	Short bool
	// TriesOver is set if the command had no work left for a pattern.
	TriesOver bool

	// work is the work of the txn's earlier commands and programs. announced is the work that the
	// current command has announced, counted the work that it has counted since it began.
	work, announced, counted int64
	// sinceRest is the work since the last rest.
	sinceRest int
}

// Work is the work that the txn has done so far, except for the arguments of its commands.
func (m *Meter) Work() int64 {
	m.endCommand()
	return m.work
}

// endCommand ends the count of a command. A command may have announced work and then counted the same
// work step by step, so the greater of the two counts.
func (m *Meter) endCommand() {
	m.work += max(m.announced, m.counted)
	m.announced, m.counted = 0, 0
}

// CommandWork is the work that a command takes for its arguments, whatever it does with them.
func CommandWork(args [][]byte) int64 {
	bytes := 0
	for _, a := range args {
		bytes += len(a)
	}
	return int64(WorkCommand + len(args)*workArg + bytes/workArgBytes)
}

// workMax is the most work of the txn. Beyond it commands are refused.
func (m *Meter) workMax() int64 {
	limit := int64(math.MaxInt64)
	if ms := m.Settings.TxnWorkMaxMs; ms != 0 {
		limit = ms * script.Millisecond
	}
	if m.Bound != 0 {
		limit = min(limit, m.Bound)
	}
	return limit
}

// Announce counts work that the command is about to do, and reports whether the txn may do that
// much.
func (m *Meter) Announce(work int64) bool {
	if left := m.WorkLeft(); work > left {
		m.Short = true
		return false
	}
	m.announced += work
	return true
}

// Did counts work that the command has done.
func (m *Meter) Did(work int) { m.counted += int64(work) }

// WorkLeft is how much work the txn may still do.
func (m *Meter) WorkLeft() int64 { return m.workMax() - m.work - max(m.announced, m.counted) }

// Exhausted reports that the txn has no work left: the commands of a transaction are then refused.
func (m *Meter) Exhausted() bool { return m.WorkLeft() < 0 }

// Spent counts work that a program has done and no command has announced.
func (m *Meter) Spent(work int64) { m.work += work }

// Pause yields the processor, if Rest is set.
func (m *Meter) Pause() {
	if m.Rest != nil {
		m.Rest()
	}
}

// Worked counts work, and rests if much of it was done since the last rest.
func (m *Meter) Worked(n int) {
	m.Did(n * WorkOne)
	if m.sinceRest += n; m.sinceRest >= workBeforeRest {
		m.sinceRest = 0
		m.Pause()
	}
}

// Item counts the work of comparing two elements, or of answering one.
func (m *Meter) Item() { m.Worked(WorkItem) }

// Member counts the work of looking for a member, or of storing one.
func (m *Meter) Member() { m.Worked(WorkMember) }

// TakeSteps is Steps without a reply. n is not negative.
func (m *Meter) TakeSteps(n int64) bool { return m.Announce(min(n, math.MaxInt64/WorkStep) * WorkStep) }

// StepsLeft is how many steps the txn may still take.
func (m *Meter) StepsLeft() int64 { return max(m.WorkLeft(), 0) / WorkStep }

// Matches reports whether a key or an element matches a pattern. Matching may be slow if both are
// long, and a command may try a million of them for a short reply. So tries count. If the txn has
// no steps left nothing matches, and the command must call OutOfTries before it ends.
func (m *Meter) Matches(pattern, text []byte, nocase bool) bool {
	if m.TriesOver {
		return false
	}
	// Except for the empty text: there Redis's matcher does not get as far as a star.
	if len(text) == 0 {
		return len(pattern) == 0
	}
	ok, tries := glob.MatchTries(pattern, text, nocase)
	if tries >= stepTries {
		m.TriesOver = !m.TakeSteps(int64(tries) / stepTries)
	}
	return ok
}

// ProgramWorkMax is the most work of the programs of one txn before they are ended.
func (s *Settings) ProgramWorkMax() int64 { return s.ScriptWorkMaxMs * script.Millisecond }
