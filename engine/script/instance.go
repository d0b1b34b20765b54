package script

import (
	"errors"
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"lockstep/engine/reply"
)

// instance is a library as one interpreter has loaded it.
//
// Redis loads a library once, and what its functions keep in local variables of
// the library lives as long as the process. Here that would be state outside the
// log's: a replica that starts from a snapshot, or takes another interpreter,
// would have other values. So each call finds the library as it is when it has
// just been loaded. It need not be loaded for that: an instance is used again
// unless one of its tables was changed or a function of it can assign to a
// variable that outlives the call.
type instance struct {
	// registered are its functions by folded name.
	registered map[string]registered
	// tables are those that its functions can reach from call to call, holes how
	// many keys those of them have lost that lost any.
	tables []*lua.LTable
	holes  map[*lua.LTable]int
	// bytes and work are what loading it took.
	bytes, work int64
	// foreign: something is reached that cannot be watched.
	foreign bool
	protos  map[*lua.FunctionProto]bool
	// iterators were made as it was loaded; each call of one moves it on.
	iterators map[*lua.LFunction]bool
}

// Bounds of what an interpreter keeps, in bytes as charged.
const (
	instanceBytesMax  = 1 << 20
	instancesBytesMax = 2 << 20
)

// load runs a library's text. What it charges is not the caller's: whether a
// library is loaded for a call must not be seen.
func (in *interpreter) load(f *form) (*instance, error) {
	inst := &instance{registered: map[string]registered{}, protos: map[*lua.FunctionProto]bool{}, iterators: map[*lua.LFunction]bool{}}
	mm := newMeter(&Run{Limits: &loadLimits}, f.names)
	m := &mm
	m.loading = inst
	L, leave := in.loader()
	defer leave()
	in.begin(m, &in.functions, libraryChunk, "")
	m.attach(L, callDepthFirst)
	mt := in.functions.env.Metatable.(*lua.LTable)
	mt.RawSetString("__index", in.loading)
	err := m.protected(L, 0, &lua.LFunction{Env: in.functions.env, Proto: f.proto})
	mt.RawSetString("__index", in.functions.globals)
	if m.over != nil && m.work <= 0 {
		return nil, errors.New("ERR Error registering functions: ERR " + errLoadTimeout.Error())
	}
	if err != nil || m.over != nil {
		return nil, fmt.Errorf("ERR Error registering functions: %s", m.failure(err))
	}
	L.SetTop(0)
	inst.bytes, inst.work = loadBytes-m.bytes, loadWork-m.work
	inst.explore(in)
	inst.iterators = nil
	inst.holes = map[*lua.LTable]int{}
	for _, t := range inst.tables {
		if w := m.walks[t]; w != nil {
			inst.holes[t] = w.holes
		}
	}
	return inst, nil
}

// loader is what libraries are loaded on: what could be loaded once must be so again,
// whatever the limit of calls has become.
func (in *interpreter) loader() (L *lua.LState, leave func()) {
	if in.callDepth == callDepthFirst {
		return in.L, func() {}
	}
	options := in.L.Options
	in.L.Options.CallStackSize = callDepthFirst
	L, _ = in.L.NewThread()
	in.L.Options = options
	G := in.L.G
	G.MainThread, G.CurrentThread = L, L
	return L, func() { G.MainThread, G.CurrentThread = in.L, in.L }
}

// explore finds all that the functions can reach of what the library made.
func (inst *instance) explore(in *interpreter) {
	seen := map[*lua.LFunction]bool{}
	tables := map[*lua.LTable]bool{}
	var open []lua.LValue
	for _, r := range inst.registered { // order does not matter: all that can be reached is found
		open = append(open, r.callback)
	}
	for len(open) > 0 {
		v := open[len(open)-1]
		open = open[:len(open)-1]
		switch v := v.(type) {
		case *lua.LTable:
			if tables[v] || in.guards[v] == guardShared {
				continue
			}
			tables[v] = true
			inst.tables = append(inst.tables, v)
			open = append(open, v.Metatable)
			v.ForEach(func(k, e lua.LValue) { open = append(open, k, e) })
		case *lua.LFunction:
			if seen[v] || v.IsG {
				inst.foreign = inst.foreign || inst.iterators[v]
				continue
			}
			seen[v] = true
			inst.protos[v.Proto] = true
			for _, u := range v.Upvalues {
				open = append(open, u.Value())
			}
		case *lua.LUserData, *lua.LState:
			inst.foreign = true
		}
	}
}

// stateful tells whether a function of the library may assign to a variable that
// outlives the call: then no instance is used twice.
func (inst *instance) stateful() bool {
	if inst.foreign {
		return true
	}
	for p := range inst.protos { // order does not matter: one suffices
		if assigns(p, nil) {
			return true
		}
	}
	return false
}

// assigns tells whether a function, or one made in it, assigns to one of its
// upvalues that outlive the call; nil: all do.
func assigns(p *lua.FunctionProto, lasting []bool) bool {
	lasts := func(i int) bool { return lasting == nil || lasting[i] }
	for pc := 0; pc < len(p.Code); pc++ {
		inst := p.Code[pc]
		switch int(inst >> 26) {
		case lua.OP_SETUPVAL:
			if lasts(int(inst & 0x1ff)) {
				return true
			}
		case lua.OP_CLOSURE:
			inner := p.FunctionPrototypes[inst&0x3ffff]
			// Behind it stands, for each upvalue of the new function, where it is from.
			from := make([]bool, inner.NumUpvalues)
			for i := range from {
				pc++
				from[i] = int(p.Code[pc]>>26) == lua.OP_GETUPVAL && lasts(int(p.Code[pc]&0x1ff))
			}
			if assigns(inner, from) {
				return true
			}
		}
	}
	return false
}

// instance returns a library as it is when it has just been loaded.
func (in *interpreter) instance(l *Library) (*instance, error) {
	if inst := in.instances[l]; inst != nil {
		return inst, nil
	}
	inst, err := in.load(&l.form)
	if err != nil || l.stateful || inst.bytes > instanceBytesMax {
		return inst, err
	}
	full := in.kept+inst.bytes > instancesBytesMax
	for other := range in.instances { // order does not matter: each is looked at
		if full || other.gone.Load() {
			in.drop(other)
		}
	}
	in.instances[l] = inst
	in.kept += inst.bytes
	for _, t := range inst.tables {
		in.guards[t] = guardKept
	}
	return inst, nil
}

// drop forgets a library's instance.
func (in *interpreter) drop(l *Library) {
	if inst := in.instances[l]; inst != nil {
		for _, t := range inst.tables {
			delete(in.guards, t)
		}
		delete(in.instances, l)
		in.kept -= inst.bytes
	}
}

// Call calls a function and writes its reply, or the error it ended with, to
// out.
func (e *Interpreters) Call(f *Function, r *Run, out *reply.Writer) {
	in := e.take(r.Limits.CallDepth)
	if in.callFunction(f, r, out) {
		e.give(in)
	}
}

// callFunction tells whether the interpreter may be used again.
func (in *interpreter) callFunction(f *Function, r *Run, out *reply.Writer) bool {
	inst, err := in.instance(f.Library)
	if err != nil {
		// It was loaded once: this is not reached as long as loading is deterministic.
		out.Error(err.Error())
		return false
	}
	in.meter = newMeter(r, f.Library.form.names)
	m := &in.meter
	m.library = inst
	in.begin(m, &in.functions, libraryChunk, f.Name)
	again := m.answer(out, r, inst.registered[f.Folded].callback, m.list(r.Keys), m.list(r.Args))
	if m.dirty {
		in.drop(f.Library)
	}
	return again
}
