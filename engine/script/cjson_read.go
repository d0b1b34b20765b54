package script

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

type jsonReader struct {
	run  *run
	L    *lua.LState
	s    string
	at   int
	from int // where the newest token began
}

func jsonDecode(L *lua.LState) int {
	if L.GetTop() != 1 {
		badArg(L, "decode", 1, "expected 1 argument")
	}
	r := &jsonReader{run: runOf(L), L: L, s: str(L, "decode", 1)}
	if len(r.s) >= 2 && (r.s[0] == 0 || r.s[1] == 0) {
		L.RaiseError("JSON parser does not support UTF-16 or UTF-32")
	}
	r.run.spend(L, len(r.s)*priceJSONByte)
	t := r.token()
	v := r.value(t, 0)
	if t := r.token(); t.kind != "T_END" {
		r.unexpected("the end", t)
	}
	L.Push(v)
	return 1
}

// token is one token of JSON. The kinds have the names that error texts use.
type token struct {
	kind  string
	value lua.LValue
}

func (r *jsonReader) unexpected(want string, t token) {
	found := t.kind
	if t.kind == "T_ERROR" {
		found = string(t.value.(lua.LString))
	}
	r.L.RaiseError("%s", fmt.Sprintf("Expected %s but found %s at character %d", want, found, r.from+1))
}

var jsonMarks = map[byte]string{
	'{': "T_OBJ_BEGIN", '}': "T_OBJ_END", '[': "T_ARR_BEGIN", ']': "T_ARR_END", ',': "T_COMMA", ':': "T_COLON",
}

func (r *jsonReader) token() token {
	for r.at < len(r.s) && strings.IndexByte(" \t\n\r", r.s[r.at]) >= 0 {
		r.at++
	}
	r.from = r.at
	r.run.spend(r.L, priceJSON)
	if r.at >= len(r.s) || r.s[r.at] == 0 {
		return token{kind: "T_END"}
	}
	c := r.s[r.at]
	if kind, ok := jsonMarks[c]; ok {
		r.at++
		return token{kind: kind}
	}
	for _, w := range []struct {
		text string
		t    token
	}{{"true", token{"T_BOOLEAN", lua.LTrue}}, {"false", token{"T_BOOLEAN", lua.LFalse}}, {"null", token{"T_NULL", r.run.inst.null}}} {
		if strings.HasPrefix(r.s[r.at:], w.text) {
			r.at += len(w.text)
			return w.t
		}
	}
	switch {
	case c == '"':
		return r.text()
	case c == '-' || isDigit(c) || c == '+' || strings.IndexByte("iInN", c) >= 0:
		return r.number()
	}
	return token{"T_ERROR", lua.LString("invalid token")}
}

func (r *jsonReader) number() token {
	end := r.at
	for end < len(r.s) && end-r.at < 400 && (isDigit(r.s[end]) || isAlpha(r.s[end]) || strings.IndexByte("+-.", r.s[end]) >= 0) {
		end++
	}
	// The number is the longest prefix that is one.
	for ; end > r.at; end-- {
		r.run.spend(r.L, priceNumeral+(end-r.at)*priceDigit)
		if f, ok := parseNumber(r.s[r.at:end]); ok {
			r.at = end
			return token{"T_NUMBER", lua.LNumber(f)}
		}
	}
	if c := r.s[r.at]; c == '-' || isDigit(c) || c == '+' {
		return token{"T_ERROR", lua.LString("invalid number")}
	}
	return token{"T_ERROR", lua.LString("invalid token")}
}

var jsonEscapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (r *jsonReader) text() token {
	var out []byte
	for i := r.at + 1; i < len(r.s); i++ {
		c := r.s[i]
		switch {
		case c == '"':
			r.at = i + 1
			r.run.use(r.L, len(out)+stringCost)
			return token{"T_STRING", lua.LString(out)}
		case c == 0:
			r.from = i
			return token{"T_ERROR", lua.LString("unexpected end of string")}
		case c != '\\':
			out = append(out, c)
			continue
		}
		i++
		if i >= len(r.s) {
			r.from = i - 1
			return token{"T_ERROR", lua.LString("invalid escape code")}
		}
		if r.s[i] == 'u' {
			code, n := r.code(i + 1)
			if n == 0 {
				r.from = i - 1
				return token{"T_ERROR", lua.LString("invalid unicode escape code")}
			}
			i += n
			out = utf8.AppendRune(out, code)
			continue
		}
		plain, ok := jsonEscapes[r.s[i]]
		if !ok {
			r.from = i - 1
			return token{"T_ERROR", lua.LString("invalid escape code")}
		}
		out = append(out, plain)
	}
	r.from = len(r.s)
	return token{"T_ERROR", lua.LString("unexpected end of string")}
}

func (r *jsonReader) hex(i int) (rune, bool) {
	if i+4 > len(r.s) {
		return 0, false
	}
	n, err := strconv.ParseUint(r.s[i:i+4], 16, 16)
	return rune(n), err == nil
}

// code returns the character of the escape at i, and the length of the escape.
func (r *jsonReader) code(i int) (rune, int) {
	c, ok := r.hex(i)
	if !ok {
		return 0, 0
	}
	if c&0xf800 != 0xd800 {
		return c, 4
	}
	if c&0x400 != 0 || i+6 > len(r.s) || r.s[i+4:i+6] != `\u` {
		return 0, 0
	}
	low, ok := r.hex(i + 6)
	if !ok || low&0xfc00 != 0xdc00 {
		return 0, 0
	}
	return (c&0x3ff)<<10 + low&0x3ff + 0x10000, 10
}

func (r *jsonReader) value(t token, depth int) lua.LValue {
	switch t.kind {
	case "T_STRING", "T_NUMBER", "T_BOOLEAN", "T_NULL":
		return t.value
	case "T_OBJ_BEGIN":
		return r.object(depth + 1)
	case "T_ARR_BEGIN":
		return r.array(depth + 1)
	}
	r.unexpected("value", t)
	return nil
}

func (r *jsonReader) descend(depth int) *lua.LTable {
	if depth > jsonDepthMax {
		r.L.RaiseError("%s", fmt.Sprintf("Found too many nested data structures (%d) at character %d", depth, r.at))
	}
	r.run.use(r.L, tableCost)
	return r.L.CreateTable(0, 0)
}

func (r *jsonReader) object(depth int) lua.LValue {
	out := r.descend(depth)
	t := r.token()
	if t.kind == "T_OBJ_END" {
		return out
	}
	for {
		if t.kind != "T_STRING" {
			r.unexpected("object key string", t)
		}
		if c := r.token(); c.kind != "T_COLON" {
			r.unexpected("colon", c)
		}
		v := r.value(r.token(), depth)
		r.run.put(r.L, out, t.value, v)
		t = r.token()
		if t.kind == "T_OBJ_END" {
			return out
		}
		if t.kind != "T_COMMA" {
			r.unexpected("comma or object end", t)
		}
		t = r.token()
	}
}

func (r *jsonReader) array(depth int) lua.LValue {
	out := r.descend(depth)
	t := r.token()
	if t.kind == "T_ARR_END" {
		return out
	}
	for i := 1; ; i++ {
		r.run.put(r.L, out, lua.LNumber(i), r.value(t, depth))
		t = r.token()
		if t.kind == "T_ARR_END" {
			return out
		}
		if t.kind != "T_COMMA" {
			r.unexpected("comma or array end", t)
		}
		t = r.token()
	}
}
