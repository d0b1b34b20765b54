package script

import (
	"reflect"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// The meter reads the interpreter's own fields here, and never writes them: each function returns a
// value, and TestInsideIsOnlyRead looks for assignments. No other file reads them. The fields are
// looked up by name when the program starts. If one is missing or has another kind the program does
// not start.
//
// After an upgrade of the library, start the program. Look in the library's changes to callFrame,
// registry, LState, LTable and Upvalue for a field that has kept its name and has a new meaning.
// Then run the tests of this package: TestPrices compares the prices with measured times, and
// TestDrawnPrograms compares programs with redis-server.

// The offsets of the fields.
var (
	frameAt     = offset[lua.LState]("currentFrame", reflect.Pointer)
	registersAt = offset[lua.LState]("reg", reflect.Pointer)
	openAt      = offset[lua.LState]("uvcache", reflect.Pointer)
	nextAt      = offset[lua.Upvalue]("next", reflect.Pointer)
	arrayAt     = offset[lua.LTable]("array", reflect.Slice)
	textsAt     = offset[lua.LTable]("strdict", reflect.Map)
	keysAt      = offset[lua.LTable]("keys", reflect.Slice)
	othersAt    = offset[lua.LTable]("dict", reflect.Map)
)

// frame is the beginning of the interpreter's record of a call.
type frame struct {
	Idx    int
	Fn     *lua.LFunction
	Parent *frame
	Pc     int // the place of the instruction after the current one

	Base, LocalBase, ReturnBase, NArgs, NRet, TailCall int
}

// registry is the beginning of the interpreter's record of a thread's registers.
type registry struct {
	array []lua.LValue
	top   int
}

func init() {
	sameFields(reflect.TypeFor[frame](), within("currentFrame"))
	sameFields(reflect.TypeFor[registry](), within("reg"))
}

// sameFields panics if a structure of the interpreter does not begin with the fields of our copy.
func sameFields(ours, theirs reflect.Type) {
	for i := range ours.NumField() {
		want := ours.Field(i)
		if f := theirs.Field(i); f.Name != want.Name || f.Offset != want.Offset || f.Type.Kind() != want.Type.Kind() {
			panic(unknown + want.Name)
		}
	}
}

const unknown = "script: this is not the interpreter that is known here: "

// within is the type to which a field of a thread points.
func within(field string) reflect.Type {
	f, _ := reflect.TypeFor[lua.LState]().FieldByName(field)
	return f.Type.Elem()
}

func offset[T any](name string, kind reflect.Kind) uintptr {
	f, ok := reflect.TypeFor[T]().FieldByName(name)
	if !ok || f.Type.Kind() != kind {
		panic(unknown + name)
	}
	return f.Offset
}

func peek[F, T any](p *T, offset uintptr) F { return *(*F)(unsafe.Add(unsafe.Pointer(p), offset)) }

// call is what the meter knows about a call.
type call struct {
	depth  int // how many calls of the same thread are around it
	proto  *lua.FunctionProto
	base   int // the first register of the function's variables
	passed int // how many values the function was called with
}

// innermostCall is the innermost call of a thread.
func innermostCall(L *lua.LState) call {
	f := peek[*frame](L, frameAt)
	return call{f.Idx, f.Fn.Proto, f.LocalBase, f.NArgs}
}

// instruction is the instruction that a thread is about to run. first reports whether it is the
// first one of a function.
func instruction(L *lua.LState) (inst uint32, first bool) {
	f := peek[*frame](L, frameAt)
	return f.Fn.Proto.Code[f.Pc-1], f.Pc == 1
}

// wanted is how many values the innermost function must return, below 0 for any number.
func wanted(L *lua.LState) int { return peek[*frame](L, frameAt).NRet }

// stackLevels is how many functions GetStack finds: those on the stack, and those that ended with a
// tail call.
func stackLevels(L *lua.LState) (n int) {
	for f := peek[*frame](L, frameAt); f != nil; f = f.Parent {
		if n++; !f.Fn.IsG {
			n += f.TailCall
		}
	}
	return n
}

// register is the value of one of a thread's registers.
func register(L *lua.LState, i int) lua.LValue { return peek[*registry](L, registersAt).array[i] }

// registerTop is the first register of a thread that is free.
func registerTop(L *lua.LState) int { return peek[*registry](L, registersAt).top }

// sharedNow is how many variables of the functions on the stack are shared with closures. The
// interpreter goes through all of them whenever a function returns or a closure is made.
func sharedNow(L *lua.LState) (n int) {
	for u := peek[*lua.Upvalue](L, openAt); u != nil; u = peek[*lua.Upvalue](u, nextAt) {
		n++
	}
	return n
}

// arrayLength is how many elements the array of a table has, including those that are nil.
func arrayLength(t *lua.LTable) int { return len(peek[[]lua.LValue](t, arrayAt)) }

// keyCount is how many keys of a table are not in its array, including lost ones.
func keyCount(t *lua.LTable) int { return len(peek[[]lua.LValue](t, keysAt)) }

// hasTexts reports whether a table has room for string keys, and hasOthers whether it has room for
// other keys.
func hasTexts(t *lua.LTable) bool  { return peek[unsafe.Pointer](t, textsAt) != nil }
func hasOthers(t *lua.LTable) bool { return peek[unsafe.Pointer](t, othersAt) != nil }
