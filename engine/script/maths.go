package script

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

var inf = math.Inf(1)

// rng is drand48, the generator that Redis gives to scripts.
type rng struct{ state uint64 }

const rngMask = 1<<48 - 1

func newRNG(seed uint64) rng { return rng{(seed<<16 | 0x330e) & rngMask} }

// next returns 31 random bits.
func (r *rng) next() int64 {
	r.state = (r.state*0x5deece66d + 0xb) & rngMask
	return int64(r.state >> 17)
}

var mathLibrary []entry

func init() {
	one := func(name string, f func(float64) float64) entry {
		return entry{name, func(L *lua.LState) int { return pushNumber(L, f(num(L, name, 1))) }}
	}
	two := func(name string, f func(a, b float64) float64) entry {
		return entry{name, func(L *lua.LState) int {
			num(L, name, 2) // Redis's compiler evaluates the last argument first
			return pushNumber(L, f(num(L, name, 1), num(L, name, 2)))
		}}
	}
	mathLibrary = []entry{
		one("abs", math.Abs), one("acos", math.Acos), one("asin", math.Asin), one("atan", math.Atan),
		two("atan2", math.Atan2), one("ceil", math.Ceil), one("cos", math.Cos), one("cosh", math.Cosh),
		one("deg", func(x float64) float64 { return x / (math.Pi / 180) }), one("exp", math.Exp), one("floor", math.Floor),
		{"fmod", mathMod("fmod")}, {"frexp", mathFrexp}, {"ldexp", mathLdexp}, one("log", math.Log), one("log10", math.Log10),
		{"max", func(L *lua.LState) int { return mathPick(L, "max", func(a, b float64) bool { return a > b }) }},
		{"min", func(L *lua.LState) int { return mathPick(L, "min", func(a, b float64) bool { return a < b }) }},
		{"mod", mathMod("mod")}, {"modf", mathModf}, two("pow", math.Pow),
		one("rad", func(x float64) float64 { return x * (math.Pi / 180) }), {"random", mathRandom}, {"randomseed", mathSeed},
		one("sin", math.Sin), one("sinh", math.Sinh), one("sqrt", math.Sqrt), one("tan", math.Tan), one("tanh", math.Tanh),
	}
}

// mathMod is a remainder. It takes one step for each bit by which one number is longer than the
// other.
func mathMod(name string) lua.LGFunction {
	return func(L *lua.LState) int {
		y, x := num(L, name, 2), num(L, name, 1)
		_, long := math.Frexp(x)
		_, short := math.Frexp(y)
		meterOf(L).spend(L, max(long-short, 0)*priceBit)
		return pushNumber(L, math.Mod(x, y))
	}
}

func mathFrexp(L *lua.LState) int {
	f, e := math.Frexp(num(L, "frexp", 1))
	L.Push(lua.LNumber(f))
	L.Push(lua.LNumber(e))
	return 2
}

func mathLdexp(L *lua.LState) int {
	e := min(max(num(L, "ldexp", 2), -5000), 5000)
	return pushNumber(L, math.Ldexp(num(L, "ldexp", 1), int(toInt64(e))))
}

func mathModf(L *lua.LState) int {
	x := num(L, "modf", 1)
	whole, part := math.Trunc(x), 0.0
	if !math.IsInf(x, 0) {
		part = math.Copysign(x-whole, x)
	} else {
		part = math.Copysign(0, x)
	}
	L.Push(lua.LNumber(whole))
	L.Push(lua.LNumber(part))
	return 2
}

func mathPick(L *lua.LState, name string, better func(a, b float64) bool) int {
	best := num(L, name, 1)
	meterOf(L).spend(L, L.GetTop()*priceArgument)
	for i := 2; i <= L.GetTop(); i++ {
		if x := num(L, name, i); better(x, best) {
			best = x
		}
	}
	return pushNumber(L, best)
}

func mathRandom(L *lua.LState) int {
	r := float64(runOf(L).seed.next()%math.MaxInt32) / math.MaxInt32
	lo, hi := 1.0, 0.0
	switch L.GetTop() {
	case 0:
		return pushNumber(L, r)
	case 1:
		hi = float64(integer(L, "random", 1))
		if hi < lo {
			badArg(L, "random", 1, "interval is empty")
		}
	case 2:
		lo, hi = float64(integer(L, "random", 1)), float64(integer(L, "random", 2))
		if hi < lo {
			badArg(L, "random", 2, "interval is empty")
		}
	default:
		L.RaiseError("wrong number of arguments")
	}
	return pushNumber(L, math.Floor(float64(r*(hi-lo+1)))+lo)
}

func mathSeed(L *lua.LState) int {
	runOf(L).seed = newRNG(uint64(uint32(toInt64(num(L, "randomseed", 1)))))
	return 0
}
