package script

import (
	"reflect"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// When the interpreter raises an error it cuts every closure off from the variables
// that it shares with functions on the stack, also with those that catch the error
// and go on: each then has its own. It does not where a function is to look at the
// error, which only its own PCall can ask for, and only for the innermost. So what
// says that is set here, and the closures of the functions that the error ends are
// cut off here (cutOff). The interpreter's own fields are found by their names.

// Where they are: within a thread, its registers and what it shares.
var (
	lookedAt    = offset[lua.LState]("hasErrorFunc", reflect.Bool)
	openAt      = offset[lua.LState]("uvcache", reflect.Pointer)
	registersAt = offset[lua.LState]("reg", reflect.Pointer)
	nextAt      = offset[lua.Upvalue]("next", reflect.Pointer)
	upvalueAt   = offset[lua.Upvalue]("index", reflect.Int)
	arrayAt     = offset[lua.LTable]("array", reflect.Slice)
	textsAt     = offset[lua.LTable]("strdict", reflect.Map)
	keysAt      = offset[lua.LTable]("keys", reflect.Slice)
	othersAt    = offset[lua.LTable]("dict", reflect.Map)
	frameAt     = offset[lua.LState]("currentFrame", reflect.Pointer)
	topAt       = offsetIn(within("reg"), "top", reflect.Int)
	wantedAt    = offsetIn(within("currentFrame"), "NRet", reflect.Int)
)

// within is what a field of a thread points to.
func within(field string) reflect.Type {
	f, _ := reflect.TypeFor[lua.LState]().FieldByName(field)
	return f.Type.Elem()
}

func offset[T any](name string, kind reflect.Kind) uintptr {
	return offsetIn(reflect.TypeFor[T](), name, kind)
}

func offsetIn(t reflect.Type, name string, kind reflect.Kind) uintptr {
	f, ok := t.FieldByName(name)
	if !ok || f.Type.Kind() != kind {
		panic("script: this is not the interpreter that is known here: " + name)
	}
	return f.Offset
}

func fieldOf[T, F any](p *T, offset uintptr) *F { return (*F)(unsafe.Add(unsafe.Pointer(p), offset)) }

// keepShared sets whether errors leave closures as they are, and returns what it was.
func keepShared(L *lua.LState, keep bool) (was bool) {
	p := fieldOf[lua.LState, bool](L, lookedAt)
	was, *p = *p, keep
	return was
}

// sharedNow is how many variables of the functions on the stack closures share with
// them. The interpreter goes through all of them wherever a function returns or a
// closure is made.
func sharedNow(L *lua.LState) (n int) {
	for u := *fieldOf[lua.LState, *lua.Upvalue](L, openAt); u != nil; u = *fieldOf[lua.Upvalue, *lua.Upvalue](u, nextAt) {
		n++
	}
	return n
}

// wanted is how many values the function that runs is to return, below 0 for any
// number.
func wanted(L *lua.LState) int {
	return *(*int)(unsafe.Add(*fieldOf[lua.LState, unsafe.Pointer](L, frameAt), wantedAt))
}

// registerTop is the first register that is free.
func registerTop(L *lua.LState) int {
	return *(*int)(unsafe.Add(*fieldOf[lua.LState, unsafe.Pointer](L, registersAt), topAt))
}

// cutOff cuts closures off from the variables in registers from one on.
func cutOff(L *lua.LState, from int) {
	p := fieldOf[lua.LState, *lua.Upvalue](L, openAt)
	for *p != nil && *fieldOf[lua.Upvalue, int](*p, upvalueAt) < from {
		p = fieldOf[lua.Upvalue, *lua.Upvalue](*p, nextAt)
	}
	first := *p
	*p = nil
	for u := first; u != nil; u = *fieldOf[lua.Upvalue, *lua.Upvalue](u, nextAt) {
		u.Close()
	}
}
