package script

// Millisecond is the work of about a millisecond of one core, in units of work (package command).
const Millisecond = 1_000_000

// Limits bound one run. They decide where a script fails, so they must be the
// same on every replica.
type Limits struct {
	// Work is the most work, in units of work.
	Work int64
	// Bytes is the most bytes to allocate, whether or not they are still in use.
	Bytes int64
	// CallDepth is the most nested calls.
	CallDepth int
	// ReplyBytes is the greatest length of the reply.
	ReplyBytes int
	// SourceBytes is the greatest length of a script.
	SourceBytes int
}

// Budget is the rest of Limits for the programs of one txn.
type Budget struct{ Work, Bytes int64 }

// spend takes work from the budget, and reports whether the budget had that much.
func (b *Budget) spend(work int64) bool {
	enough := work <= b.Work
	b.Work = max(b.Work-work, 0)
	return enough
}

// Budget is the budget of a txn that has not run a program yet.
func (l *Limits) Budget() Budget { return Budget{l.Work, l.Bytes} }

// DefaultLimits end a script after about a second of one core.
var DefaultLimits = Limits{
	Work:        1000 * Millisecond,
	Bytes:       256 << 20,
	CallDepth:   callDepthFirst,
	ReplyBytes:  64 << 20,
	SourceBytes: 1 << 20,
}

// The bounds of CallDepth. Redis stops at the upper one. A level takes 80 bytes of an interpreter
// and, if functions call each other through metamethods, about a kilobyte of the goroutine's stack.
const (
	CallDepthMin = 100
	CallDepthMax = 20_000
)

// Fixed bounds. The sizes of the interpreter's own stacks affect results, so they cannot be
// settings.
const (
	// callDepthFirst is the default of Limits.CallDepth. It is also the limit for a library that is
	// loaded, whatever the setting is.
	callDepthFirst   = 4000
	goDepthMax       = 190 // Lua called from the library, called from Lua ...
	registersInitial = 2048
	registersMax     = 1 << 18
	registersGrowBy  = 4096
	threadDepthMax   = 1000 // unless CallDepth is less
	threadRegisters  = 256
	// A suspended coroutine keeps its registers, and pays for no more than this number.
	threadRegistersMax = 1 << 14
	innerRegisters     = 512 // of a thread of pcall
	innerGrowBy        = 1 << 14
	unpackMax          = 8000
	replyDepthMax      = 128
	syntaxDepthMax     = 200 // levels of nesting in the source
	chainMax           = 2000
	arrayIndexMax      = 1 << 16
)
