package command

import (
	"math"

	"lockstep/engine/glob"
	"lockstep/engine/script"
)

// What a txn does is counted as work: one unit is about a nanosecond of one core of a server of
// the 2020s (script.Millisecond). Work is counted, not measured: it depends on what was done alone,
// so it is the same number on every replica and at every replay. Programs pay for each instruction
// and whatever else they do; commands pay in advance for what goes over whole values (Ctx.steps), or
// as they go along (Ctx.worked). What costs little more than its arguments pays for those.

// WorkSecond is the work of a second of one core.
const WorkSecond = 1000 * script.Millisecond

// How much work is what long commands do again and again, and after how much of
// it there is a rest: some tenths of a millisecond.
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
	WorkOne     = 50 // of one that Ctx.worked counts
	// workArgBytes are bytes of arguments that cost one.
	workArgBytes    = 16
	WorkPayloadByte = 2
	WorkStreamEntry = 250  // an entry of a stream that is read from a payload
	WorkFloat       = 1500 // of a sum with as many digits as Redis's
)

// Meter counts the work of a txn, against the limits of the settings.
type Meter struct {
	// Settings are the replicated limits a handler looks at.
	Settings *Settings
	// Rest leaves the processor to others in the middle of long work; nil: nobody
	// wants it. What they do meanwhile is on other slots, and changes nothing here.
	Rest func()
	// Bound is what the work may not go beyond, whatever the settings say; 0: nothing.
	Bound int64
	// Short: the command that runs may not do what it wanted to, for want of work.
	Short bool
	// TriesOver: the command had no work left for a pattern.
	TriesOver bool

	// work is that of the txn's commands and programs so far. announced is what the
	// command that runs has announced, counted what it has counted on its way.
	work, announced, counted int64
	// sinceRest is the work since the last rest.
	sinceRest int
}

// Work is the work that the txn has done so far, beside what its commands take for their arguments.
func (m *Meter) Work() int64 {
	m.settle()
	return m.work
}

// settle ends the count of a command: what it announced may be what it has also counted one by one.
func (m *Meter) settle() {
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

// workMax is how much work the txn may do before its commands are refused.
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

// Announce counts work that the command is about to do, and tells whether the txn may do so much.
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

// Exhausted tells that the txn has done all the work that it may do: commands of a transaction are
// refused then.
func (m *Meter) Exhausted() bool { return m.WorkLeft() < 0 }

// Spent counts work that a program has done, which no command has announced.
func (m *Meter) Spent(work int64) { m.work += work }

// Pause leaves the processor to others, if they want it.
func (m *Meter) Pause() {
	if m.Rest != nil {
		m.Rest()
	}
}

// Worked counts work, and rests when there was much of it since the last time.
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

// TakeSteps is Steps without an answer. n is not negative.
func (m *Meter) TakeSteps(n int64) bool { return m.Announce(min(n, math.MaxInt64/WorkStep) * WorkStep) }

// StepsLeft is how many steps the txn may still take.
func (m *Meter) StepsLeft() int64 { return max(m.WorkLeft(), 0) / WorkStep }

// Matches tells whether a key or an element matches a pattern. That may be slow
// for both of some length, and an answer be short that has tried a million of
// them: so tries count. Once the txn has no steps left nothing matches, and the
// command must ask OutOfTries before it ends.
func (m *Meter) Matches(pattern, text []byte, nocase bool) bool {
	if m.TriesOver {
		return false
	}
	// But for the empty one: Redis's matcher does not get as far as a star then.
	if len(text) == 0 {
		return len(pattern) == 0
	}
	ok, tries := glob.MatchTries(pattern, text, nocase)
	if tries >= stepTries {
		m.TriesOver = !m.TakeSteps(int64(tries) / stepTries)
	}
	return ok
}

// ProgramWorkMax is the most work that the programs of one txn do before they are ended.
func (s *Settings) ProgramWorkMax() int64 { return s.ScriptWorkMaxMs * script.Millisecond }
