package command

import "lockstep/engine/sched"

// Reason says why a user may not run a command; Allowed: it may. A later one
// came further, see Denial.
type Reason uint8

// The reasons, in the order in which they are looked for.
const (
	Allowed Reason = iota
	DeniedCommand
	DeniedKey
	DeniedChannel
)

// Denial is the answer to whether a user may run a command.
type Denial struct {
	Reason Reason
	// Arg is the place of the key or the channel among the arguments.
	Arg int
}

// User judges what a user may do; acl.User is one. What it answers depends on
// the arguments alone.
type User interface {
	Judge(spec *Spec, args [][]byte) Denial
	// MayReadAll tells whether the user may run the command and read every key
	// with it.
	MayReadAll(spec *Spec, args [][]byte) bool
}

// NeedsUser tells whether the command must know, where it runs, who runs it: it
// reaches more than its arguments say.
func (s *Spec) NeedsUser() bool { return s.RunsProgram() || s.Is(ReachesMore) }

// FlagsOf is what the command does to a key, given its arguments: SET reads the
// key only to answer what it was, and BITFIELD may do nothing but read.
func (s *Spec) FlagsOf(args [][]byte, k KeyRef) KeyFlag {
	if k.Flags&KeyVariableFlags != 0 && s.KeyFlagsOf != nil {
		return s.KeyFlagsOf(args)
	}
	return k.Flags
}

// flagsOfSet: GET answers the value, and IFEQ tells whether a guess at it is right.
func flagsOfSet(args [][]byte) KeyFlag {
	for _, a := range args[min(len(args), 3):] {
		if equalFold(a, "get") || equalFold(a, "ifeq") {
			return KeyRW | KeyAccess | KeyUpdate
		}
	}
	return KeyOW | KeyUpdate
}

func flagsOfBitField(args [][]byte) KeyFlag {
	if bitFieldMode(args) == sched.Shared {
		return KeyRO | KeyAccess
	}
	return KeyRW | KeyAccess | KeyUpdate
}

// What a script's command is refused with, for its user's sake.
var errScriptDenied = [...]string{
	DeniedCommand: "ERR The user executing the script can't run this command or subcommand",
	DeniedKey:     "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments",
	DeniedChannel: "ERR The user executing the script can't publish to the channel mentioned in the command",
}

// userRefusal is why the script's user may not run a command, "" if it may.
func (h *ScriptHost) userRefusal(spec *Spec, args [][]byte) string {
	if h.Ctx.User == nil {
		return ""
	}
	h.denial = h.Ctx.User.Judge(spec, args)
	return errScriptDenied[h.denial.Reason]
}

// readsAll tells whether the user may read whatever key SORT's patterns lead to.
func (c *Ctx) readsAll(args [][]byte) bool {
	if c.User == nil {
		return true
	}
	spec, _ := Lookup(args)
	return c.User.MayReadAll(spec, args)
}
