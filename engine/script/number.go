package script

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// appendNumber writes a number as Lua 5.1 does: C's %.14g.
func appendNumber(dst []byte, f float64) []byte { return appendG(dst, f, 14) }

// appendG writes a number by C's %.<digits>g. NaN is negative as in redis-server on x86, which
// prints that for 0/0.
func appendG(dst []byte, f float64, digits int) []byte {
	switch {
	case f != f:
		return append(dst, "-nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	case f == math.Trunc(f) && math.Abs(f) < 1e14 && !(f == 0 && math.Signbit(f)):
		return strconv.AppendInt(dst, int64(f), 10)
	}
	return strconv.AppendFloat(dst, f, 'g', digits, 64)
}

// toInt64 is C's conversion on x86: a number that does not fit becomes the lowest.
func toInt64(f float64) int64 {
	if f >= -9223372036854775808.0 && f < 9223372036854775808.0 {
		return int64(f)
	}
	return math.MinInt64
}

// toInt is lua_Integer cut down to an int of C.
func toInt(f float64) int { return int(toInt64(f)) }

// number returns a value as a number, if the value is one or is a text of one.
func (m *meter) number(L *lua.LState, v lua.LValue) (float64, bool) {
	switch v := v.(type) {
	case lua.LNumber:
		return float64(v), true
	case lua.LString:
		m.spend(L, priceNumeral+len(v)*priceDigit)
		return parseNumber(cText(string(v)))
	}
	return 0, false
}

// plainNumber is a number that is not negative, as text for a source.
func plainNumber(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

const spaces = " \t\n\v\f\r"

// parseNumber reads a number as C's strtod does, and hexadecimal integers.
func parseNumber(s string) (float64, bool) {
	s = strings.Trim(s, spaces)
	if len(s) == 0 || len(s) > 400 && strings.ContainsAny(s, "_") {
		return 0, false
	}
	body := strings.TrimLeft(s, "+-")
	if len(s)-len(body) > 1 || body == "" {
		return 0, false
	}
	switch c := lower(body[0]); {
	case c == 'i' || c == 'n':
		return parseNamed(s, body)
	case c >= 'a' || strings.ContainsAny(body, "_"):
		return 0, false
	case len(body) > 2 && body[0] == '0' && lower(body[1]) == 'x' && !strings.ContainsAny(body, ".pP"):
		return parseHex(s, body[2:])
	}
	if len(body) > 2 && lower(body[1]) == 'x' && !strings.ContainsAny(body, "pP") {
		s += "p0"
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && (f == 0 || !math.IsInf(f, 0)) {
		return 0, false
	}
	return f, true
}

func parseNamed(s, body string) (float64, bool) {
	sign := 1.0
	if s[0] == '-' {
		sign = -1
	}
	switch strings.ToLower(body) {
	case "inf", "infinity":
		return math.Inf(int(sign)), true
	case "nan":
		return math.NaN(), true
	}
	return 0, false
}

func parseHex(s, digits string) (float64, bool) {
	f := 0.0
	for i := 0; i < len(digits); i++ {
		d := digit(digits[i])
		if d >= 16 {
			return 0, false
		}
		f = float64(f*16) + float64(d)
	}
	if s[0] == '-' {
		f = -f
	}
	return f, true
}

// digit is the value of a digit in a base up to 36, or 255 if c is no digit.
func digit(c byte) int {
	switch c = lower(c); {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'z':
		return int(c-'a') + 10
	}
	return 255
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
