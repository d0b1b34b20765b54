package command

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/engine/reply"
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

func TestSortAnswersAsRedisDoes(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2000
	}
	// What BY finds equal for ALPHA stays as it stood here, and stands anyhow in
	// Redis once LIMIT is given.
	ambiguous := func(args []string) bool {
		line := strings.ToLower(strings.Join(args, "\x01"))
		return strings.Contains(line, "alpha") && strings.Contains(line, "limit") && strings.Contains(line, "by\x01")
	}
	var templates []func(generator) []string
	for _, template := range sortCommands {
		templates = append(templates, func(g generator) []string {
			args := template(g)
			for ambiguous(args) {
				args = template(g)
			}
			return args
		})
	}
	t.Run("RESP2", func(t *testing.T) { differ(t, reply.RESP2, 21, n, templates) })
	t.Run("RESP3", func(t *testing.T) { differ(t, reply.RESP3, 22, n, templates) })
}

// TestSortStaysInItsHashSlot expects a shard that has not all hash slots to refuse patterns that might lead to keys
// of others.
func TestSortStaysInItsHashSlot(t *testing.T) {
	r := newRunner(t)
	r.owns = func(int) bool { return true }
	r.script(`
		rpush {u}l 2 1 => :2
		set {u}w1 5 => +OK
		set {u}w2 4 => +OK
		sort {u}l by {u}w* => *2 $1 2 $1 1
		sort {u}l by {u}w* get {u}w* get # => *4 $1 4 $1 2 $1 5 $1 1
		sort {u}l by w* => -` + ErrSortBy + `
		sort {u}l by {v}w* => -` + ErrSortBy + `
		sort {u}l by {*}w => -` + ErrSortBy + `
		sort {u}l by {}{u}* => -` + ErrSortBy + `
		sort {u}l by {u*} => -` + ErrSortBy + `
		sort {u}l by nosort => *2 $1 2 $1 1
		sort {u}l get w* => -` + ErrSortGet + `
		sort {u}l get *->f => -` + ErrSortGet + `
		sort {u}l get * => -` + ErrSortGet + `
		sort {u}l get # => *2 $1 1 $1 2
		sort {u}l get w => *2 $-1 $-1
		sort {u}l by w* store => -` + ErrSortBy + `
		sort_ro {u}l get w* => -` + ErrSortGet + `
		sort {u}l desc store {u}m => :2
		lrange {u}m 0 -1 => *2 $1 2 $1 1
		object encoding {u}m => $8 listpack
	`)
}

// TestSortOfOtherKinds sorts sets and sorted sets, and follows patterns into
// hashes, here and in redis-server.
func TestSortOfOtherKinds(t *testing.T) {
	o, r := startOracle(t), newRunner(t)
	for _, line := range []string{
		"zadd {t}z 1 30 2 4 3 100", "sadd {t}i 1 2 30 100", "sadd {t}s 30 b 4 a", "hset {t}h30 f 2", "hset {t}h4 f 3", "hset {t}h100 g 1", "set {t}h1 text",
	} {
		o.do(line)
		r.do(line)
	}
	for _, line := range []string{
		"sort {t}z", "sort {t}z desc", "sort {t}z alpha", "sort {t}z by nosort", "sort {t}z by nosort desc", "sort {t}z by nosort limit 1 1", "sort {t}z by nosort desc limit 0 2",
		"sort {t}z by nosort desc limit 2 5", "sort {t}z by nosort limit 3 1", "sort {t}z limit 1 2", "sort {t}z by nosort store {t}d", "lrange {t}d 0 -1",
		"sort {t}i", "sort {t}i desc", "sort {t}i by nosort", "sort {t}i by nosort limit 1 2", "sort {t}i by nosort store {t}d", "lrange {t}d 0 -1",
		"sort {t}i by nosort desc limit 0 3 store {t}d", "lrange {t}d 0 -1", "sort {t}s", "sort {t}s alpha", "sort {t}s alpha desc limit 1 2", "sort_ro {t}s alpha get # get {t}h*->f",
		"sort {t}z by {t}h*->f", "sort {t}z by {t}h*->f desc get # get {t}h*->f get {t}h*->g", "sort {t}i by {t}h*->f get {t}h*", "sort {t}h30", "sort {t}h1",
		"sort {t}i by {t}h*->f get {t}h*->f store {t}d", "lrange {t}d 0 -1", "sort {t}none store {t}d", "exists {t}d",
	} {
		if got, want := r.do(line), o.do(line); got != want {
			t.Errorf("%s\n got %s\nwant %s", line, got, want)
		}
	}
}

// TestNumbersBeyondADouble asks a redis-server of its own for each of them.
func TestNumbersBeyondADouble(t *testing.T) {
	for _, number := range []string{"1e400", "-1e400", "1e-400", "1e-310", "0x1p-1080", "0x1p-1074", "0x0p-1080", "2.3e-308", "2.2e-308", "1.7e308", "0e-999", "1e309"} {
		o, r := startOracle(t), newRunner(t)
		o.do("rpush l 1 " + number)
		r.do("rpush l 1 " + number)
		if got, want := r.do("sort l"), o.do("sort l"); got != want {
			t.Errorf("sort of %s: %s, want %s", number, got, want)
		}
	}
}

// TestEventsOfSort expects the events of a stored list.
func TestEventsOfSort(t *testing.T) {
	r := newRunner(t)
	r.do("rpush l 2 1")
	for line, want := range map[string]string{
		"sort l store d":              "[d sortstore]",
		"sort none store x":           "[]",
		"sort l limit 5 1 store none": "[]",
		"sort l":                      "[]",
	} {
		if got := fmt.Sprint(r.events(line)); got != want {
			t.Errorf("%s: events %s, want %s", line, got, want)
		}
	}
	if got := fmt.Sprint(r.events("sort none store d")); got != "[d del]" {
		t.Errorf("a sort of nothing into a key: events %s", got)
	}
}
