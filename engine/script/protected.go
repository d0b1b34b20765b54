package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// If an error is raised, the interpreter detaches closures from the variables of all functions on
// the thread's stack. That is right only if those functions have ended; otherwise they and the
// closures no longer see each other's assignments. So pcall runs a function in a thread of its own:
// an error ends everything on that thread's stack, and nothing else. Scripts do not see these
// threads. Nothing yields out of a pcall, so calls to pcall end in the reverse order of their
// beginnings, and one thread for each level is enough.

// protected calls fn and returns the error that ends it. For each error the interpreter would build
// a trace of the stack, which costs the square of the depth. It does not do so for an error that
// has a trace already.
func (r *run) protected(L *lua.LState, nret int, fn lua.LValue, args ...lua.LValue) error {
	if r.goDepth >= goDepthMax {
		L.RaiseError("C stack overflow")
	}
	depth, level, running := r.goDepth, r.level, L.G.CurrentThread
	on := L
	if depth > 0 {
		on = r.innerThread(L)
	}
	r.goDepth++
	on.Push(trampoline)
	on.Push(fn)
	for _, a := range args {
		on.Push(a)
	}
	err := on.PCall(len(args)+1, nret, nil)
	r.goDepth, r.level, L.G.CurrentThread = depth, level, running
	if err == nil {
		on.XMoveTo(L, on.GetTop())
		return nil
	}
	r.count(priceError)
	if ae, ok := err.(*lua.ApiError); ok && ae.StackTrace != quietTrace {
		// The interpreter itself has failed, and may have left variables shared.
		r.inst.inner = r.inst.inner[:min(level, len(r.inst.inner))]
	}
	return err
}

// innerThread is the thread in which pcall, called in L, runs a function.
func (r *run) innerThread(L *lua.LState) *lua.LState {
	in := r.inst
	if r.level == len(in.inner) {
		in.inner = append(in.inner, in.newInner())
	}
	t, outer := in.inner[r.level], threadOf(L)
	if r.level == r.levels {
		r.use(L, innerCost+r.limits.CallDepth)
		r.levels++
		t.registersPaid = innerRegisters
	}
	t.run, t.outer = r, L
	t.callsMax, t.room = outer.callsMax, outer.room-innermostCall(L).depth-1
	t.L.SetTop(0)
	r.level++
	return t.L
}

// newInner makes a thread for pcall. The bound of its stack is higher than the thread will ever need.
func (in *interpreter) newInner() *thread {
	L := in.L
	options, context := L.Options, L.RemoveContext()
	L.Options.CallStackSize = max(in.callDepth, callDepthFirst) + 2*goDepthMax
	L.Options.MinimizeStackMemory = true
	L.Options.RegistrySize, L.Options.RegistryGrowStep = innerRegisters, innerGrowBy
	th, _ := L.NewThread()
	L.Options = options
	L.SetContext(context)
	th.Options = options
	t := &thread{Context: background, L: th}
	th.SetContext(t)
	return t
}

// restInner keeps only a few threads of pcall, and only small ones.
func (in *interpreter) restInner() {
	kept := 0
	for kept < min(len(in.inner), innerKept) && in.inner[kept].registersPaid <= innerRegisters+innerGrowBy {
		in.inner[kept].outer = nil
		kept++
	}
	clear(in.inner[kept:])
	in.inner = in.inner[:kept]
}

const quietTrace = "-"

// trampoline is the function at the bottom of a thread. It calls the function that pcall was given.
var trampoline *lua.LFunction

func init() { trampoline = native(jump) }

func jump(L *lua.LState) int {
	L.Panic = quiet
	n := L.GetTop()
	if fn := L.Get(1); fn.Type() != lua.LTFunction && metamethod(L, fn, "__call") == lua.LNil {
		L.Error(lua.LString("attempt to call a "+fn.Type().String()+" value"), 0)
	}
	L.Call(n-1, lua.MultRet)
	return L.GetTop()
}

// quiet raises the value on top of the stack, and records the line.
func quiet(L *lua.LState) {
	r := runOf(L)
	r.line, r.source = innermost(L, 0, r.line, r.source)
	v := L.Get(-1)
	if s, ok := v.(lua.LString); ok && !r.thrown {
		r.count(priceRaise)
		v = lua.LString(r.inLua(L, r.overflow(r.unplaced(L, string(s)), threadOf(L).callsMax)))
	} else if ok && strings.HasSuffix(string(s), textRegisters) {
		r.inst.worn = true
	}
	r.thrown = false
	panic(&lua.ApiError{Type: lua.ApiErrorRun, Object: v, StackTrace: quietTrace})
}

// stackAt is the call at a level of the stack. The trampoline at the bottom of a thread does not
// count: there the thread that waits in pcall continues the stack.
func stackAt(L *lua.LState, level int) (*lua.Debug, bool) {
	dbg, ok := L.GetStack(level)
	outer := threadOf(L).outer
	if outer == nil || ok && called(L, dbg) != trampoline {
		return dbg, ok
	}
	if n := stackLevels(L) - 1; level >= n {
		return stackAt(outer, level-n)
	}
	return dbg, ok
}

// runs is the function at a level of the stack, or nil if there is none.
func runs(L *lua.LState, level int) *lua.LFunction {
	dbg, ok := stackAt(L, level)
	if !ok {
		return nil
	}
	return called(L, dbg)
}

func called(L *lua.LState, dbg *lua.Debug) *lua.LFunction {
	fn, _ := L.GetInfo("f", dbg, lua.LNil)
	f, _ := fn.(*lua.LFunction)
	return f
}

// innermost is the place in the script of the innermost function, from a level of the stack on.
func innermost(L *lua.LState, from, line int, source string) (int, string) {
	for level := from; level < from+4; level++ {
		dbg, ok := stackAt(L, level)
		if !ok {
			break
		}
		if _, err := L.GetInfo("Sl", dbg, lua.LNil); err == nil && dbg.What != "G" && dbg.CurrentLine > 0 {
			return dbg.CurrentLine, dbg.Source
		}
	}
	return line, source
}
