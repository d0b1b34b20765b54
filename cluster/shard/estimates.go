package shard

import (
	"crypto/sha1"
	"encoding/hex"

	"lockstep/engine/command"
	"lockstep/engine/script"
	"lockstep/fsm"
)

// estimates are the leader's guess at the work of what takes long: of each program what it was
// seen to do of late, and of a command what its name was. A guess only decides which calls wait
// before the log; where it is too low the machine refuses what is too much (fsm, backlog.go).
type estimates struct {
	rows map[string]*estimate
	// first is what programs did of late that nobody had seen before.
	first int64
	// open is the work of all txns that are in the log, or on their way, and have not run.
	open int64
	// free is how many txns are among them that need not hold the lane (fsm, backlog.go): freeMax
	// at most.
	free, freeMax int
}

// estimate is the guess at the work of one program or command. All is guarded by the throttle's mutex.
type estimate struct {
	// work is in units of work (command.WorkSecond); runs is whether it was ever seen.
	work int64
	seen bool
	// open is how many are in the log and have not run.
	open int
	// keyed is true if it locks its keys alone, and its arguments do not say how long it
	// takes.
	keyed bool
}

const (
	// estimateFirst is what a program is taken to do that is the first of its kind: so many
	// hundreds of new ones fit into the limit.
	estimateFirst = command.WorkSecond / 500
	// estimateLeast is what it is taken to do at least.
	estimateLeast = command.WorkSecond / 100_000
	// riseShare and fallShare are the parts of the difference by which a guess follows what
	// was seen: up fast, and down slowly.
	riseShare, fallShare = 2, 8
	// slowLeast is the guess from which on work with key locks must not hold the lane, for others
	// would wait for it.
	slowLeast = command.WorkSecond / 1000
	// estimatesMax bounds the guesses that are kept.
	estimatesMax = 4096
)

func (e *estimates) init(freeMax int) {
	e.rows, e.freeMax = map[string]*estimate{}, freeMax
	e.first = estimateFirst
}

// of is the estimate of a name; keyed tells whether the program locks its keys alone, and is
// asked where the name is new.
func (e *estimates) of(name []byte, keyed func() bool) *estimate {
	if row := e.rows[string(name)]; row != nil {
		return row
	}
	if len(e.rows) >= estimatesMax {
		e.forget()
	}
	row := &estimate{work: e.first, keyed: keyed()}
	e.rows[string(name)] = row
	return row
}

// forget drops the guesses at what is not in the log now.
func (e *estimates) forget() {
	// order does not matter: all that nobody needs are dropped
	for name, row := range e.rows {
		if row.open == 0 {
			delete(e.rows, name)
		}
	}
}

// begin counts one more that is on its way into the log.
func (e *estimates) begin(row *estimate) {
	row.open++
	e.open += row.work
}

// takeFree takes a place for a txn that is to be free of the lane. It returns false if there is
// none for it. Half of them are kept for what is known to take long.
func (e *estimates) takeFree(row *estimate) bool {
	if !row.keyed || e.free >= e.freeMax/2 && !(row.slow() && e.free < e.freeMax) {
		return false
	}
	e.free++
	return true
}

// end counts one less.
func (e *estimates) end(row *estimate) {
	row.open--
	e.open -= row.work
}

// slow reports whether it locks its keys alone and is known to take long.
func (row *estimate) slow() bool { return row.keyed && row.work >= slowLeast }

// learn takes note of the work that one did. Those that are still open are then counted by the
// new guess.
func (e *estimates) learn(row *estimate, work int64) {
	next := follow(row.work, work)
	if !row.seen {
		e.first = follow(e.first, work)
		row.seen, next = true, max(work, estimateLeast)
	}
	e.open += int64(row.open) * (next - row.work)
	row.work = next
}

func follow(guess, seen int64) int64 {
	if seen > guess {
		return guess + (seen-guess)/riseShare
	}
	return max(guess-(guess-seen)/fallShare, estimateLeast)
}

// nameOf is the name that an op's work is known by, in buf where that is large enough.
func nameOf(buf []byte, op *fsm.Op) []byte {
	spec := op.Spec()
	switch {
	case !spec.RunsProgram():
	case op.Sum != nil:
		return append(buf, op.Sum...)
	case spec.ProgramKind() == command.KindFunction:
		return append(append(buf, "function "...), op.Args[1]...)
	case spec.Evaluates:
		sum := sha1.Sum(op.Args[1])
		return append(buf, sum[:]...)
	case len(op.Args[1]) == hex.EncodedLen(sha1.Size):
		if sum, err := hex.AppendDecode(buf, op.Args[1]); err == nil {
			return sum
		}
	}
	return append(buf[:0], spec.Name...)
}

// locksKeys reports whether a program, as far as a replica knows it, locks its keys
// alone.
func locksKeys(programs *command.Programs, op *fsm.Op) bool {
	spec := op.Spec()
	if spec.ProgramKind() == command.KindFunction {
		f, _ := programs.Functions.Find(string(op.Args[1]))
		return f != nil && f.Flags&script.AllowKeyLocking != 0
	}
	if op.Sum == nil && spec.Evaluates {
		h, err := script.ReadHeader(op.Args[1])
		return err == nil && h.Flags&script.AllowKeyLocking != 0
	}
	var s *script.Script
	if op.Sum != nil {
		s = programs.Scripts.Named(script.Sum(op.Sum))
	} else {
		s = programs.Scripts.Get(string(op.Args[1]))
	}
	return s != nil && s.Header.Flags&script.AllowKeyLocking != 0
}
