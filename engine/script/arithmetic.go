package script

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// operators are the metamethods of strings. Without them the interpreter would read "010" as octal
// and "1_0" as ten, and charge nothing for it. Scripts do not see them.
var operators []entry

func init() {
	operators = []entry{
		operator("add", func(a, b float64) float64 { return a + b }),
		operator("sub", func(a, b float64) float64 { return a - b }),
		operator("mul", func(a, b float64) float64 { return a * b }),
		operator("div", func(a, b float64) float64 { return a / b }),
		{"__mod", iMod},
		operator("pow", math.Pow),
		{"__unm", func(L *lua.LState) int {
			if f, ok := meterOf(L).number(L, L.Get(1)); ok {
				return pushNumber(L, -f)
			}
			return cannot(L, "unm", "string", "string")
		}},
	}
}

// modulo is Lua 5.1's, with its rounding. The interpreter's own is exact.
func modulo(a, b float64) float64 { return a - float64(math.Floor(a/b)*b) }

var iMod = operator("mod", modulo).fn

// operator is the metamethod of strings for an operator. If an operand is not a number, the
// metamethod of the other operand decides.
func operator(name string, f func(a, b float64) float64) entry {
	event := "__" + name
	return entry{event, func(L *lua.LState) int {
		r := runOf(L)
		a, b := L.Get(1), L.Get(2)
		x, isNumber := r.number(L, a)
		y, both := r.number(L, b)
		if isNumber && both {
			return pushNumber(L, f(x, y))
		}
		for _, v := range []lua.LValue{a, b} {
			if fn := metamethod(L, v, event); fn != lua.LNil {
				r.call(L, 1, fn, a, b)
				return 1
			}
		}
		left := a.Type().String()
		if isNumber {
			left = "number"
		}
		return cannot(L, name, left, b.Type().String())
	}}
}

// cannot raises the interpreter's error about operands, which is translated into Lua's words later.
func cannot(L *lua.LState, name, left, right string) int {
	L.RaiseError("%s", "cannot perform "+name+" operation between "+left+" and "+right)
	return 0
}
