package cmdtest

import "strings"

var KeyCommands = []func(Generator) []string{
	func(g Generator) []string { return []string{"select", g.Pick("0", "0", "1", "2")} },
	func(g Generator) []string { return []string{"set", g.Key(), g.Value()} },
	func(g Generator) []string {
		return []string{"set", g.Key(), g.Pick("1", "9999", "10000", "-1", "x"), "pxat", "4000000000123"}
	},
	func(g Generator) []string { return []string{"set", g.Key(), strings.Repeat("x", g.Intn(60))} },
	func(g Generator) []string { return []string{"mset", g.Key(), g.Value(), g.Key(), g.Value()} },
	func(g Generator) []string { return []string{"append", g.Key(), g.Value()} },
	func(g Generator) []string { return []string{"setrange", g.Key(), "2", g.Value()} },
	func(g Generator) []string { return []string{"incr", g.Key()} },
	func(g Generator) []string { return []string{"get", g.Key()} },
	func(g Generator) []string {
		return []string{g.Pick("del", "unlink", "exists", "touch"), g.Key(), g.Key()}
	},
	func(g Generator) []string { return []string{"type", g.Key()} },
	func(g Generator) []string { return []string{g.Pick("rename", "renamenx"), g.Key(), g.Key()} },
	func(g Generator) []string {
		return []string{"copy", g.Key(), g.Key(), "\x02" + g.Some(2, "replace", "db\x01"+g.Pick("0", "1", "2", "16", "-1", "x", "99999999999"), "db", "x")}
	},
	func(g Generator) []string {
		return []string{"move", g.Key(), g.Pick("0", "1", "2", "16", "-1", "x", "99999999999")}
	},
	func(g Generator) []string {
		return []string{"expireat", g.Key(), g.expiry(true), "\x02" + g.Some(2, "nx", "XX", "gt", "Lt", "y")}
	},
	func(g Generator) []string {
		return []string{"pexpireat", g.Key(), g.expiry(false), "\x02" + g.Some(1, "nx", "XX", "gt", "Lt")}
	},
	func(g Generator) []string {
		return []string{g.Pick("expire", "pexpire"), g.Key(), g.Pick("0", "-1", "x", "9223372036854775807", "-9223372036854775808")}
	},
	func(g Generator) []string { return []string{g.Pick("expiretime", "pexpiretime"), g.Key()} },
	func(g Generator) []string { return []string{"persist", g.Key()} },
	func(g Generator) []string {
		return []string{"object", g.Pick("encoding", "FREQ", "foo"), g.Key()}
	},
	func(g Generator) []string { return []string{"dump", g.Key()} },
	func(g Generator) []string {
		return []string{"restore", g.Key(), g.Pick("0", "0", "-1", "x"), g.payload(), "\x02" + g.restoreOptions()}
	},
	func(g Generator) []string {
		return []string{"restore", g.Key(), g.Pick("5", "4000000000123"), g.payload(), "absttl", "\x02" + g.restoreOptions()}
	},
	func(g Generator) []string { return []string{"keys", g.pattern()} },
	func(g Generator) []string {
		return []string{"scan", g.Pick("0", "0", "", "x", "-", "+0", " 0", "0 "), "count", "1000", "match", g.pattern()}
	},
	func(g Generator) []string {
		return []string{"scan", "0", "\x02" + g.Some(3, "count\x01"+g.Pick("1000", "5000", "0", "x", "-1"), "match\x01"+g.pattern(), "type\x01"+g.Pick("string", "STRING", "list", "nokind"), "match", "x\x01y")}
	},
	func(g Generator) []string { return []string{"dbsize"} },
	func(g Generator) []string { return []string{"debug-digest"} },
	func(g Generator) []string {
		return []string{g.Pick("flushdb", "flushall", "get"), "\x02" + g.Some(2, "async", "SYNC", "x")}
	},
	func(g Generator) []string {
		return []string{"swapdb", g.Pick("0", "1", "2", "16", "-1", "x"), g.Pick("0", "1", "2", "15", "x")}
	},
}

func (g Generator) restoreOptions() string {
	return g.Some(3, "replace", "REPLACE", "absttl", "idletime\x01"+g.Pick("5", "-1", "x"), "freq\x01"+g.Pick("5", "256", "x"), "freq", "x")
}
