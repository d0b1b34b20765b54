package command

import (
	"fmt"
	"strings"
)

func (g generator) streamKey() string {
	if g.Intn(30) == 0 {
		return "text"
	}
	return g.pick("a", "a", "b", "{t}1", "none")
}

func (g generator) group() string { return g.pick("g", "g", "g", "h", "other") }

func (g generator) consumer() string { return g.pick("alice", "bob", "carol", "12345678901234567890") }

// streamID is one that XADD may have made, near or far.
func (g generator) streamID() string {
	switch g.Intn(20) {
	case 0:
		return g.pick("-", "+", "(", "x", "", "5-", "-5", "1-x", "18446744073709551616", "18446744073709551615-18446744073709551615",
			"(18446744073709551615-18446744073709551615", "(0-0", "0", "0-0", " 5-1", "+5-1", "007-1", "5- 1", "5--1", "5-+1", "5-01", "1-1-1", "5-*",
			"9223372036854775808-9223372036854775808", strings.Repeat("0", 127)+"5", strings.Repeat("0", 126)+"5")
	case 1, 2:
		return g.pick("(", "") + fmt.Sprint(g.Intn(60))
	default:
		return fmt.Sprintf("%d-%d", g.Intn(60), g.Intn(4))
	}
}

// newStreamID grows as fast as the generator draws.
func (g generator) newStreamID(next *int) string {
	switch g.Intn(12) {
	case 0:
		return g.streamID()
	case 1:
		*next++
	}
	return fmt.Sprintf("%d-%s", *next, g.pick("*", "*", "*", "*", "5", "1"))
}

// trim are options of XADD and XTRIM.
func (g generator) trim() string {
	what := g.pick("maxlen", "MINID")
	count := fmt.Sprint(g.Intn(40))
	if what == "MINID" {
		count = g.streamID()
	}
	text := what + "\x01" + g.pick("~\x01", "=\x01", "", "~\x01") + count
	if g.Intn(4) == 0 {
		text += "\x01limit\x01" + g.pick("0", "5", "20", "-1", "x")
	}
	return text
}

func (g generator) streamFields() string {
	if g.Intn(3) == 0 {
		return "\x02temperature\x01" + fmt.Sprint(g.Intn(100)-20) + "\x01place\x01" + g.pick("here", "there", "12", "-4096")
	}
	n := 1 + g.Intn(4)
	text := "\x02"
	for i := range n {
		if i > 0 {
			text += "\x01"
		}
		text += g.pick("f", "label", "7", "x1") + "\x01" + "v" + strings.ReplaceAll(g.value(), "\x01", "")
	}
	return text
}

// streamRead draws the arguments of XREAD or XREADGROUP.
func (g generator) streamRead(command, group string, ids ...string) []string {
	options := g.some(3, "count\x01"+g.pick("1", "2", "10", "0", "-1", "x"), "count\x013", "block\x01"+g.pick("-1", "x", "1.5"), group, "foo")
	if g.Intn(3) > 0 {
		options = g.some(1, "count\x01"+g.pick("1", "2", "10", "0", "-1"))
	}
	if command == "xreadgroup" {
		options = g.pick(options, options, options+"\x01noack")
		options = strings.Trim("group\x01"+g.group()+"\x01"+g.consumer()+"\x01"+options, "\x01")
	}
	keys, texts := g.streamKey(), g.pick(ids...)
	for g.Intn(3) == 0 {
		keys, texts = keys+"\x01"+g.streamKey(), texts+"\x01"+g.pick(ids...)
	}
	return []string{command, "\x02" + options, "streams", "\x02" + keys, "\x02" + texts}
}

func (g generator) claimOptions() string {
	return g.some(3, "idle\x01"+g.pick("0", "100000000", "-1", "x"), "time\x01"+g.pick(longAgo, "99999999999999", "-1", "x"),
		"retrycount\x01"+g.pick("0", "7", "-1", "x", "9223372036854775807"), "force", "force", "JUSTID", "lastid\x01"+g.streamID(), "foo")
}

// streamCommands draws commands on streams; the clocks differ, so no ID is *.
func streamCommands() []func(generator) []string {
	all := append(entryCommands(), groupCommands()...)
	return append(all, pendingCommands()...)
}

func entryCommands() []func(generator) []string {
	next := 1
	add := func(g generator) []string {
		options := "\x02"
		switch g.Intn(12) {
		case 0:
			options += "nomkstream"
		case 1:
			options += g.trim()
		case 2:
			options += g.some(3, "nomkstream", g.trim(), g.trim(), "limit\x015", "foo")
		}
		return []string{"xadd", g.streamKey(), options, g.newStreamID(&next), g.streamFields()}
	}
	return []func(generator) []string{
		add, add, add, add, add, add, add, add,
		func(g generator) []string { return []string{"xlen", g.streamKey()} },
		func(g generator) []string {
			return []string{g.pick("xrange", "xrevrange"), g.streamKey(), g.pick("-", g.streamID(), "+"), g.pick("+", g.streamID(), "-"),
				"\x02" + g.some(1, "count\x01"+g.pick("1", "5", "0", "-1", "x"), "count", "foo\x011")}
		},
		func(g generator) []string { return []string{"xrange", g.streamKey(), "-", "+"} },
		func(g generator) []string { return []string{"xrevrange", g.streamKey(), "+", "-"} },
		func(g generator) []string {
			return []string{"xdel", g.streamKey(), "\x02" + g.some(6, g.streamID(), g.streamID(), g.streamID())}
		},
		func(g generator) []string {
			return []string{"xtrim", g.streamKey(), "\x02" + g.pick(g.trim(), g.trim(), g.trim()+"\x01"+g.trim(), "limit\x015", "foo")}
		},
		func(g generator) []string {
			return []string{"xsetid", g.streamKey(), g.pick(g.streamID(), fmt.Sprintf("%d-0", next)),
				"\x02" + g.some(2, "entriesadded\x01"+g.pick("0", "5", "100", "-1", "x"), "maxdeletedid\x01"+g.streamID(), "foo")}
		},
		func(g generator) []string { return []string{"object", "encoding", g.streamKey()} },
		func(g generator) []string { return []string{"type", g.streamKey()} },
		func(g generator) []string { return []string{"debug-digest"} },
		func(g generator) []string { return []string{"set", "text", "x"} },
		func(g generator) []string {
			if g.Intn(6) > 0 {
				return []string{"exists", g.streamKey()}
			}
			return []string{g.pick("del", "del", "copy", "rename"), g.streamKey(), g.streamKey()}
		},
	}
}

func groupCommands() []func(generator) []string {
	return []func(generator) []string{
		func(g generator) []string {
			return g.streamRead("xread", "group\x01g\x01c", "0", g.streamID(), "$", ">")
		},
		func(g generator) []string {
			return g.streamRead("xreadgroup", "noack", ">", ">", ">", g.streamID(), "$", "0")
		},
		func(g generator) []string { return g.streamRead("xreadgroup", "noack", ">", ">", ">", "0") },
		func(g generator) []string {
			return []string{"xgroup", "create", g.streamKey(), g.group(), g.pick("$", "0", g.streamID()),
				"\x02" + g.some(2, "mkstream", "MKSTREAM", "entriesread\x01"+g.pick("0", "3", "-1", "-2", "x"), "foo")}
		},
		func(g generator) []string {
			return []string{"xgroup", "setid", g.streamKey(), g.group(), g.pick("$", "0", "-", "+", g.streamID()),
				"\x02" + g.some(1, "entriesread\x01"+g.pick("0", "3", "-1", "-2", "x"), "mkstream")}
		},
		func(g generator) []string {
			if g.Intn(4) > 0 {
				return []string{"xlen", g.streamKey()}
			}
			return []string{"xgroup", "destroy", g.streamKey(), g.group()}
		},
		func(g generator) []string {
			return []string{"xgroup", g.pick("createconsumer", "DELCONSUMER"), g.streamKey(), g.group(), g.consumer()}
		},
		func(g generator) []string {
			return []string{"xack", g.streamKey(), g.group(), "\x02" + g.some(4, g.streamID(), g.streamID(), g.streamID())}
		},
	}
}

func pendingCommands() []func(generator) []string {
	return []func(generator) []string{
		func(g generator) []string { return []string{"xpending", g.streamKey(), g.group()} },
		func(g generator) []string {
			return []string{"xpending", g.streamKey(), g.group(), "\x02" + g.some(1, "idle\x01"+g.pick("0", "100000000", "-1", "x"), "idle"),
				g.pick("-", g.streamID()), g.pick("+", g.streamID()), g.pick("10", "1", "0", "-1", "x"), "\x02" + g.some(1, g.consumer())}
		},
		func(g generator) []string {
			return []string{"xclaim", g.streamKey(), g.group(), g.consumer(), g.pick("0", "100000000", "-1", "x"), g.streamID(),
				"\x02" + g.some(3, g.streamID(), g.streamID()), "\x02" + g.claimOptions()}
		},
		func(g generator) []string {
			return []string{"xautoclaim", g.streamKey(), g.group(), g.consumer(), g.pick("0", "100000000", "-1", "x"), g.pick("0", "-", g.streamID()),
				"\x02" + g.some(2, "justid", "count\x01"+g.pick("1", "3", "100", "0", "-1", "x", "1000000", "576460752303423488"), "foo")}
		},
		func(g generator) []string { return []string{"xinfo", "stream", g.streamKey()} },
		func(g generator) []string {
			return []string{"xinfo", "STREAM", g.streamKey(), "\x02" + g.pick("full", "FULL\x01count\x01"+g.pick("0", "1", "3", "-1", "x"), "full\x01count", "foo")}
		},
		func(g generator) []string { return []string{"xinfo", "groups", g.streamKey()} },
		func(g generator) []string { return []string{"xinfo", "consumers", g.streamKey(), g.group()} },
	}
}

// longAgo is a time of delivery that nothing has been idle for: a small one comes up by
// chance.
const longAgo = "50000000"
