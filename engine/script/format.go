package script

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// verb is one conversion of string.format, as in C's printf.
type verb struct {
	minus, plus, space, alt, zero bool
	width, precision              int // precision -1: none
	letter                        byte
}

func strFormat(L *lua.LState) int {
	f := str(L, "format", 1)
	m := meterOf(L)
	m.spend(L, len(f)*2)
	var out []byte
	arg := 1
	for i := 0; i < len(f); i++ {
		if f[i] != '%' {
			out = append(out, f[i])
			continue
		}
		i++
		if i < len(f) && f[i] == '%' {
			out = append(out, '%')
			continue
		}
		var v verb
		arg++
		if arg > L.GetTop() {
			badArg(L, "format", arg, "no value")
		}
		v, i = parseVerb(L, f, i)
		before := len(out)
		m.spend(L, priceFormat)
		out = v.format(L, out, arg)
		m.spend(L, v.price(len(out)-before))
		m.use(L, len(out)-before)
	}
	m.text(L, len(out))
	L.Push(asText(out))
	return 1
}

func parseVerb(L *lua.LState, f string, i int) (verb, int) {
	v := verb{precision: -1}
	start := i
	for ; i < len(f) && strings.IndexByte("-+ #0", f[i]) >= 0; i++ {
		switch f[i] {
		case '-':
			v.minus = true
		case '+':
			v.plus = true
		case ' ':
			v.space = true
		case '#':
			v.alt = true
		case '0':
			v.zero = true
		}
	}
	if i-start > 5 {
		L.RaiseError("invalid format (repeated flags)")
	}
	number := func() int {
		n := 0
		for k := 0; k < 2 && i < len(f) && isDigit(f[i]); k++ {
			n = n*10 + int(f[i]-'0')
			i++
		}
		return n
	}
	v.width = number()
	if i < len(f) && f[i] == '.' {
		i++
		v.precision = number()
	}
	if i < len(f) && isDigit(f[i]) {
		L.RaiseError("invalid format (width or precision too long)")
	}
	if i < len(f) {
		v.letter = f[i]
	}
	return v, i
}

func (v verb) format(L *lua.LState, out []byte, arg int) []byte {
	switch v.letter {
	case 'c':
		v.zero = false
		c := string([]byte{byte(integer(L, "format", arg))})
		// C's printf writes a zero byte, which ends the text.
		return append(out, cText(string(v.pad(nil, "", c)))...)
	case 'd', 'i':
		n := toInt64(num(L, "format", arg))
		text := strconv.FormatInt(n, 10)
		if n < 0 {
			return v.integer(out, "-", text[1:])
		}
		return v.integer(out, v.sign(), text)
	case 'o', 'u', 'x', 'X':
		return v.unsigned(out, toUint64(num(L, "format", arg)))
	case 'e', 'E', 'f', 'g', 'G':
		return v.float(out, num(L, "format", arg))
	case 'q':
		return quoted(out, str(L, "format", arg))
	case 's':
		s := str(L, "format", arg)
		if v.precision >= 0 {
			s = s[:min(len(s), v.precision)]
		}
		if v.precision < 0 && len(s) >= 100 {
			return append(out, s...)
		}
		v.zero = false
		return v.pad(out, "", cText(s))
	}
	text := "%"
	if v.letter != 0 {
		text += string([]byte{v.letter})
	}
	L.RaiseError("%s", "invalid option '"+text+"' to 'format'")
	return nil
}

// toUint64 is C's conversion on x86.
func toUint64(f float64) uint64 {
	if f >= 9223372036854775808.0 && f < 18446744073709551616.0 {
		return uint64(f)
	}
	if f >= 18446744073709551616.0 {
		return 0
	}
	return uint64(toInt64(f))
}

// price is the price of n formatted bytes.
func (v verb) price(n int) int {
	if lower(v.letter) >= 'e' && lower(v.letter) <= 'g' && n > 20 {
		return n * priceLongDigit
	}
	return n / 2
}

func (v verb) sign() string {
	switch {
	case v.plus:
		return "+"
	case v.space:
		return " "
	}
	return ""
}

// pad writes a sign and a text within the width.
func (v verb) pad(out []byte, sign, text string) []byte {
	n := v.width - len(sign) - len(text)
	switch {
	case v.minus:
		out = append(append(out, sign...), text...)
		for ; n > 0; n-- {
			out = append(out, ' ')
		}
		return out
	case v.zero:
		out = append(out, sign...)
		for ; n > 0; n-- {
			out = append(out, '0')
		}
		return append(out, text...)
	}
	for ; n > 0; n-- {
		out = append(out, ' ')
	}
	return append(append(out, sign...), text...)
}

func (v verb) integer(out []byte, sign, digits string) []byte {
	if v.precision >= 0 {
		v.zero = false
		if v.precision == 0 && digits == "0" {
			digits = ""
		}
		for len(digits) < v.precision {
			digits = "0" + digits
		}
	}
	return v.pad(out, sign, digits)
}

func (v verb) unsigned(out []byte, n uint64) []byte {
	switch v.letter {
	case 'o':
		digits := strconv.FormatUint(n, 8)
		if v.alt && n != 0 && v.precision <= len(digits) {
			fills := v.zero && !v.minus && v.precision < 0
			v.precision = len(digits) + 1
			if fills {
				v.precision = max(v.precision, v.width)
			}
		} else if v.alt && n == 0 && v.precision == 0 {
			v.precision = 1
		}
		return v.integer(out, "", digits)
	case 'u':
		return v.integer(out, "", strconv.FormatUint(n, 10))
	}
	digits, prefix := strconv.FormatUint(n, 16), ""
	if v.alt && n != 0 {
		prefix = "0x"
	}
	if v.letter == 'X' {
		digits, prefix = strings.ToUpper(digits), strings.ToUpper(prefix)
	}
	return v.integer(out, prefix, digits)
}

func (v verb) float(out []byte, f float64) []byte {
	sign := v.sign()
	if math.Signbit(f) || f != f {
		sign = "-"
		f = -f
	}
	precision := v.precision
	if precision < 0 {
		precision = 6
	}
	var text string
	switch {
	case f != f:
		v.zero = false
		text = "nan"
	case math.IsInf(f, 0):
		v.zero = false
		text = "inf"
	case v.letter == 'g' || v.letter == 'G':
		text = v.general(f, max(precision, 1))
	default:
		text = strconv.FormatFloat(f, lower(v.letter), precision, 64)
		if v.alt && precision == 0 {
			text = withPoint(text)
		}
	}
	if v.letter < 'a' {
		text = strings.ToUpper(text)
	}
	return v.pad(out, sign, text)
}

// withPoint adds the point that # asks for.
func withPoint(text string) string {
	if at := strings.IndexByte(text, 'e'); at >= 0 {
		return text[:at] + "." + text[at:]
	}
	return text + "."
}

// general is %g: the shorter of %e and %f, without zeros at the end.
func (v verb) general(f float64, precision int) string {
	e := strconv.FormatFloat(f, 'e', precision-1, 64)
	at := strings.IndexByte(e, 'e')
	exponent, _ := strconv.Atoi(e[at+1:])
	digits, tail := e[:at], e[at:]
	if exponent >= -4 && exponent < precision {
		digits, tail = strconv.FormatFloat(f, 'f', precision-1-exponent, 64), ""
	}
	if v.alt {
		if !strings.Contains(digits, ".") {
			digits += "."
		}
	} else if strings.Contains(digits, ".") {
		digits = strings.TrimRight(strings.TrimRight(digits, "0"), ".")
	}
	return digits + tail
}

func quoted(out []byte, s string) []byte {
	out = append(out, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"', '\\', '\n':
			out = append(out, '\\', c)
		case '\r':
			out = append(out, `\r`...)
		case 0:
			out = append(out, `\000`...)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
