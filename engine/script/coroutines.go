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

func (m *meter) thread(L *lua.LState, name string) *lua.LState {
	fn, ok := L.Get(1).(*lua.LFunction)
	if !ok || fn.IsG {
		badArg(L, name, 1, "Lua function expected")
	}
	m.use(L, threadCost)
	options := L.Options
	L.Options.CallStackSize, L.Options.RegistrySize = m.threadDepth(), threadRegisters
	L.Options.RegistryMaxSize = threadRegistersMax
	// A thread whose creator has a context would get a context of its own.
	context := L.RemoveContext()
	L.Push(m.inst.co["create"])
	L.Push(fn)
	L.Call(1, 1)
	L.SetContext(context)
	L.Options = options
	th := L.Get(-1).(*lua.LState)
	L.Pop(1)
	m.attach(th, m.threadDepth())
	return th
}

// threadDepth is the most calls in a coroutine.
func (m *meter) threadDepth() int { return min(threadDepthMax, m.limits.CallDepth) }

func coCreate(L *lua.LState) int {
	L.Push(meterOf(L).thread(L, "create"))
	return 1
}

// resume runs a thread until it yields, ends or fails. It leaves the results of the interpreter's
// resume on the stack.
func (m *meter) resume(L, th *lua.LState, args []lua.LValue) int {
	m.enter(L)
	m.spend(L, priceResume+len(args)*priceArgument)
	outer := m.goDepth
	m.threads = append(m.threads, m.goDepth)
	top := L.GetTop()
	if n, yielded := m.yielded[th]; yielded {
		delete(m.yielded, th)
		if _, goesOn := th.GetStack(-1); !goesOn {
			return m.ended(L, th, args)
		}
		args = fitted(args, n)
	}
	L.Push(m.inst.co["resume"])
	L.Push(th)
	for _, a := range args {
		L.Push(a)
	}
	// The thread that resumes may be one of pcall's threads, which no script sees.
	running := L.G.CurrentThread
	L.Call(len(args)+1, lua.MultRet)
	L.G.CurrentThread = running
	m.threads = m.threads[:len(m.threads)-1]
	m.goDepth = outer - 1
	m.passOn(L)
	if text, ok := L.Get(top + 2).(lua.LString); ok && L.Get(top+1) == lua.LFalse && th.Dead && !m.thrown {
		L.Replace(top+2, lua.LString(m.inLuasWords(m.overflow(string(text), m.threadDepth()))))
	}
	m.thrown = false
	return L.GetTop() - top
}

// ended ends a thread that yielded in a tail call: nothing of the thread is left to continue.
func (m *meter) ended(L, th *lua.LState, values []lua.LValue) int {
	th.Dead = true
	m.threads = m.threads[:len(m.threads)-1]
	m.goDepth--
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
func (m *meter) inLuasWords(text string) string {
	rest, placed := strings.CutPrefix(text, m.chunk+":")
	at, _, _ := strings.Cut(rest, ":")
	line, err := strconv.Atoi(at)
	if !placed || err != nil || len(text) >= 4096 {
		return text
	}
	return m.names.translate(text, line, func(string) string { return "nil" })
}

func coResume(L *lua.LState) int {
	th, ok := L.Get(1).(*lua.LState)
	if !ok {
		badArg(L, "resume", 1, "coroutine expected")
	}
	m := meterOf(L)
	if text := m.refusal(th); text != "" {
		L.Push(lua.LFalse)
		L.Push(lua.LString("cannot resume " + text + " coroutine"))
		return 2
	}
	return m.resume(L, th, arguments(L, 2))
}

func (m *meter) refusal(th *lua.LState) string {
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
	m := meterOf(L)
	th := m.thread(L, "wrap")
	m.use(L, closureCost)
	L.Push(native(func(L *lua.LState) int {
		m := meterOf(L)
		if text := m.refusal(th); text != "" {
			L.RaiseError("%s", "cannot resume "+text+" coroutine")
		}
		base := L.GetTop()
		n := m.resume(L, th, arguments(L, 1))
		if L.Get(base+1) != lua.LTrue {
			err := L.Get(base + 2)
			if isText(err) {
				// Lua reports the place where the coroutine was called before the place where it
				// ended.
				m.text(L, textLength(err))
				err, m.thrown = lua.LString(appendText([]byte(position(L, 1)), err)), true
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
	switch text := meterOf(L).refusal(th); text {
	case "":
		return pushText(L, "suspended")
	default:
		return pushText(L, text)
	}
}

// coYield: the interpreter cannot yield across a function of its library.
func coYield(L *lua.LState) int {
	m := meterOf(L)
	n := len(m.threads)
	if n == 0 || m.goDepth != m.threads[n-1] {
		L.RaiseError("attempt to yield across metamethod/C-call boundary")
	}
	// The interpreter leaves out the nils for missing values when the thread is resumed.
	if m.yielded == nil {
		m.yielded = map[*lua.LState]int{}
	}
	m.yielded[L] = wanted(L)
	return -1
}
