// Package command is the table of all commands and the handlers of those that
// work on data.
//
// A command is one row (Spec) in its family's file: strings.go, keys.go, and so on.
// Its handler is in that file or in one whose name begins alike (strings_set.go);
// those of commands of the connection, the server and the cluster are above, in
// proto/client and proto/admin. The list of families below is explicit, so that reading it is
// enough to know them all. Arity checks, routing, lock slots, COMMAND INFO, ACL
// categories and the documentation are read from the rows. Adding a command
// touches its family's files and its test script.
//
// Handlers follow three rules. They reach nothing but their Ctx. They change
// nothing before they are sure not to fail (Redis's commands are atomic, and
// there is no undo). They copy what they keep: arguments point into a log
// entry that others read.
package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lockstep/engine/sched"
)

// families is the whole table, in the order documentation lists it.
var families = [][]*Spec{
	stringFamily,
	listFamily,
	hashFamily,
	fieldExpiryFamily,
	setFamily,
	sortedSetFamily,
	streamFamily,
	bitmapFamily,
	hyperLogLogFamily,
	geoFamily,
	sortFamily,
	keyFamily,
	keyspaceFamily,
	pubSubFamily,
	scriptingFamily,
	functionFamily,
	internalFamily,
	connectionFamily,
	serverFamily,
	aclFamily,
	introspectionFamily,
	moduleFamily,
	clusterFamily,
}

var (
	table  = map[string]*Spec{}
	byWord = map[string]*Spec{} // commands in small and in capital letters
	sorted []*Spec
	rows   int
)

func init() {
	for _, family := range families {
		for _, s := range family {
			add(s)
		}
	}
	slices.SortFunc(sorted, func(a, b *Spec) int { return strings.Compare(a.Name, b.Name) })
}

func add(s *Spec) {
	if table[s.Name] != nil {
		panic(fmt.Sprintf("command: %s stands in the table twice", s.Name))
	}
	table[s.Name], byWord[s.Name], byWord[strings.ToUpper(s.Name)] = s, s, s
	sorted = append(sorted, s)
	s.number, rows = rows, rows+1
	for _, sub := range s.Sub {
		sub.parent = s
		sub.number, rows = rows, rows+1
		table[sub.Name] = sub
	}
}

// All returns the commands by name, without subcommands. The caller must not
// change the slice.
func All() []*Spec { return sorted }

// Rows is how many rows there are, subcommands included.
func Rows() int { return rows }

// Number is the row's place in the table of this program, from 0 to Rows()-1.
func (s *Spec) Number() int { return s.number }

// Get returns the command, or the subcommand "parent|sub", of a lower-case
// name.
func Get(name string) *Spec { return table[name] }

// Lookup finds the command of a request; for a container the subcommand. It
// returns nil when there is none; if the container alone is known, and its
// subcommand is not, container is set.
func Lookup(args [][]byte) (spec, container *Spec) {
	s := lookupName(args[0])
	if s == nil || len(s.Sub) == 0 || len(args) == 1 {
		return s, nil
	}
	for _, sub := range s.Sub {
		if equalFold(args[1], sub.Name[len(s.Name)+1:]) {
			return sub, nil
		}
	}
	return nil, s
}

func lookupName(name []byte) *Spec {
	if s := byWord[string(name)]; s != nil {
		return s
	}
	var buf [32]byte
	if len(name) > len(buf) {
		return nil
	}
	for i, c := range name {
		buf[i] = lower(c)
	}
	return byWord[string(buf[:len(name)])]
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// equalFold tells whether a equals the lower-case text b, ASCII case aside.
func equalFold(a []byte, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i, c := range a {
		if lower(c) != b[i] {
			return false
		}
	}
	return true
}

// CheckArity tells whether n arguments, the name included, are right.
func (s *Spec) CheckArity(n int) bool {
	if s.Arity < 0 {
		return n >= -s.Arity
	}
	return n == s.Arity
}

// Parent is the container of a subcommand, else nil.
func (s *Spec) Parent() *Spec { return s.parent }

// InRedis tells whether Redis of a version has the command ("7.2" stands for 7.2.9, too).
func (s *Spec) InRedis(version string) bool {
	return s.Origin == "" && slices.Compare(numbers(s.Since)[:2], numbers(version)[:2]) <= 0
}

// numbers are the three parts of a version.
func numbers(version string) []int {
	parts := make([]int, 3)
	for i, part := range strings.SplitN(version, ".", len(parts)) {
		parts[i], _ = strconv.Atoi(part)
	}
	return parts
}

// Is tells whether the command has all these flags.
func (s *Spec) Is(f Flag) bool { return s.Flags&f == f }

// RunsProgram tells whether the command runs a program (EVAL).
func (s *Spec) RunsProgram() bool { return s.Plan != nil && len(s.Keys) > 0 }

// ChangesPrograms tells whether the command changes the scripts or functions of its
// shard in so many words (SCRIPT FLUSH).
func (s *Spec) ChangesPrograms() bool { return s.Plan != nil && s.Scope == ScopeGlobal }

// ProgramKind is the kind of the program that a command runs which runs one.
func (s *Spec) ProgramKind() ProgramKind {
	if s.Name == "fcall" || s.Name == "fcall_ro" {
		return KindFunction
	}
	return KindScript
}

// TakesLong tells whether the command, with these arguments, may take long.
func (s *Spec) TakesLong(args [][]byte) bool {
	return s.Is(Heavy) || s.HeavyIf != nil && s.HeavyIf(args)
}

// Brief tells whether the command, with these arguments, only reads and never takes
// long, so that it may run where others wait for it.
func (s *Spec) Brief(args [][]byte) bool {
	return s.Scope == ScopeKeys && s.Plan == nil && (s.Is(Fast) || s.BriefIf != nil && s.BriefIf(args))
}

// KeyRef is a key among a command's arguments.
type KeyRef struct {
	Pos   int
	Mode  sched.Mode
	Flags KeyFlag
}

// AppendKeys appends the keys among args, which have a right number of
// arguments. Of malformed arguments it may find none or some; the handler will
// report them.
func (s *Spec) AppendKeys(dst []KeyRef, args [][]byte) []KeyRef {
	for i := range s.Keys {
		k := &s.Keys[i]
		if k.Flags&KeyNotKey != 0 || k.Absent != nil && k.Absent(args) {
			continue
		}
		mode := sched.Exclusive
		if k.Flags&KeyRO != 0 {
			mode = sched.Shared
		}
		if k.ModeOf != nil {
			mode = k.ModeOf(args)
		}
		if k.Find != nil {
			var buf [16]int
			for _, pos := range k.Find(buf[:0], args) {
				if pos < len(args) {
					dst = append(dst, KeyRef{pos, mode, k.Flags})
				}
			}
			continue
		}
		last := k.Last
		if last < 0 {
			last += len(args)
		}
		for pos := k.First; pos <= last && pos < len(args); pos += k.Step {
			dst = append(dst, KeyRef{pos, mode, k.Flags})
		}
	}
	return dst
}

// MustLog tells whether a call must enter the log. programs returns the
// programs of a shard, nil where they are not at hand, for i in 0 to n-1: what one
// knows, all may rely on.
func (s *Spec) MustLog(args [][]byte, n int, programs func(i int) *Programs) bool {
	if s.Logged == nil {
		return s.Writes(args)
	}
	for i := range n {
		if logged, known := s.Logged(programs(i), args); known {
			return logged
		}
	}
	return true
}

// Writes tells whether the command, with these arguments, may change data and
// so must enter the log. Calls of programs: see MustLog.
func (s *Spec) Writes(args [][]byte) bool {
	if s.Flags&Write == 0 {
		return false
	}
	for i := range s.Keys {
		if s.Keys[i].ModeOf == nil || s.Keys[i].ModeOf(args) == sched.Exclusive {
			return true
		}
	}
	return len(s.Keys) == 0
}
