// Package cmdtest runs commands for tests: on a keyspace of the test's own (Runner), and in a
// redis-server (Oracle), whose replies must be the same.
//
// Commands are split into packages below engine/commands. The tests of such a package are in an
// external test package beside it, and get the whole table of commands from here, because the
// package itself cannot import the table. The random commands that several of these packages test,
// correct and incorrect ones, are here, too (Generator and the lists of templates). Differ runs
// them on both sides.
package cmdtest

import (
	"bytes"
	"strings"
	"testing"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/commands/keycmd"
	"lockstep/engine/reply"
)

// Runner executes commands on a keyspace of its own, as a replica does.
type Runner struct {
	T     testing.TB
	KS    *engine.Keyspace
	Out   reply.Writer
	NowMs int64
	TxnNo uint64
	DB    int
	Proto int
	// Settings may be changed by a test.
	Settings command.Settings
	Seed     uint64
	// Observer receives the events.
	Observer command.Observer
	// Changes receives the names of changed keys. With nil they are not recorded.
	Changes  *command.Changes
	Programs command.Programs
	// MemoryFull means that no memory is left.
	MemoryFull bool
	// Owns reports whether the shard has a hash slot. With nil it has all.
	Owns func(hashSlot int) bool
	// StepsMax bounds the steps of each command. With 0 the settings bound them.
	StepsMax int64
	// Rest is called in the middle of long commands. It may be nil.
	Rest func()
}

func NewRunner(t testing.TB) *Runner {
	return &Runner{
		T: t, KS: engine.New(engine.Config{LockSlots: 64}),
		NowMs: 1_700_000_000_000, Proto: reply.RESP2, Settings: command.DefaultSettings,
	}
}

// FreeWalker serves scan-like commands when no other command runs.
type FreeWalker = command.HeldWalker

// Exec runs a command and returns the bytes of its reply.
func (r *Runner) Exec(args ...[]byte) []byte {
	r.Out.Reset(r.Proto)
	if command.EqualFold(args[0], "select") && len(args) == 2 {
		// SELECT belongs to the connection; tests need no more of it than this.
		db, _ := command.ParseInt(args[1])
		r.DB = int(db)
		r.Out.OK()
		return bytes.Clone(r.Out.Bytes())
	}
	spec, container := commands.Lookup(args)
	switch {
	case container != nil:
		r.Out.Error(command.ErrUnknownSubcommand(args))
	case spec == nil:
		r.Out.Error(command.ErrUnknownCommand(args))
	case !spec.CheckArity(len(args)):
		r.Out.Error(command.ErrArity(spec))
	default:
		r.run(spec, args)
	}
	return bytes.Clone(r.Out.Bytes())
}

func (r *Runner) run(spec *command.Spec, args [][]byte) {
	spec.AppendKeys(nil, args)
	r.Seed = r.Seed*6364136223846793005 + 1442695040888963407
	c := command.Ctx{
		KS:        r.KS,
		DB:        r.DB,
		Out:       &r.Out,
		Seed:      r.Seed,
		Walk:      FreeWalker{},
		TxnNo:     r.TxnNo,
		Times:     command.Times{NowMs: r.NowMs},
		Meter:     command.Meter{Settings: &r.Settings},
		Listeners: command.Listeners{Observer: r.Observer, Changes: r.Changes},
	}
	c.Commands = commands.Table()
	c.Programs, c.MemoryFull, c.Rest, c.Owns = &r.Programs, r.MemoryFull, r.Rest, r.Owns
	c.Bound = r.StepsMax * command.WorkStep
	if spec.MustLog(args, 1, func(int) *command.Programs { return c.Programs }) {
		r.TxnNo++
		c.TxnNo, c.Logged = r.TxnNo, true
	}
	if spec.Plan != nil {
		plan := spec.Plan(&command.Planning{Programs: c.Programs, Settings: c.Settings, Logged: c.Logged}, args)
		c.Plan = &plan
		if plan.ChangesFunctions {
			defer c.Programs.Functions.Settle()
		}
	}
	spec.Run(&c, args)
}

// Digest is the reply of DEBUG DIGEST if this keyspace is the only one.
func (r *Runner) Digest() []byte {
	var parts [][]byte
	for i, word := range bytes.Split(r.Exec([]byte("lockstep.digest")), []byte("\r\n")) {
		if i > 0 && i%2 == 0 {
			parts = append(parts, word)
		}
	}
	return []byte("+" + keycmd.FoldDigests([][][]byte{parts}) + "\r\n")
}

// Do runs a command given as words, and returns its reply with spaces in place of CRLF.
func (r *Runner) Do(line string) string {
	return Flat(r.Exec(Words(line)...))
}

// Words splits a line at spaces. The word "" is the empty argument.
func Words(line string) [][]byte {
	var args [][]byte
	for _, w := range strings.Fields(line) {
		if w == `""` {
			w = ""
		}
		args = append(args, []byte(w))
	}
	return args
}

func Flat(b []byte) string { return strings.TrimSpace(strings.ReplaceAll(string(b), "\r\n", " ")) }

// Script runs lines "command => reply" and compares.
func (r *Runner) Script(text string) {
	r.T.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		command, want, ok := strings.Cut(line, " => ")
		if !ok {
			r.T.Fatalf("no reply in line %q", line)
		}
		if got := r.Do(command); got != want {
			r.T.Errorf("%s\n got %s\nwant %s", command, got, want)
		}
	}
}
