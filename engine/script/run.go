package script

import (
	"errors"
	"fmt"
	"strings"
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

// take returns an interpreter whose stack has room for callDepth calls. It discards interpreters
// that were made under another limit.
func (e *Interpreters) take(callDepth int) *interpreter {
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
	if r.Compiles && !r.Budget.take(s.CompileWork()) {
		out.Error("ERR " + overWork(r.Limits).Error())
		return
	}
	if err := s.Compile(); err != nil {
		out.Error(err.Error())
		return
	}
	if r.Compiles {
		r.Budget.take(s.form.work)
	}
	in := e.take(r.Limits.CallDepth)
	if in.run(s, r, out) {
		e.give(in)
	}
}

func newMeter(r *Run, n *names) meter {
	left := r.Limits.Budget()
	if r.Budget != nil {
		left = *r.Budget
	}
	left.Work -= priceProgram + priceArg*int64(len(r.Keys)+len(r.Args))
	return meter{
		limits: r.Limits, work: left.Work, bytes: left.Bytes, pauseAt: max(left.Work-pauseEvery, 0), stop: r.Stop, rest: r.Rest, host: r.Host,
		proto: reply.RESP2, names: n, seed: newRNG(r.Seed),
	}
}

// begin makes m the meter of the interpreter's next run.
func (in *interpreter) begin(m *meter, s *space, chunk, title string) {
	m.inst, m.space, m.chunk, m.title = in, s, chunk, title
	m.attach(in.L, in.callDepth)
}

// run reports whether the interpreter may be used again.
func (in *interpreter) run(s *Script, r *Run, out *reply.Writer) bool {
	in.meter = newMeter(r, s.form.names)
	m := &in.meter
	in.begin(m, &in.scripts, scriptChunk, s.SHA)
	in.scripts.globals.RawSetString("KEYS", m.list(r.Keys))
	in.scripts.globals.RawSetString("ARGV", m.list(r.Args))
	return m.answer(out, r, &lua.LFunction{Env: in.scripts.env, Proto: s.form.proto})
}

// rest releases the values of the last run.
func (in *interpreter) rest() {
	in.L.RemoveContext()
	in.restInner()
	in.scripts.globals.RawSetString("KEYS", lua.LNil)
	in.scripts.globals.RawSetString("ARGV", lua.LNil)
	in.meter = meter{}
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
func (m *meter) answer(out *reply.Writer, r *Run, fn *lua.LFunction, args ...lua.LValue) bool {
	L, start := m.inst.L, out.Len()
	err := m.protected(L, 1, fn, args...)
	switch {
	case m.over != nil:
	case err == nil:
		r.Told = ofCommand(L.Get(-1))
		m.writeReply(L, out, L.Get(-1))
	default:
		r.Told = ofCommand(m.object(err))
	}
	used := r.Limits.Bytes - m.bytes
	if r.Budget != nil {
		used = r.Budget.Bytes - m.bytes
	}
	again := err == nil && m.over == nil && used <= usedMax && !m.inst.worn
	m.left(r, again)
	if err == nil && m.over == nil {
		L.SetTop(0)
		return again
	}
	text := m.final(err)
	if len(text) > m.limits.ReplyBytes {
		text = "ERR " + overReply(m.limits).Error()
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

// left updates the budget for other runs. A run that needs a new interpreter pays for it.
func (m *meter) left(r *Run, again bool) {
	if !again {
		m.work -= priceInterpreter
	}
	if r.Budget != nil {
		*r.Budget = Budget{Work: max(m.work, 0), Bytes: max(m.bytes, 0)}
	}
}

// final is the text of the error that ended a script, and its place.
func (m *meter) final(err error) string {
	var ae *lua.ApiError
	switch {
	case err == nil:
		// The script ended well, but its reply did not.
		return "ERR " + m.over.Error()
	case m.over == nil && !errors.As(err, &ae):
		return "ERR " + err.Error()
	}
	if m.line == 0 {
		// A function of Redis's own was called directly.
		return m.failure(err)
	}
	return fmt.Sprintf("%s script: %s, on %s:%d.", m.failure(err), m.title, m.origin(), m.line)
}

// origin is the text that contains the newest error. Redis calls a text that was loaded by the name
// of that text.
func (m *meter) origin() string {
	if c, ok := m.loaded[m.source]; ok {
		return cText(c.name)
	}
	return "@" + m.chunk
}

// namesThere are the names in the text that contains the newest error.
func (m *meter) namesThere() *names {
	if c, ok := m.loaded[m.source]; ok {
		return c.names
	}
	return m.names
}

// unplaced removes the place from a library function's error in the cases where Lua gives none: if
// the library called the function, which then has no name either, and if Lua itself puts a place
// before the error.
func (m *meter) unplaced(L *lua.LState, text string) string {
	rest, placed := strings.CutPrefix(text, fmt.Sprintf("%s:%d: ", m.source, m.line))
	if !placed {
		// The library's function was called by pcall, in a thread of its own.
		rest, placed = strings.CutPrefix(text, " ")
	}
	if !placed || !inLibrary(L, 0) {
		return text
	}
	switch {
	case inLibrary(L, 1):
		if first, what, ok := strings.Cut(rest, "' ("); ok && strings.HasPrefix(first, "bad argument #") {
			at := strings.IndexByte(first, '\'')
			return first[:at+1] + "?' (" + what
		}
		return rest
	case strings.HasPrefix(rest, "attempt to "), strings.HasPrefix(rest, "table index is "), strings.HasPrefix(rest, "Attempt to modify "), strings.HasPrefix(rest, "invalid key to "):
		return rest
	}
	return text
}

// inLibrary reports whether a function of the library runs at a level of the stack.
func inLibrary(L *lua.LState, level int) bool {
	f := runs(L, level)
	return f != nil && f.IsG && !isIntrinsic[f]
}

// calledKind is the type of the value that the innermost function called and that is not a
// function. If the type is not known it is nil, which is the most likely one.
func (m *meter) calledKind(L *lua.LState, desc string) string {
	v := lua.LValue(lua.LNil)
	where, name, _ := strings.Cut(strings.TrimSuffix(desc, "'"), " '")
	dbg, ok := L.GetStack(0)
	switch {
	case !ok:
	case where == "global":
		v = m.space.globals.RawGetString(name)
	case where == "upvalue":
		if f := runs(L, 0); f != nil && f.Proto != nil {
			for i, upvalue := range f.Proto.DbgUpvalues {
				if upvalue == name && i < len(f.Upvalues) {
					v = f.Upvalues[i].Value()
				}
			}
		}
	case where == "local":
		for i := 1; ; i++ {
			local, value := L.GetLocal(dbg, i)
			if local == "" {
				break
			}
			if local == name {
				v = value
			}
		}
	}
	if v.Type() == lua.LTFunction {
		return "nil"
	}
	return v.Type().String()
}

// failure is the text of an error.
func (m *meter) failure(err error) string {
	if m.stopped {
		return "ERR " + m.over.Error()
	}
	if m.over != nil {
		return fmt.Sprintf("ERR %s:%d: %s", m.chunk, m.line, m.over)
	}
	text := "ERR unknown error"
	switch v := m.object(err).(type) {
	case *lua.LTable:
		if s, ok := v.RawGetString("err").(lua.LString); ok {
			text = string(s)
		}
	default:
		text = "ERR " + string(m.tostring(v))
	}
	return strings.TrimRight(cText(text), "\r\n")
}

// list is KEYS or ARGV. Its bytes are not charged, because they belong to the caller.
func (m *meter) list(args [][]byte) *lua.LTable {
	t := m.inst.L.CreateTable(len(args), 0)
	for i, a := range args {
		t.RawSetInt(i+1, lua.LString(a))
	}
	return t
}

// inLua turns an error of the interpreter into Lua's words.
func (m *meter) inLua(L *lua.LState, text string) string {
	if m.names == nil || len(text) >= 4096 {
		return text
	}
	return m.namesThere().translate(text, m.line, func(desc string) string { return m.calledKind(L, desc) })
}

// The interpreter's error texts for a full stack.
const (
	textCalls     = "stack overflow"
	textRegisters = "registry overflow"
)

// overflow names the bound in an error about a full stack.
func (m *meter) overflow(text string, calls int) string {
	where, registers := strings.CutSuffix(text, textRegisters)
	if registers {
		// To report this the interpreter may have used one more level than there are. In another
		// interpreter the same run would end earlier.
		m.inst.worn = true
	}
	full := text == textCalls || strings.HasSuffix(text, ": "+textCalls)
	switch {
	case m.loading != nil:
		// The bounds of loading a library are not settings.
	case registers:
		return where + textCalls + " (too many values)"
	case full && calls < m.limits.CallDepth:
		return fmt.Sprintf("%s (%d calls in a coroutine)", text, calls)
	case full:
		return fmt.Sprintf("%s (script-max-call-depth %d)", text, calls)
	}
	return text
}
