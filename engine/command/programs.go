package command

import (
	"bytes"
	"sync"

	"lockstep/engine/script"
)

// Programs are what a shard keeps beside its keys: what EVALSHA and FCALL find.
// It is part of the replicated state. Any goroutine may read it.
type Programs struct {
	// Scripts change at the places in the log where Spec.Plan is called, by one
	// goroutine.
	Scripts script.Cache
	// Functions change when the txns that change them run.
	Functions script.Functions
	// Interpreters and Running are this replica's own: who runs programs, and what runs
	// on them.
	Interpreters script.Interpreters
	Running      Running
}

// MemoryBytes is about what scripts and libraries take.
func (p *Programs) MemoryBytes() int64 { return p.Scripts.MemoryBytes() + p.Functions.MemoryBytes() }

// Plan is what is settled of a call before it takes its locks: at its place in
// the log, or, for a read, when it comes.
type Plan struct {
	// Access says which locks the call takes.
	Access PlanAccess
	// Shared: it takes its keys shared. What takes the whole shard shares nothing.
	Shared bool
	// Writes: it may change data, and runs from the log alone.
	Writes bool
	// Uncached: it is a read of a script that should be put into the cache, for
	// which it must enter the log (lockstep.keep).
	Uncached []byte
	// ChangesFunctions: it has announced a change of the functions, which is to be
	// settled when its txn has ended.
	ChangesFunctions bool
	// OfChange is the number of the change of functions that a read goes by, 0: it
	// does not go by them. If it is not the last one when the read has its locks,
	// the read is to be planned again.
	OfChange uint64
	// Program names the program that the call runs: the SHA1 of a script, or a function; ""
	// where it runs none, or none that is known yet.
	Program string
	// Asks, when set, tells at the call's turn which locks it would ask for now, and whether
	// shared. It asked for all, for its function was not known when it was planned.
	Asks func(p *Programs, args [][]byte) (access PlanAccess, shared bool)
	// Run runs the call under its locks, instead of the row's handler.
	Run func(c *Ctx, args [][]byte)
}

// OutOfDate tells whether the functions have changed since the call was planned.
func (p *Plan) OutOfDate(programs *Programs) bool {
	return p.OfChange != 0 && p.OfChange != programs.Functions.Changes()
}

// PlanAccess is what a planned call locks.
type PlanAccess uint8

const (
	// PlanNothing: a permit is all it needs.
	PlanNothing PlanAccess = iota
	// PlanKeys: the keys its row finds.
	PlanKeys
	// PlanGlobal: the whole shard.
	PlanGlobal
)

// Planning is what a call is planned with.
type Planning struct {
	Programs *Programs
	Settings *Settings
	// Logged: the call stands in the log, and may change the programs.
	Logged bool
	// InExec: it is part of a transaction.
	InExec bool
	// Script is what the call evaluates, where the log names it by its SHA1; nil: the
	// text is among the arguments.
	Script *script.Script
}

// ProgramKind tells scripts and functions apart.
type ProgramKind uint8

// The kinds of programs.
const (
	KindScript ProgramKind = iota
	KindFunction
)

// Running is what runs on a replica at the moment. The zero value is ready.
type Running struct {
	mu   sync.Mutex // guards runs
	runs map[*RunningProgram]struct{}
}

// RunningProgram is a program that runs.
type RunningProgram struct {
	Kind ProgramKind
	// killable: it runs from no log, so it can be ended.
	Killable bool
	Killed   chan struct{}
	// Name is the function's, command the call; both are only good while it runs.
	Name    string
	Command [][]byte
	BeganMs int64
}

// Begin notes that a program runs, until end.
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

// End notes that a program has ended.
func (r *Running) End(p *RunningProgram) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.runs, p)
}

// Oldest describes the program of a kind that has run for longest, and of its
// call, nil if there is none.
func (r *Running) Oldest(kind ProgramKind) *RunningProgram {
	r.mu.Lock()
	defer r.mu.Unlock()
	var first *RunningProgram
	for p := range r.runs { // order does not matter: what runs is no state
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

// Kill ends all programs of a kind that can be ended. It tells how many of that
// kind ran, and how many of them are being ended.
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
