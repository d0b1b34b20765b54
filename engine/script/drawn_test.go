package script_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"testing"

	"lockstep/engine/reply"
	"lockstep/engine/script"
)

// drawnSeed is the seed of the random expressions: LOCKSTEP_SEED, if it is set.
func drawnSeed(t *testing.T) int64 {
	t.Helper()
	seed := int64(1)
	if text := os.Getenv("LOCKSTEP_SEED"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("LOCKSTEP_SEED=%d", seed)
	return seed
}

// drawer makes random expressions: calls of library functions, operators, and values to return.
type drawer struct{ *rand.Rand }

func (d drawer) of(list ...string) string { return list[d.Intn(len(list))] }

func (d drawer) number() string {
	switch d.Intn(6) {
	case 0:
		return fmt.Sprint(d.Intn(41) - 20)
	case 1:
		return fmt.Sprint(d.Int63() >> d.Intn(63))
	case 2:
		return fmt.Sprintf("%.17g", d.NormFloat64())
	case 3:
		return fmt.Sprintf("%de%d", d.Intn(1000)-500, d.Intn(40)-20)
	case 4:
		return fmt.Sprintf("%.3f", float64(d.Intn(2_000_000)-1_000_000)/1000)
	}
	return d.of("2^53", "-2^31", "2^31", "2^32", "2^63", "-2^63", "1e15", "1e14", "123456789012345", "0.1", "1/3", "1e100", "5e-324", "1/0", "-1/0")
}

func (d drawer) bytes(most int) []byte {
	b := make([]byte, d.Intn(most))
	for i := range b {
		b[i] = "abcab12 %.-()[]^$\\n\x00\xff{},:\""[d.Intn(26)]
	}
	return b
}

func (d drawer) text() string { return quote(d.bytes(12)) }

func quote(b []byte) string {
	var s strings.Builder
	s.WriteByte('"')
	for _, c := range b {
		fmt.Fprintf(&s, "\\%03d", c)
	}
	s.WriteByte('"')
	return s.String()
}

func (d drawer) format() string {
	f := "%" + d.of("", "", "-", "+", " ", "#", "0", "-+", "+0", "#0", " 0") + d.of("", "", "1", "5", "12", "30") +
		d.of("", "", ".", ".0", ".1", ".3", ".14", ".20")
	verb := d.of("d", "i", "u", "o", "x", "X", "e", "E", "f", "g", "G", "s", "c", "q")
	arg := d.number()
	switch verb {
	case "s":
		arg = d.of(d.text(), arg)
	case "q":
		f, arg = "%", d.text()
	case "c":
		arg = fmt.Sprint(d.Intn(256))
	case "u", "o", "x", "X":
		arg = d.of(fmt.Sprint(d.Int63()>>d.Intn(63)), fmt.Sprint(-d.Intn(1000)))
	}
	return fmt.Sprintf("string.format(%q, %s)", f+verb, arg)
}

func (d drawer) pattern() string {
	var p strings.Builder
	for range 1 + d.Intn(4) {
		p.WriteString(d.of("a", "b", ".", "%a", "%d", "%s", "%w", "[abc]", "[^a]", "[a-c1]", "%%", "(a)", "(.)", "()", "%bab", "%f[%w]", "1", " "))
		p.WriteString(d.of("", "", "", "*", "+", "-", "?"))
	}
	return quote([]byte(d.of("", "", "^") + p.String() + d.of("", "", "$")))
}

func (d drawer) value(depth int) string {
	switch d.Intn(7) {
	case 0:
		return d.number()
	case 1, 2:
		return d.text()
	case 3:
		return d.of("true", "false", "nil")
	case 4:
		if depth > 0 {
			return "{" + d.value(depth-1) + "," + d.value(depth-1) + "," + d.value(depth-1) + "}"
		}
	case 5:
		if depth > 0 {
			return "{k=" + d.value(depth-1) + "}"
		}
	}
	return fmt.Sprint(d.Intn(300) - 100)
}

// expressions draw one expression each. Both sides can evaluate it with the same result, except for
// the differences that the corpus notes.
var expressions = []func(drawer) string{
	drawer.format, drawer.format, drawer.format, drawer.format,
	func(d drawer) string { return "tostring(" + d.number() + ")" },
	func(d drawer) string { return d.number() + " .. '|' .. " + d.number() },
	func(d drawer) string {
		return fmt.Sprintf("string.%s(%s, %s)", d.of("find", "match"), d.text(), d.pattern())
	},
	func(d drawer) string {
		return fmt.Sprintf("string.%s(%s, %s, %d, %s)", d.of("find", "match"), d.text(), d.pattern(), d.Intn(20)-8, d.of("true", "false"))
	},
	func(d drawer) string {
		return fmt.Sprintf("string.gsub(%s, %s, %s%s)", d.text(), d.pattern(), d.of(`"<%0>"`, `"x"`, `"%1%2"`, `{a="A"}`, `string.upper`), d.of("", "", ", 2", ", 0"))
	},
	func(d drawer) string {
		return fmt.Sprintf("(function() local o = '' for x, y in string.gmatch(%s, %s) do o = o .. '<' .. tostring(x) .. ',' .. tostring(y) end return o end)()", d.text(), d.pattern())
	},
	func(d drawer) string { return "cjson.encode(" + d.value(3) + ")" },
	func(d drawer) string {
		return "cjson.encode(cjson.decode(" + d.of(d.text(), "cjson.encode("+d.value(3)+")", "'[1,2.50,{\"a\":null}]'") + "))"
	},
	func(d drawer) string { return "cjson.encode({cjson.decode(" + quote(d.json(3)) + ")})" },
	func(d drawer) string { return "cmsgpack.pack(" + d.value(3) + "," + d.value(1) + ")" },
	func(d drawer) string { return "cjson.encode(cmsgpack.unpack(cmsgpack.pack(" + d.value(3) + ")))" },
	func(d drawer) string {
		return fmt.Sprintf("cmsgpack.%s(%s)", d.of("unpack", "unpack_one", "unpack"), quote(d.packed()))
	},
	func(d drawer) string {
		return fmt.Sprintf("bit.%s(%s, %s)", d.of("band", "bor", "bxor", "lshift", "rshift", "arshift", "rol", "ror", "tohex"), fmt.Sprint(d.Int63()>>31), fmt.Sprint(d.Intn(40)-4))
	},
	func(d drawer) string {
		return fmt.Sprintf("bit.%s(%s)", d.of("bnot", "bswap", "tobit", "tohex"), d.bits())
	},
	func(d drawer) string {
		return fmt.Sprintf("struct.pack(%q, %d, %d)", d.of("<", ">", "")+d.of("bB", "hH", "i4I2", "lL", "!4bi", "df", "i8i3"), d.Intn(200)-100, d.Intn(100))
	},
	drawer.layout,
	func(d drawer) string {
		return fmt.Sprintf("string.%s(%s, %d, %d)", d.of("sub", "byte"), d.text(), d.Intn(20)-10, d.Intn(20)-10)
	},
	func(d drawer) string {
		return fmt.Sprintf("string.%s(%s)", d.of("len", "lower", "upper", "reverse"), d.text())
	},
	func(d drawer) string { return fmt.Sprintf("string.rep(%s, %d)", d.text(), d.Intn(8)-2) },
	func(d drawer) string { return fmt.Sprintf("string.char(%d, %d)", d.Intn(300)-20, d.Intn(256)) },
	func(d drawer) string {
		return fmt.Sprintf("tonumber(%s)", d.of(d.text(), quote([]byte(d.number())), `"0x1F"`, `" 12 "`, `"1e"`, `"0x"`, `"1_000"`, `"inf"`, `"1."`, `".5"`, `"ff", 16`, `"zz", 36`, `"8", 8`, `"-7", 8`))
	},
	func(d drawer) string {
		return fmt.Sprintf("math.%s(%s)", d.of("floor", "ceil", "abs", "sqrt", "modf", "frexp", "deg", "rad"), d.number())
	},
	func(d drawer) string {
		return fmt.Sprintf("math.%s(%s, %s)", d.of("fmod", "max", "min", "atan2"), d.number(), d.number())
	},
	func(d drawer) string {
		return fmt.Sprintf("%s ^ %s", d.number(), d.of("0", "1", "2", "-1", "0.5", "1/0", "-1/0"))
	},
	func(d drawer) string { return fmt.Sprintf("math.ldexp(%s, %d)", d.number(), d.Intn(200)-100) },
	func(d drawer) string {
		// C and Go sometimes differ in the last of Lua's 14 digits.
		return fmt.Sprintf("string.format('%%.12g', math.%s(%.6f))", d.of("sin", "cos", "tan", "exp", "log", "log10", "sinh", "cosh", "tanh", "asin", "acos", "atan"), d.Float64())
	},
	func(d drawer) string {
		return fmt.Sprintf("%s %s %s", d.operand(), d.of("+", "-", "*", "/", "%"), d.operand())
	},
	func(d drawer) string {
		return fmt.Sprintf("tostring(%s %s %s)", d.operand(), d.of("==", "~=", "<", "<=", ">", ">="), d.operand())
	},
	drawer.tables, drawer.tables, drawer.tables,
	drawer.wrong, drawer.wrong, drawer.wrong, drawer.wrong,
}

// json draws a text that is JSON, or nearly JSON.
func (d drawer) json(depth int) []byte {
	switch d.Intn(8) {
	case 0, 1:
		return []byte(d.of("0", "-0", "1.50", "-12e3", "1E+2", "01", "+1", "0x1f", "1.", ".5", "1e", "-", "nan", "-inf", "Infinity", "true", "false", "null", "nul", "tru", "1 2", "{", "]"))
	case 2:
		return []byte(strconv.Itoa(d.Intn(1000) - 500))
	case 3, 4:
		return []byte(`"` + d.of("", "a", `\n`, `\u00e9`, `\ud83d\ude00`, `\ud83d`, `\x`, `\u12`, "\xff", `\/`, "\x01", "\x7f", `\u0000`) + d.of(`"`, `"`, `"`, `"`, `"`, ""))
	case 5:
		if depth > 0 {
			return fmt.Appendf(nil, "{%s:%s}", d.of(`"k"`, `"k"`, `"k"`, "k", "1", ` "k" `), d.json(depth-1))
		}
	}
	if depth == 0 {
		return []byte("[]")
	}
	return fmt.Appendf(nil, "[%s%s%s]", d.json(depth-1), d.of(",", ",", ",", ", ", "\n,", ""), d.json(depth-1))
}

// packed draws bytes for cmsgpack to unpack.
func (d drawer) packed() []byte {
	b := make([]byte, 1+d.Intn(12))
	for i := range b {
		b[i] = byte(d.Intn(256))
	}
	b[0] = d.of("\x00", "\x7f", "\xe0", "\x91", "\xa3", "\x81", "\xc0", "\xc2", "\xc3", "\xca", "\xcb", "\xcc", "\xcd", "\xce", "\xcf", "\xd0", "\xd1", "\xd2", "\xd3", "\xd9", "\xc4", "\xc1", "\xff")[0]
	return b
}

func (d drawer) bits() string {
	return d.of(fmt.Sprint(d.Int63()>>d.Intn(63)), fmt.Sprint(-d.Intn(1<<31)), fmt.Sprintf("%d.5", d.Intn(100)-50), "2^31", "-2^31", "2^32 + 1")
}

// layout draws a format of struct, and packs, unpacks or measures with it.
func (d drawer) layout() string {
	var f strings.Builder
	f.WriteString(d.of("", "<", ">", "!", "!4", "!2", "=", "!3", " "))
	for range 1 + d.Intn(3) {
		f.WriteString(d.of("b", "B", "h", "H", "i", "I", "l", "L", "T", "i1", "I2", "i3", "i8", "I16", "i33", "x", "f", "d", "c1", "c3", "c0", "s", "n", "q", "Z", "!8", ">"))
	}
	switch d.Intn(3) {
	case 0:
		return fmt.Sprintf("struct.size(%q)", f.String())
	case 1:
		return fmt.Sprintf("struct.pack(%q, %s, %s, %s)", f.String(), d.small(), d.small(), d.small())
	}
	return fmt.Sprintf("struct.unpack(%q, %s, %d)", f.String(), quote(d.bytes(40)), d.Intn(5))
}

// operand is a number, a text that may be a number, or another value.
func (d drawer) operand() string {
	return d.of(d.number(), d.number(), quote([]byte(d.number())), d.text(), "nil", "true", "{}", `" 7 "`, `"0x10"`, `""`)
}

// small is an argument of any type with which no function works for long.
func (d drawer) small() string {
	return d.of("0", "1", "2", "3", "-1", "2.5", "-2", "100", `"1"`, `"abc"`, `"a b"`, `""`, "nil", "true", "false", "{}", "{1,2,3}", "type", "cjson.null", d.text())
}

// tables draws work on a table, and shows the table afterwards.
func (d drawer) tables() string {
	n := d.Intn(6)
	list := make([]string, n)
	for i := range list {
		list[i] = d.of(strconv.Itoa(d.Intn(20)), quote([]byte{"abc"[d.Intn(3)]}))
	}
	work := d.of(
		fmt.Sprintf("table.insert(t, %s)", d.small()),
		fmt.Sprintf("table.insert(t, %d, %s)", 1+d.Intn(n+1), d.of("7", "'x'")),
		"r = table.remove(t)", fmt.Sprintf("r = table.remove(t, %d)", d.Intn(n+3)-1),
		"table.sort(t)", "table.sort(t, function(a, b) return tostring(a) > tostring(b) end)", "table.sort(t, function() return true end)",
		fmt.Sprintf("r = table.concat(t, %s)", d.of("','", "''", "1", "nil", "{}")),
		fmt.Sprintf("r = table.concat(t, '-', %d, %d)", d.Intn(5)-1, d.Intn(8)-1),
		"r = table.maxn(t)", "r = table.getn(t)", "r = #t", "r = select('#', unpack(t))",
		fmt.Sprintf("r = cjson.encode({unpack(t, %d, %d)})", d.Intn(4)-1, d.Intn(8)-1),
		"for k, v in ipairs(t) do r = (r or '') .. k .. '=' .. v end", "for k, v in pairs(t) do r = (r or '') .. k .. '=' .. v end",
		"table.foreachi(t, function(i, v) r = (r or 0) + i end)", "r = next(t)", "t[#t] = nil", "t[#t + 1] = 'new'", "t.k = 1 r = next({}, 'k')",
		"r = rawequal(t, t) r = rawget(t, 1)", "rawset(t, 1, 'set')", "r = t[1] == t[2]", "r = t[1] .. t[2]", "r = t[1] < t[2]",
	)
	return fmt.Sprintf("(function() local t, r = {%s} %s return tostring(r) .. ':' .. #t .. ':' .. cjson.encode(t) end)()", strings.Join(list, ","), work)
}

// libraryCalls are functions that answer or fail at once, whatever their arguments.
var libraryCalls = strings.Fields(`string.byte string.char string.find string.format string.gmatch string.gsub string.len string.lower string.match
	string.rep string.reverse string.sub string.upper table.concat table.insert table.remove table.sort table.maxn table.getn table.setn table.foreach
	math.abs math.ceil math.floor math.fmod math.frexp math.ldexp math.max math.min math.modf math.pow math.sqrt math.atan2
	bit.band bit.bor bit.bxor bit.bnot bit.lshift bit.rshift bit.arshift bit.rol bit.ror bit.tobit bit.tohex bit.bswap
	assert error getmetatable ipairs pairs pcall rawequal rawget rawset select setmetatable tonumber tostring type unpack xpcall
	cjson.encode cjson.decode cmsgpack.pack cmsgpack.unpack cmsgpack.unpack_one cmsgpack.unpack_limit struct.pack struct.unpack struct.size
	coroutine.create coroutine.resume coroutine.wrap coroutine.status coroutine.running coroutine.yield
	redis.call redis.pcall redis.error_reply redis.status_reply redis.sha1hex redis.log redis.setresp redis.set_repl redis.acl_check_cmd
	redis.breakpoint redis.debug redis.replicate_commands`)

// wrong calls a function with random arguments.
func (d drawer) wrong() string {
	args := make([]string, d.Intn(4))
	for i := range args {
		args[i] = d.small()
	}
	return libraryCalls[d.Intn(len(libraryCalls))] + "(" + strings.Join(args, ", ") + ")"
}

// answer draws a value as a script may return it.
func (d drawer) answer(depth int) string {
	if depth > 0 {
		switch inner := d.answer(depth - 1); d.Intn(12) {
		case 0:
			return "{" + inner + "," + d.answer(depth-1) + "," + d.answer(depth-1) + "}"
		case 1:
			return "{map={k=" + inner + "}}"
		case 2:
			return "{set={[" + d.of("'k'", "1", "true") + "]=" + inner + "}}"
		case 3:
			return d.of("{ok=", "{err=", "{double=", "{big_number=", "{map=", "{set=", "{verbatim_string=") + inner + "}"
		case 4:
			return "{verbatim_string={format=" + inner + ", string=" + d.text() + "}}"
		case 5:
			return "{" + inner + ", k=1, " + d.answer(depth-1) + "}"
		}
	}
	return d.of(d.number(), d.text(), "true", "false", "nil", "{}", "type", "cjson.null", "redis.error_reply('E x')", "redis.status_reply('S')", "{double=0.5}", "{double=1e300}")
}

// drawnScript draws a script. Most scripts evaluate an expression and show its values or its error;
// others return a value.
func (d drawer) drawnScript() string {
	if d.Intn(6) == 0 {
		return d.of("", "redis.setresp(3) ") + "return " + d.answer(3)
	}
	x := expressions[d.Intn(len(expressions))](d)
	return "local r = {pcall(function() return " + x + " end)} for i = 1, 9 do local k = type(r[i])" +
		" if k == 'table' and r[i].err then r[i] = r[i].err elseif k == 'table' or k == 'function' or k == 'userdata' or k == 'thread' then r[i] = k end" +
		" r[i] = tostring(r[i]):gsub('^(%a+: )0x%x+$', '%1') end return r"
}

// TestDrawnExpressionsGiveWhatRedisGives evaluates random expressions on both sides, in both
// protocols.
func TestDrawnExpressionsGiveWhatRedisGives(t *testing.T) {
	o := startOracle(t)
	rounds := 12_000
	if testing.Short() {
		rounds = 1000
	}
	d := drawer{rand.New(rand.NewSource(drawnSeed(t)))}
	for _, proto := range []int{reply.RESP2, reply.RESP3} {
		o.exec("HELLO", strconv.Itoa(proto))
		var e script.Interpreters
		bad := 0
		for range rounds / 2 {
			source := d.drawnScript()
			want := o.exec("EVAL", source, "0")
			got := eval(t, &e, newHost(), proto, &script.DefaultLimits, source, nil, nil)
			if !bytes.Equal(got, want) {
				if bad++; bad <= 40 {
					t.Errorf("RESP%d %s\n got %q\nwant %q", proto, source, got, want)
				}
			}
		}
		t.Logf("RESP%d: %d of %d scripts give the same", proto, rounds/2-bad, rounds/2)
	}
}
