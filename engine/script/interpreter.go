package script

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"lockstep/engine/reply"
)

// interpreter is a Lua state with Redis's environment. The values that all scripts share are
// read-only, so a run that ends well leaves nothing behind.
type interpreter struct {
	L *lua.LState
	// callDepth is the most calls that its stack has room for.
	callDepth int
	// worn is set if it no longer behaves like a new one.
	worn bool
	// scripts and functions are the global variables of scripts and of functions.
	scripts, functions space
	// loading is the table that replaces the global variables while a library registers its
	// functions.
	loading *lua.LTable
	// stringMeta is the metatable of strings that scripts see.
	stringMeta *lua.LTable
	guards     map[*lua.LTable]guard
	co         map[string]*lua.LFunction
	// inner are the threads of pcall, by level.
	inner []*thread
	// null is cjson.null.
	null *lua.LUserData
	// run is the current run. replies and args are buffers for one call of redis.call.
	run     run
	replies reply.Writer
	args    [][]byte
	// instances are libraries whose functions can be called at once. kept is their memory together,
	// in bytes as charged.
	instances map[*Library]*instance
	kept      int64
}

// space is a set of global variables.
type space struct {
	// globals holds them. Scripts see env, which is empty, so that every assignment to a global
	// variable is noticed.
	globals, env *lua.LTable
}

// guard says what happens if a script changes a table.
type guard uint8

const (
	// guardShared: the change is refused.
	guardShared guard = iota + 1
	// guardKept: the library that the table belongs to is loaded again for the next call.
	guardKept
)

// refuses reports whether a table must not be changed. If later calls would see the change it marks
// the run as dirty.
func (r *run) refuses(t *lua.LTable) bool {
	switch r.inst.guards[t] {
	case guardShared:
		return true
	case guardKept:
		r.dirty = true
	}
	return false
}

type entry struct {
	name string
	fn   lua.LGFunction
}

func newInterpreter(callDepth int) *interpreter {
	L := lua.NewState(lua.Options{
		CallStackSize: callDepth, RegistrySize: registersInitial, RegistryMaxSize: registersMax,
		RegistryGrowStep: registersGrowBy, SkipOpenLibs: true,
	})
	in := &interpreter{
		L: L, callDepth: callDepth, guards: map[*lua.LTable]guard{}, co: map[string]*lua.LFunction{}, instances: map[*Library]*instance{},
		null: &lua.LUserData{Metatable: lua.LNil},
	}
	in.openCoroutines()
	names := map[string]*lua.LTable{
		"string": in.table(stringLibrary), "table": in.table(tableLibrary), "math": in.table(mathLibrary),
		"bit": in.table(bitLibrary), "struct": in.table(structLibrary), "cjson": in.table(cjsonLibrary),
		"cmsgpack": in.table(msgpackLibrary), "coroutine": in.table(coroutineLibrary),
	}
	in.constants(names)
	in.scripts = in.space(names, in.redis(redisLibrary, scriptsOnly))
	in.functions = in.space(names, in.redis(redisLibrary))
	in.loading = in.missing()
	api := in.missing()
	in.install(api, loadLibrary)
	levels(api)
	in.loading.RawSetString("redis", api)
	in.stringMeta = in.table(nil)
	in.stringMeta.RawSetString("__index", names["string"])
	hidden := in.table(operators)
	hidden.RawSetString("__index", names["string"])
	L.SetMetatable(lua.LString(""), hidden)
	return in
}

// table makes a shared table.
func (in *interpreter) table(entries []entry) *lua.LTable {
	t := in.L.CreateTable(0, 16)
	in.install(t, entries)
	in.guards[t] = guardShared
	return t
}

func (in *interpreter) install(t *lua.LTable, entries []entry) {
	for _, e := range entries {
		t.RawSetString(e.name, native(e.fn))
	}
}

// missing makes a shared table that raises an error if a script looks up a missing key.
func (in *interpreter) missing() *lua.LTable {
	t, mt := in.table(nil), in.table(nil)
	mt.RawSetString("__index", native(func(L *lua.LState) int {
		m := meterOf(L)
		name := L.Get(2)
		m.text(L, 4*textLength(name))
		L.RaiseError("%s", fmt.Sprintf("Script attempted to access nonexistent global variable '%s'", tostring(name)))
		return 0
	}))
	t.Metatable = mt
	return t
}

// readOnly refuses assignments to global variables.
var readOnly = native(func(L *lua.LState) int {
	L.RaiseError("Attempt to modify a readonly table")
	return 0
})

// space makes a set of global variables with the common libraries and the table redis.
func (in *interpreter) space(libraries map[string]*lua.LTable, redis *lua.LTable) space {
	s := space{globals: in.missing(), env: in.table(nil)}
	mt := in.table(nil)
	mt.RawSetString("__index", s.globals)
	mt.RawSetString("__newindex", readOnly)
	s.env.Metatable = mt
	in.install(s.globals, baseLibrary)
	s.globals.RawSetString("_G", s.env)
	s.globals.RawSetString("_VERSION", lua.LString("Lua 5.1"))
	for _, name := range []string{"string", "table", "math"} {
		s.globals.RawSetString(name, libraries[name])
	}
	s.globals.RawSetString("redis", redis)
	for _, name := range []string{"bit", "struct", "cjson", "cmsgpack", "coroutine"} {
		s.globals.RawSetString(name, libraries[name])
	}
	return s
}

// redis makes a table "redis".
func (in *interpreter) redis(libraries ...[]entry) *lua.LTable {
	t := in.table(nil)
	for _, l := range libraries {
		in.install(t, l)
	}
	levels(t)
	for _, c := range []struct {
		name  string
		value int
	}{{"REPL_NONE", 0}, {"REPL_AOF", 1}, {"REPL_SLAVE", 2}, {"REPL_REPLICA", 2}, {"REPL_ALL", 3}} {
		t.RawSetString(c.name, lua.LNumber(c.value))
	}
	return t
}

// levels sets the constants that libraries also see while they are loaded.
func levels(t *lua.LTable) {
	for i, n := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		t.RawSetString(n, lua.LNumber(i))
	}
	t.RawSetString("REDIS_VERSION_NUM", lua.LNumber(458767))
	t.RawSetString("REDIS_VERSION", lua.LString("7.0.15"))
}

func (in *interpreter) constants(libraries map[string]*lua.LTable) {
	set := func(lib, name string, v lua.LValue) { libraries[lib].RawSetString(name, v) }
	set("math", "huge", lua.LNumber(inf))
	set("math", "pi", lua.LNumber(3.141592653589793))
	set("cjson", "null", in.null)
	set("cjson", "_NAME", lua.LString("cjson"))
	set("cjson", "_VERSION", lua.LString("2.1.0"))
	set("cmsgpack", "_NAME", lua.LString("cmsgpack"))
	set("cmsgpack", "_VERSION", lua.LString("lua-cmsgpack 0.4.0"))
	set("cmsgpack", "_COPYRIGHT", lua.LString("Copyright (C) 2012, Salvatore Sanfilippo"))
	set("cmsgpack", "_DESCRIPTION", lua.LString("MessagePack C implementation for Lua"))
}
