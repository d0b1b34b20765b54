package shard

import (
	"crypto/sha1"
	"encoding/hex"

	"lockstep/engine/command"
	"lockstep/engine/script"
	"lockstep/fsm"
)

// estimates are the leader's guesses at the work of commands that may take long. For a
// program the guess is the work that it did lately, and for another command the work of
// its name. A guess only decides which calls wait in front of the log. If it is too low,
// the machine refuses the excess (fsm, backlog.go).
type estimates struct {
	rows map[string]*estimate
	// first is the work that programs did lately when they ran for the first time.
	first int64
	// open is the work of all txns that are in the log, or on their way, and have not run.
	open int64
	// free is how many of these txns need not hold the lane (fsm, backlog.go). It is at
	// most freeMax.
	free, freeMax int
}

// estimate is the guess at the work of one program or command. The throttle's mutex
// guards it.
type estimate struct {
	// work is in units of work (command.WorkSecond). seen is true if a call has run.
	work int64
	seen bool
	// open is how many of its calls are in the log and have not run.
	open int
	// keyed is true if it locks only its keys and its arguments do not say how long it
	// takes.
	keyed bool
}

const (
	// estimateFirst is the guess for a new program before any new program has run. A few
	// hundred of them fit within the limit.
	estimateFirst = command.WorkSecond / 500
	// estimateLeast is the least guess.
	estimateLeast = command.WorkSecond / 100_000
	// A guess follows the work that was seen: it rises by one part in riseShare of the
	// difference, and falls by one part in fallShare.
	riseShare, fallShare = 2, 8
	// slowLeast is the guess from which on a command that locks only its keys must not
	// hold the lane, because other commands would wait for it.
	slowLeast = command.WorkSecond / 1000
	// estimatesMax bounds the number of guesses.
	estimatesMax = 4096
)

func (e *estimates) init(freeMax int) {
	e.rows, e.freeMax = map[string]*estimate{}, freeMax
	e.first = estimateFirst
}

// of is the estimate for a name. keyed reports whether the program locks only its keys.
// It is called if the name is new.
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

// forget drops the guesses for commands that are not in the log now.
func (e *estimates) forget() {
	// the order does not matter: all unused guesses are dropped
	for name, row := range e.rows {
		if row.open == 0 {
			delete(e.rows, name)
		}
	}
}

// countOpen counts one more call on its way into the log.
func (e *estimates) countOpen(row *estimate) {
	row.open++
	e.open += row.work
}

// takeFree counts a txn that does not hold the lane. It returns false if there is no room
// for it. Half of the room is kept for commands that are known to take long.
func (e *estimates) takeFree(row *estimate) bool {
	if !row.keyed || e.free >= e.freeMax/2 && !(row.slow() && e.free < e.freeMax) {
		return false
	}
	e.free++
	return true
}

// end counts one call less.
func (e *estimates) end(row *estimate) {
	row.open--
	e.open -= row.work
}

// slow reports whether the command locks only its keys and is known to take long.
func (row *estimate) slow() bool { return row.keyed && row.work >= slowLeast }

// learn records the work of one call. The calls that are still open count with the new
// guess from then on.
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

// nameOf is the name under which an op's work is recorded. It is in buf if buf is large
// enough.
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

// locksKeys reports whether a program locks only its keys, as far as this replica knows.
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
