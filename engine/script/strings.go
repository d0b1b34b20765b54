package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

var stringLibrary []entry

func init() {
	stringLibrary = []entry{
		{"byte", strByte}, {"char", strChar}, {"dump", strDump}, {"find", func(L *lua.LState) int { return strFind(L, "find") }},
		{"format", strFormat}, {"gfind", strGmatch}, {"gmatch", strGmatch}, {"gsub", strGsub}, {"len", strLen},
		{"lower", strLower}, {"match", func(L *lua.LState) int { return strFind(L, "match") }}, {"rep", strRep},
		{"reverse", strReverse}, {"sub", strSub}, {"upper", strUpper},
	}
}

// place turns an index from the end into one from the start.
func place(i, n int) int {
	if i < 0 {
		i += n + 1
	}
	return max(i, 0)
}

func strByte(L *lua.LState) int {
	s := str(L, "byte", 1)
	i := place(optInteger(L, "byte", 2, 1), len(s))
	j := place(optInteger(L, "byte", 3, i), len(s))
	i, j = max(i, 1), min(j, len(s))
	if i > j {
		return 0
	}
	n := j - i + 1
	if n >= unpackMax {
		L.RaiseError("string slice too long")
	}
	meterOf(L).spend(L, n*priceNumber)
	for ; i <= j; i++ {
		L.Push(lua.LNumber(s[i-1]))
	}
	return n
}

func strChar(L *lua.LState) int {
	n := L.GetTop()
	meterOf(L).text(L, n)
	b := make([]byte, n)
	for i := range b {
		c := integer(L, "char", i+1)
		if c < 0 || c > 255 {
			badArg(L, "char", i+1, "invalid value")
		}
		b[i] = byte(c)
	}
	L.Push(asText(b))
	return 1
}

// strDump refuses: there are no binary chunks.
func strDump(L *lua.LState) int {
	L.RaiseError("unable to dump given function")
	return 0
}

func strLen(L *lua.LState) int { return pushNumber(L, float64(len(str(L, "len", 1)))) }

func strRep(L *lua.LState) int {
	s, n := str(L, "rep", 1), integer(L, "rep", 2)
	if n <= 0 || s == "" {
		return pushText(L, "")
	}
	m := meterOf(L)
	if int64(n) > m.limits.Bytes/int64(len(s)) {
		m.use(L, int(m.bytes)+1)
	}
	m.text(L, n*len(s))
	return pushText(L, strings.Repeat(s, n))
}

func mapped(L *lua.LState, name string, f func(s string, b []byte)) int {
	s := str(L, name, 1)
	m := meterOf(L)
	m.text(L, len(s))
	m.spend(L, len(s))
	b := make([]byte, len(s))
	f(s, b)
	L.Push(asText(b))
	return 1
}

func strLower(L *lua.LState) int {
	return mapped(L, "lower", func(s string, b []byte) {
		for i := range b {
			b[i] = lower(s[i])
		}
	})
}

func strUpper(L *lua.LState) int {
	return mapped(L, "upper", func(s string, b []byte) {
		for i := range b {
			b[i] = s[i]
			if 'a' <= b[i] && b[i] <= 'z' {
				b[i] -= 'a' - 'A'
			}
		}
	})
}

func strReverse(L *lua.LState) int {
	return mapped(L, "reverse", func(s string, b []byte) {
		for i := range b {
			b[i] = s[len(s)-1-i]
		}
	})
}

func strSub(L *lua.LState) int {
	s := str(L, "sub", 1)
	i, j := place(integer(L, "sub", 2), len(s)), place(optInteger(L, "sub", 3, -1), len(s))
	i, j = max(i, 1), min(j, len(s))
	if i > j {
		return pushText(L, "")
	}
	// The part shares the memory of the whole.
	meterOf(L).use(L, stringCost)
	return pushText(L, s[i-1:j])
}

func strFind(L *lua.LState, name string) int {
	s, p := str(L, name, 1), str(L, name, 2)
	r := runOf(L)
	init := max(place(optInteger(L, name, 3, 1), len(s)), 1)
	init = min(init-1, len(s))
	isFind := name == "find"
	r.spend(L, len(p)/2)
	if isFind && (lua.LVAsBool(L.Get(4)) || !strings.ContainsAny(p, "^$*+?.([%-")) {
		if len(p) > 1 {
			r.spend(L, (len(s)-init)*priceSearch)
		} else {
			r.spend(L, (len(s)-init)/bytesCompared)
		}
		i := strings.Index(s[init:], p)
		if i < 0 {
			L.Push(lua.LNil)
			return 1
		}
		L.Push(lua.LNumber(init + i + 1))
		L.Push(lua.LNumber(init + i + len(p)))
		return 2
	}
	ms := &matcher{run: r, L: L, src: s, pat: p}
	from, to := ms.find(init)
	if from < 0 {
		L.Push(lua.LNil)
		return 1
	}
	if isFind {
		L.Push(lua.LNumber(from + 1))
		L.Push(lua.LNumber(to))
		return 2 + ms.pushCaptures(from, to, false)
	}
	return ms.pushCaptures(from, to, true)
}

func strGmatch(L *lua.LState) int {
	s, p := str(L, "gmatch", 1), str(L, "gmatch", 2)
	r := runOf(L)
	r.use(L, 2*closureCost)
	at := 0
	next := native(func(L *lua.LState) int {
		ms := &matcher{run: runOf(L), L: L, src: s, pat: p}
		for ; at <= len(s); at++ {
			ms.level, ms.depth = 0, 0
			if e := ms.match(at, 0); e >= 0 {
				from := at
				at = e
				if e == from {
					at++
				}
				return ms.pushCaptures(from, e, true)
			}
		}
		L.Push(lua.LNil)
		return 1
	})
	if r.loading != nil {
		r.loading.iterators[next] = true
	}
	L.Push(next)
	return 1
}

func strGsub(L *lua.LState) int {
	s, p := str(L, "gsub", 1), str(L, "gsub", 2)
	repl := L.Get(3)
	switch v := repl.(type) {
	case lua.LString, *lua.LTable, *lua.LFunction:
	case lua.LNumber:
		repl = lua.LString(appendNumber(nil, float64(v)))
	default:
		badArg(L, "gsub", 3, "string/function/table expected")
	}
	most := optInteger(L, "gsub", 4, len(s)+1)
	ms := &matcher{run: runOf(L), L: L, src: s, pat: p}
	start := 0
	if strings.HasPrefix(p, "^") {
		start = 1
	}
	var out []byte
	at, n := 0, 0
	for n < most {
		ms.level, ms.depth = 0, 0
		e := ms.match(at, start)
		if e >= 0 {
			n++
			out = ms.replace(out, repl, at, e)
		}
		switch {
		case e > at:
			at = e
		case at < len(s):
			out = append(out, s[at])
			at++
		default:
			at++
		}
		if at > len(s) || start == 1 {
			break
		}
	}
	ms.run.text(L, len(out)+len(s))
	if at < len(s) {
		out = append(out, s[at:]...)
	}
	L.Push(asText(out))
	L.Push(lua.LNumber(n))
	return 2
}

// replace appends the replacement of the match from s to e.
func (ms *matcher) replace(out []byte, repl lua.LValue, s, e int) []byte {
	ms.run.spend(ms.L, priceReplace)
	var v lua.LValue
	switch r := repl.(type) {
	case lua.LString:
		return ms.expand(out, string(r), s, e)
	case *lua.LTable:
		v = ms.run.index(ms.L, r, ms.captured(0, s, e), lua.LNil)
	case *lua.LFunction:
		var args []lua.LValue
		for i := range max(ms.level, 1) {
			args = append(args, ms.captured(i, s, e))
		}
		ms.run.call(ms.L, 1, r, args...)
		v = ms.L.Get(-1)
		ms.L.Pop(1)
	}
	switch {
	case lua.LVIsFalse(v):
		v = lua.LString(ms.src[s:e])
	case !isText(v):
		ms.fail("invalid replacement value (a " + v.Type().String() + ")")
	}
	before := len(out)
	out = appendText(out, v)
	ms.run.use(ms.L, len(out)-before)
	return out
}

func (ms *matcher) expand(out []byte, r string, s, e int) []byte {
	ms.run.use(ms.L, len(r))
	ms.run.spend(ms.L, len(r)*2)
	for i := 0; i < len(r); i++ {
		if r[i] != '%' {
			out = append(out, r[i])
			continue
		}
		i++
		switch {
		case i >= len(r):
			out = append(out, 0)
		case !isDigit(r[i]):
			out = append(out, r[i])
		case r[i] == '0':
			ms.run.use(ms.L, e-s)
			out = append(out, ms.src[s:e]...)
		default:
			v := ms.captured(int(r[i]-'1'), s, e)
			before := len(out)
			if l, ok := v.(lua.LString); ok {
				ms.run.use(ms.L, len(l))
			}
			out = appendText(out, v)
			ms.run.spend(ms.L, (len(out)-before)/bytesCopied)
		}
	}
	return out
}
