package script_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"lockstep/engine/reply"
	"lockstep/engine/script"
)

// drawer makes arguments of library functions by chance.
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

func (d drawer) text() string {
	b := make([]byte, d.Intn(12))
	for i := range b {
		b[i] = "abcab12 %.-()[]^$\\n\x00\xff{},:\""[d.Intn(26)]
	}
	return quote(b)
}

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
		arg = fmt.Sprint(1 + d.Intn(255))
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

// expression is one that both sides can evaluate without differing by what is
// noted in the corpus.
func (d drawer) expression() string {
	switch d.Intn(16) {
	case 0, 1, 2, 3:
		return d.format()
	case 4:
		return "tostring(" + d.number() + ")"
	case 5:
		return d.number() + " .. '|' .. " + d.number()
	case 6, 7:
		return fmt.Sprintf("string.%s(%s, %s)", d.of("find", "match"), d.text(), d.pattern())
	case 8:
		return fmt.Sprintf("string.gsub(%s, %s, %s)", d.text(), d.pattern(), d.of(`"<%0>"`, `"x"`, `{a="A"}`, `string.upper`))
	case 9:
		return "cjson.encode(" + d.value(3) + ")"
	case 10:
		return "cjson.encode(cjson.decode(" + d.of(d.text(), "cjson.encode("+d.value(3)+")", "'[1,2.50,{\"a\":null}]'") + "))"
	case 11:
		return d.of("cmsgpack.pack(", "cjson.encode(cmsgpack.unpack(cmsgpack.pack(") + d.value(3) + d.of("", "") + ")"
	case 12:
		return fmt.Sprintf("bit.%s(%s, %s)", d.of("band", "bor", "bxor", "lshift", "rshift", "arshift", "rol", "ror", "tohex"), fmt.Sprint(d.Int63()>>31), fmt.Sprint(d.Intn(40)-4))
	case 13:
		return fmt.Sprintf("struct.pack(%q, %d, %d)", d.of("<", ">", "")+d.of("bB", "hH", "i4I2", "lL", "!4bi", "df", "i8i3"), d.Intn(200)-100, d.Intn(100))
	case 14:
		return fmt.Sprintf("string.%s(%s, %d, %d)", d.of("sub", "byte"), d.text(), d.Intn(20)-10, d.Intn(20)-10)
	}
	return fmt.Sprintf("tonumber(%s)", d.of(d.text(), quote([]byte(d.number())), `"0x1F"`, `" 12 "`, `"1e"`, `"0x"`, `"1_000"`, `"inf"`, `"1."`, `".5"`, `"ff", 16`, `"zz", 36`, `"8", 8`, `"-7", 8`))
}

// TestDrawnExpressionsGiveWhatRedisGives evaluates expressions drawn by chance
// on both sides.
func TestDrawnExpressionsGiveWhatRedisGives(t *testing.T) {
	o := startOracle(t)
	var e script.Interpreters
	h := newHost()
	d := drawer{rand.New(rand.NewSource(1))}
	bad := 0
	rounds := 12_000
	if testing.Short() {
		rounds = 1000
	}
	for range rounds {
		x := d.expression()
		if strings.HasPrefix(x, "cjson.encode(cmsgpack") {
			x += "))"
		}
		source := "local r = {pcall(function() return " + x + " end)} for i = 1, 9 do r[i] = tostring(r[i]) end return r"
		want := o.exec("EVAL", source, "0")
		got := eval(t, &e, h, reply.RESP2, &script.DefaultLimits, source, nil, nil)
		if !bytes.Equal(got, want) {
			if bad++; bad <= 40 {
				t.Errorf("%s\n got %q\nwant %q", x, got, want)
			}
		}
	}
	t.Logf("%d of %d expressions give the same", rounds-bad, rounds)
}
