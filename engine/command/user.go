package command

// Reason says why a user may not run a command. Allowed means that the user may. A later reason
// means that more checks have passed, see Denial.
type Reason uint8

// The reasons, in the order of the checks.
const (
	Allowed Reason = iota
	DeniedCommand
	DeniedKey
	DeniedChannel
)

// Denial is the result of the check whether a user may run a command.
type Denial struct {
	Reason Reason
	// Arg is the place of the key or the channel among the arguments.
	Arg int
}

// User decides what a user may do; acl.User implements it. The result depends only on the
// arguments.
type User interface {
	Judge(spec *Spec, args [][]byte) Denial
	// MayReadAll reports whether the user may run the command and read every key with it.
	MayReadAll(spec *Spec, args [][]byte) bool
}

// NeedsUser reports whether the command must know its user when it runs, because it uses more than
// its arguments say.
func (s *Spec) NeedsUser() bool { return s.RunsProgram() || s.Is(ReachesMore) }

// FlagsOf is what the command does to a key, given its arguments: SET reads the key only to answer
// the old value, and BITFIELD may only read.
func (s *Spec) FlagsOf(args [][]byte, k KeyRef) KeyFlag {
	if k.Flags&KeyVariableFlags != 0 && s.KeyFlagsOf != nil {
		return s.KeyFlagsOf(args)
	}
	return k.Flags
}
