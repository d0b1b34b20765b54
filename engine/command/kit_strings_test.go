package command

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
