package script

import (
	"reflect"
	"sync"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// When the interpreter raises an error it cuts every closure off from the variables
// that it shares with functions on the stack, also with those that catch the error
// and go on: each then has its own. It does not where a function is to look at the
// error, which only its own PCall can ask for, and only for the innermost. So what
// says that is set here, and when an error was caught only the closures of the
// functions that it ended are cut off.

// lookedAt is where the interpreter keeps it.
var lookedAt = func() uintptr {
	f, ok := reflect.TypeFor[lua.LState]().FieldByName("hasErrorFunc")
	if !ok || f.Type.Kind() != reflect.Bool {
		panic("script: this is not the interpreter that is known here")
	}
	return f.Offset
}()

// keepShared sets whether errors leave closures as they are, and returns what it was.
func keepShared(L *lua.LState, keep bool) (was bool) {
	p := (*bool)(unsafe.Add(unsafe.Pointer(L), lookedAt))
	was, *p = *p, keep
	return was
}

// cut is a function that does nothing: as it returns, the interpreter cuts off the
// closures that share variables of those that stood in its place on the stack.
var cut = sync.OnceValue(func() *lua.FunctionProto {
	f, _, err := compile("", "cut", AnswersDepth)
	if err != nil {
		panic(err)
	}
	return f.proto
})

// cutOff cuts off the closures of functions that an error has ended.
func (m *meter) cutOff(L *lua.LState) {
	L.Push(&lua.LFunction{Env: m.space.env, Proto: cut()})
	L.Call(0, 0)
}
