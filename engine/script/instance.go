package script

import (
	"errors"
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"lockstep/engine/reply"
)

// instance is a library as one interpreter has loaded it.
//
// Redis loads a library once, and the values of the library's local variables live as long as the
// process. Here that would be state outside the log: a replica that starts from a snapshot, or uses
// another interpreter, would have other values. So each call finds the library as it is just after
// loading. That does not need a new load each time. An instance is used again unless one of its
// tables was changed, or a function of the library can assign to a variable that outlives the call.
type instance struct {
	// registered holds its functions by folded name.
	registered map[string]registered
	// tables are the tables that its functions can reach from call to call. holes is how many keys
	// a table has lost, for each table that lost any.
	tables []*lua.LTable
	holes  map[*lua.LTable]int
	// bytes and work are the cost of loading it.
	bytes, work int64
	// foreign is set if the functions reach a value that cannot be watched.
	foreign bool
	protos  map[*lua.FunctionProto]bool
	// iterators were made when it was loaded. Each call moves its iterator on.
	iterators map[*lua.LFunction]bool
}

// Bounds of the instances that an interpreter keeps, in bytes as charged.
const (
	instanceBytesMax  = 1 << 20
	instancesBytesMax = 2 << 20
)

// load runs a library's text. The caller is not charged: it must not be visible whether a call had
// to load the library.
func (in *interpreter) load(f *form) (*instance, error) {
	inst := &instance{registered: map[string]registered{}, protos: map[*lua.FunctionProto]bool{}, iterators: map[*lua.LFunction]bool{}}
	loading := newRun(&Run{Limits: &loadLimits}, f.names)
	r := &loading
	r.loading = inst
	L, leave := in.loader()
	defer leave()
	in.prepare(r, &in.functions, libraryChunk, "")
	r.attach(L, callDepthFirst)
	mt := in.functions.env.Metatable.(*lua.LTable)
	mt.RawSetString("__index", in.loading)
	err := r.protected(L, 0, &lua.LFunction{Env: in.functions.env, Proto: f.proto})
	mt.RawSetString("__index", in.functions.globals)
	if r.over != nil && r.work <= 0 {
		return nil, errors.New("ERR Error registering functions: ERR " + errLoadTimeout.Error())
	}
	if err != nil || r.over != nil {
		return nil, fmt.Errorf("ERR Error registering functions: %s", r.failure(err))
	}
	L.SetTop(0)
	inst.bytes, inst.work = loadBytes-r.bytes, loadWork-r.work
	inst.explore(in)
	inst.iterators = nil
	inst.holes = map[*lua.LTable]int{}
	for _, t := range inst.tables {
		if w := r.walks[t]; w != nil {
			inst.holes[t] = w.holes
		}
	}
	return inst, nil
}

// loader is the thread that libraries are loaded on. A library that could be loaded once must be
// loadable again, even if the limit on calls has changed.
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

// explore finds everything that the library made and its functions can reach.
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

// stateful reports whether a function of the library may assign to a variable that outlives the
// call. In that case no instance is used twice.
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

// assigns reports whether a function, or a function made in it, assigns to one of its upvalues that
// outlive the call. If lasting is nil all of them do.
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
			// The instruction is followed by the origin of each upvalue of the new function.
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

// instance returns a library as it is just after loading.
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

// Call calls a function and writes its reply, or its error, to out.
func (e *Interpreters) Call(f *Function, r *Run, out *reply.Writer) {
	in := e.idleOrNew(r.Limits.CallDepth)
	if in.callFunction(f, r, out) {
		e.give(in)
	}
}

// callFunction reports whether the interpreter may be used again.
func (in *interpreter) callFunction(f *Function, how *Run, out *reply.Writer) bool {
	inst, err := in.instance(f.Library)
	if err != nil {
		// The library was loaded before. As long as loading is deterministic this cannot happen.
		out.Error(err.Error())
		return false
	}
	in.run = newRun(how, f.Library.form.names)
	r := &in.run
	r.library = inst
	in.prepare(r, &in.functions, libraryChunk, f.Name)
	again := r.answer(out, how, inst.registered[f.Folded].callback, r.list(how.Keys), r.list(how.Args))
	if r.dirty {
		in.drop(f.Library)
	}
	return again
}
