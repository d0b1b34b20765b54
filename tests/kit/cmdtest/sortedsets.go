package cmdtest

import (
	"strconv"
	"strings"
)

// ZMember is one of a few values, so that commands affect the same members. One is too long for a
// small set.
func (g Generator) ZMember() string {
	if g.Intn(60) == 0 {
		return strings.Repeat("l", 65)
	}
	return g.Pick("a", "b", "c", "d", "e", "f", "aa", "ab", "b\x00", "1", "-7", "10", "", "\xff", "zz", "m1", "m2", "m3")
}

func (g Generator) Score() string {
	switch g.Intn(12) {
	case 0:
		return g.Pick("inf", "-inf", "+Inf", "infinity", "1e17", "-1e16", "4e18", "5e18", "1e300", "-1e300", "4.9e-324", "0x1p-3", "0X10", ".5", "5.", "1e2")
	case 1:
		return g.Pick("nan", "", " 1", "1 ", "x", "1e400", "-1e400", "1e-400", "1_0", "0x", "0x1_0", "1\x00", "0x.8", "(1", "--1", "1e", "e1")
	case 2:
		return strconv.FormatFloat(g.NormFloat64(), 'g', -1, 64)
	default:
		return strconv.Itoa(g.Intn(7) - 3)
	}
}

func (g Generator) bound() string {
	if g.Intn(15) == 0 {
		return g.Pick("", "(", " 1", "( 1", "1 ", "nan", "(nan", "x", "1e400", "-1e400", "1e-400", "1\x00x", "((1", "[1", "+")
	}
	return g.Pick("", "", "(") + g.Pick("-inf", "inf", "+inf", "0", "-0", "1", "-1", "2", "-2", "3", "0.5", "1e17")
}

func (g Generator) LexBound() string {
	return g.Pick("-", "+", "-", "+", "[", "(", "["+g.ZMember(), "("+g.ZMember(), "[b", "(b", "[zz", "["+g.ZMember(), "("+g.ZMember(),
		g.Pick("", "a", "-a", "+a", "-\x00a", "1"))
}

func (g Generator) place() string {
	return g.Pick("0", "1", "-1", "2", "-3", "5", "-100", "100", "-2", g.Number())
}

func (g Generator) ScoreMembers(scores func(Generator) string) string {
	var parts []string
	for range 1 + g.Intn(4) {
		parts = append(parts, scores(g), g.ZMember())
	}
	return strings.Join(parts, "\x01")
}

func (g Generator) Limit() string {
	return "limit\x01" + g.Pick("0", "1", "2", "-1", "100", g.Number()) + "\x01" + g.Pick("0", "1", "3", "-1", "-5", g.Number())
}

// keysAndCount is a valid number of keys with the keys, or an almost valid one.
func (g Generator) keysAndCount() string {
	n := 1 + g.Intn(3)
	parts := []string{strconv.Itoa(n)}
	if g.Intn(15) == 0 {
		parts[0] = g.Pick("0", "-1", "x", "9", "9223372036854775807", "", "2")
	}
	for range n {
		parts = append(parts, g.Key())
	}
	return strings.Join(parts, "\x01")
}

func (g Generator) combineOptions(store bool) string {
	weights := "weights"
	for range 1 + g.Intn(3) {
		weights += "\x01" + g.Pick("1", "2", "-1", "0", "inf", "0.5", g.Score())
	}
	options := []string{weights, weights, "aggregate\x01" + g.Pick("sum", "min", "MAX", "MAX", "avg")}
	if !store {
		options = append(options, "withscores", "WITHSCORES", "limit\x011")
	}
	return g.Some(2, options...)
}

// wait is a timeout that ends at once, or an invalid one.
func (g Generator) wait() string { return g.Pick(Waits...) }

// SortedSetCommands are the templates of the family. Without minusZero no score is -0, and the
// templates include ZRANGESTORE: Redis 7.0 first makes its result small and loses the sign then,
// which 7.2 does not always do.
func SortedSetCommands(minusZero bool) []func(Generator) []string {
	scores := Generator.Score
	if minusZero {
		scores = func(g Generator) string {
			if g.Intn(4) == 0 {
				return g.Pick("-0", "-0.0", "0")
			}
			return g.Score()
		}
	}
	all := []func(Generator) []string{
		func(g Generator) []string { return []string{"zadd", g.Key(), "\x02" + g.ScoreMembers(scores)} },
		func(g Generator) []string { return []string{"zadd", g.Key(), "\x02" + g.ScoreMembers(scores)} },
		func(g Generator) []string { return []string{"zadd", g.Key(), "\x02" + g.ScoreMembers(scores)} },
		func(g Generator) []string {
			return []string{"zadd", g.Key(), "\x02" + g.Some(3, "nx", "XX", "gt", "LT", "ch", "CH", "gt", "lt"), "\x02" + g.ScoreMembers(scores)}
		},
		func(g Generator) []string {
			return []string{"zadd", g.Key(), "\x02" + g.Some(1, "nx", "XX", "gt", "LT", "ch"), "incr", scores(g), g.ZMember()}
		},
		func(g Generator) []string { return []string{"zincrby", g.Key(), scores(g), g.ZMember()} },
		func(g Generator) []string {
			return []string{"zincrby", g.Key(), g.Pick("nx", "gt", "ch", "1"), g.Pick("1", "incr", "a")}
		},
		func(g Generator) []string { return []string{"zrem", g.Key(), g.ZMember(), g.ZMember(), g.ZMember()} },
		func(g Generator) []string { return []string{"zcard", g.Key()} },
		func(g Generator) []string { return []string{"zscore", g.Key(), g.ZMember()} },
		func(g Generator) []string { return []string{"zmscore", g.Key(), g.ZMember(), g.ZMember(), g.ZMember()} },
		func(g Generator) []string { return []string{g.Pick("zrank", "zrevrank"), g.Key(), g.ZMember()} },
		func(g Generator) []string { return []string{"zcount", g.Key(), g.bound(), g.bound()} },
		func(g Generator) []string {
			return []string{"zremrangebyrank", g.Key(), g.place(), g.Pick("0", "2", "-9")}
		},
		func(g Generator) []string { return []string{"zremrangebyscore", g.Key(), g.bound(), g.bound()} },
		func(g Generator) []string {
			return []string{"zrange", g.Key(), g.place(), g.place(), "\x02" + g.Some(2, "rev", "withscores", g.Limit(), "REV", "limit", "x")}
		},
		func(g Generator) []string {
			return []string{"zrange", g.Key(), g.bound(), g.bound(), "byscore", "\x02" + g.Some(3, "rev", "withscores", g.Limit(), "bylex", "byscore", "limit\x011")}
		},
		func(g Generator) []string {
			return []string{"zrevrange", g.Key(), g.place(), g.place(), "\x02" + g.Some(1, "withscores", "rev", "byscore")}
		},
		func(g Generator) []string {
			return []string{g.Pick("zrangebyscore", "zrevrangebyscore"), g.Key(), g.bound(), g.bound(), "\x02" + g.Some(2, "withscores", g.Limit(), "rev", "bylex")}
		},
		func(g Generator) []string {
			return []string{g.Pick("zpopmin", "zpopmax"), g.Key(), "\x02" + g.Some(1, "0", "1", "2", "-1", "x", "9223372036854775807", "1\x012")}
		},
	}
	all = append(all, SortedSetsTogether...)
	if !minusZero {
		all = append(all,
			func(g Generator) []string {
				return []string{"zrangestore", g.Key(), g.Key(), g.place(), g.place(), "\x02" + g.Some(2, "rev", "withscores", g.Limit())}
			},
			func(g Generator) []string {
				return []string{"zrangestore", g.Key(), g.Key(), g.bound(), g.bound(), "byscore", "\x02" + g.Some(2, "rev", g.Limit())}
			},
		)
	}
	return all
}

// SortedSetsTogether are commands on several keys, and on keys of any type.
var SortedSetsTogether = []func(Generator) []string{
	func(g Generator) []string {
		return []string{"zmpop", "\x02" + g.keysAndCount(), g.Pick("min", "MAX", "max", "x"), "\x02" + g.Some(2, "count\x012", "COUNT\x01100", "count\x010", "count\x01x", "count")}
	},
	func(g Generator) []string {
		return []string{"bzmpop", g.wait(), "\x02" + g.keysAndCount(), g.Pick("min", "max"), "\x02" + g.Some(1, "count\x012", "count")}
	},
	func(g Generator) []string {
		return []string{g.Pick("bzpopmin", "bzpopmax"), g.Key(), g.Key(), g.wait()}
	},
	func(g Generator) []string {
		return []string{"zrandmember", g.Key(), "\x02" + g.Some(1, "0", "1", "2", "-3", "100", "-9223372036854775808", "x", "3\x01withscores", "-4\x01WITHSCORES", "5000000000000000000\x01withscores", "1\x01x", "1\x01withscores\x01x")}
	},
	func(g Generator) []string {
		return []string{"zscan", g.Key(), g.Pick("0", "0", "0", "x", ""), "count", "1000", "\x02" + g.Some(1, "match\x01"+g.pattern(), "match", "count\x010", "type\x01zset")}
	},
	func(g Generator) []string {
		return []string{g.Pick("zunion", "zinter"), "\x02" + g.keysAndCount(), "\x02" + g.combineOptions(false)}
	},
	func(g Generator) []string {
		return []string{"zdiff", "\x02" + g.keysAndCount(), "\x02" + g.combineOptions(false)}
	},
	func(g Generator) []string {
		return []string{"zintercard", "\x02" + g.keysAndCount(), "\x02" + g.Some(1, "limit\x011", "LIMIT\x010", "limit\x01-1", "limit\x01x", "limit", "withscores")}
	},
	func(g Generator) []string {
		return []string{g.Pick("zunionstore", "zinterstore"), g.Key(), "\x02" + g.keysAndCount(), "\x02" + g.combineOptions(true)}
	},
	func(g Generator) []string { return []string{"zdiffstore", g.Key(), "\x02" + g.keysAndCount()} },
	func(g Generator) []string { return []string{g.Pick("del", "type", "exists", "get"), g.Key()} },
	func(g Generator) []string { return []string{"set", g.Key(), g.Value()} },
	func(g Generator) []string { return []string{"del", g.Key(), g.Key(), g.Key()} },
	func(g Generator) []string { return []string{"sadd", g.Key(), g.ZMember(), g.ZMember(), "1"} },
	func(g Generator) []string { return []string{"object", "encoding", g.Key()} },
	func(g Generator) []string { return []string{"copy", g.Key(), g.Key(), "replace"} },
	func(g Generator) []string { return []string{"debug-digest"} },
}

var Waits = []string{"-1", "x", "", "nan", "1e5000", "-0.5", "-1e9", "0.001", "1e-3"}
