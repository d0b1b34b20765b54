package command

import (
	"strconv"
	"strings"
)

// member is one of few, so that commands meet; one is too long for a small set.
func (g generator) zMember() string {
	if g.Intn(60) == 0 {
		return strings.Repeat("l", 65)
	}
	return g.pick("a", "b", "c", "d", "e", "f", "aa", "ab", "b\x00", "1", "-7", "10", "", "\xff", "zz", "m1", "m2", "m3")
}

func (g generator) score() string {
	switch g.Intn(12) {
	case 0:
		return g.pick("inf", "-inf", "+Inf", "infinity", "1e17", "-1e16", "4e18", "5e18", "1e300", "-1e300", "4.9e-324", "0x1p-3", "0X10", ".5", "5.", "1e2")
	case 1:
		return g.pick("nan", "", " 1", "1 ", "x", "1e400", "-1e400", "1e-400", "1_0", "0x", "0x1_0", "1\x00", "0x.8", "(1", "--1", "1e", "e1")
	case 2:
		return strconv.FormatFloat(g.NormFloat64(), 'g', -1, 64)
	default:
		return strconv.Itoa(g.Intn(7) - 3)
	}
}

func (g generator) bound() string {
	if g.Intn(15) == 0 {
		return g.pick("", "(", " 1", "( 1", "1 ", "nan", "(nan", "x", "1e400", "-1e400", "1e-400", "1\x00x", "((1", "[1", "+")
	}
	return g.pick("", "", "(") + g.pick("-inf", "inf", "+inf", "0", "-0", "1", "-1", "2", "-2", "3", "0.5", "1e17")
}

func (g generator) lexBound() string {
	return g.pick("-", "+", "-", "+", "[", "(", "["+g.zMember(), "("+g.zMember(), "[b", "(b", "[zz", "["+g.zMember(), "("+g.zMember(),
		g.pick("", "a", "-a", "+a", "-\x00a", "1"))
}

func (g generator) place() string {
	return g.pick("0", "1", "-1", "2", "-3", "5", "-100", "100", "-2", g.number())
}

func (g generator) scoreMembers(scores func(generator) string) string {
	var parts []string
	for range 1 + g.Intn(4) {
		parts = append(parts, scores(g), g.zMember())
	}
	return strings.Join(parts, "\x01")
}

func (g generator) limit() string {
	return "limit\x01" + g.pick("0", "1", "2", "-1", "100", g.number()) + "\x01" + g.pick("0", "1", "3", "-1", "-5", g.number())
}

// keysAndCount is a right number of keys, or nearly one.
func (g generator) keysAndCount() string {
	n := 1 + g.Intn(3)
	parts := []string{strconv.Itoa(n)}
	if g.Intn(15) == 0 {
		parts[0] = g.pick("0", "-1", "x", "9", "9223372036854775807", "", "2")
	}
	for range n {
		parts = append(parts, g.key())
	}
	return strings.Join(parts, "\x01")
}

func (g generator) combineOptions(store bool) string {
	weights := "weights"
	for range 1 + g.Intn(3) {
		weights += "\x01" + g.pick("1", "2", "-1", "0", "inf", "0.5", g.score())
	}
	options := []string{weights, weights, "aggregate\x01" + g.pick("sum", "min", "MAX", "MAX", "avg")}
	if !store {
		options = append(options, "withscores", "WITHSCORES", "limit\x011")
	}
	return g.some(2, options...)
}

// wait is a timeout that is over at once, or a wrong one.
func (g generator) wait() string { return g.pick(waits...) }

// sortedSetCommands are the templates of the family. Without minusZero no score
// is -0, and ZRANGESTORE is part of them: Redis 7.0 makes its result small at
// first, and forgets the sign then, which 7.2 does not always do.
func sortedSetCommands(minusZero bool) []func(generator) []string {
	scores := generator.score
	if minusZero {
		scores = func(g generator) string {
			if g.Intn(4) == 0 {
				return g.pick("-0", "-0.0", "0")
			}
			return g.score()
		}
	}
	all := []func(generator) []string{
		func(g generator) []string { return []string{"zadd", g.key(), "\x02" + g.scoreMembers(scores)} },
		func(g generator) []string { return []string{"zadd", g.key(), "\x02" + g.scoreMembers(scores)} },
		func(g generator) []string { return []string{"zadd", g.key(), "\x02" + g.scoreMembers(scores)} },
		func(g generator) []string {
			return []string{"zadd", g.key(), "\x02" + g.some(3, "nx", "XX", "gt", "LT", "ch", "CH", "gt", "lt"), "\x02" + g.scoreMembers(scores)}
		},
		func(g generator) []string {
			return []string{"zadd", g.key(), "\x02" + g.some(1, "nx", "XX", "gt", "LT", "ch"), "incr", scores(g), g.zMember()}
		},
		func(g generator) []string { return []string{"zincrby", g.key(), scores(g), g.zMember()} },
		func(g generator) []string {
			return []string{"zincrby", g.key(), g.pick("nx", "gt", "ch", "1"), g.pick("1", "incr", "a")}
		},
		func(g generator) []string { return []string{"zrem", g.key(), g.zMember(), g.zMember(), g.zMember()} },
		func(g generator) []string { return []string{"zcard", g.key()} },
		func(g generator) []string { return []string{"zscore", g.key(), g.zMember()} },
		func(g generator) []string { return []string{"zmscore", g.key(), g.zMember(), g.zMember(), g.zMember()} },
		func(g generator) []string { return []string{g.pick("zrank", "zrevrank"), g.key(), g.zMember()} },
		func(g generator) []string { return []string{"zcount", g.key(), g.bound(), g.bound()} },
		func(g generator) []string {
			return []string{"zremrangebyrank", g.key(), g.place(), g.pick("0", "2", "-9")}
		},
		func(g generator) []string { return []string{"zremrangebyscore", g.key(), g.bound(), g.bound()} },
		func(g generator) []string {
			return []string{"zrange", g.key(), g.place(), g.place(), "\x02" + g.some(2, "rev", "withscores", g.limit(), "REV", "limit", "x")}
		},
		func(g generator) []string {
			return []string{"zrange", g.key(), g.bound(), g.bound(), "byscore", "\x02" + g.some(3, "rev", "withscores", g.limit(), "bylex", "byscore", "limit\x011")}
		},
		func(g generator) []string {
			return []string{"zrevrange", g.key(), g.place(), g.place(), "\x02" + g.some(1, "withscores", "rev", "byscore")}
		},
		func(g generator) []string {
			return []string{g.pick("zrangebyscore", "zrevrangebyscore"), g.key(), g.bound(), g.bound(), "\x02" + g.some(2, "withscores", g.limit(), "rev", "bylex")}
		},
		func(g generator) []string {
			return []string{g.pick("zpopmin", "zpopmax"), g.key(), "\x02" + g.some(1, "0", "1", "2", "-1", "x", "9223372036854775807", "1\x012")}
		},
	}
	all = append(all, sortedSetsTogether...)
	if !minusZero {
		all = append(all,
			func(g generator) []string {
				return []string{"zrangestore", g.key(), g.key(), g.place(), g.place(), "\x02" + g.some(2, "rev", "withscores", g.limit())}
			},
			func(g generator) []string {
				return []string{"zrangestore", g.key(), g.key(), g.bound(), g.bound(), "byscore", "\x02" + g.some(2, "rev", g.limit())}
			},
		)
	}
	return all
}

// sortedSetsTogether are those on several keys, and on keys as such.
var sortedSetsTogether = []func(generator) []string{
	func(g generator) []string {
		return []string{"zmpop", "\x02" + g.keysAndCount(), g.pick("min", "MAX", "max", "x"), "\x02" + g.some(2, "count\x012", "COUNT\x01100", "count\x010", "count\x01x", "count")}
	},
	func(g generator) []string {
		return []string{"bzmpop", g.wait(), "\x02" + g.keysAndCount(), g.pick("min", "max"), "\x02" + g.some(1, "count\x012", "count")}
	},
	func(g generator) []string {
		return []string{g.pick("bzpopmin", "bzpopmax"), g.key(), g.key(), g.wait()}
	},
	func(g generator) []string {
		return []string{"zrandmember", g.key(), "\x02" + g.some(1, "0", "1", "2", "-3", "100", "-9223372036854775808", "x", "3\x01withscores", "-4\x01WITHSCORES", "5000000000000000000\x01withscores", "1\x01x", "1\x01withscores\x01x")}
	},
	func(g generator) []string {
		return []string{"zscan", g.key(), g.pick("0", "0", "0", "x", ""), "count", "1000", "\x02" + g.some(1, "match\x01"+g.pattern(), "match", "count\x010", "type\x01zset")}
	},
	func(g generator) []string {
		return []string{g.pick("zunion", "zinter"), "\x02" + g.keysAndCount(), "\x02" + g.combineOptions(false)}
	},
	func(g generator) []string {
		return []string{"zdiff", "\x02" + g.keysAndCount(), "\x02" + g.combineOptions(false)}
	},
	func(g generator) []string {
		return []string{"zintercard", "\x02" + g.keysAndCount(), "\x02" + g.some(1, "limit\x011", "LIMIT\x010", "limit\x01-1", "limit\x01x", "limit", "withscores")}
	},
	func(g generator) []string {
		return []string{g.pick("zunionstore", "zinterstore"), g.key(), "\x02" + g.keysAndCount(), "\x02" + g.combineOptions(true)}
	},
	func(g generator) []string { return []string{"zdiffstore", g.key(), "\x02" + g.keysAndCount()} },
	func(g generator) []string { return []string{g.pick("del", "type", "exists", "get"), g.key()} },
	func(g generator) []string { return []string{"set", g.key(), g.value()} },
	func(g generator) []string { return []string{"del", g.key(), g.key(), g.key()} },
	func(g generator) []string { return []string{"sadd", g.key(), g.zMember(), g.zMember(), "1"} },
	func(g generator) []string { return []string{"object", "encoding", g.key()} },
	func(g generator) []string { return []string{"copy", g.key(), g.key(), "replace"} },
	func(g generator) []string { return []string{"debug-digest"} },
}

var waits = []string{"-1", "x", "", "nan", "1e5000", "-0.5", "-1e9", "0.001", "1e-3"}
