package fsm

import (
	"fmt"
	"strings"
)

// listKey is a key that mostly holds a list.
func (l *simLog) listKey() string {
	if l.rng.IntN(20) == 0 {
		return string(l.word())
	}
	return fmt.Sprintf("{k%d}list", l.rng.IntN(6))
}

// element is one of a few elements, and sometimes a long one, so that lists become large.
func (l *simLog) element() string {
	if l.rng.IntN(4) == 0 {
		return strings.Repeat(fmt.Sprint(l.rng.IntN(3)), 500+l.rng.IntN(2000))
	}
	return l.pick("a", "b", "c", "1", "1000", "-123456789", "\xff\x00")
}

func (l *simLog) pick(words ...string) string { return words[l.rng.IntN(len(words))] }

func (l *simLog) small() string { return fmt.Sprint(l.rng.IntN(12) - 4) }

func (l *simLog) listEnd() string { return l.pick("LEFT", "RIGHT") }

func init() {
	push := func(l *simLog) []string {
		args := []string{l.listKey()}
		for range 1 + l.rng.IntN(12) {
			args = append(args, l.element())
		}
		return args
	}
	pop := func(l *simLog) []string {
		if l.rng.IntN(3) == 0 {
			return []string{l.listKey(), fmt.Sprint(l.rng.IntN(30))}
		}
		return []string{l.listKey()}
	}
	for _, name := range []string{"lpush", "rpush", "lpushx", "rpushx"} {
		sensible[name] = push
	}
	sensible["lpop"], sensible["rpop"] = pop, pop
	sensible["llen"] = func(l *simLog) []string { return []string{l.listKey()} }
	sensible["lindex"] = func(l *simLog) []string { return []string{l.listKey(), l.small()} }
	sensible["lrange"] = func(l *simLog) []string { return []string{l.listKey(), l.small(), l.small()} }
	sensible["ltrim"] = func(l *simLog) []string {
		return []string{l.listKey(), l.pick("0", "1", "2"), l.pick("-1", "-2", "30", "100")}
	}
	sensible["lset"] = func(l *simLog) []string { return []string{l.listKey(), l.small(), l.element()} }
	sensible["lrem"] = func(l *simLog) []string { return []string{l.listKey(), l.small(), l.element()} }
	sensible["linsert"] = func(l *simLog) []string {
		return []string{l.listKey(), l.pick("BEFORE", "AFTER"), l.element(), l.element()}
	}
	sensible["lpos"] = func(l *simLog) []string { return []string{l.listKey(), l.element(), "COUNT", "0"} }
	sensible["lmove"] = func(l *simLog) []string { return []string{l.listKey(), l.listKey(), l.listEnd(), l.listEnd()} }
	sensible["rpoplpush"] = func(l *simLog) []string { return []string{l.listKey(), l.listKey()} }
	sensible["lmpop"] = func(l *simLog) []string {
		return []string{"2", l.listKey(), l.listKey(), l.listEnd(), "COUNT", l.pick("1", "3", "20")}
	}
	sensible["sort"] = func(l *simLog) []string {
		args := []string{l.listKey(), l.pick("ASC", "DESC"), "ALPHA"}
		if l.rng.IntN(2) == 0 {
			args = append(args, "STORE", l.listKey())
		}
		return args
	}
	sensible["sort_ro"] = func(l *simLog) []string { return []string{l.listKey(), "ALPHA", "LIMIT", l.small(), l.small()} }
	blocking := func(l *simLog) []string { return []string{l.listKey(), l.listKey(), "0"} }
	sensible["blpop"], sensible["brpop"], sensible["brpoplpush"] = blocking, blocking, blocking
	sensible["blmove"] = func(l *simLog) []string {
		return []string{l.listKey(), l.listKey(), l.listEnd(), l.listEnd(), "0.5"}
	}
	sensible["blmpop"] = func(l *simLog) []string {
		return []string{"0", "2", l.listKey(), l.listKey(), l.listEnd(), "COUNT", l.pick("1", "3", "20")}
	}
}
