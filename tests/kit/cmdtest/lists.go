package cmdtest

import (
	"strconv"
	"strings"
)

// element is a value that other elements may equal.
func (g Generator) element() string {
	if g.Intn(6) == 0 {
		return g.Value()
	}
	return g.Pick("a", "b", "c", "1", "1000", "-1234567", "")
}

// elements returns up to max elements as a list.
func (g Generator) elements(max int) string {
	all := make([]string, 1+g.Intn(max))
	for i := range all {
		all[i] = g.element()
		if all[i] == "" {
			all[i] = "0"
		}
	}
	return "\x02" + strings.Join(all, "\x01")
}

// listCount is a number for LREM and the RANK of LPOS. Redis 7.0 accepts the minimum integer, 7.2
// does not.
func (g Generator) listCount() string {
	if n := g.Number(); n != "-9223372036854775808" && g.Intn(3) == 0 {
		return n
	}
	return strconv.Itoa(g.Intn(7) - 3)
}

// Timeout is a very short timeout, or an invalid one.
func (g Generator) Timeout() string {
	return g.Pick("0.001", "1e-3", "0x1p-10", ".001", "-1", "-0.5", "x", "", "nan", "-inf", "1 ")
}

func (g Generator) End() string {
	if g.Intn(20) == 0 {
		return g.Pick("x", "", "before")
	}
	return g.Pick("left", "RIGHT", "Left", "right")
}

var ListCommands = []func(Generator) []string{
	func(g Generator) []string { return []string{g.Pick("lpush", "rpush"), g.Key(), g.elements(6)} },
	func(g Generator) []string { return []string{g.Pick("lpush", "rpush"), g.Key(), g.elements(40)} },
	func(g Generator) []string { return []string{g.Pick("lpushx", "rpushx"), g.Key(), g.elements(3)} },
	func(g Generator) []string { return []string{g.Pick("lpop", "rpop"), g.Key()} },
	func(g Generator) []string {
		return []string{g.Pick("lpop", "rpop"), g.Key(), g.Pick("0", "1", "2", "5", g.Number())}
	},
	func(g Generator) []string { return []string{"llen", g.Key()} },
	func(g Generator) []string { return []string{"lindex", g.Key(), g.Number()} },
	func(g Generator) []string { return []string{"lrange", g.Key(), g.Number(), g.Number()} },
	func(g Generator) []string { return []string{"lrange", g.Key(), "0", "-1"} },
	func(g Generator) []string { return []string{"lset", g.Key(), g.Number(), g.element()} },
	func(g Generator) []string {
		return []string{"linsert", g.Key(), g.Pick("before", "AFTER", "before", "after", "x"), g.element(), g.element()}
	},
	func(g Generator) []string { return []string{"lrem", g.Key(), g.listCount(), g.element()} },
	func(g Generator) []string {
		return []string{"ltrim", g.Key(), g.Pick("0", "1", "-20", g.Number()), g.Pick("-1", "-2", "20", g.Number())}
	},
	func(g Generator) []string {
		return []string{"lpos", g.Key(), g.element(), "\x02" + g.Some(3, "rank\x01"+g.listCount(), "RANK\x01"+g.listCount(),
			"count\x01"+g.Pick("0", "1", "2", "3", g.Number()), "maxlen\x01"+g.Pick("0", "1", "5", g.Number()), "count", "x\x01y")}
	},
	func(g Generator) []string { return []string{"lmove", g.Key(), g.Key(), g.End(), g.End()} },
	func(g Generator) []string { return []string{"rpoplpush", g.Key(), g.Key()} },
	func(g Generator) []string {
		return []string{"lmpop", g.Pick("1", "2", "2", "3", "0", "x", "-1"), g.Key(), g.Key(), g.End(), "\x02" + g.Some(1, "count\x011", "COUNT\x0130", "count\x01"+g.Number(), "count", "x")}
	},
	func(g Generator) []string { return []string{"lmpop", "1", g.Key(), g.End()} },
	func(g Generator) []string {
		return []string{g.Pick("set", "getset", "append"), g.Key(), g.Value()}
	},
	func(g Generator) []string { return []string{"del", g.Key(), g.Key()} },
	func(g Generator) []string { return []string{g.Pick("copy", "rename"), g.Key(), g.Key()} },
	func(g Generator) []string { return []string{"type", g.Key()} },
	func(g Generator) []string { return []string{"debug-digest"} },
}
