package command

import (
	"fmt"
	"strings"
)

// sortKey is a key of one hash slot, where patterns may lead.
func (g generator) sortKey() string { return g.pick("{t}1", "{t}2", "{t}3") }

// sortPattern leads to keys of that slot, or nowhere.
func (g generator) sortPattern() string {
	return g.pick("{t}w*", "{t}w*", "{t}w*->", "{t}*", "{t}w*x", "{t}w*->f", "#", "nosort", "", "{t}w", "##")
}

// sortNumber is a number or, seldom, something like it. Numbers beyond what a
// double holds are elsewhere: redis-server remembers the last of them (errno) and
// may refuse the next one too.
func (g generator) sortNumber() string {
	if g.Intn(40) == 0 {
		return g.pick("", " 1", "1 ", "0x1f", "0x1p-3", "0X", "inf", "-Infinity", "nan", "0e-999", "-0", "+3", "+-3", "1_0", "\t\n-2.5", "a", "1\x002", ".", "5.", ".5e1",
			"9223372036854775808", "18446744073709551617", "9007199254740993", "9007199254740992")
	}
	if g.Intn(3) == 0 {
		return fmt.Sprintf("%d.%d", g.Intn(10)-5, g.Intn(10))
	}
	return fmt.Sprint(g.Intn(12) - 3)
}

func (g generator) sortText() string {
	return g.pick("a", "b", "B", "ab", "a\x00b", "a\x00a", "\xff", "\xc3\xa4", "", " ", "10", "9")
}

func (g generator) sortOptions() string {
	return g.some(4, "asc", "DESC", "desc", "alpha", "ALPHA", "by\x01"+g.sortPattern(), "BY\x01"+g.sortPattern(), "get\x01"+g.sortPattern(), "get\x01#",
		"limit\x01"+g.number()+"\x01"+g.number(), "limit\x010\x01"+g.pick("1", "2", "5"), "limit\x01"+g.pick("1", "2")+"\x01-1",
		"store\x01"+g.sortKey(), "limit\x011", "x")
}

var sortCommands = []func(generator) []string{
	func(g generator) []string {
		numbers := make([]string, 1+g.Intn(8))
		for i := range numbers {
			if numbers[i] = g.sortNumber(); numbers[i] == "" {
				numbers[i] = "0"
			}
		}
		return []string{"rpush", g.sortKey(), "\x02" + strings.Join(numbers, "\x01")}
	},
	func(g generator) []string { return []string{"rpush", g.sortKey(), g.sortText()} },
	func(g generator) []string { return []string{"del", g.sortKey(), g.sortKey()} },
	func(g generator) []string {
		return []string{"set", "{t}w" + g.sortNumber() + g.pick("", "", "x"), g.pick(g.sortNumber(), g.sortText())}
	},
	func(g generator) []string { return []string{"set", "{t}w" + g.sortNumber(), g.sortNumber()} },
	func(g generator) []string { return []string{"del", "{t}w" + g.sortNumber()} },
	func(g generator) []string { return []string{"sort", g.sortKey(), "\x02" + g.sortOptions()} },
	func(g generator) []string { return []string{"sort", g.sortKey(), "\x02" + g.sortOptions()} },
	func(g generator) []string {
		return []string{"sort", g.sortKey(), "by", "{t}w*", "\x02" + g.some(3, "desc", "get\x01#", "get\x01{t}w*", "limit\x011\x012", "store\x01{t}3")}
	},
	func(g generator) []string { return []string{"sort_ro", g.sortKey(), "\x02" + g.sortOptions()} },
	func(g generator) []string { return []string{"lrange", g.sortKey(), "0", "-1"} },
	func(g generator) []string { return []string{"set", g.sortKey(), g.sortText()} },
	func(g generator) []string { return []string{"debug-digest"} },
}
