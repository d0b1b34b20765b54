package command

import (
	"strconv"
	"strings"
)

func (g generator) field() string {
	return g.pick("f", "g", "1", "-5", "", "field", "\x00\xff", strconv.Itoa(g.Intn(12)), strings.Repeat("n", 20))
}

// fields is a list of fields for an argument that some makes.
func (g generator) hashFields(max int, withValues bool) string {
	var list []string
	for range 1 + g.Intn(max) {
		list = append(list, g.field())
		if withValues {
			list = append(list, g.value())
		}
	}
	return "\x02" + strings.Join(list, "\x01")
}

var hashCommands = []func(generator) []string{
	func(g generator) []string { return []string{g.pick("hset", "hmset"), g.key(), g.hashFields(4, true)} },
	func(g generator) []string { return []string{"hset", g.key(), g.field(), g.value()} },
	func(g generator) []string { return []string{"hset", g.key(), g.field(), g.number()} },
	func(g generator) []string { return []string{"hset", g.key(), g.field(), g.decimal()} },
	func(g generator) []string { return []string{"hset", g.key(), g.field()} },
	func(g generator) []string { return []string{"hsetnx", g.key(), g.field(), g.value()} },
	func(g generator) []string { return []string{g.pick("hget", "hexists", "hstrlen"), g.key(), g.field()} },
	func(g generator) []string { return []string{"hmget", g.key(), g.hashFields(4, false)} },
	func(g generator) []string { return []string{g.pick("hgetall", "hkeys", "hvals", "hlen"), g.key()} },
	func(g generator) []string { return []string{"hdel", g.key(), g.hashFields(5, false)} },
	func(g generator) []string { return []string{"hincrby", g.key(), g.field(), g.number()} },
	func(g generator) []string { return []string{"hincrbyfloat", g.key(), g.field(), g.decimal()} },
	func(g generator) []string {
		return []string{"hrandfield", g.key(), g.pick("0", "100", "12345", "x", "9223372036854775807", "-9223372036854775808", ""), "\x02" + g.some(2, "withvalues", "x")}
	},
	func(g generator) []string {
		return []string{"hscan", g.key(), g.pick("0", "0", "", "x", "-", "+0", " 0"), "count", "1000", "match", g.pattern()}
	},
	func(g generator) []string {
		return []string{"hscan", g.key(), "0", "\x02" + g.some(3, "count\x01"+g.pick("1000", "0", "x", "-1"), "MATCH\x01"+g.pattern(), "type\x01hash", "count", "x\x01y")}
	},
	func(g generator) []string { return []string{"object", "encoding", g.key()} },
	func(g generator) []string { return []string{g.pick("del", "type", "exists"), g.key()} },
	func(g generator) []string { return []string{g.pick("rename", "copy"), g.key(), g.key()} },
	func(g generator) []string { return []string{"set", g.pick("a", "{t}1"), g.value()} },
	func(g generator) []string { return []string{"get", g.key()} },
	func(g generator) []string { return []string{"debug-digest"} },
}
