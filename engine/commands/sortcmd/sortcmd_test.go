package sortcmd_test

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/engine/commands/sortcmd"
	"lockstep/engine/reply"
	"lockstep/tests/kit/cmdtest"
)

func TestSortAnswersAsRedisDoes(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2000
	}
	// With ALPHA, elements that BY finds equal keep their order here. In Redis their order is
	// undefined if LIMIT is given.
	ambiguous := func(args []string) bool {
		line := strings.ToLower(strings.Join(args, "\x01"))
		return strings.Contains(line, "alpha") && strings.Contains(line, "limit") && strings.Contains(line, "by\x01")
	}
	var templates []func(cmdtest.Generator) []string
	for _, template := range cmdtest.SortCommands {
		templates = append(templates, func(g cmdtest.Generator) []string {
			args := template(g)
			for ambiguous(args) {
				args = template(g)
			}
			return args
		})
	}
	t.Run("RESP2", func(t *testing.T) { cmdtest.Differ(t, reply.RESP2, 21, n, templates) })
	t.Run("RESP3", func(t *testing.T) { cmdtest.Differ(t, reply.RESP3, 22, n, templates) })
}

// TestSortStaysInItsHashSlot: a shard that does not have all hash slots refuses patterns that may
// lead to keys of other shards.
func TestSortStaysInItsHashSlot(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Owns = func(int) bool { return true }
	r.Script(`
		rpush {u}l 2 1 => :2
		set {u}w1 5 => +OK
		set {u}w2 4 => +OK
		sort {u}l by {u}w* => *2 $1 2 $1 1
		sort {u}l by {u}w* get {u}w* get # => *4 $1 4 $1 2 $1 5 $1 1
		sort {u}l by w* => -` + sortcmd.ErrSortBy + `
		sort {u}l by {v}w* => -` + sortcmd.ErrSortBy + `
		sort {u}l by {*}w => -` + sortcmd.ErrSortBy + `
		sort {u}l by {}{u}* => -` + sortcmd.ErrSortBy + `
		sort {u}l by {u*} => -` + sortcmd.ErrSortBy + `
		sort {u}l by nosort => *2 $1 2 $1 1
		sort {u}l get w* => -` + sortcmd.ErrSortGet + `
		sort {u}l get *->f => -` + sortcmd.ErrSortGet + `
		sort {u}l get * => -` + sortcmd.ErrSortGet + `
		sort {u}l get # => *2 $1 1 $1 2
		sort {u}l get w => *2 $-1 $-1
		sort {u}l by w* store => -` + sortcmd.ErrSortBy + `
		sort_ro {u}l get w* => -` + sortcmd.ErrSortGet + `
		sort {u}l desc store {u}m => :2
		lrange {u}m 0 -1 => *2 $1 2 $1 1
		object encoding {u}m => $8 listpack
	`)
}

// TestSortOfOtherKinds sorts sets and sorted sets, and follows patterns into hashes, in Lockstep
// and in redis-server.
func TestSortOfOtherKinds(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	for _, line := range []string{
		"zadd {t}z 1 30 2 4 3 100", "sadd {t}i 1 2 30 100", "sadd {t}s 30 b 4 a", "hset {t}h30 f 2", "hset {t}h4 f 3", "hset {t}h100 g 1", "set {t}h1 text",
	} {
		o.Do(line)
		r.Do(line)
	}
	for _, line := range []string{
		"sort {t}z", "sort {t}z desc", "sort {t}z alpha", "sort {t}z by nosort", "sort {t}z by nosort desc", "sort {t}z by nosort limit 1 1", "sort {t}z by nosort desc limit 0 2",
		"sort {t}z by nosort desc limit 2 5", "sort {t}z by nosort limit 3 1", "sort {t}z limit 1 2", "sort {t}z by nosort store {t}d", "lrange {t}d 0 -1",
		"sort {t}i", "sort {t}i desc", "sort {t}i by nosort", "sort {t}i by nosort limit 1 2", "sort {t}i by nosort store {t}d", "lrange {t}d 0 -1",
		"sort {t}i by nosort desc limit 0 3 store {t}d", "lrange {t}d 0 -1", "sort {t}s", "sort {t}s alpha", "sort {t}s alpha desc limit 1 2", "sort_ro {t}s alpha get # get {t}h*->f",
		"sort {t}z by {t}h*->f", "sort {t}z by {t}h*->f desc get # get {t}h*->f get {t}h*->g", "sort {t}i by {t}h*->f get {t}h*", "sort {t}h30", "sort {t}h1",
		"sort {t}i by {t}h*->f get {t}h*->f store {t}d", "lrange {t}d 0 -1", "sort {t}none store {t}d", "exists {t}d",
	} {
		if got, want := r.Do(line), o.Do(line); got != want {
			t.Errorf("%s\n got %s\nwant %s", line, got, want)
		}
	}
}

// TestNumbersBeyondADouble starts a redis-server of its own for each number.
func TestNumbersBeyondADouble(t *testing.T) {
	for _, number := range []string{"1e400", "-1e400", "1e-400", "1e-310", "0x1p-1080", "0x1p-1074", "0x0p-1080", "2.3e-308", "2.2e-308", "1.7e308", "0e-999", "1e309"} {
		o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
		o.Do("rpush l 1 " + number)
		r.Do("rpush l 1 " + number)
		if got, want := r.Do("sort l"), o.Do("sort l"); got != want {
			t.Errorf("sort of %s: %s, want %s", number, got, want)
		}
	}
}

// TestEventsOfSort expects the events of a stored list.
func TestEventsOfSort(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Do("rpush l 2 1")
	for line, want := range map[string]string{
		"sort l store d":              "[d sortstore]",
		"sort none store x":           "[]",
		"sort l limit 5 1 store none": "[]",
		"sort l":                      "[]",
	} {
		if got := fmt.Sprint(r.EventsOf(line)); got != want {
			t.Errorf("%s: events %s, want %s", line, got, want)
		}
	}
	if got := fmt.Sprint(r.EventsOf("sort none store d")); got != "[d del]" {
		t.Errorf("a sort of nothing into a key: events %s", got)
	}
}
