package command

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
