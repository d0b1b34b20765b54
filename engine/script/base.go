package script

import (
	"fmt"
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

var baseLibrary []entry

func init() {
	baseLibrary = []entry{
		{"assert", baseAssert}, {"collectgarbage", baseCollect}, {"error", baseError}, {"gcinfo", baseCollect},
		{"getmetatable", baseGetMetatable}, {"ipairs", baseIpairs}, {"load", baseLoad}, {"loadstring", baseLoadString},
		{"next", baseNext}, {"pairs", basePairs}, {"pcall", basePCall}, {"rawequal", baseRawEqual}, {"rawget", baseRawGet},
		{"rawset", baseRawSet}, {"select", baseSelect}, {"setmetatable", baseSetMetatable}, {"tonumber", baseToNumber},
		{"tostring", baseToString}, {"type", baseType}, {"unpack", baseUnpack}, {"xpcall", baseXPCall},
	}
}

// tostring returns a value as text. Redis prints addresses of tables and functions. They would
// differ between replicas, so here all addresses are the same.
func tostring(v lua.LValue) []byte {
	switch v := v.(type) {
	case lua.LString:
		return []byte(v)
	case lua.LNumber:
		return appendNumber(nil, float64(v))
	case lua.LBool, *lua.LNilType:
		return []byte(v.String())
	case *lua.LUserData:
		return []byte("userdata: (nil)")
	}
	return []byte(v.Type().String() + ": 0x0")
}

func baseAssert(L *lua.LState) int {
	if !lua.LVIsFalse(some(L, "assert", 1)) {
		return L.GetTop()
	}
	m, v := meterOf(L), L.Get(2)
	s, ok := v.(lua.LString)
	if n, isNumber := v.(lua.LNumber); isNumber {
		s, ok = lua.LString(appendNumber(nil, float64(n))), true
	}
	if ok {
		m.text(L, 2*len(s))
		L.RaiseError("%s", string(s))
	}
	if v != lua.LNil {
		badType(L, "assert", 2, "string")
	}
	L.RaiseError("assertion failed!")
	return 0
}

// baseCollect: the memory in use depends on the collector, so scripts must not see it.
func baseCollect(L *lua.LState) int { return pushNumber(L, 0) }

func baseError(L *lua.LState) int {
	level := optInteger(L, "error", 2, 1)
	v := L.Get(1)
	if n, ok := v.(lua.LNumber); ok {
		v = lua.LString(appendNumber(nil, float64(n)))
	}
	if s, ok := v.(lua.LString); ok {
		meterOf(L).text(L, len(s))
		v = lua.LString(position(L, level)) + s
	}
	runOf(L).thrown = true
	L.Error(v, 0)
	return 0
}

// levelsFew is the level of the stack up to which error looks for free.
const levelsFew = 32

// position is the place of the function at a level of the stack, or "" for a function of the
// library.
func position(L *lua.LState, level int) string {
	m := meterOf(L)
	if level <= 0 || level > m.limits.CallDepth {
		return ""
	}
	if level >= levelsFew {
		m.spend(L, level*priceLevel)
	}
	dbg, ok := stackAt(L, level)
	if !ok {
		return ""
	}
	if _, err := L.GetInfo("Sl", dbg, lua.LNil); err != nil || dbg.CurrentLine <= 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d: ", dbg.Source, dbg.CurrentLine)
}

func (r *run) real(t *lua.LTable) *lua.LTable {
	if t == r.space.env {
		return r.space.globals
	}
	return t
}

func baseGetMetatable(L *lua.LState) int {
	switch v := some(L, "getmetatable", 1).(type) {
	case *lua.LTable:
		if runOf(L).inst.guards[v] == guardShared {
			L.Push(lua.LNil)
			return 1
		}
		mt, ok := v.Metatable.(*lua.LTable)
		if !ok {
			L.Push(lua.LNil)
		} else if p := mt.RawGetString("__metatable"); p != lua.LNil {
			L.Push(p)
		} else {
			L.Push(mt)
		}
	case lua.LString:
		L.Push(runOf(L).inst.stringMeta)
	default:
		L.Push(lua.LNil)
	}
	return 1
}

func baseSetMetatable(L *lua.LState) int {
	t := tab(L, "setmetatable", 1)
	mt := L.Get(2)
	if _, ok := mt.(*lua.LTable); !ok && (mt != lua.LNil || L.GetTop() < 2) {
		badArg(L, "setmetatable", 2, "nil or table expected")
	}
	r := runOf(L)
	if r.refuses(t) {
		r.raise(L, "Attempt to modify a readonly table")
	}
	if old, ok := t.Metatable.(*lua.LTable); ok && old.RawGetString("__metatable") != lua.LNil {
		L.RaiseError("cannot change a protected metatable")
	}
	t.Metatable = mt
	L.SetTop(1)
	return 1
}

var ipairsStep = native(func(L *lua.LState) int {
	t, i := tab(L, "ipairs", 1), integer(L, "ipairs", 2)+1
	r := runOf(L)
	v := r.at(r.real(t), i)
	if v == lua.LNil {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(lua.LNumber(i))
	L.Push(v)
	return 2
})

func baseIpairs(L *lua.LState) int {
	t := tab(L, "ipairs", 1)
	L.Push(ipairsStep)
	L.Push(t)
	L.Push(lua.LNumber(0))
	return 3
}

var nextFunction = native(baseNext)

func baseNext(L *lua.LState) int {
	t := tab(L, "next", 1)
	r := runOf(L)
	k, v := r.next(L, r.real(t), L.Get(2))
	L.Push(k)
	if k == lua.LNil {
		return 1
	}
	L.Push(v)
	return 2
}

func basePairs(L *lua.LState) int {
	t := tab(L, "pairs", 1)
	L.Push(nextFunction)
	L.Push(t)
	L.Push(lua.LNil)
	return 3
}

func arguments(L *lua.LState, from int) []lua.LValue {
	var args []lua.LValue
	for i := from; i <= L.GetTop(); i++ {
		args = append(args, L.Get(i))
	}
	return args
}

func basePCall(L *lua.LState) int {
	r := runOf(L)
	if L.GetTop() == 0 {
		// Redis's own pcall mistakes its return value for the function here.
		L.Push(lua.LFalse)
		return 1 + pushText(L, "attempt to call a boolean value")
	}
	fn := some(L, "pcall", 1)
	args := arguments(L, 2)
	r.spend(L, pricePCall+len(args)*priceArgument)
	L.SetTop(0)
	if err := r.protected(L, lua.MultRet, fn, args...); err != nil {
		r.passOn(L)
		L.Push(lua.LFalse)
		v := object(err)
		if t, ok := v.(*lua.LTable); ok {
			// Redis gives a script the text of its errors, as it did before errors were tables.
			if text := t.RawGetString("err"); isText(text) {
				v = text
			}
		}
		L.Push(v)
		return 2
	}
	L.Insert(lua.LTrue, 1)
	return L.GetTop()
}

func object(err error) lua.LValue {
	if ae, ok := err.(*lua.ApiError); ok {
		return ae.Object
	}
	return lua.LString(err.Error())
}

func baseXPCall(L *lua.LState) int {
	fn, handler := L.Get(1), L.Get(2)
	r := runOf(L)
	some(L, "xpcall", 2)
	L.SetTop(0)
	err := r.protected(L, lua.MultRet, fn)
	if err == nil {
		L.Insert(lua.LTrue, 1)
		return L.GetTop()
	}
	r.passOn(L)
	L.Push(lua.LFalse)
	if err := r.protected(L, 1, handler, object(err)); err != nil {
		r.passOn(L)
		L.Push(lua.LString("error in error handling"))
	}
	return 2
}

func baseRawEqual(L *lua.LState) int {
	a, b := some(L, "rawequal", 1), some(L, "rawequal", 2)
	if s, ok := a.(lua.LString); ok {
		meterOf(L).spend(L, len(s)/bytesCompared)
	}
	return boolean(L, a == b)
}

func baseRawGet(L *lua.LState) int {
	r := runOf(L)
	t, k := r.real(tab(L, "rawget", 1)), some(L, "rawget", 2)
	r.hashed(L, k)
	L.Push(t.RawGet(k))
	return 1
}

func baseRawSet(L *lua.LState) int {
	t := tab(L, "rawset", 1)
	k, v := some(L, "rawset", 2), some(L, "rawset", 3)
	r := runOf(L)
	if r.refuses(t) {
		r.raise(L, "Attempt to modify a readonly table")
	}
	r.put(L, t, k, v)
	L.SetTop(1)
	return 1
}

func baseSelect(L *lua.LState) int {
	n := L.GetTop()
	meterOf(L).spend(L, n*priceArgument)
	if s, ok := L.Get(1).(lua.LString); ok && len(s) > 0 && s[0] == '#' {
		return pushNumber(L, float64(n-1))
	}
	i := integer(L, "select", 1)
	if i < 0 {
		i += n
	} else if i > n {
		i = n
	}
	if i < 1 {
		badArg(L, "select", 1, "index out of range")
	}
	return n - i
}

func baseToNumber(L *lua.LState) int {
	base := optInteger(L, "tonumber", 2, 10)
	if base == 10 {
		if f, ok := meterOf(L).number(L, some(L, "tonumber", 1)); ok {
			return pushNumber(L, f)
		}
		L.Push(lua.LNil)
		return 1
	}
	s := str(L, "tonumber", 1)
	if base < 2 || base > 36 {
		badArg(L, "tonumber", 2, "base out of range")
	}
	m := meterOf(L)
	m.spend(L, len(s)*priceDigit)
	if f, ok := parseBase(cText(s), base); ok {
		return pushNumber(L, f)
	}
	L.Push(lua.LNil)
	return 1
}

func baseToString(L *lua.LState) int {
	v := some(L, "tostring", 1)
	r := runOf(L)
	if fn := metamethod(L, v, "__tostring"); fn != lua.LNil {
		r.call(L, 1, fn, v)
		return 1
	}
	if _, ok := v.(lua.LString); ok {
		L.Push(v)
		return 1
	}
	b := tostring(v)
	r.text(L, len(b))
	r.spend(L, priceNumeral)
	L.Push(lua.LString(b))
	return 1
}

func baseType(L *lua.LState) int { return pushText(L, some(L, "type", 1).Type().String()) }

func baseUnpack(L *lua.LState) int {
	t := tab(L, "unpack", 1)
	m := meterOf(L)
	i := optInteger(L, "unpack", 2, 1)
	j := 0
	if L.Get(3) == lua.LNil {
		j = m.length(L, t)
	} else {
		j = integer(L, "unpack", 3)
	}
	if i > j {
		return 0
	}
	n := j - i + 1
	if n <= 0 || n >= unpackMax || i < math.MinInt32 || j > math.MaxInt32 {
		L.RaiseError("too many results to unpack")
	}
	m.spend(L, n*priceArgument)
	for ; i <= j; i++ {
		L.Push(m.at(t, i))
	}
	return n
}

func baseLoadString(L *lua.LState) int {
	text := str(L, "loadstring", 1)
	name := text
	if L.Get(2) != lua.LNil {
		name = str(L, "loadstring", 2)
	}
	return loadChunk(L, text, name)
}

// baseLoad joins the texts that a function returns, until it returns nothing.
func baseLoad(L *lua.LState) int {
	r, name := runOf(L), "=(load)"
	if L.Get(2) != lua.LNil {
		name = str(L, "load", 2)
	}
	fn, ok := L.Get(1).(*lua.LFunction)
	if !ok {
		badType(L, "load", 1, "function")
	}
	var text []byte
	for {
		if err := r.protected(L, 1, fn); err != nil {
			r.passOn(L)
			L.Push(lua.LNil)
			L.Push(object(err))
			return 2
		}
		v := L.Get(-1)
		L.Pop(1)
		if v == lua.LNil {
			break
		}
		s, ok := v.(lua.LString)
		if !ok {
			L.Push(lua.LNil)
			L.Push(lua.LString("reader function must return a string"))
			return 2
		}
		if s == "" {
			break
		}
		r.text(L, len(s)*2)
		text = append(text, s...)
	}
	return loadChunk(L, string(text), name)
}

// loadChunk compiles text. Compiling costs much more than the text's length.
func loadChunk(L *lua.LState, text, name string) int {
	r := runOf(L)
	if len(text) > r.limits.SourceBytes {
		L.RaiseError("chunk is too long")
	}
	r.use(L, compiledCost+len(text)*compiledByteCost)
	r.spend(L, int(compileWork(text)))
	called := chunkName(name)
	f, err := compile(text, called)
	r.spend(L, int(f.work))
	if err != nil {
		L.Push(lua.LNil)
		L.Push(lua.LString(err.Error()))
		return 2
	}
	if r.loaded == nil {
		r.loaded = map[string]chunk{}
	}
	r.loaded[called] = chunk{name, f.names}
	L.Push(&lua.LFunction{Env: r.space.env, Proto: f.proto})
	return 1
}

// chunk is a text that was loaded: its name, which may be the text itself, and the names in it.
type chunk struct {
	name  string
	names *names
}

// chunkName is Lua's name for a chunk in errors. A name that begins with "=" is used as it is, one
// with "@" is a file's name, and of a text the first line is shown.
func chunkName(name string) string {
	const nameMax, fileMax, lineMax = 59, 52, 43
	if own, ok := strings.CutPrefix(name, "="); ok {
		return cText(own)[:min(len(cText(own)), nameMax)]
	} else if file, ok := strings.CutPrefix(name, "@"); ok {
		if file = cText(file); len(file) > fileMax {
			return "..." + file[len(file)-fileMax:]
		}
		return file
	}
	name = cText(name)
	line := name
	if at := strings.IndexAny(name, "\n\r"); at >= 0 {
		line = name[:at]
	}
	line = line[:min(len(line), lineMax)]
	if len(line) < len(name) {
		line += "..."
	}
	return `[string "` + line + `"]`
}

func parseBase(s string, base int) (float64, bool) {
	for len(s) > 0 && isSpace(s[0]) {
		s = s[1:]
	}
	for len(s) > 0 && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	negative := false
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	if base == 16 && len(s) > 2 && s[0] == '0' && lower(s[1]) == 'x' {
		s = s[2:]
	}
	if s == "" {
		return 0, false
	}
	n := uint64(0)
	for i := 0; i < len(s); i++ {
		d := digit(s[i])
		if d >= base {
			return 0, false
		}
		if n > (math.MaxUint64-uint64(d))/uint64(base) {
			return math.MaxUint64, true
		}
		n = n*uint64(base) + uint64(d)
	}
	if negative {
		n = -n
	}
	return float64(n), true
}
