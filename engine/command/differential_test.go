package command

import (
	"bytes"
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockstep/engine"
	"lockstep/engine/reply"
)

// generator makes random commands of the families, right and wrong ones.
type generator struct {
	*rand.Rand
	// future lets every expiry that is right lie far away.
	future bool
}

func (g generator) pick(words ...string) string { return words[g.Intn(len(words))] }

func (g generator) key() string { return g.pick("a", "b", "c", "{t}1", "{t}2", "long-key-name", "") }

func (g generator) number() string {
	switch g.Intn(8) {
	case 0:
		return g.pick("9223372036854775807", "-9223372036854775808", "9223372036854775808", "-9223372036854775809", "18446744073709551616")
	case 1:
		return g.pick("", "-", "+1", "01", "-0", " 1", "1 ", "1.0", "abc", "1e3", "0x10", "-01")
	case 2:
		return strconv.FormatInt(int64(g.Uint64()), 10)
	default:
		return strconv.Itoa(g.Intn(60) - 20)
	}
}

func (g generator) value() string {
	switch g.Intn(6) {
	case 0:
		return g.number()
	case 1:
		return g.decimal()
	case 2:
		return strings.Repeat(g.pick("x", "ab", "\x00\xff\r\n"), g.Intn(40))
	default:
		b := make([]byte, g.Intn(12))
		for i := range b {
			b[i] = "abcd"[g.Intn(4)]
		}
		return string(b)
	}
}

// decimal is a text for INCRBYFLOAT.
func (g generator) decimal() string {
	switch g.Intn(10) {
	case 0:
		return g.pick("inf", "-inf", "Infinity", "nan", "1e", "e1", ".", "1.", ".5", "+2.5", " 1", "1 ", "0x", "0x1p", "1e5000", "1e-5000",
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

// expiry is an absolute time: long gone, far away or out of range, for the
// two clocks must not matter.
func (g generator) expiry(seconds bool) string {
	if g.Intn(4) == 0 && !g.future {
		return g.number()
	}
	n := int64(4_000_000_000) + g.Int63n(1000)
	if g.Intn(4) == 0 && !g.future {
		n = g.Int63n(1000)
	}
	if !seconds {
		n = n*1000 + g.Int63n(1000)
	}
	return strconv.FormatInt(n, 10)
}

// some returns up to max random options.
func (g generator) some(max int, options ...string) string {
	var picked []string
	for range g.Intn(max + 1) {
		picked = append(picked, g.pick(options...))
	}
	return strings.Join(picked, "\x01")
}

// command returns a random command; its arguments are parted by \x01.
func (g generator) command(templates []func(generator) []string) [][]byte {
	var args [][]byte
	for _, a := range templates[g.Intn(len(templates))](g) {
		if a == "" || a[0] != '\x02' {
			args = append(args, []byte(a))
			continue
		}
		// A list made by some.
		if a != "\x02" {
			for o := range strings.SplitSeq(a[1:], "\x01") {
				args = append(args, []byte(o))
			}
		}
	}
	// Now and then an argument is missing or too many.
	switch g.Intn(60) {
	case 0:
		args = args[:max(1, len(args)-1)]
	case 1:
		args = append(args, []byte(g.value()))
	}
	if g.Intn(10) == 0 {
		args[0] = bytes.ToUpper(args[0])
	}
	return args
}

var stringCommands = []func(generator) []string{
	func(g generator) []string {
		return []string{"set", g.key(), g.value(), "\x02" + g.some(3, "NX", "xx", "get", "keepttl",
			"exat\x01"+g.expiry(true), "PXAT\x01"+g.expiry(false), "ex\x01"+g.pick("0", "-1", "x", "9223372036854775807"), "px", "persist")}
	},
	func(g generator) []string { return []string{"set", g.key(), g.value()} },
	func(g generator) []string { return []string{"get", g.key()} },
	func(g generator) []string {
		return []string{"getex", g.key(), "\x02" + g.some(2, "persist",
			"exat\x01"+g.expiry(true), "PXAT\x01"+g.expiry(false), "ex\x01"+g.pick("0", "-1", "x", "9223372036854775807"), "keepttl")}
	},
	func(g generator) []string { return []string{"getdel", g.key()} },
	func(g generator) []string { return []string{"setnx", g.key(), g.value()} },
	func(g generator) []string { return []string{"getset", g.key(), g.value()} },
	func(g generator) []string {
		return []string{g.pick("setex", "psetex"), g.key(), g.pick("100000000", "0", "-5", "9223372036854775807", "x"), g.value()}
	},
	func(g generator) []string { return []string{"mset", g.key(), g.value(), g.key(), g.value()} },
	func(g generator) []string { return []string{"msetnx", g.key(), g.value(), g.key(), g.value()} },
	func(g generator) []string { return []string{"mget", g.key(), g.key(), g.key()} },
	func(g generator) []string { return []string{g.pick("incr", "decr"), g.key()} },
	func(g generator) []string { return []string{g.pick("incrby", "decrby"), g.key(), g.number()} },
	func(g generator) []string { return []string{"incrbyfloat", g.key(), g.decimal()} },
	func(g generator) []string { return []string{"append", g.key(), g.value()} },
	func(g generator) []string { return []string{"strlen", g.key()} },
	func(g generator) []string {
		return []string{"setrange", g.key(), g.pick("0", "3", "20", "-1", "x", "536870912", "9223372036854775807"), g.value()}
	},
	func(g generator) []string {
		return []string{g.pick("getrange", "substr"), g.key(), g.number(), g.number()}
	},
	func(g generator) []string {
		return []string{"lcs", g.key(), g.key(), "\x02" + g.some(3, "idx", "LEN", "withmatchlen", "minmatchlen\x01"+g.number(), "minmatchlen", "x")}
	},
	func(g generator) []string { return []string{"del", g.key()} },
}

var keyCommands = []func(generator) []string{
	func(g generator) []string { return []string{"select", g.pick("0", "0", "1", "2")} },
	func(g generator) []string { return []string{"set", g.key(), g.value()} },
	func(g generator) []string {
		return []string{"set", g.key(), g.pick("1", "9999", "10000", "-1", "x"), "pxat", "4000000000123"}
	},
	func(g generator) []string { return []string{"set", g.key(), strings.Repeat("x", g.Intn(60))} },
	func(g generator) []string { return []string{"mset", g.key(), g.value(), g.key(), g.value()} },
	func(g generator) []string { return []string{"append", g.key(), g.value()} },
	func(g generator) []string { return []string{"setrange", g.key(), "2", g.value()} },
	func(g generator) []string { return []string{"incr", g.key()} },
	func(g generator) []string { return []string{"get", g.key()} },
	func(g generator) []string {
		return []string{g.pick("del", "unlink", "exists", "touch"), g.key(), g.key()}
	},
	func(g generator) []string { return []string{"type", g.key()} },
	func(g generator) []string { return []string{g.pick("rename", "renamenx"), g.key(), g.key()} },
	func(g generator) []string {
		return []string{"copy", g.key(), g.key(), "\x02" + g.some(2, "replace", "db\x01"+g.pick("0", "1", "2", "16", "-1", "x", "99999999999"), "db", "x")}
	},
	func(g generator) []string {
		return []string{"move", g.key(), g.pick("0", "1", "2", "16", "-1", "x", "99999999999")}
	},
	func(g generator) []string {
		return []string{"expireat", g.key(), g.expiry(true), "\x02" + g.some(2, "nx", "XX", "gt", "Lt", "y")}
	},
	func(g generator) []string {
		return []string{"pexpireat", g.key(), g.expiry(false), "\x02" + g.some(1, "nx", "XX", "gt", "Lt")}
	},
	func(g generator) []string {
		return []string{g.pick("expire", "pexpire"), g.key(), g.pick("0", "-1", "x", "9223372036854775807", "-9223372036854775808")}
	},
	func(g generator) []string { return []string{g.pick("expiretime", "pexpiretime"), g.key()} },
	func(g generator) []string { return []string{"persist", g.key()} },
	func(g generator) []string {
		return []string{"object", g.pick("encoding", "FREQ", "foo"), g.key()}
	},
	func(g generator) []string { return []string{"dump", g.key()} },
	func(g generator) []string {
		return []string{"restore", g.key(), g.pick("0", "0", "-1", "x"), g.payload(), "\x02" + g.restoreOptions()}
	},
	func(g generator) []string {
		return []string{"restore", g.key(), g.pick("5", "4000000000123"), g.payload(), "absttl", "\x02" + g.restoreOptions()}
	},
	func(g generator) []string { return []string{"keys", g.pattern()} },
	func(g generator) []string {
		return []string{"scan", g.pick("0", "0", "", "x", "-", "+0", " 0", "0 "), "count", "1000", "match", g.pattern()}
	},
	func(g generator) []string {
		return []string{"scan", "0", "\x02" + g.some(3, "count\x01"+g.pick("1000", "5000", "0", "x", "-1"), "match\x01"+g.pattern(), "type\x01"+g.pick("string", "STRING", "list", "nokind"), "match", "x\x01y")}
	},
	func(g generator) []string { return []string{"dbsize"} },
	func(g generator) []string { return []string{"debug-digest"} },
	func(g generator) []string {
		return []string{g.pick("flushdb", "flushall", "get"), "\x02" + g.some(2, "async", "SYNC", "x")}
	},
	func(g generator) []string {
		return []string{"swapdb", g.pick("0", "1", "2", "16", "-1", "x"), g.pick("0", "1", "2", "15", "x")}
	},
}

func (g generator) restoreOptions() string {
	return g.some(3, "replace", "REPLACE", "absttl", "idletime\x01"+g.pick("5", "-1", "x"), "freq\x01"+g.pick("5", "256", "x"), "freq", "x")
}

// payload is one for RESTORE, now and then a damaged one.
func (g generator) payload() string {
	p := appendPayload(nil, engine.NewString(nil, []byte(g.value())))
	switch g.Intn(8) {
	case 0:
		p[g.Intn(len(p))] ^= 1 << g.Intn(8)
	case 1:
		p = p[:g.Intn(len(p))]
	}
	return string(p)
}

func (g generator) pattern() string {
	if g.Intn(3) == 0 {
		return "*"
	}
	var b strings.Builder
	for range g.Intn(5) {
		b.WriteString(g.pick("*", "?", "a", "b", "[", "]", "[a-c]", "[^a]", "[c-a]", "\\", "\\a", "^", "-", "{t}", "1", "[\\]]", "**"))
	}
	return b.String()
}

// differ runs random commands here and in redis-server and compares the
// replies byte by byte.
func differ(t *testing.T, proto int, seed int64, n int, templates []func(generator) []string) {
	o := startOracle(t)
	r := newRunner(t)
	r.nowMs = wallMs()
	if proto == reply.RESP3 {
		o.do("hello 3")
		r.proto = reply.RESP3
	}
	g := generator{Rand: rand.New(rand.NewSource(seed))}
	var history [][][]byte
	for i := range n {
		args := g.command(templates)
		history = append(history, args)
		got, want := both(r, o, args)
		if !bytes.Equal(got, want) {
			for _, h := range history[max(0, i-12):i] {
				t.Logf("%.100q", h)
			}
			t.Fatalf("seed %d, command %d: %.300q\n got %.500q\nwant %.500q", seed, i, args, got, want)
		}
	}
}

// both runs a command here and there. The digest has another name here, and
// the order of keys is another: here they are sorted.
func both(r *runner, o *oracle, args [][]byte) (got, want []byte) {
	if got, want, ok := bothSets(r, o, args); ok {
		return got, want
	}
	switch strings.ToLower(string(args[0])) {
	case "debug-digest":
		return r.digest(), o.exec([]byte("debug"), []byte("digest"))
	case "get":
		return withoutEstimate(r.exec(args...)), withoutEstimate(o.exec(args...))
	case "keys", "scan":
		return sortedPairs(r.exec(args...)), sortedPairs(o.exec(args...))
	}
	return r.exec(args...), o.exec(args...)
}

// sortedPairs sorts the pairs of lines of an array of bulk strings.
func sortedPairs(raw []byte) []byte {
	lines := strings.SplitAfter(strings.TrimSuffix(string(raw), "\r\n"), "\r\n")
	lines[len(lines)-1] += "\r\n"
	head := len(lines) % 2
	var items []string
	for i := head; i+1 < len(lines); i += 2 {
		items = append(items, lines[i]+lines[i+1])
	}
	slices.Sort(items)
	return []byte(strings.Join(lines[:head], "") + strings.Join(items, ""))
}

func TestStringsAnswerAsRedisDoes(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2000
	}
	t.Run("RESP2", func(t *testing.T) { differ(t, reply.RESP2, 1, n, stringCommands) })
	t.Run("RESP3", func(t *testing.T) { differ(t, reply.RESP3, 2, n, stringCommands) })
}

func TestKeysAnswerAsRedisDoes(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2000
	}
	t.Run("RESP2", func(t *testing.T) { differ(t, reply.RESP2, 3, n, keyCommands) })
	t.Run("RESP3", func(t *testing.T) { differ(t, reply.RESP3, 4, n, keyCommands) })
}
