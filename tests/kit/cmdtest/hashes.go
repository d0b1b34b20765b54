package cmdtest

import (
	"strconv"
	"strings"
)

func (g Generator) field() string {
	return g.Pick("f", "g", "1", "-5", "", "field", "\x00\xff", strconv.Itoa(g.Intn(12)), strings.Repeat("n", 20))
}

// hashFields is a list of fields, in the form that Command expects for lists.
func (g Generator) hashFields(max int, withValues bool) string {
	var list []string
	for range 1 + g.Intn(max) {
		list = append(list, g.field())
		if withValues {
			list = append(list, g.Value())
		}
	}
	return "\x02" + strings.Join(list, "\x01")
}

var HashCommands = []func(Generator) []string{
	func(g Generator) []string { return []string{g.Pick("hset", "hmset"), g.Key(), g.hashFields(4, true)} },
	func(g Generator) []string { return []string{"hset", g.Key(), g.field(), g.Value()} },
	func(g Generator) []string { return []string{"hset", g.Key(), g.field(), g.Number()} },
	func(g Generator) []string { return []string{"hset", g.Key(), g.field(), g.Decimal()} },
	func(g Generator) []string { return []string{"hset", g.Key(), g.field()} },
	func(g Generator) []string { return []string{"hsetnx", g.Key(), g.field(), g.Value()} },
	func(g Generator) []string { return []string{g.Pick("hget", "hexists", "hstrlen"), g.Key(), g.field()} },
	func(g Generator) []string { return []string{"hmget", g.Key(), g.hashFields(4, false)} },
	func(g Generator) []string { return []string{g.Pick("hgetall", "hkeys", "hvals", "hlen"), g.Key()} },
	func(g Generator) []string { return []string{"hdel", g.Key(), g.hashFields(5, false)} },
	func(g Generator) []string { return []string{"hincrby", g.Key(), g.field(), g.Number()} },
	func(g Generator) []string { return []string{"hincrbyfloat", g.Key(), g.field(), g.Decimal()} },
	func(g Generator) []string {
		return []string{"hrandfield", g.Key(), g.Pick("0", "100", "12345", "x", "9223372036854775807", "-9223372036854775808", ""), "\x02" + g.Some(2, "withvalues", "x")}
	},
	func(g Generator) []string {
		return []string{"hscan", g.Key(), g.Pick("0", "0", "", "x", "-", "+0", " 0"), "count", "1000", "match", g.pattern()}
	},
	func(g Generator) []string {
		return []string{"hscan", g.Key(), "0", "\x02" + g.Some(3, "count\x01"+g.Pick("1000", "0", "x", "-1"), "MATCH\x01"+g.pattern(), "type\x01hash", "count", "x\x01y")}
	},
	func(g Generator) []string { return []string{"object", "encoding", g.Key()} },
	func(g Generator) []string { return []string{g.Pick("del", "type", "exists"), g.Key()} },
	func(g Generator) []string { return []string{g.Pick("rename", "copy"), g.Key(), g.Key()} },
	func(g Generator) []string { return []string{"set", g.Pick("a", "{t}1"), g.Value()} },
	func(g Generator) []string { return []string{"get", g.Key()} },
	func(g Generator) []string { return []string{"debug-digest"} },
}
