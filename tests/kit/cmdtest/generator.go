package cmdtest

import (
	"bytes"
	"fmt"
	"math/rand"
	"strconv"
	"strings"

	"lockstep/engine"
	"lockstep/engine/commands/values"
)

// Generator makes random commands of all families, correct and incorrect ones.
type Generator struct {
	*rand.Rand
	// Future makes every valid expiry lie far in the future.
	Future bool
}

func (g Generator) Pick(words ...string) string { return words[g.Intn(len(words))] }

func (g Generator) Key() string { return g.Pick("a", "b", "c", "{t}1", "{t}2", "long-key-name", "") }

func (g Generator) Number() string {
	switch g.Intn(8) {
	case 0:
		return g.Pick("9223372036854775807", "-9223372036854775808", "9223372036854775808", "-9223372036854775809", "18446744073709551616")
	case 1:
		return g.Pick("", "-", "+1", "01", "-0", " 1", "1 ", "1.0", "abc", "1e3", "0x10", "-01")
	case 2:
		return strconv.FormatInt(int64(g.Uint64()), 10)
	default:
		return strconv.Itoa(g.Intn(60) - 20)
	}
}

func (g Generator) Value() string {
	switch g.Intn(6) {
	case 0:
		return g.Number()
	case 1:
		return g.Decimal()
	case 2:
		return strings.Repeat(g.Pick("x", "ab", "\x00\xff\r\n"), g.Intn(40))
	default:
		b := make([]byte, g.Intn(12))
		for i := range b {
			b[i] = "abcd"[g.Intn(4)]
		}
		return string(b)
	}
}

// Decimal is a text for INCRBYFLOAT.
func (g Generator) Decimal() string {
	switch g.Intn(10) {
	case 0:
		return g.Pick("inf", "-inf", "Infinity", "nan", "1e", "e1", ".", "1.", ".5", "+2.5", " 1", "1 ", "0x", "0x1p", "1e5000", "1e-5000",
			"1e4932", "-1e4932", "1.2e4932", "1e-4951", "3e-4951", "1.8e-4951", "1e-4932", "0e99999999999", "1e+2", "1_000", "", "-", "infinit", "0x.8p1", "0X1P-3", "0xg", "1.5\x00")
	case 1:
		return fmt.Sprintf("%x", g.NormFloat64())
	case 2:
		return fmt.Sprintf("%de%d", g.Int63(), g.Intn(60)-40)
	case 3:
		return fmt.Sprintf("%d.%d%d", int64(g.Uint64()), g.Int63(), g.Int63())
	case 4:
		return strconv.FormatFloat(g.NormFloat64(), 'g', -1, 64)
	case 5:
		return fmt.Sprintf("%d%d%d.5", g.Int63(), g.Int63(), g.Int63())
	default:
		return fmt.Sprintf("%d.%02d", g.Intn(2000)-1000, g.Intn(100))
	}
}

// expiry is an absolute time: long past, far in the future or out of range, because the difference
// between the two clocks must not matter.
func (g Generator) expiry(seconds bool) string {
	if g.Intn(4) == 0 && !g.Future {
		return g.Number()
	}
	n := int64(4_000_000_000) + g.Int63n(1000)
	if g.Intn(4) == 0 && !g.Future {
		n = g.Int63n(1000)
	}
	if !seconds {
		n = n*1000 + g.Int63n(1000)
	}
	return strconv.FormatInt(n, 10)
}

// Some returns up to max random options.
func (g Generator) Some(max int, options ...string) string {
	var picked []string
	for range g.Intn(max + 1) {
		picked = append(picked, g.Pick(options...))
	}
	return strings.Join(picked, "\x01")
}

// Command returns a random command. Its arguments are separated by \x01.
func (g Generator) Command(templates []func(Generator) []string) [][]byte {
	var args [][]byte
	for _, a := range templates[g.Intn(len(templates))](g) {
		if a == "" || a[0] != '\x02' {
			args = append(args, []byte(a))
			continue
		}
		// A list that Some has made.
		if a != "\x02" {
			for o := range strings.SplitSeq(a[1:], "\x01") {
				args = append(args, []byte(o))
			}
		}
	}
	// Sometimes an argument is missing or superfluous.
	switch g.Intn(60) {
	case 0:
		args = args[:max(1, len(args)-1)]
	case 1:
		args = append(args, []byte(g.Value()))
	}
	if g.Intn(10) == 0 {
		args[0] = bytes.ToUpper(args[0])
	}
	return args
}

// payload is a payload for RESTORE, sometimes a damaged one.
func (g Generator) payload() string {
	p := values.AppendPayload(nil, engine.NewString(nil, []byte(g.Value())))
	switch g.Intn(8) {
	case 0:
		p[g.Intn(len(p))] ^= 1 << g.Intn(8)
	case 1:
		p = p[:g.Intn(len(p))]
	}
	return string(p)
}

func (g Generator) pattern() string {
	if g.Intn(3) == 0 {
		return "*"
	}
	var b strings.Builder
	for range g.Intn(5) {
		b.WriteString(g.Pick("*", "?", "a", "b", "[", "]", "[a-c]", "[^a]", "[c-a]", "\\", "\\a", "^", "-", "{t}", "1", "[\\]]", "**"))
	}
	return b.String()
}
