package script

import (
	"encoding/binary"
	"math"

	lua "github.com/yuin/gopher-lua"
)

var msgpackLibrary []entry

func init() {
	msgpackLibrary = []entry{
		{"pack", packAll}, {"unpack", func(L *lua.LState) int { return unpackAll(L, "unpack", 0, 0) }},
		{"unpack_one", func(L *lua.LState) int { return unpackAll(L, "unpack_one", 1, optInteger(L, "unpack_one", 2, 0)) }},
		{"unpack_limit", func(L *lua.LState) int {
			return unpackAll(L, "unpack_limit", integer(L, "unpack_limit", 2), optInteger(L, "unpack_limit", 3, 0))
		}},
	}
}

// packDepthMax is the deepest nesting. Deeper values are packed as nil.
const packDepthMax = 16

type packer struct {
	run *run
	L   *lua.LState
	out []byte
}

func packAll(L *lua.LState) int {
	if L.GetTop() == 0 {
		badArg(L, "pack", 0, "MessagePack pack needs input.")
	}
	p := &packer{run: runOf(L), L: L}
	for i := 1; i <= L.GetTop(); i++ {
		p.value(L.Get(i), 0)
	}
	p.run.text(L, len(p.out))
	L.Push(asText(p.out))
	return 1
}

func (p *packer) value(v lua.LValue, depth int) {
	p.run.spend(p.L, pricePack)
	before := len(p.out)
	switch v := v.(type) {
	case lua.LString:
		p.run.use(p.L, len(v))
		p.head(len(v), 0xa0, 32, 0xd9, 0xda, 0xdb)
		p.out = append(p.out, v...)
	case lua.LBool:
		if v {
			p.out = append(p.out, 0xc3)
		} else {
			p.out = append(p.out, 0xc2)
		}
	case lua.LNumber:
		p.number(float64(v))
	case *lua.LTable:
		if depth == packDepthMax {
			p.out = append(p.out, 0xc0)
			return
		}
		p.table(p.run.real(v), depth)
		return
	default:
		p.out = append(p.out, 0xc0)
	}
	p.run.use(p.L, len(p.out)-before)
}

// head writes a length. A length below small fits into the first byte.
func (p *packer) head(n int, fix byte, small int, h8, h16, h32 byte) {
	switch {
	case n < small:
		p.out = append(p.out, fix|byte(n))
	case n <= 0xff && h8 != 0:
		p.out = append(p.out, h8, byte(n))
	case n <= 0xffff:
		p.out = binary.BigEndian.AppendUint16(append(p.out, h16), uint16(n))
	default:
		p.out = binary.BigEndian.AppendUint32(append(p.out, h32), uint32(n))
	}
}

func (p *packer) number(f float64) {
	if f >= -9223372036854775808.0 && f < 9223372036854775808.0 && f == math.Trunc(f) {
		p.integer(int64(f))
		return
	}
	if float64(float32(f)) == f {
		p.out = binary.BigEndian.AppendUint32(append(p.out, 0xca), math.Float32bits(float32(f)))
		return
	}
	bits := math.Float64bits(f)
	if f != f {
		bits = 0xfff8000000000000
	}
	p.out = binary.BigEndian.AppendUint64(append(p.out, 0xcb), bits)
}

func (p *packer) integer(n int64) {
	switch {
	case n >= 0 && n <= 0x7f:
		p.out = append(p.out, byte(n))
	case n >= 0 && n <= 0xff:
		p.out = append(p.out, 0xcc, byte(n))
	case n >= 0 && n <= 0xffff:
		p.out = binary.BigEndian.AppendUint16(append(p.out, 0xcd), uint16(n))
	case n >= 0 && n <= 0xffffffff:
		p.out = binary.BigEndian.AppendUint32(append(p.out, 0xce), uint32(n))
	case n >= 0:
		p.out = binary.BigEndian.AppendUint64(append(p.out, 0xcf), uint64(n))
	case n >= -32:
		p.out = append(p.out, byte(n))
	case n >= -128:
		p.out = append(p.out, 0xd0, byte(n))
	case n >= -32768:
		p.out = binary.BigEndian.AppendUint16(append(p.out, 0xd1), uint16(n))
	case n >= -2147483648:
		p.out = binary.BigEndian.AppendUint32(append(p.out, 0xd2), uint32(n))
	default:
		p.out = binary.BigEndian.AppendUint64(append(p.out, 0xd3), uint64(n))
	}
}

// table packs a table as an array if its keys are 1 to n, otherwise as a map.
func (p *packer) table(t *lua.LTable, depth int) {
	n, isArray, most := 0, true, 0.0
	for k, _ := p.run.next(p.L, t, lua.LNil); k != lua.LNil; k, _ = p.run.next(p.L, t, k) {
		p.run.spend(p.L, priceNext)
		f, ok := k.(lua.LNumber)
		isArray = isArray && ok && float64(f) >= 1 && float64(f) == math.Trunc(float64(f))
		if isArray {
			most = max(most, float64(f))
		}
		n++
	}
	if isArray && most == float64(n) {
		p.head(n, 0x90, 16, 0, 0xdc, 0xdd)
		for i := 1; i <= n; i++ {
			p.value(p.run.at(t, i), depth+1)
		}
		return
	}
	p.head(n, 0x80, 16, 0, 0xde, 0xdf)
	for k, v := p.run.next(p.L, t, lua.LNil); k != lua.LNil; k, v = p.run.next(p.L, t, k) {
		p.value(k, depth+1)
		p.value(v, depth+1)
	}
}

type unpacker struct {
	run   *run
	L     *lua.LState
	s     string
	at    int
	depth int
}

func (u *unpacker) missing() { u.L.RaiseError("Missing bytes in input.") }

// unpackAll unpacks limit values from an offset on. Its first result is the place to continue at,
// or -1 at the end. If limit and offset are both 0 it unpacks all values and returns no place.
func unpackAll(L *lua.LState, name string, limit, offset int) int {
	s := str(L, name, 1)
	if offset < 0 || limit < 0 {
		L.RaiseError("Invalid request to unpack with offset of %d and limit of %d.", offset, len(s))
	} else if offset > len(s) {
		L.RaiseError("Start offset %d greater than input length %d.", offset, len(s))
	}
	u := &unpacker{run: runOf(L), L: L, s: s, at: offset}
	all := limit == 0 && offset == 0
	var values []lua.LValue
	for u.at < len(s) && (all || len(values) < limit) {
		if len(values) >= unpackMax {
			L.RaiseError("too many results to unpack")
		}
		values = append(values, u.value())
	}
	if !all {
		next := u.at
		if next >= len(s) {
			next = -1
		}
		L.Push(lua.LNumber(next))
	}
	for _, v := range values {
		L.Push(v)
	}
	n := len(values)
	if !all {
		n++
	}
	return n
}

// uint reads n bytes, the most significant first.
func (u *unpacker) uint(n int) uint64 {
	if len(u.s)-u.at < n {
		u.missing()
	}
	v := uint64(0)
	for range n {
		v = v<<8 | uint64(u.s[u.at])
		u.at++
	}
	return v
}

func (u *unpacker) value() lua.LValue {
	u.run.spend(u.L, pricePack)
	c := byte(u.uint(1))
	switch {
	case c < 0x80:
		return lua.LNumber(c)
	case c >= 0xe0:
		return lua.LNumber(int8(c))
	case c < 0x90:
		return u.pairs(int(c & 15))
	case c < 0xa0:
		return u.array(int(c & 15))
	case c < 0xc0:
		return u.text(int(c & 31))
	}
	switch c {
	case 0xc0:
		return lua.LNil
	case 0xc2:
		return lua.LFalse
	case 0xc3:
		return lua.LTrue
	case 0xca:
		return lua.LNumber(math.Float32frombits(uint32(u.uint(4))))
	case 0xcb:
		return lua.LNumber(math.Float64frombits(u.uint(8)))
	case 0xcf:
		return lua.LNumber(int64(u.uint(8))) // Redis's library reads a signed number here
	case 0xcc, 0xcd, 0xce:
		return lua.LNumber(u.uint(1 << (c - 0xcc)))
	case 0xd0:
		return lua.LNumber(int8(u.uint(1)))
	case 0xd1:
		return lua.LNumber(int16(u.uint(2)))
	case 0xd2:
		return lua.LNumber(int32(u.uint(4)))
	case 0xd3:
		return lua.LNumber(int64(u.uint(8)))
	case 0xd9, 0xda, 0xdb:
		return u.text(int(u.uint(1 << (c - 0xd9))))
	case 0xdc, 0xdd:
		return u.array(int(u.uint(2 << (c - 0xdc))))
	case 0xde, 0xdf:
		return u.pairs(int(u.uint(2 << (c - 0xde))))
	}
	u.L.RaiseError("Bad data format in input.")
	return nil
}

func (u *unpacker) text(n int) lua.LValue {
	if len(u.s)-u.at < n {
		u.missing()
	}
	u.run.text(u.L, n)
	u.at += n
	return lua.LString(u.s[u.at-n : u.at])
}

// deeper bounds the nesting of the input.
func (u *unpacker) deeper() *lua.LTable {
	u.depth++
	if u.depth > jsonDepthMax {
		u.L.RaiseError("Found too many nested data structures")
	}
	u.run.use(u.L, tableCost)
	return u.L.CreateTable(0, 0)
}

func (u *unpacker) array(n int) lua.LValue {
	t := u.deeper()
	for i := 1; i <= n; i++ {
		u.run.put(u.L, t, lua.LNumber(i), u.value())
	}
	u.depth--
	return t
}

func (u *unpacker) pairs(n int) lua.LValue {
	t := u.deeper()
	for range n {
		k := u.value()
		u.run.put(u.L, t, k, u.value())
	}
	u.depth--
	return t
}
