package cmdtest

var StringCommands = []func(Generator) []string{
	func(g Generator) []string {
		return []string{"set", g.Key(), g.Value(), "\x02" + g.Some(3, "NX", "xx", "get", "keepttl",
			"exat\x01"+g.expiry(true), "PXAT\x01"+g.expiry(false), "ex\x01"+g.Pick("0", "-1", "x", "9223372036854775807"), "px", "persist")}
	},
	func(g Generator) []string { return []string{"set", g.Key(), g.Value()} },
	func(g Generator) []string { return []string{"get", g.Key()} },
	func(g Generator) []string {
		return []string{"getex", g.Key(), "\x02" + g.Some(2, "persist",
			"exat\x01"+g.expiry(true), "PXAT\x01"+g.expiry(false), "ex\x01"+g.Pick("0", "-1", "x", "9223372036854775807"), "keepttl")}
	},
	func(g Generator) []string { return []string{"getdel", g.Key()} },
	func(g Generator) []string { return []string{"setnx", g.Key(), g.Value()} },
	func(g Generator) []string { return []string{"getset", g.Key(), g.Value()} },
	func(g Generator) []string {
		return []string{g.Pick("setex", "psetex"), g.Key(), g.Pick("100000000", "0", "-5", "9223372036854775807", "x"), g.Value()}
	},
	func(g Generator) []string { return []string{"mset", g.Key(), g.Value(), g.Key(), g.Value()} },
	func(g Generator) []string { return []string{"msetnx", g.Key(), g.Value(), g.Key(), g.Value()} },
	func(g Generator) []string { return []string{"mget", g.Key(), g.Key(), g.Key()} },
	func(g Generator) []string { return []string{g.Pick("incr", "decr"), g.Key()} },
	func(g Generator) []string { return []string{g.Pick("incrby", "decrby"), g.Key(), g.Number()} },
	func(g Generator) []string { return []string{"incrbyfloat", g.Key(), g.Decimal()} },
	func(g Generator) []string { return []string{"append", g.Key(), g.Value()} },
	func(g Generator) []string { return []string{"strlen", g.Key()} },
	func(g Generator) []string {
		return []string{"setrange", g.Key(), g.Pick("0", "3", "20", "-1", "x", "536870912", "9223372036854775807"), g.Value()}
	},
	func(g Generator) []string {
		return []string{g.Pick("getrange", "substr"), g.Key(), g.Number(), g.Number()}
	},
	func(g Generator) []string {
		return []string{"lcs", g.Key(), g.Key(), "\x02" + g.Some(3, "idx", "LEN", "withmatchlen", "minmatchlen\x01"+g.Number(), "minmatchlen", "x")}
	},
	func(g Generator) []string { return []string{"del", g.Key()} },
}
