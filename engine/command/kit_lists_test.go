package command

import (
	"strconv"
	"strings"
)

// element is a value that others may equal.
func (g generator) element() string {
	if g.Intn(6) == 0 {
		return g.value()
	}
	return g.pick("a", "b", "c", "1", "1000", "-1234567", "")
}

// elements returns up to max of them as a list.
func (g generator) elements(max int) string {
	all := make([]string, 1+g.Intn(max))
	for i := range all {
		all[i] = g.element()
		if all[i] == "" {
			all[i] = "0"
		}
	}
	return "\x02" + strings.Join(all, "\x01")
}

// listCount is a number for LREM and the RANK of LPOS. Redis 7.0 takes the
// least integer, 7.2 does not.
func (g generator) listCount() string {
	if n := g.number(); n != "-9223372036854775808" && g.Intn(3) == 0 {
		return n
	}
	return strconv.Itoa(g.Intn(7) - 3)
}

// timeout is one that is soon over, or none.
func (g generator) timeout() string {
	return g.pick("0.001", "1e-3", "0x1p-10", ".001", "-1", "-0.5", "x", "", "nan", "-inf", "1 ")
}

func (g generator) end() string {
	if g.Intn(20) == 0 {
		return g.pick("x", "", "before")
	}
	return g.pick("left", "RIGHT", "Left", "right")
}

var listCommands = []func(generator) []string{
	func(g generator) []string { return []string{g.pick("lpush", "rpush"), g.key(), g.elements(6)} },
	func(g generator) []string { return []string{g.pick("lpush", "rpush"), g.key(), g.elements(40)} },
	func(g generator) []string { return []string{g.pick("lpushx", "rpushx"), g.key(), g.elements(3)} },
	func(g generator) []string { return []string{g.pick("lpop", "rpop"), g.key()} },
	func(g generator) []string {
		return []string{g.pick("lpop", "rpop"), g.key(), g.pick("0", "1", "2", "5", g.number())}
	},
	func(g generator) []string { return []string{"llen", g.key()} },
	func(g generator) []string { return []string{"lindex", g.key(), g.number()} },
	func(g generator) []string { return []string{"lrange", g.key(), g.number(), g.number()} },
	func(g generator) []string { return []string{"lrange", g.key(), "0", "-1"} },
	func(g generator) []string { return []string{"lset", g.key(), g.number(), g.element()} },
	func(g generator) []string {
		return []string{"linsert", g.key(), g.pick("before", "AFTER", "before", "after", "x"), g.element(), g.element()}
	},
	func(g generator) []string { return []string{"lrem", g.key(), g.listCount(), g.element()} },
	func(g generator) []string {
		return []string{"ltrim", g.key(), g.pick("0", "1", "-20", g.number()), g.pick("-1", "-2", "20", g.number())}
	},
	func(g generator) []string {
		return []string{"lpos", g.key(), g.element(), "\x02" + g.some(3, "rank\x01"+g.listCount(), "RANK\x01"+g.listCount(),
			"count\x01"+g.pick("0", "1", "2", "3", g.number()), "maxlen\x01"+g.pick("0", "1", "5", g.number()), "count", "x\x01y")}
	},
	func(g generator) []string { return []string{"lmove", g.key(), g.key(), g.end(), g.end()} },
	func(g generator) []string { return []string{"rpoplpush", g.key(), g.key()} },
	func(g generator) []string {
		return []string{"lmpop", g.pick("1", "2", "2", "3", "0", "x", "-1"), g.key(), g.key(), g.end(), "\x02" + g.some(1, "count\x011", "COUNT\x0130", "count\x01"+g.number(), "count", "x")}
	},
	func(g generator) []string { return []string{"lmpop", "1", g.key(), g.end()} },
	func(g generator) []string {
		return []string{g.pick("set", "getset", "append"), g.key(), g.value()}
	},
	func(g generator) []string { return []string{"del", g.key(), g.key()} },
	func(g generator) []string { return []string{g.pick("copy", "rename"), g.key(), g.key()} },
	func(g generator) []string { return []string{"type", g.key()} },
	func(g generator) []string { return []string{"debug-digest"} },
}
