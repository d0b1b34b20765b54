package command

import (
	"bytes"
	"sync"

	"lockstep/engine/script"
)

// Programs are the programs that a shard stores beside its keys, for EVALSHA and FCALL. They are
// part of the replicated state. Any goroutine may read them.
type Programs struct {
	// Scripts changes at the places in the log where Spec.Plan is called, by one goroutine.
	Scripts script.Cache
	// Functions changes when the txns that change it run.
	Functions script.Functions
	// Interpreters and Running are this replica's own: the interpreters, and the programs that run.
	Interpreters script.Interpreters
	Running      Running
}

// MemoryBytes is the approximate memory of scripts and libraries.
func (p *Programs) MemoryBytes() int64 { return p.Scripts.MemoryBytes() + p.Functions.MemoryBytes() }

// Plan is the plan of a call before it takes its locks. It is made at the call's place in the log
// or, for a read, when the read arrives.
type Plan struct {
	// Access says which locks the call takes.
	Access PlanAccess
	// Shared is set if the call locks its keys shared. A call that locks the whole shard shares
	// nothing.
	Shared bool
	// Writes is set if the call may change data. It then runs only from the log.
	Writes bool
	// Uncached is the text of a script that a read runs and that should be put into the cache. That
	// needs an entry in the log (lockstep.keep).
	Uncached []byte
	// ChangesFunctions is set if the call has announced a change of the functions. The change must
	// be settled when its txn has ended.
	ChangesFunctions bool
	// OfChange is the number of the change of functions that a read was planned with, or 0 if the
	// plan does not depend on functions. If another change has come when the read has its locks,
	// the read must be planned again.
	OfChange uint64
	// Program names the program that the call runs: the SHA1 of a script, or a function. It is ""
	// if the call runs none, or if the program is not known yet.
	Program string
	// Asks, if set, returns the locks that the call would ask for now, at its turn, and whether
	// shared. The call has locked everything, because its function was not known when it was
	// planned.
	Asks func(p *Programs, args [][]byte) (access PlanAccess, shared bool)
	// Run runs the call under its locks, instead of the row's handler.
	Run func(c *Ctx, args [][]byte)
}

// OutOfDate reports whether the functions have changed since the call was planned.
func (p *Plan) OutOfDate(programs *Programs) bool {
	return p.OfChange != 0 && p.OfChange != programs.Functions.Changes()
}

// PlanAccess is the locks of a planned call.
type PlanAccess uint8

const (
	// PlanNothing means that the call needs only a permit.
	PlanNothing PlanAccess = iota
	// PlanKeys means that the call locks the keys that its row finds.
	PlanKeys
	// PlanGlobal means that the call locks the whole shard.
	PlanGlobal
)

// Planning is the input for planning a call.
type Planning struct {
	Programs *Programs
	Settings *Settings
	// Logged is set if the call is in the log, and may change the programs.
	Logged bool
	// InExec is set if it is part of a transaction.
	InExec bool
	// Script is the script that the call evaluates, if the log names it by its SHA1. If it is nil
	// the text is among the arguments.
	Script *script.Script
}

// ProgramKind is the kind of a program: script or function.
type ProgramKind uint8

// The kinds of programs.
const (
	KindScript ProgramKind = iota
	KindFunction
)

// Running is the programs that run on a replica now. The zero value is ready.
type Running struct {
	mu   sync.Mutex // guards runs
	runs map[*RunningProgram]struct{}
}

// RunningProgram is a program that runs.
type RunningProgram struct {
	Kind ProgramKind
	// Killable is set if it does not run from the log, so it can be ended.
	Killable bool
	Killed   chan struct{}
	// Name is the name of the function, Command is the call. Both are valid only while the program
	// runs.
	Name    string
	Command [][]byte
	BeganMs int64
}

// Begin records that a program runs, until End.
func (r *Running) Begin(p *RunningProgram) *RunningProgram {
	if p.Killable {
		p.Killed = make(chan struct{})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs == nil {
		r.runs = map[*RunningProgram]struct{}{}
	}
	r.runs[p] = struct{}{}
	return p
}

// End records that a program has ended.
func (r *Running) End(p *RunningProgram) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.runs, p)
}

// Oldest describes the program of a kind that has run for the longest time, and its call. It
// returns nil if there is none.
func (r *Running) Oldest(kind ProgramKind) *RunningProgram {
	r.mu.Lock()
	defer r.mu.Unlock()
	var first *RunningProgram
	for p := range r.runs { // order does not matter: running programs are not part of the state
		if p.Kind == kind && (first == nil || p.BeganMs < first.BeganMs) {
			first = p
		}
	}
	if first == nil {
		return nil
	}
	told := &RunningProgram{Name: first.Name, BeganMs: first.BeganMs}
	for _, a := range first.Command {
		told.Command = append(told.Command, bytes.Clone(a))
	}
	return told
}

// Kill ends all programs of a kind that can be ended. It returns how many programs of that kind
// run, and how many of them are being ended.
func (r *Running) Kill(kind ProgramKind) (running, killed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range r.runs { // order does not matter: all are ended
		if p.Kind != kind {
			continue
		}
		running++
		if p.Killable {
			killed++
			select {
			case <-p.Killed:
			default:
				close(p.Killed)
			}
		}
	}
	return running, killed
}
