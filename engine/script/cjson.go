package script

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

var cjsonLibrary []entry

func init() {
	fixed := func(name string, values ...lua.LValue) entry {
		return entry{name, func(L *lua.LState) int {
			for _, v := range values {
				L.Push(v)
			}
			return len(values)
		}}
	}
	// The settings are Redis's and cannot change: a script that changed them would change them for
	// the next script.
	cjsonLibrary = []entry{
		{"encode", jsonEncode}, {"decode", jsonDecode},
		fixed("encode_max_depth", lua.LNumber(jsonDepthMax)), fixed("decode_max_depth", lua.LNumber(jsonDepthMax)),
		fixed("encode_number_precision", lua.LNumber(14)), fixed("encode_keep_buffer", lua.LTrue),
		fixed("encode_invalid_numbers", lua.LFalse), fixed("decode_invalid_numbers", lua.LTrue),
		fixed("encode_sparse_array", lua.LFalse, lua.LNumber(2), lua.LNumber(10)),
		{"new", func(L *lua.LState) int {
			L.Push(runOf(L).space.globals.RawGetString("cjson"))
			return 1
		}},
	}
}

const (
	jsonDepthMax  = 1000
	jsonSparse    = 2
	jsonSparseMin = 10
)

type jsonWriter struct {
	run *run
	L   *lua.LState
	out []byte
	own int // bytes that were charged
}

func jsonEncode(L *lua.LState) int {
	if L.GetTop() != 1 {
		badArg(L, "encode", 1, "expected 1 argument")
	}
	w := &jsonWriter{run: runOf(L), L: L}
	w.value(L.Get(1), 0)
	w.run.text(L, len(w.out))
	L.Push(asText(w.out))
	return 1
}

func (w *jsonWriter) fail(what, why string) {
	w.L.RaiseError("%s", "Cannot serialise "+what+": "+why)
}

func (w *jsonWriter) value(v lua.LValue, depth int) {
	w.run.spend(w.L, priceJSON)
	if n := len(w.out) - w.own; n > 4096 {
		w.run.use(w.L, n)
		w.own = len(w.out)
	}
	switch v := v.(type) {
	case lua.LString:
		w.text(string(v))
	case lua.LNumber:
		w.run.spend(w.L, priceNumeral)
		w.number(float64(v))
	case lua.LBool:
		w.out = append(w.out, v.String()...)
	case *lua.LNilType:
		w.out = append(w.out, "null"...)
	case *lua.LUserData:
		w.out = append(w.out, "null"...)
	case *lua.LTable:
		w.table(w.run.real(v), depth+1)
	default:
		w.fail(v.Type().String(), "type not supported")
	}
}

func (w *jsonWriter) number(f float64) {
	if f != f || math.IsInf(f, 0) {
		w.fail("number", "must not be NaN or Inf")
	}
	w.out = appendNumber(w.out, f)
}

const hexDigits = "0123456789abcdef"

func (w *jsonWriter) text(s string) {
	w.run.use(w.L, len(s))
	w.run.spend(w.L, len(s)*priceJSONByte)
	before := len(w.out)
	w.out = append(w.out, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"', '\\', '/':
			w.out = append(w.out, '\\', c)
		case '\b':
			w.out = append(w.out, `\b`...)
		case '\f':
			w.out = append(w.out, `\f`...)
		case '\n':
			w.out = append(w.out, `\n`...)
		case '\r':
			w.out = append(w.out, `\r`...)
		case '\t':
			w.out = append(w.out, `\t`...)
		default:
			if c < 32 || c == 127 {
				w.out = append(w.out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			} else {
				w.out = append(w.out, c)
			}
		}
	}
	w.out = append(w.out, '"')
	w.run.spend(w.L, len(w.out)-before)
}

// arrayLength is the highest index of a table whose keys are all positive integers, or -1 for any
// other table.
func (w *jsonWriter) arrayLength(t *lua.LTable) int {
	most, n := 0.0, 0
	for k, _ := w.run.next(w.L, t, lua.LNil); k != lua.LNil; k, _ = w.run.next(w.L, t, k) {
		w.run.spend(w.L, priceNext)
		f, ok := k.(lua.LNumber)
		if !ok || float64(f) < 1 || float64(f) != math.Floor(float64(f)) {
			return -1
		}
		most = max(most, float64(f))
		n++
	}
	if most > jsonSparseMin && most > float64(n*jsonSparse) {
		w.fail("table", "excessively sparse array")
	}
	return toInt(most)
}

func (w *jsonWriter) table(t *lua.LTable, depth int) {
	if depth > jsonDepthMax {
		w.L.RaiseError("Cannot serialise, excessive nesting (%d)", depth)
	}
	if n := w.arrayLength(t); n > 0 {
		w.out = append(w.out, '[')
		for i := 1; i <= n; i++ {
			if i > 1 {
				w.out = append(w.out, ',')
			}
			w.value(w.run.at(t, i), depth)
		}
		w.out = append(w.out, ']')
		return
	}
	w.out = append(w.out, '{')
	first := true
	for k, v := w.run.next(w.L, t, lua.LNil); k != lua.LNil; k, v = w.run.next(w.L, t, k) {
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		switch k := k.(type) {
		case lua.LString:
			w.text(string(k))
		case lua.LNumber:
			w.out = append(w.out, '"')
			w.number(float64(k))
			w.out = append(w.out, '"')
		default:
			w.fail(k.Type().String(), "table key must be a number or string")
		}
		w.out = append(w.out, ':')
		w.value(v, depth)
	}
	w.out = append(w.out, '}')
}
