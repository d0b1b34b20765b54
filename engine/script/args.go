package script

import (
	"fmt"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

func typeName(L *lua.LState, i int) string {
	if i > L.GetTop() {
		return "no value"
	}
	return L.Get(i).Type().String()
}

// badArg raises Lua's error about argument i of the library function name.
func badArg(L *lua.LState, name string, i int, what string) {
	L.RaiseError("%s", fmt.Sprintf("bad argument #%d to '%s' (%s)", i, name, what))
}

func badType(L *lua.LState, name string, i int, want string) {
	badArg(L, name, i, want+" expected, got "+typeName(L, i))
}

// str returns a string argument. A number is converted.
func str(L *lua.LState, name string, i int) string {
	switch v := L.Get(i).(type) {
	case lua.LString:
		return string(v)
	case lua.LNumber:
		return string(appendNumber(nil, float64(v)))
	}
	badType(L, name, i, "string")
	return ""
}

func num(L *lua.LState, name string, i int) float64 {
	f, ok := meterOf(L).number(L, L.Get(i))
	if !ok {
		badType(L, name, i, "number")
	}
	return f
}

func integer(L *lua.LState, name string, i int) int { return toInt(num(L, name, i)) }

func optInteger(L *lua.LState, name string, i, otherwise int) int {
	if L.Get(i) == lua.LNil {
		return otherwise
	}
	return integer(L, name, i)
}

func tab(L *lua.LState, name string, i int) *lua.LTable {
	t, ok := L.Get(i).(*lua.LTable)
	if !ok {
		badType(L, name, i, "table")
	}
	return t
}

func some(L *lua.LState, name string, i int) lua.LValue {
	if i > L.GetTop() {
		badArg(L, name, i, "value expected")
	}
	return L.Get(i)
}

// asText makes a string of bytes that a function has written. Nobody may write to them again.
func asText(b []byte) lua.LString { return lua.LString(unsafe.String(unsafe.SliceData(b), len(b))) }

func pushText(L *lua.LState, s string) int {
	L.Push(lua.LString(s))
	return 1
}

func pushNumber(L *lua.LState, f float64) int {
	L.Push(lua.LNumber(f))
	return 1
}
