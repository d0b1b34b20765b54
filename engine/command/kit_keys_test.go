package command

import "strings"

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
