package script

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// intrinsics are the functions that the rewriter calls.
var intrinsics map[string]*lua.LFunction

func init() {
	intrinsics = map[string]*lua.LFunction{
		"concat":  native(iConcat),
		"get":     native(iGet),
		"set":     native(iSet),
		"len":     native(iLen),
		"eq":      native(func(L *lua.LState) int { return boolean(L, equal(L, L.Get(1), L.Get(2))) }),
		"ne":      native(func(L *lua.LState) int { return boolean(L, !equal(L, L.Get(1), L.Get(2))) }),
		"lt":      native(func(L *lua.LState) int { return boolean(L, less(L, L.Get(1), L.Get(2))) }),
		"gt":      native(func(L *lua.LState) int { return boolean(L, less(L, L.Get(2), L.Get(1))) }),
		"le":      native(func(L *lua.LState) int { return boolean(L, atMost(L, L.Get(1), L.Get(2))) }),
		"ge":      native(func(L *lua.LState) int { return boolean(L, atMost(L, L.Get(2), L.Get(1))) }),
		"table":   native(iTable),
		"fill":    native(iFill),
		"closure": native(iClosure),
		"spread":  native(iSpread),
		"arg":     native(iArg),
		"number":  native(iNumber),
		"mod":     native(iMod),
		"key":     native(iKey),
	}
	for _, fn := range intrinsics { // order does not matter: a set is filled
		isIntrinsic[fn] = true
	}
}

// isIntrinsic are the functions that replace an instruction of the script.
var isIntrinsic = map[*lua.LFunction]bool{readOnly: true}

// native returns a function that belongs to no interpreter.
func native(fn lua.LGFunction) *lua.LFunction {
	return &lua.LFunction{IsG: true, GFunction: fn, Env: &lua.LTable{Metatable: lua.LNil}}
}

func boolean(L *lua.LState, b bool) int {
	L.Push(lua.LBool(b))
	return 1
}

// iConcat gets the names of the operands, and then the operands. It works from the right: in pairs
// if a metamethod is needed, otherwise all at once.
func iConcat(L *lua.LState) int {
	r := runOf(L)
	n := L.GetTop()
	total := 0
	for i := 2; i <= n; i++ {
		v := L.Get(i)
		if !isText(v) {
			return r.concatPairs(L, n)
		}
		total += textLength(v)
		r.spend(L, pricePart+numeralPrice(v))
	}
	r.text(L, total)
	r.spend(L, priceConcat)
	buf := make([]byte, 0, total)
	for i := 2; i <= n; i++ {
		buf = appendText(buf, L.Get(i))
	}
	L.Push(asText(buf))
	return 1
}

func appendText(dst []byte, v lua.LValue) []byte {
	if s, ok := v.(lua.LString); ok {
		return append(dst, s...)
	}
	return appendNumber(dst, float64(v.(lua.LNumber)))
}

// numeralPrice is the price of writing a value as text, if the value is a number.
func numeralPrice(v lua.LValue) int {
	if n, ok := v.(lua.LNumber); ok && float64(n) != math.Trunc(float64(n)) {
		return priceNumeral
	}
	return 0
}

// textLength is the number of bytes that appendText writes, or a little more.
func textLength(v lua.LValue) int {
	if s, ok := v.(lua.LString); ok {
		return len(s)
	}
	return 24
}

func isText(v lua.LValue) bool { return lua.LVCanConvToString(v) }

func (r *run) concatPairs(L *lua.LState, n int) int {
	r.spend(L, n*pricePair)
	descs := strings.Split(string(L.Get(1).(lua.LString)), "|")
	right := L.Get(n)
	for i := n - 1; i >= 2; i-- {
		left := L.Get(i)
		if isText(left) && isText(right) {
			r.text(L, textLength(left)+textLength(right))
			r.spend(L, priceConcat+numeralPrice(left)+numeralPrice(right))
			right = asText(appendText(appendText(make([]byte, 0, textLength(left)+textLength(right)), left), right))
			continue
		}
		fn := metamethod(L, left, "__concat")
		if fn == lua.LNil {
			fn = metamethod(L, right, "__concat")
		}
		if fn == lua.LNil {
			bad, at := left, i-2
			if isText(left) {
				bad, at = right, i-1
			}
			desc := ""
			if at < len(descs) {
				desc = descs[at]
			}
			L.RaiseError("%s", "attempt to concatenate "+named(desc, bad.Type().String()))
		}
		r.call(L, 1, fn, left, right)
		right = L.Get(-1)
		L.Pop(1)
	}
	L.Push(right)
	return 1
}

func metamethod(L *lua.LState, v lua.LValue, event string) lua.LValue {
	switch v := v.(type) {
	case *lua.LTable:
		if mt, ok := v.Metatable.(*lua.LTable); ok {
			return mt.RawGetString(event)
		}
	case lua.LString:
		return runOf(L).inst.stringMeta.RawGetString(event)
	}
	return lua.LNil
}

func iGet(L *lua.LState) int {
	L.Push(runOf(L).index(L, L.Get(1), L.Get(2), L.Get(3)))
	return 1
}

// index returns a field of a value, with metamethods. If desc is a text it names the value in
// errors.
func (r *run) index(L *lua.LState, obj, key, desc lua.LValue) lua.LValue {
	for range lua.MaxTableGetLoop {
		t, isTable := obj.(*lua.LTable)
		if isTable {
			if keyCount(t) > 0 {
				r.hashed(L, key)
				r.spend(L, hashPrice(t))
			}
			if v := t.RawGet(key); v != lua.LNil || t.Metatable == lua.LNil {
				return v
			}
		}
		r.spend(L, priceHop)
		mm := metamethod(L, obj, "__index")
		if mm == lua.LNil {
			if !isTable {
				L.RaiseError("%s", "attempt to index "+named(lua.LVAsString(desc), obj.Type().String()))
			}
			return lua.LNil
		}
		if fn, ok := mm.(*lua.LFunction); ok {
			r.call(L, 1, fn, obj, key)
			v := L.Get(-1)
			L.Pop(1)
			return v
		}
		obj = mm
	}
	L.RaiseError("loop in gettable")
	return lua.LNil
}

func iSet(L *lua.LState) int {
	r := runOf(L)
	obj, key, value := L.Get(1), L.Get(2), L.Get(3)
	for range lua.MaxTableGetLoop {
		r.hashed(L, key)
		t, isTable := obj.(*lua.LTable)
		if isTable && (t.Metatable == lua.LNil || t.RawGet(key) != lua.LNil) {
			r.put(L, t, key, value)
			return 0
		}
		r.spend(L, priceHop)
		mm := metamethod(L, obj, "__newindex")
		if mm == lua.LNil {
			if !isTable {
				L.RaiseError("%s", "attempt to index "+named(L.ToString(4), obj.Type().String()))
			}
			r.put(L, t, key, value)
			return 0
		}
		if fn, ok := mm.(*lua.LFunction); ok {
			r.call(L, 0, fn, obj, key, value)
			return 0
		}
		obj = mm
	}
	L.RaiseError("loop in settable")
	return 0
}

func iLen(L *lua.LState) int {
	m := meterOf(L)
	switch v := L.Get(1).(type) {
	case lua.LString:
		L.Push(lua.LNumber(len(v)))
	case *lua.LTable:
		// Lua 5.1 calls no metamethod for the length of a table.
		L.Push(lua.LNumber(m.length(L, v)))
	default:
		L.RaiseError("%s", "attempt to get length of "+named(L.ToString(2), v.Type().String()))
	}
	return 1
}

func equal(L *lua.LState, a, b lua.LValue) bool {
	switch x := a.(type) {
	case lua.LString:
		y, ok := b.(lua.LString)
		if !ok || len(x) != len(y) {
			return false
		}
		runOf(L).spend(L, len(x)/bytesCompared)
		return x == y
	case *lua.LTable:
		y, ok := b.(*lua.LTable)
		if !ok || x == y {
			return ok
		}
		r := runOf(L)
		r.enter(L)
		eq := L.Equal(x, y)
		r.goDepth--
		return eq
	}
	return a == b
}

// compared charges for a comparison of two strings.
func compared(L *lua.LState, a, b lua.LString) {
	meterOf(L).spend(L, min(len(a), len(b))/bytesCompared)
}

func less(L *lua.LState, a, b lua.LValue) bool {
	switch x := a.(type) {
	case lua.LNumber:
		if y, ok := b.(lua.LNumber); ok {
			return x < y
		}
	case lua.LString:
		if y, ok := b.(lua.LString); ok {
			compared(L, x, y)
			return x < y
		}
	}
	return ordered(L, a, b, "__lt")
}

func atMost(L *lua.LState, a, b lua.LValue) bool {
	switch x := a.(type) {
	case lua.LNumber:
		if y, ok := b.(lua.LNumber); ok {
			return x <= y
		}
	case lua.LString:
		if y, ok := b.(lua.LString); ok {
			compared(L, x, y)
			return x <= y
		}
	}
	if fn := metamethod(L, a, "__le"); fn == lua.LNil {
		if fn := metamethod(L, a, "__lt"); fn != lua.LNil && fn == metamethod(L, b, "__lt") {
			return !ordered(L, b, a, "__lt")
		}
	}
	return ordered(L, a, b, "__le")
}

func ordered(L *lua.LState, a, b lua.LValue, event string) bool {
	fn := metamethod(L, a, event)
	if a.Type() != b.Type() || fn == lua.LNil || fn != metamethod(L, b, event) {
		if a.Type() == b.Type() {
			L.RaiseError("attempt to compare two %s values", a.Type())
		}
		L.RaiseError("attempt to compare %s with %s", a.Type(), b.Type())
	}
	runOf(L).call(L, 1, fn, a, b)
	v := lua.LVAsBool(L.Get(-1))
	L.Pop(1)
	return v
}

// iTable charges for a new table: for its positions and its fields. It removes nils at the end.
func iTable(L *lua.LState) int {
	r := runOf(L)
	t := L.Get(1).(*lua.LTable)
	positions, fields := int(L.Get(2).(lua.LNumber)), int(L.Get(3).(lua.LNumber))
	r.charge(L, positions, fields)
	r.cut(L, t, positions)
	r.constructed(L, t, fields)
	L.Push(t)
	return 1
}

// constructed accounts for keys that a constructor of many fields may have removed again, as {a=1,
// a=nil} does.
func (r *run) constructed(L *lua.LState, t *lua.LTable, fields int) {
	if fields > fieldsFew {
		r.spend(L, fields*priceNext)
		r.beginWalk(t, fields)
	}
}

// fieldsFew is how many lost keys a walk may step over for free.
const fieldsFew = 32

func (m *meter) charge(L *lua.LState, positions, fields int) {
	n := tableCost + positions*placeCost + fields*keyCost
	if fields > 0 {
		n += hashCost
	}
	m.use(L, n)
}

// cut removes the nils at the end of a constructed table's array. It charges for the elements that
// a key beyond the positions has added: {[60000]=1} has 60,000 elements.
func (m *meter) cut(L *lua.LState, t *lua.LTable, positions int) {
	n := arrayLength(t)
	if more := n - positions; more > 0 {
		m.use(L, skipCost*more)
		m.spend(L, more*priceSkip)
	}
	for last := t.Len(); n > last; n-- {
		t.Remove(-1)
	}
}

func trim(t *lua.LTable, positions int) {
	for n := t.Len(); positions > n; positions-- {
		if positions < arrayIndexMax {
			t.Remove(-1)
		}
	}
}

func iFill(L *lua.LState) int {
	r := runOf(L)
	t := L.Get(1).(*lua.LTable)
	positions, fields := int(L.Get(2).(lua.LNumber)), int(L.Get(3).(lua.LNumber))
	n := L.GetTop() - 3
	r.charge(L, positions+n, fields)
	r.spend(L, n*priceElement)
	for i := 1; i <= n; i++ {
		t.RawSetInt(positions+i, L.Get(3+i))
	}
	r.cut(L, t, positions+n)
	r.constructed(L, t, fields)
	L.Push(t)
	return 1
}

// iKey is a computed key of a constructor. The interpreter looks it up several times.
func iKey(L *lua.LState) int {
	if s, ok := L.Get(1).(lua.LString); ok {
		meterOf(L).spend(L, 4*len(s)/bytesHashed)
	}
	return 1
}

func iClosure(L *lua.LState) int {
	m, n := meterOf(L), int(L.Get(2).(lua.LNumber))
	m.use(L, closureCost+n*upvalueCost)
	L.SetTop(1)
	return 1
}

func iSpread(L *lua.LState) int {
	n := L.GetTop()
	meterOf(L).spend(L, n*priceArgument)
	return n
}

func iArg(L *lua.LState) int {
	m := meterOf(L)
	n := L.GetTop()
	m.charge(L, n, 1)
	m.spend(L, n*priceElement)
	t := L.CreateTable(n, 0)
	for i := 1; i <= n; i++ {
		t.RawSetInt(i, L.Get(i))
	}
	trim(t, n)
	t.RawSetString("n", lua.LNumber(n))
	L.Push(t)
	return 1
}

// iNumber is a bound of a for loop. A string that holds a number is valid.
func iNumber(L *lua.LState) int {
	if n, ok := meterOf(L).number(L, L.Get(1)); ok {
		L.Push(lua.LNumber(n))
		return 1
	}
	what := L.ToString(2)
	if what == "initial" {
		what = "initial value"
	}
	L.RaiseError("'for' %s must be a number", what)
	return 0
}
