package script

// Limits bound one run. They decide where a script fails, so they must be the
// same on every replica.
type Limits struct {
	// Instructions is how many instructions may run; library functions charge
	// for work in the same unit.
	Instructions int64
	// Bytes is how much may be allocated, whether or not it is still in use.
	Bytes int64
	// PatternSteps is how many steps all pattern matching may take together.
	PatternSteps int64
	// Coroutines is how many may be created.
	Coroutines int
	// CallDepth is how many calls may stand within each other.
	CallDepth int
	// ReplyBytes is how long the reply may be.
	ReplyBytes int
	// SourceBytes is how long a script may be.
	SourceBytes int
}

// DefaultLimits suit scripts that Redis would finish within its
// busy-reply-threshold.
var DefaultLimits = Limits{
	Instructions: 50_000_000,
	Bytes:        256 << 20,
	PatternSteps: 50_000_000,
	Coroutines:   1000,
	CallDepth:    callDepthFirst,
	ReplyBytes:   64 << 20,
	SourceBytes:  1 << 20,
}

// Prices of what is counted, in units of work (package command): about a nanosecond of one
// core each.
const (
	workInstruction = 20
	workPatternStep = 10
)

// Work is the work that a run has done which left so much of its limits.
func Work(limits, left *Limits) int64 {
	return (limits.Instructions-left.Instructions)*workInstruction + (limits.PatternSteps-left.PatternSteps)*workPatternStep
}

// WorkMax is the most work that the limits let a run do.
func (l *Limits) WorkMax() int64 {
	return l.Instructions*workInstruction + l.PatternSteps*workPatternStep
}

// What CallDepth may be. Redis stops at the upper bound. A level takes 80 bytes of
// an interpreter and, where functions call each other by metamethods, about a
// kilobyte of the goroutine's stack.
const (
	CallDepthMin = 100
	CallDepthMax = 20_000
)

// Fixed bounds: sizes of the interpreter's own stacks are part of its meaning.
const (
	// callDepthFirst is the default of Limits.CallDepth, and holds for a library that is
	// loaded whatever the limit is.
	callDepthFirst   = 4000
	goDepthMax       = 190 // Lua called from the library, called from Lua ...
	registersInitial = 2048
	registersMax     = 1 << 18
	registersGrowBy  = 4096
	threadDepthMax   = 1000 // if CallDepth is no less
	threadRegisters  = 256
	// A coroutine that rests keeps its registers, and pays for no more than these.
	threadRegistersMax = 1 << 14
	unpackMax          = 8000
	replyDepthMax      = 128
	syntaxDepthMax     = 200 // levels of nesting in the source
	chainMax           = 2000
	arrayIndexMax      = 1 << 16
)
