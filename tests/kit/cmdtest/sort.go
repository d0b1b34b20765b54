package cmdtest

import (
	"fmt"
	"strings"
)

// sortKey is one of a few keys of one hash slot, to which patterns may lead.
func (g Generator) sortKey() string { return g.Pick("{t}1", "{t}2", "{t}3") }

// sortPattern leads to keys of that slot, or to none.
func (g Generator) sortPattern() string {
	return g.Pick("{t}w*", "{t}w*", "{t}w*->", "{t}*", "{t}w*x", "{t}w*->f", "#", "nosort", "", "{t}w", "##")
}

// sortNumber is a number or, rarely, something similar. Numbers out of the range of a double are
// tested elsewhere: redis-server remembers the error of the last one (errno) and may refuse the
// next number too.
func (g Generator) sortNumber() string {
	if g.Intn(40) == 0 {
		return g.Pick("", " 1", "1 ", "0x1f", "0x1p-3", "0X", "inf", "-Infinity", "nan", "0e-999", "-0", "+3", "+-3", "1_0", "\t\n-2.5", "a", "1\x002", ".", "5.", ".5e1",
			"9223372036854775808", "18446744073709551617", "9007199254740993", "9007199254740992")
	}
	if g.Intn(3) == 0 {
		return fmt.Sprintf("%d.%d", g.Intn(10)-5, g.Intn(10))
	}
	return fmt.Sprint(g.Intn(12) - 3)
}

func (g Generator) sortText() string {
	return g.Pick("a", "b", "B", "ab", "a\x00b", "a\x00a", "\xff", "\xc3\xa4", "", " ", "10", "9")
}

func (g Generator) sortOptions() string {
	return g.Some(4, "asc", "DESC", "desc", "alpha", "ALPHA", "by\x01"+g.sortPattern(), "BY\x01"+g.sortPattern(), "get\x01"+g.sortPattern(), "get\x01#",
		"limit\x01"+g.Number()+"\x01"+g.Number(), "limit\x010\x01"+g.Pick("1", "2", "5"), "limit\x01"+g.Pick("1", "2")+"\x01-1",
		"store\x01"+g.sortKey(), "limit\x011", "x")
}

var SortCommands = []func(Generator) []string{
	func(g Generator) []string {
		numbers := make([]string, 1+g.Intn(8))
		for i := range numbers {
			if numbers[i] = g.sortNumber(); numbers[i] == "" {
				numbers[i] = "0"
			}
		}
		return []string{"rpush", g.sortKey(), "\x02" + strings.Join(numbers, "\x01")}
	},
	func(g Generator) []string { return []string{"rpush", g.sortKey(), g.sortText()} },
	func(g Generator) []string { return []string{"del", g.sortKey(), g.sortKey()} },
	func(g Generator) []string {
		return []string{"set", "{t}w" + g.sortNumber() + g.Pick("", "", "x"), g.Pick(g.sortNumber(), g.sortText())}
	},
	func(g Generator) []string { return []string{"set", "{t}w" + g.sortNumber(), g.sortNumber()} },
	func(g Generator) []string { return []string{"del", "{t}w" + g.sortNumber()} },
	func(g Generator) []string { return []string{"sort", g.sortKey(), "\x02" + g.sortOptions()} },
	func(g Generator) []string { return []string{"sort", g.sortKey(), "\x02" + g.sortOptions()} },
	func(g Generator) []string {
		return []string{"sort", g.sortKey(), "by", "{t}w*", "\x02" + g.Some(3, "desc", "get\x01#", "get\x01{t}w*", "limit\x011\x012", "store\x01{t}3")}
	},
	func(g Generator) []string { return []string{"sort_ro", g.sortKey(), "\x02" + g.sortOptions()} },
	func(g Generator) []string { return []string{"lrange", g.sortKey(), "0", "-1"} },
	func(g Generator) []string { return []string{"set", g.sortKey(), g.sortText()} },
	func(g Generator) []string { return []string{"debug-digest"} },
}
