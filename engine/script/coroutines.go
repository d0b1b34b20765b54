package script

import (
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// openCoroutines takes the interpreter's functions, which the library calls. A thread gets the
// run's meter: the interpreter would give it a context of its own, which counts nothing.
func (in *interpreter) openCoroutines() {
	L := in.L
	L.Push(L.NewFunction(lua.OpenCoroutine))
	L.Call(0, 1)
	t := L.Get(-1).(*lua.LTable)
	L.SetTop(0)
	for _, name := range []string{"create", "yield", "resume", "running", "status"} {
		in.co[name] = t.RawGetString(name).(*lua.LFunction)
	}
}

var coroutineLibrary []entry

func init() {
	coroutineLibrary = []entry{
		{"create", coCreate}, {"resume", coResume}, {"running", coRunning}, {"status", coStatus},
		{"wrap", coWrap}, {"yield", coYield},
	}
}

func (r *run) thread(L *lua.LState, name string) *lua.LState {
	fn, ok := L.Get(1).(*lua.LFunction)
	if !ok || fn.IsG {
		badArg(L, name, 1, "Lua function expected")
	}
	r.use(L, threadCost)
	options := L.Options
	L.Options.CallStackSize, L.Options.RegistrySize = r.threadDepth(), threadRegisters
	L.Options.RegistryMaxSize = threadRegistersMax
	// A thread whose creator has a context would get a context of its own.
	context := L.RemoveContext()
	L.Push(r.inst.co["create"])
	L.Push(fn)
	L.Call(1, 1)
	L.SetContext(context)
	L.Options = options
	th := L.Get(-1).(*lua.LState)
	L.Pop(1)
	r.attach(th, r.threadDepth())
	return th
}

// threadDepth is the most calls in a coroutine.
func (r *run) threadDepth() int { return min(threadDepthMax, r.limits.CallDepth) }

func coCreate(L *lua.LState) int {
	L.Push(runOf(L).thread(L, "create"))
	return 1
}

// resume runs a thread until it yields, ends or fails. It leaves the results of the interpreter's
// resume on the stack.
func (r *run) resume(L, th *lua.LState, args []lua.LValue) int {
	r.enter(L)
	r.spend(L, priceResume+len(args)*priceArgument)
	outer := r.goDepth
	r.threads = append(r.threads, r.goDepth)
	top := L.GetTop()
	if n, yielded := r.yielded[th]; yielded {
		delete(r.yielded, th)
		if _, goesOn := th.GetStack(-1); !goesOn {
			return r.ended(L, th, args)
		}
		args = fitted(args, n)
	}
	L.Push(r.inst.co["resume"])
	L.Push(th)
	for _, a := range args {
		L.Push(a)
	}
	// The thread that resumes may be one of pcall's threads, which no script sees.
	running := L.G.CurrentThread
	L.Call(len(args)+1, lua.MultRet)
	L.G.CurrentThread = running
	r.threads = r.threads[:len(r.threads)-1]
	r.goDepth = outer - 1
	r.passOn(L)
	if text, ok := L.Get(top + 2).(lua.LString); ok && L.Get(top+1) == lua.LFalse && th.Dead && !r.thrown {
		L.Replace(top+2, lua.LString(r.inLuasWords(r.overflow(string(text), r.threadDepth()))))
	}
	r.thrown = false
	return L.GetTop() - top
}

// ended ends a thread that yielded in a tail call: nothing of the thread is left to continue.
func (r *run) ended(L, th *lua.LState, values []lua.LValue) int {
	th.Dead = true
	r.threads = r.threads[:len(r.threads)-1]
	r.goDepth--
	L.Push(lua.LTrue)
	for _, v := range values {
		L.Push(v)
	}
	return 1 + len(values)
}

// fitted returns exactly wanted values, or the values unchanged if wanted is below 0.
func fitted(values []lua.LValue, wanted int) []lua.LValue {
	if wanted < 0 {
		return values
	}
	for len(values) < wanted {
		values = append(values, lua.LNil)
	}
	return values[:wanted]
}

// inLuasWords translates the interpreter's error that ended a coroutine, whose stack is gone.
func (r *run) inLuasWords(text string) string {
	rest, placed := strings.CutPrefix(text, r.chunk+":")
	at, _, _ := strings.Cut(rest, ":")
	line, err := strconv.Atoi(at)
	if !placed || err != nil || len(text) >= 4096 {
		return text
	}
	return r.names.translate(text, line, func(string) string { return "nil" })
}

func coResume(L *lua.LState) int {
	th, ok := L.Get(1).(*lua.LState)
	if !ok {
		badArg(L, "resume", 1, "coroutine expected")
	}
	r := runOf(L)
	if text := refusal(th); text != "" {
		L.Push(lua.LFalse)
		L.Push(lua.LString("cannot resume " + text + " coroutine"))
		return 2
	}
	return r.resume(L, th, arguments(L, 2))
}

func refusal(th *lua.LState) string {
	switch {
	case th.Dead:
		return "dead"
	case th.G.CurrentThread == th:
		return "running"
	case th.Parent != nil || th == th.G.MainThread:
		return "normal"
	}
	return ""
}

func coWrap(L *lua.LState) int {
	r := runOf(L)
	th := r.thread(L, "wrap")
	r.use(L, closureCost)
	L.Push(native(func(L *lua.LState) int {
		r := runOf(L)
		if text := refusal(th); text != "" {
			L.RaiseError("%s", "cannot resume "+text+" coroutine")
		}
		base := L.GetTop()
		n := r.resume(L, th, arguments(L, 1))
		if L.Get(base+1) != lua.LTrue {
			err := L.Get(base + 2)
			if isText(err) {
				// Lua reports the place where the coroutine was called before the place where it
				// ended.
				r.text(L, textLength(err))
				err, r.thrown = lua.LString(appendText([]byte(position(L, 1)), err)), true
			}
			L.Error(err, 0)
		}
		return n - 1
	}))
	return 1
}

func coRunning(L *lua.LState) int {
	if L.G.CurrentThread == L.G.MainThread {
		L.Push(lua.LNil)
	} else {
		L.Push(L.G.CurrentThread)
	}
	return 1
}

func coStatus(L *lua.LState) int {
	th, ok := L.Get(1).(*lua.LState)
	if !ok {
		badArg(L, "status", 1, "coroutine expected")
	}
	switch text := refusal(th); text {
	case "":
		return pushText(L, "suspended")
	default:
		return pushText(L, text)
	}
}

// coYield: the interpreter cannot yield across a function of its library.
func coYield(L *lua.LState) int {
	r := runOf(L)
	n := len(r.threads)
	if n == 0 || r.goDepth != r.threads[n-1] {
		L.RaiseError("attempt to yield across metamethod/C-call boundary")
	}
	// The interpreter leaves out the nils for missing values when the thread is resumed.
	if r.yielded == nil {
		r.yielded = map[*lua.LState]int{}
	}
	r.yielded[L] = wanted(L)
	return -1
}
