package cmdtest

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"lockstep/engine/command"
)

// member chooses from a few values, so that sets have members in common.
func (g Generator) member() string {
	switch g.Intn(12) {
	case 0:
		return g.Value()
	case 1:
		return g.Pick("32767", "32768", "-2147483649", "9223372036854775807", "01", "-0", "", strings.Repeat("l", 64), strings.Repeat("l", 65))
	case 2, 3, 4:
		return g.Pick("a", "b", "c", "d", "e", "f")
	default:
		return fmt.Sprint(g.Intn(12))
	}
}

func (g Generator) members(most int) string {
	var all []string
	for range 1 + g.Intn(most) {
		all = append(all, g.member())
	}
	return strings.Join(all, "\x01")
}

// run is a run of numbers, which may exceed the limits of an intset.
func (g Generator) run() string {
	var all []string
	from := g.Intn(20)
	for i := range []int{5, 100, 140, 510, 520}[g.Intn(5)] {
		all = append(all, fmt.Sprint(from+i))
	}
	return strings.Join(all, "\x01")
}

func (g Generator) setKeys() string {
	var all []string
	for range 1 + g.Intn(4) {
		all = append(all, g.Key())
	}
	return strings.Join(all, "\x01")
}

var SetCommands = []func(Generator) []string{
	func(g Generator) []string { return []string{"sadd", g.Key(), "\x02" + g.members(6)} },
	func(g Generator) []string { return []string{"sadd", g.Key(), "\x02" + g.members(6)} },
	func(g Generator) []string { return []string{"sadd", g.Key(), fmt.Sprint(g.Intn(30) - 10)} },
	func(g Generator) []string {
		if g.Intn(3) > 0 {
			return []string{"scard", g.Key()}
		}
		return []string{"sadd", g.Key(), "\x02" + g.run()}
	},
	func(g Generator) []string { return []string{"srem", g.Key(), "\x02" + g.members(5)} },
	func(g Generator) []string { return []string{"scard", g.Key()} },
	func(g Generator) []string { return []string{"sismember", g.Key(), g.member()} },
	func(g Generator) []string { return []string{"smismember", g.Key(), "\x02" + g.members(5)} },
	func(g Generator) []string { return []string{"smembers", g.Key()} },
	func(g Generator) []string { return []string{"smove", g.Key(), g.Key(), g.member()} },
	func(g Generator) []string { return []string{"spop", g.Key()} },
	func(g Generator) []string {
		return []string{"spop", g.Key(), g.Pick("0", "1", "2", "3", "10", "100", "-1", "x", "", "9223372036854775808")}
	},
	func(g Generator) []string { return []string{"srandmember", g.Key()} },
	func(g Generator) []string {
		return []string{"srandmember", g.Key(), g.Pick("0", "1", "2", "3", "100", "-1", "-3", "-20", "x", "", "-9223372036854775808", "-9223372036854775809")}
	},
	func(g Generator) []string {
		return []string{"sscan", g.Key(), g.Pick("0", "0", "0", "x", "", "+0", " 0"), "\x02" + g.Some(3, "count\x011000", "COUNT\x01"+g.Pick("0", "x", "-1"), "match\x01"+g.pattern(), "match", "type\x01set", "x")}
	},
	func(g Generator) []string { return []string{"sscan", g.Key(), "0", "count", "1000"} },
	func(g Generator) []string { return []string{g.Pick("sinter", "sunion", "sdiff"), "\x02" + g.setKeys()} },
	func(g Generator) []string {
		return []string{g.Pick("sinterstore", "sunionstore", "sdiffstore"), g.Key(), "\x02" + g.setKeys()}
	},
	func(g Generator) []string {
		return []string{"sintercard", g.Pick("1", "2", "2", "3", "0", "-1", "x", "9"), g.Key(), g.Key(), "\x02" + g.Some(2, "limit\x01"+g.Pick("0", "1", "2", "-1", "x"), "LIMIT", g.Key())}
	},
	func(g Generator) []string { return []string{"object", "encoding", g.Key()} },
	func(g Generator) []string { return []string{g.Pick("del", "exists", "type"), g.Key()} },
	func(g Generator) []string { return []string{g.Pick("copy", "rename"), g.Key(), g.Key()} },
	func(g Generator) []string { return []string{"pexpireat", g.Key(), g.expiry(false)} },
	func(g Generator) []string { return []string{"pexpiretime", g.Key()} },
	func(g Generator) []string {
		return []string{g.Pick("set", "append", "getset", "get"), g.Key(), "\x02" + g.Some(1, "v")}
	},
	func(Generator) []string { return []string{"debug-digest"} },
}

// bothSets is Both for commands whose reply depends on the order of members, on chance, or on
// changes in Redis 7.2. It returns false for other commands.
func bothSets(r *Runner, o *Oracle, args [][]byte) (got, want []byte, ok bool) {
	switch strings.ToLower(string(args[0])) {
	case "sscan":
		return wholeScan(r.Exec, args), wholeScan(o.Exec, args), true
	case "smembers", "sinter", "sunion", "sdiff":
		return SortedReply(r.Exec(args...)), SortedReply(o.Exec(args...)), true
	case "spop":
		got, want = bothPop(r, o, args)
		return got, want, true
	case "srandmember":
		// With more, Redis would run for ever.
		if n, ok := command.ParseInt(slices.Concat(args[1:], [][]byte{nil, nil})[1]); ok && n < -1000 && n > math.MinInt64 {
			args = [][]byte{args[0], args[1], []byte("-1000")}
		}
		got, want = r.Exec(args...), o.Exec(args...)
		return randomReply(r, args, got), randomReply(r, args, want), true
	case "object":
		return encodingClass(r.Exec(args...)), encodingClass(o.Exec(args...)), true
	}
	return nil, nil, false
}

// splitReply splits an array into its header and its elements.
func splitReply(raw []byte) (head []byte, elements [][]byte) {
	if len(raw) == 0 || raw[0] != '*' && raw[0] != '~' {
		return raw, nil
	}
	in := bufio.NewReader(bytes.NewReader(raw))
	head, _ = in.ReadBytes('\n')
	for {
		element, err := readReply(nil, in)
		if err != nil {
			return head, elements
		}
		elements = append(elements, element)
	}
}

// SortedReply sorts the elements of an array.
func SortedReply(raw []byte) []byte {
	head, elements := splitReply(raw)
	slices.SortFunc(elements, bytes.Compare)
	return append(slices.Clone(head), bytes.Join(elements, nil)...)
}

// wholeScan repeats SSCAN to the end and returns all elements, sorted.
func wholeScan(exec func(...[]byte) []byte, args [][]byte) []byte {
	args = slices.Clone(args)
	var all [][]byte
	for range 10_000 {
		raw := exec(args...)
		_, parts := splitReply(raw)
		if len(parts) != 2 {
			return raw
		}
		_, elements := splitReply(parts[1])
		all = append(all, elements...)
		if args[2] = bulksOf(parts[0])[0]; string(args[2]) == "0" {
			slices.SortFunc(all, bytes.Compare)
			return bytes.Join(slices.CompactFunc(all, bytes.Equal), nil)
		}
	}
	return []byte("no end")
}

// bothPop runs SPOP on the Runner, and in Redis on a copy of the set. Then it removes the members
// that the Runner has removed in Redis, too, so that both sets stay equal.
func bothPop(r *Runner, o *Oracle, args [][]byte) (got, want []byte) {
	got = r.Exec(args...)
	copied := []byte("copy for spop")
	if len(args) < 2 || Flat(o.Exec([]byte("copy"), args[1], copied)) != ":1" {
		return got, o.Exec(args...)
	}
	there := slices.Clone(args)
	there[1] = copied
	want = o.Exec(there...)
	o.Exec([]byte("del"), copied)
	popped := bulksOf(got)
	if len(popped) == 0 {
		return got, want
	}
	removed := Flat(o.Exec(append([][]byte{[]byte("srem"), args[1]}, popped...)...))
	if removed != fmt.Sprintf(":%d", len(popped)) {
		return got, fmt.Appendf(nil, "popped %q, of which Redis has %s", popped, removed)
	}
	return headOf(got), headOf(want)
}

// headOf is the header of an array, or the first byte of a bulk string.
func headOf(raw []byte) []byte {
	if raw[0] == '$' {
		return raw[:1]
	}
	head, _ := splitReply(raw)
	return head
}

// bulksOf returns the texts of a bulk string or of an array of them.
func bulksOf(raw []byte) [][]byte {
	var texts [][]byte
	_, elements := splitReply(raw)
	if raw[0] == '$' && raw[1] != '-' {
		elements = [][]byte{raw}
	}
	for _, e := range elements {
		texts = append(texts, e[bytes.IndexByte(e, '\n')+1:len(e)-2])
	}
	return texts
}

// randomReply returns the properties that two replies of SRANDMEMBER must have in common: the
// header, that all elements are members, and that they are distinct if they have to be.
func randomReply(r *Runner, args [][]byte, raw []byte) []byte {
	picked := bulksOf(raw)
	if len(picked) == 0 {
		return raw
	}
	for _, member := range picked {
		if Flat(r.Exec([]byte("sismember"), args[1], member)) != ":1" {
			return fmt.Appendf(nil, "%q is no member", member)
		}
	}
	different := len(slices.CompactFunc(slices.SortedFunc(slices.Values(picked), bytes.Compare), bytes.Equal)) == len(picked)
	return fmt.Appendf(nil, "%s, different: %v", headOf(raw), different || len(args) > 2 && args[2][0] == '-')
}

// encodingClass replaces listpack by hashtable, because sets in listpacks are new in 7.2.
func encodingClass(raw []byte) []byte {
	return bytes.Replace(raw, []byte("$8\r\nlistpack\r\n"), []byte("$9\r\nhashtable\r\n"), 1)
}
