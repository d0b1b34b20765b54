// Package command defines a command: its row in the table (Spec), how its keys are found (KeySpec),
// and the context that its handler runs in (Ctx).
//
// The commands themselves are in rooms, a package for each kind of value, below package commands.
// That package puts their rows together in one table. This package imports none of them.
//
// Handlers follow three rules. They use only their Ctx. They change nothing before they are sure
// not to fail (Redis's commands are atomic, and there is no undo). They copy the data that they
// keep: arguments point into a log entry that others read.
//
// A room finds here, by purpose:
//
//   - to declare a row: Spec, flags, categories, key specs (OneKey and others, keyspecs.go), how much a call
//     grows (growth.go), which keys it fills (fills.go), how it waits (blocking.go); package arg describes
//     arguments for the documentation;
//   - to read arguments: ParseInt, EqualFold, Ctx.IntArg, ScanOptions, CountedPop, ExpiryKind, ExpireIf, Extended;
//   - to look keys up and change them: the methods of Ctx, and ReadAs, WriteAs and Edit for collections;
//   - to report changes: Ctx.Notify and Listeners;
//   - to count work before and during it: Ctx.Steps and its like, Meter;
//   - to write a value into snapshots and digests: Codec and Digest;
//   - to answer errors: the constants in errors.go, with Redis's texts.
//
// Ctx is a struct and not an interface: handlers run some million times a second, and calls of its
// methods are calls of known functions. Its parts have methods of their own, so that each part can
// use only its own fields.
package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lockstep/engine/sched"
)

// Table is a list of commands for lookups. It does not change after it is made.
type Table struct {
	byName map[string]*Spec
	byWord map[string]*Spec // commands in lower and in upper case
	sorted []*Spec
	rows   int
}

// NewTable makes a table of families of commands. It panics if two rows have the same name.
func NewTable(families ...[]*Spec) *Table {
	t := &Table{byName: map[string]*Spec{}, byWord: map[string]*Spec{}}
	for _, family := range families {
		for _, s := range family {
			t.add(s)
		}
	}
	slices.SortFunc(t.sorted, func(a, b *Spec) int { return strings.Compare(a.Name, b.Name) })
	return t
}

func (t *Table) add(s *Spec) {
	if t.byName[s.Name] != nil {
		panic(fmt.Sprintf("command: %s stands in the table twice", s.Name))
	}
	t.byName[s.Name], t.byWord[s.Name], t.byWord[strings.ToUpper(s.Name)] = s, s, s
	t.sorted = append(t.sorted, s)
	s.number, t.rows = t.rows, t.rows+1
	for _, sub := range s.Sub {
		sub.parent = s
		sub.number, t.rows = t.rows, t.rows+1
		t.byName[sub.Name] = sub
	}
}

// All returns the commands by name, without subcommands. The caller must not
// change the slice.
func (t *Table) All() []*Spec { return t.sorted }

// Rows is how many rows there are, subcommands included.
func (t *Table) Rows() int { return t.rows }

// Get returns the command, or the subcommand "parent|sub", of a lower-case name.
func (t *Table) Get(name string) *Spec { return t.byName[name] }

// Lookup finds the command of a request, or the subcommand if the command is a container. spec is
// nil if there is no such command. If only the container exists and the subcommand does not, Lookup
// returns the container.
func (t *Table) Lookup(args [][]byte) (spec, container *Spec) {
	s := t.lookupName(args[0])
	if s == nil || len(s.Sub) == 0 || len(args) == 1 {
		return s, nil
	}
	for _, sub := range s.Sub {
		if EqualFold(args[1], sub.Name[len(s.Name)+1:]) {
			return sub, nil
		}
	}
	return nil, s
}

func (t *Table) lookupName(name []byte) *Spec {
	if s := t.byWord[string(name)]; s != nil {
		return s
	}
	var buf [32]byte
	if len(name) > len(buf) {
		return nil
	}
	for i, c := range name {
		buf[i] = Lower(c)
	}
	return t.byWord[string(buf[:len(name)])]
}

// Number is the row's index in its table, from 0 to Rows()-1.
func (s *Spec) Number() int { return s.number }

// Lower is a byte in lower case, if it is an ASCII letter.
func Lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// EqualFold reports whether a equals the lower-case text b, ignoring ASCII case.
func EqualFold(a []byte, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i, c := range a {
		if Lower(c) != b[i] {
			return false
		}
	}
	return true
}

// CheckArity reports whether n arguments, including the name, are a correct number.
func (s *Spec) CheckArity(n int) bool {
	if s.Arity < 0 {
		return n >= -s.Arity
	}
	return n == s.Arity
}

// Parent is the container of a subcommand, otherwise nil.
func (s *Spec) Parent() *Spec { return s.parent }

// InRedis reports whether a version of Redis has the command ("7.2" also stands for 7.2.9).
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

// Is reports whether the command has all these flags.
func (s *Spec) Is(f Flag) bool { return s.Flags&f == f }

// RunsProgram reports whether the command runs a program (EVAL).
func (s *Spec) RunsProgram() bool { return s.Plan != nil && len(s.Keys) > 0 }

// ChangesPrograms reports whether the command itself changes the scripts or functions of its shard
// (SCRIPT FLUSH).
func (s *Spec) ChangesPrograms() bool { return s.Plan != nil && s.Scope == ScopeGlobal }

// ProgramKind is the kind of the program that a command runs, if it runs one.
func (s *Spec) ProgramKind() ProgramKind {
	if s.Name == "fcall" || s.Name == "fcall_ro" {
		return KindFunction
	}
	return KindScript
}

// TakesLong reports whether the command, with these arguments, may take long.
func (s *Spec) TakesLong(args [][]byte) bool {
	return s.Is(Heavy) || s.HeavyIf != nil && s.HeavyIf(args)
}

// Brief reports whether the command, with these arguments, only reads and never takes long. It may
// then run while others wait for it.
func (s *Spec) Brief(args [][]byte) bool {
	return s.Scope == ScopeKeys && s.Plan == nil && (s.Is(Fast) || s.BriefIf != nil && s.BriefIf(args))
}

// KeyRef is a key among a command's arguments.
type KeyRef struct {
	Pos   int
	Mode  sched.Mode
	Flags KeyFlag
}

// AppendKeys appends the keys among args. Their number must be correct. If the arguments are
// malformed it may find none or some of the keys, and the handler will report the error.
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

// MustLog reports whether a call must enter the log. programs returns the programs of shard i, for
// i in 0 to n-1, or nil if they are not on this node. The first answer of any of them counts.
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

// Writes reports whether the command, with these arguments, may change data and so must enter the
// log. For calls of programs see MustLog.
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

// Internal reports whether only Lockstep itself may send the command.
func (s *Spec) Internal() bool { return s.Group == "internal" }
