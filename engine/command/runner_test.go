package command

import (
	"bytes"
	"strings"
	"testing"

	"lockstep/engine"
	"lockstep/engine/reply"
)

// runner executes commands on a keyspace of its own, as a replica does.
type runner struct {
	t     testing.TB
	ks    *engine.Keyspace
	out   reply.Writer
	nowMs int64
	txnNo uint64
	db    int
	proto int
	// settings may be changed by a test.
	settings Settings
	seed     uint64
	// observer hears of events.
	observer Observer
	// changes takes the names of changed keys; nil: nobody asks.
	changes  *Changes
	programs Programs
	// memoryFull: there is no memory left.
	memoryFull bool
	// owns tells which hash slots the shard has; nil: all.
	owns func(hashSlot int) bool
	// stepsMax bounds the steps of each command; 0: the settings do.
	stepsMax int64
	// rest is called in the middle of long commands; may be nil.
	rest func()
}

func newRunner(t testing.TB) *runner {
	return &runner{
		t: t, ks: engine.New(engine.Config{LockSlots: 64}),
		nowMs: 1_700_000_000_000, proto: reply.RESP2, settings: DefaultSettings,
	}
}

// freeWalker serves scan-like commands where nothing else runs.
type freeWalker = HeldWalker

// exec runs a command and returns the bytes of its reply.
func (r *runner) exec(args ...[]byte) []byte {
	r.out.Reset(r.proto)
	if equalFold(args[0], "select") && len(args) == 2 {
		// The connection's own command, of which tests need no more than this.
		db, _ := parseInt(args[1])
		r.db = int(db)
		r.out.OK()
		return bytes.Clone(r.out.Bytes())
	}
	spec, container := Lookup(args)
	switch {
	case container != nil:
		r.out.Error(ErrUnknownSubcommand(args))
	case spec == nil:
		r.out.Error(ErrUnknownCommand(args))
	case !spec.CheckArity(len(args)):
		r.out.Error(ErrArity(spec))
	default:
		r.run(spec, args)
	}
	return bytes.Clone(r.out.Bytes())
}

func (r *runner) run(spec *Spec, args [][]byte) {
	spec.AppendKeys(nil, args)
	r.seed = r.seed*6364136223846793005 + 1442695040888963407
	c := Ctx{
		KS:        r.ks,
		DB:        r.db,
		Out:       &r.out,
		Seed:      r.seed,
		Walk:      freeWalker{},
		TxnNo:     r.txnNo,
		Times:     Times{NowMs: r.nowMs},
		Meter:     Meter{Settings: &r.settings},
		Listeners: Listeners{Observer: r.observer, Changes: r.changes},
	}
	c.Commands = Whole()
	c.Programs, c.MemoryFull, c.Rest, c.Owns = &r.programs, r.memoryFull, r.rest, r.owns
	c.Bound = r.stepsMax * workStep
	if spec.MustLog(args, 1, func(int) *Programs { return c.Programs }) {
		r.txnNo++
		c.TxnNo, c.Logged = r.txnNo, true
	}
	if spec.Plan != nil {
		plan := spec.Plan(&Planning{Programs: c.Programs, Settings: c.Settings, Logged: c.Logged}, args)
		c.Plan = &plan
		if plan.ChangesFunctions {
			defer c.Programs.Functions.Settle()
		}
	}
	spec.Run(&c, args)
}

// digest is what DEBUG DIGEST answers where this keyspace is the only one.
func (r *runner) digest() []byte {
	var parts [][]byte
	for i, word := range bytes.Split(r.exec([]byte("lockstep.digest")), []byte("\r\n")) {
		if i > 0 && i%2 == 0 {
			parts = append(parts, word)
		}
	}
	return []byte("+" + FoldDigests([][][]byte{parts}) + "\r\n")
}

// do runs a command given as words, and returns its reply with CRLF as spaces.
func (r *runner) do(line string) string {
	return flat(r.exec(words(line)...))
}

// words splits a line at spaces; the word "" is the empty argument.
func words(line string) [][]byte {
	var args [][]byte
	for _, w := range strings.Fields(line) {
		if w == `""` {
			w = ""
		}
		args = append(args, []byte(w))
	}
	return args
}

func flat(b []byte) string { return strings.TrimSpace(strings.ReplaceAll(string(b), "\r\n", " ")) }

// script runs lines "command => reply" and compares.
func (r *runner) script(text string) {
	r.t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		command, want, ok := strings.Cut(line, " => ")
		if !ok {
			r.t.Fatalf("no reply in line %q", line)
		}
		if got := r.do(command); got != want {
			r.t.Errorf("%s\n got %s\nwant %s", command, got, want)
		}
	}
}
