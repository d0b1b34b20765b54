package script

import (
	"math"
	"math/bits"

	lua "github.com/yuin/gopher-lua"
)

var bitLibrary []entry

// bitArg is a number as 32 bits, rounded as BitOp does: to the nearest integer, and halves to the
// even one.
func bitArg(L *lua.LState, name string, i int) uint32 {
	// The low bits of this sum hold the integer.
	return uint32(math.Float64bits(num(L, name, i) + 3<<51))
}

func pushBits(L *lua.LState, v uint32) int { return pushNumber(L, float64(int32(v))) }

func init() {
	one := func(name string, f func(uint32) uint32) entry {
		return entry{name, func(L *lua.LState) int { return pushBits(L, f(bitArg(L, name, 1))) }}
	}
	shift := func(name string, f func(v uint32, n uint) uint32) entry {
		return entry{name, func(L *lua.LState) int {
			v := bitArg(L, name, 1)
			return pushBits(L, f(v, uint(bitArg(L, name, 2)&31)))
		}}
	}
	many := func(name string, f func(a, b uint32) uint32) entry {
		return entry{name, func(L *lua.LState) int {
			v, n := bitArg(L, name, 1), L.GetTop()
			for i := 2; i <= n; i++ {
				v = f(v, bitArg(L, name, n+2-i)) // from the last argument on: its error comes first
			}
			return pushBits(L, v)
		}}
	}
	bitLibrary = []entry{
		shift("arshift", func(v uint32, n uint) uint32 { return uint32(int32(v) >> n) }),
		many("band", func(a, b uint32) uint32 { return a & b }),
		one("bnot", func(v uint32) uint32 { return ^v }),
		many("bor", func(a, b uint32) uint32 { return a | b }),
		one("bswap", bits.ReverseBytes32),
		many("bxor", func(a, b uint32) uint32 { return a ^ b }),
		shift("lshift", func(v uint32, n uint) uint32 { return v << n }),
		shift("rol", func(v uint32, n uint) uint32 { return bits.RotateLeft32(v, int(n)) }),
		shift("ror", func(v uint32, n uint) uint32 { return bits.RotateLeft32(v, -int(n)) }),
		shift("rshift", func(v uint32, n uint) uint32 { return v >> n }),
		one("tobit", func(v uint32) uint32 { return v }),
		{"tohex", bitToHex},
	}
}

func bitToHex(L *lua.LState) int {
	v, n := bitArg(L, "tohex", 1), int32(8)
	if L.GetTop() > 1 {
		n = int32(bitArg(L, "tohex", 2))
	}
	digits := "0123456789abcdef"
	if n < 0 {
		digits = "0123456789ABCDEF"
		n = -n
	}
	if n > 8 || n < 0 {
		n = 8
	}
	b := make([]byte, n)
	for i := n - 1; i >= 0; i-- {
		b[i] = digits[v&15]
		v >>= 4
	}
	return pushText(L, string(b))
}
