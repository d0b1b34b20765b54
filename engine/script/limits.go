package script

// Millisecond is the work of about a millisecond of one core, in units of work (package command).
const Millisecond = 1_000_000

// Limits bound one run. They decide where a script fails, so they must be the
// same on every replica.
type Limits struct {
	// Work is how much may be done, in units of work.
	Work int64
	// Bytes is how much may be allocated, whether or not it is still in use.
	Bytes int64
	// CallDepth is how many calls may stand within each other.
	CallDepth int
	// ReplyBytes is how long the reply may be.
	ReplyBytes int
	// SourceBytes is how long a script may be.
	SourceBytes int
}

// Budget is what is left of Limits for the programs of one txn.
type Budget struct{ Work, Bytes int64 }

// take takes work from the budget, and tells whether there was so much.
func (b *Budget) take(work int64) bool {
	enough := work <= b.Work
	b.Work = max(b.Work-work, 0)
	return enough
}

// Budget is that of a txn that has run no program.
func (l *Limits) Budget() Budget { return Budget{l.Work, l.Bytes} }

// DefaultLimits end a script after about a second of one core.
var DefaultLimits = Limits{
	Work:        1000 * Millisecond,
	Bytes:       256 << 20,
	CallDepth:   callDepthFirst,
	ReplyBytes:  64 << 20,
	SourceBytes: 1 << 20,
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
	innerRegisters     = 512 // of a thread of pcall
	innerGrowBy        = 1 << 14
	unpackMax          = 8000
	replyDepthMax      = 128
	syntaxDepthMax     = 200 // levels of nesting in the source
	chainMax           = 2000
	arrayIndexMax      = 1 << 16
)
