package script

import (
	"sync"

	lua "github.com/yuin/gopher-lua"

	"lockstep/engine/reply"
)

// Host is the world outside a script: commands, under the locks that the run holds.
type Host interface {
	// Call runs a command for redis.call. It writes the command's reply, or the error that refuses
	// it, to w: at most bytesMax bytes, in the protocol of w. The command may do workMax units of
	// work. Call returns the work that it did, or more than workMax if that was not enough. args
	// must not be kept.
	Call(args [][]byte, workMax int64, bytesMax int, w *reply.Writer) (work int64)
	// MayCall answers redis.acl_check_cmd. known is false if there is no such command.
	MayCall(args [][]byte) (allowed, known bool)
	// Log logs a message of redis.log. level is 0 (debug) to 3 (warning).
	Log(level int, text string)
}

// Run is how to run a script.
type Run struct {
	Keys, Args [][]byte
	Host       Host
	Limits     *Limits
	// Budget is what earlier runs of the same txn have left of Limits. The run takes from it. It is
	// nil if there are no other runs.
	Budget *Budget
	// Compiles is set if the script was not in the cache: the run then pays for compiling it.
	Compiles bool
	// Seed is for math.random. Seed 0 gives the numbers of a Redis that has just been started.
	Seed uint64
	// Stop is called from time to time (pauseEvery). It returns an error if the run must end. Nil
	// means that the run never stops. Only runs that are not from the log may have it.
	Stop func() error
	// Told is set if the run ends with the error of one of its commands, as redis.call raises and
	// redis.pcall returns it: the host knows about that error.
	Told bool
	// Rest is called as often, and yields the processor. It may be nil. It changes nothing here.
	Rest func()
}

// Interpreters is a pool of interpreters. The zero value is ready. Many goroutines may use it.
type Interpreters struct {
	mu   sync.Mutex // guards idle
	idle []*interpreter
}

const idleMax = 64

// idleOrNew returns an interpreter whose stack has room for callDepth calls. It discards interpreters
// that were made under another limit.
func (e *Interpreters) idleOrNew(callDepth int) *interpreter {
	e.mu.Lock()
	defer e.mu.Unlock()
	for n := len(e.idle); n > 0; n = len(e.idle) {
		in := e.idle[n-1]
		e.idle[n-1], e.idle = nil, e.idle[:n-1]
		if in.callDepth == callDepth {
			return in
		}
	}
	return newInterpreter(callDepth)
}

func (e *Interpreters) give(in *interpreter) {
	in.rest()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.idle) < idleMax {
		e.idle = append(e.idle, in)
	}
}

// Run runs a script and writes its reply, or the error it ended with, to out.
func (e *Interpreters) Run(s *Script, r *Run, out *reply.Writer) {
	if r.Compiles && !r.Budget.spend(s.CompileWork()) {
		out.Error("ERR " + overWork(r.Limits).Error())
		return
	}
	if err := s.Compile(); err != nil {
		out.Error(err.Error())
		return
	}
	if r.Compiles {
		r.Budget.spend(s.form.work)
	}
	in := e.idleOrNew(r.Limits.CallDepth)
	if in.runScript(s, r, out) {
		e.give(in)
	}
}

// run is a run that has begun: what its functions share.
type run struct {
	meter
	goDepth int
	level   int                 // how many threads of pcall run
	levels  int                 // and how many of them the run has paid for
	threads []int               // goDepth at the start of each running thread
	yielded map[*lua.LState]int // how many values each suspended thread wants
	line    int                 // of the newest error
	source  string              // the text that contains that line
	thrown  bool                // the next error is one that a script passed to error
	host    Host
	chunk   string           // the name of the text in errors
	title   string           // the name of the run in errors
	loaded  map[string]chunk // texts that were loaded, by their names in errors
	space   *space           // the global variables
	loading *instance        // the instance whose functions are being registered
	dirty   bool             // a table was changed that later calls see
	proto   int
	seed    rng
	inst    *interpreter
	walks   map[*lua.LTable]*walk
	library *instance // the instance whose function runs
	names   *names
}

func newRun(how *Run, n *names) run {
	left := how.Limits.Budget()
	if how.Budget != nil {
		left = *how.Budget
	}
	left.Work -= priceProgram + priceArg*int64(len(how.Keys)+len(how.Args))
	return run{
		meter: meter{
			limits: how.Limits, work: left.Work, bytes: left.Bytes, pauseAt: max(left.Work-pauseEvery, 0), stop: how.Stop, rest: how.Rest,
		},
		host: how.Host, proto: reply.RESP2, names: n, seed: newRNG(how.Seed),
	}
}

// prepare makes r the interpreter's next run.
func (in *interpreter) prepare(r *run, s *space, chunk, title string) {
	r.inst, r.space, r.chunk, r.title = in, s, chunk, title
	r.attach(in.L, in.callDepth)
}

// runScript reports whether the interpreter may be used again.
func (in *interpreter) runScript(s *Script, how *Run, out *reply.Writer) bool {
	in.run = newRun(how, s.form.names)
	r := &in.run
	in.prepare(r, &in.scripts, scriptChunk, s.SHA)
	in.scripts.globals.RawSetString("KEYS", r.list(how.Keys))
	in.scripts.globals.RawSetString("ARGV", r.list(how.Args))
	return r.answer(out, how, &lua.LFunction{Env: in.scripts.env, Proto: s.form.proto})
}

// rest releases the values of the last run.
func (in *interpreter) rest() {
	in.L.RemoveContext()
	in.restInner()
	in.scripts.globals.RawSetString("KEYS", lua.LNil)
	in.scripts.globals.RawSetString("ARGV", lua.LNil)
	in.run = run{}
	in.replies.Release(roomKept)
	if cap(in.args) > argsKept {
		in.args = nil
	}
}

// roomKept is how many bytes an interpreter keeps allocated, and argsKept how many arguments of a
// call.
const (
	roomKept  = 64 << 10
	argsKept  = 256
	innerKept = 4
)

// answer calls a function and writes its result, or its error, to out. It reports whether the
// interpreter may be used again.
func (r *run) answer(out *reply.Writer, how *Run, fn *lua.LFunction, args ...lua.LValue) bool {
	L, start := r.inst.L, out.Len()
	err := r.protected(L, 1, fn, args...)
	switch {
	case r.over != nil:
	case err == nil:
		how.Told = ofCommand(L.Get(-1))
		r.writeReply(L, out, L.Get(-1))
	default:
		how.Told = ofCommand(object(err))
	}
	used := how.Limits.Bytes - r.bytes
	if how.Budget != nil {
		used = how.Budget.Bytes - r.bytes
	}
	again := err == nil && r.over == nil && used <= usedMax && !r.inst.worn
	r.left(how, again)
	if err == nil && r.over == nil {
		L.SetTop(0)
		return again
	}
	text := r.final(err)
	if len(text) > r.limits.ReplyBytes {
		text = "ERR " + overReply(r.limits).Error()
	}
	out.Truncate(start)
	out.Error(text)
	return false
}

// ofCommand reports whether an error is that of a command (redisCall marks those).
func ofCommand(v lua.LValue) bool {
	t, ok := v.(*lua.LTable)
	return ok && lua.LVAsBool(t.RawGetString(commandsError))
}

// usedMax is how many bytes a run may have allocated for its interpreter to be kept: values in the
// registers are not freed.
const usedMax = 8 << 20

// list is KEYS or ARGV. Its bytes are not charged, because they belong to the caller.
func (r *run) list(args [][]byte) *lua.LTable {
	t := r.inst.L.CreateTable(len(args), 0)
	for i, a := range args {
		t.RawSetInt(i+1, lua.LString(a))
	}
	return t
}

// enter counts a call from the library into Lua. The caller undoes it with goDepth--.
func (r *run) enter(L *lua.LState) {
	r.spend(L, priceCallback)
	if r.goDepth >= goDepthMax {
		L.RaiseError("C stack overflow")
	}
	r.goDepth++
}

// call calls a function from the library, with the function and its arguments. It leaves nret
// results on the stack.
func (r *run) call(L *lua.LState, nret int, fn lua.LValue, args ...lua.LValue) {
	r.enter(L)
	L.Push(fn)
	for _, a := range args {
		L.Push(a)
	}
	L.Call(len(args), nret)
	r.goDepth--
}
