package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	lua "github.com/yuin/gopher-lua"
)

// Library is a compiled library of functions. Its functions may run several times at once.
type Library struct {
	Name   string
	Source []byte
	// Functions are its functions by name.
	Functions []*Function

	form form
	// bytes and work are the cost of loading it, as charged.
	bytes, work int64
	// stateful is set if a function assigns to a variable that outlives the call.
	stateful bool
	// gone is set if it was replaced or deleted: interpreters need not keep it.
	gone atomic.Bool
}

// Function is a function of a library.
type Function struct {
	Name string
	// Folded is the name in lower case: a call finds a function in either case.
	Folded string
	// Description is "" for none.
	Description string
	Flags       Flags
	Library     *Library
}

// IsRedis reports whether Redis knows all flags of the library's functions.
func (l *Library) IsRedis() bool {
	for _, f := range l.Functions {
		if f.Flags&AllowKeyLocking != 0 {
			return false
		}
	}
	return true
}

// Bounds of a library's loading. They are not settings: a library that could be loaded once is
// loaded again for calls, after a restart and from a snapshot.
const (
	functionsMax = 1024 // of one library
	loadWork     = 5 * Millisecond
	loadBytes    = 4 << 20
)

// LoadWork is the work of loading the library, which a call may have to do.
func (l *Library) LoadWork() int64 { return l.work }

var loadLimits = Limits{Work: loadWork, Bytes: loadBytes, CallDepth: callDepthFirst}

var errLoadTimeout = errors.New("FUNCTION LOAD timeout")

// CompileLibrary compiles and loads a library: its text runs, and registers
// functions. An error is the whole text of the reply.
func CompileLibrary(source []byte, limits *FunctionLimits) (*Library, error) {
	if len(source) > limits.SourceBytes {
		return nil, fmt.Errorf("ERR Error compiling function: user_function: library is longer than %d bytes", limits.SourceBytes)
	}
	name, body, err := parseLibraryHeader(source)
	if err != nil {
		return nil, err
	}
	l := &Library{Name: name, Source: append([]byte(nil), source...)}
	if l.form, err = compile(string(body), libraryChunk); err != nil {
		return nil, fmt.Errorf("ERR Error compiling function: %w", err)
	}
	inst, err := newInterpreter(callDepthFirst).load(&l.form)
	if err != nil {
		return nil, err
	}
	if len(inst.registered) == 0 {
		return nil, errors.New("ERR No functions registered")
	}
	for folded, r := range inst.registered { // order does not matter: they are sorted below
		f := r.function
		f.Library, f.Folded = l, folded
		l.Functions = append(l.Functions, &f)
	}
	slices.SortFunc(l.Functions, func(a, b *Function) int { return strings.Compare(a.Name, b.Name) })
	l.bytes, l.work, l.stateful = inst.bytes, inst.work, inst.stateful()
	return l, nil
}

// nameIsGood reports whether a library or a function can have this name.
func nameIsGood(name string) bool {
	for i := range len(name) {
		if c := name[i]; c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return name != ""
}

const textBadName = "Library names can only contain letters, numbers, or underscores(_) and must be at least one character long"

// registered is a function that a library registered, and its callback.
type registered struct {
	function Function
	callback *lua.LFunction
}

// registerFunction is redis.register_function. It takes a name and a function, or a table of
// arguments.
func registerFunction(L *lua.LState) int {
	r := runOf(L)
	if r.loading == nil {
		r.raise(L, "redis.register_function can only be called on FUNCTION LOAD command")
	}
	var found registered
	switch n := L.GetTop(); {
	case n < 1 || n > 2:
		r.raise(L, "wrong number of arguments to redis.register_function")
	case n == 1:
		found = r.namedArguments(L)
	default:
		if !isText(L.Get(1)) {
			r.raise(L, "first argument to redis.register_function must be a string")
		}
		fn, ok := L.Get(2).(*lua.LFunction)
		if !ok {
			r.raise(L, "second argument to redis.register_function must be a function")
		}
		found.function.Name, found.callback = string(tostring(L.Get(1))), fn
	}
	r.register(L, found)
	return 0
}

func (r *run) register(L *lua.LState, found registered) {
	r.spend(L, priceRegisterFunction)
	r.use(L, keyCost+len(found.function.Name)+len(found.function.Description))
	if !nameIsGood(found.function.Name) {
		r.raise(L, textBadName)
	}
	inst := r.loading
	folded := strings.ToLower(found.function.Name)
	if _, there := inst.registered[folded]; there {
		r.raise(L, "Function already exists in the library")
	}
	if len(inst.registered) >= functionsMax {
		r.raise(L, fmt.Sprintf("a library has at most %d functions", functionsMax))
	}
	inst.registered[folded] = found
}

// namedArguments reads the table form of register_function's arguments.
func (r *run) namedArguments(L *lua.LState) registered {
	t, ok := L.Get(1).(*lua.LTable)
	if !ok {
		r.raise(L, "calling redis.register_function with a single argument is only applicable to Lua table (representing named arguments).")
	}
	var found registered
	named := false
	for k, v := r.next(L, t, lua.LNil); k != lua.LNil; k, v = r.next(L, t, k) {
		key, _ := k.(lua.LString)
		switch key {
		case "function_name":
			found.function.Name, named = r.textArgument(L, "function_name", v), true
		case "description":
			found.function.Description = r.textArgument(L, "description", v)
		case "callback":
			if found.callback, ok = v.(*lua.LFunction); !ok {
				r.raise(L, "callback argument given to redis.register_function must be a function")
			}
		case "flags":
			found.function.Flags = r.flagsArgument(L, v)
		default:
			r.raise(L, "unknown argument given to redis.register_function")
		}
	}
	if !named {
		r.raise(L, "redis.register_function must get a function name argument")
	}
	if found.callback == nil {
		r.raise(L, "redis.register_function must get a callback argument")
	}
	return found
}

func (r *run) textArgument(L *lua.LState, name string, v lua.LValue) string {
	if !isText(v) {
		r.raise(L, name+" argument given to redis.register_function must be a string")
	}
	return string(tostring(v))
}

func (r *run) flagsArgument(L *lua.LState, v lua.LValue) (flags Flags) {
	t, ok := v.(*lua.LTable)
	if !ok {
		r.raise(L, "flags argument to redis.register_function must be a table representing function flags")
	}
	for i := 1; r.at(t, i) != lua.LNil; i++ {
		r.spend(L, priceElement)
		name, _ := r.at(t, i).(lua.LString)
		f, ok := ParseFlag(strings.ToLower(string(name)))
		if !ok {
			r.raise(L, "unknown flag given")
		}
		flags |= f
	}
	return flags
}
