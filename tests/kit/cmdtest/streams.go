package cmdtest

import (
	"fmt"
	"strings"
)

func (g Generator) streamKey() string {
	if g.Intn(30) == 0 {
		return "text"
	}
	return g.Pick("a", "a", "b", "{t}1", "none")
}

func (g Generator) group() string { return g.Pick("g", "g", "g", "h", "other") }

func (g Generator) consumer() string { return g.Pick("alice", "bob", "carol", "12345678901234567890") }

// streamID is an ID that XADD may have made, or one out of its range.
func (g Generator) streamID() string {
	switch g.Intn(20) {
	case 0:
		return g.Pick("-", "+", "(", "x", "", "5-", "-5", "1-x", "18446744073709551616", "18446744073709551615-18446744073709551615",
			"(18446744073709551615-18446744073709551615", "(0-0", "0", "0-0", " 5-1", "+5-1", "007-1", "5- 1", "5--1", "5-+1", "5-01", "1-1-1", "5-*",
			"9223372036854775808-9223372036854775808", strings.Repeat("0", 127)+"5", strings.Repeat("0", 126)+"5")
	case 1, 2:
		return g.Pick("(", "") + fmt.Sprint(g.Intn(60))
	default:
		return fmt.Sprintf("%d-%d", g.Intn(60), g.Intn(4))
	}
}

// newStreamID is an ID that grows with each call.
func (g Generator) newStreamID(next *int) string {
	switch g.Intn(12) {
	case 0:
		return g.streamID()
	case 1:
		*next++
	}
	return fmt.Sprintf("%d-%s", *next, g.Pick("*", "*", "*", "*", "5", "1"))
}

// trim are the options of XADD and XTRIM that trim.
func (g Generator) trim() string {
	what := g.Pick("maxlen", "MINID")
	count := fmt.Sprint(g.Intn(40))
	if what == "MINID" {
		count = g.streamID()
	}
	text := what + "\x01" + g.Pick("~\x01", "=\x01", "", "~\x01") + count
	if g.Intn(4) == 0 {
		text += "\x01limit\x01" + g.Pick("0", "5", "20", "-1", "x")
	}
	return text
}

func (g Generator) streamFields() string {
	if g.Intn(3) == 0 {
		return "\x02temperature\x01" + fmt.Sprint(g.Intn(100)-20) + "\x01place\x01" + g.Pick("here", "there", "12", "-4096")
	}
	n := 1 + g.Intn(4)
	text := "\x02"
	for i := range n {
		if i > 0 {
			text += "\x01"
		}
		text += g.Pick("f", "label", "7", "x1") + "\x01" + "v" + strings.ReplaceAll(g.Value(), "\x01", "")
	}
	return text
}

// streamRead makes random arguments of XREAD or XREADGROUP.
func (g Generator) streamRead(command, group string, ids ...string) []string {
	options := g.Some(3, "count\x01"+g.Pick("1", "2", "10", "0", "-1", "x"), "count\x013", "block\x01"+g.Pick("-1", "x", "1.5"), group, "foo")
	if g.Intn(3) > 0 {
		options = g.Some(1, "count\x01"+g.Pick("1", "2", "10", "0", "-1"))
	}
	if command == "xreadgroup" {
		options = g.Pick(options, options, options+"\x01noack")
		options = strings.Trim("group\x01"+g.group()+"\x01"+g.consumer()+"\x01"+options, "\x01")
	}
	keys, texts := g.streamKey(), g.Pick(ids...)
	for g.Intn(3) == 0 {
		keys, texts = keys+"\x01"+g.streamKey(), texts+"\x01"+g.Pick(ids...)
	}
	return []string{command, "\x02" + options, "streams", "\x02" + keys, "\x02" + texts}
}

func (g Generator) claimOptions() string {
	return g.Some(3, "idle\x01"+g.Pick("0", "100000000", "-1", "x"), "time\x01"+g.Pick(LongAgo, "99999999999999", "-1", "x"),
		"retrycount\x01"+g.Pick("0", "7", "-1", "x", "9223372036854775807"), "force", "force", "JUSTID", "lastid\x01"+g.streamID(), "foo")
}

// StreamCommands are random commands on streams. No ID is *, because the clocks differ.
func StreamCommands() []func(Generator) []string {
	all := append(entryCommands(), groupCommands()...)
	return append(all, pendingCommands()...)
}

func entryCommands() []func(Generator) []string {
	next := 1
	add := func(g Generator) []string {
		options := "\x02"
		switch g.Intn(12) {
		case 0:
			options += "nomkstream"
		case 1:
			options += g.trim()
		case 2:
			options += g.Some(3, "nomkstream", g.trim(), g.trim(), "limit\x015", "foo")
		}
		return []string{"xadd", g.streamKey(), options, g.newStreamID(&next), g.streamFields()}
	}
	return []func(Generator) []string{
		add, add, add, add, add, add, add, add,
		func(g Generator) []string { return []string{"xlen", g.streamKey()} },
		func(g Generator) []string {
			return []string{g.Pick("xrange", "xrevrange"), g.streamKey(), g.Pick("-", g.streamID(), "+"), g.Pick("+", g.streamID(), "-"),
				"\x02" + g.Some(1, "count\x01"+g.Pick("1", "5", "0", "-1", "x"), "count", "foo\x011")}
		},
		func(g Generator) []string { return []string{"xrange", g.streamKey(), "-", "+"} },
		func(g Generator) []string { return []string{"xrevrange", g.streamKey(), "+", "-"} },
		func(g Generator) []string {
			return []string{"xdel", g.streamKey(), "\x02" + g.Some(6, g.streamID(), g.streamID(), g.streamID())}
		},
		func(g Generator) []string {
			return []string{"xtrim", g.streamKey(), "\x02" + g.Pick(g.trim(), g.trim(), g.trim()+"\x01"+g.trim(), "limit\x015", "foo")}
		},
		func(g Generator) []string {
			return []string{"xsetid", g.streamKey(), g.Pick(g.streamID(), fmt.Sprintf("%d-0", next)),
				"\x02" + g.Some(2, "entriesadded\x01"+g.Pick("0", "5", "100", "-1", "x"), "maxdeletedid\x01"+g.streamID(), "foo")}
		},
		func(g Generator) []string { return []string{"object", "encoding", g.streamKey()} },
		func(g Generator) []string { return []string{"type", g.streamKey()} },
		func(g Generator) []string { return []string{"debug-digest"} },
		func(g Generator) []string { return []string{"set", "text", "x"} },
		func(g Generator) []string {
			if g.Intn(6) > 0 {
				return []string{"exists", g.streamKey()}
			}
			return []string{g.Pick("del", "del", "copy", "rename"), g.streamKey(), g.streamKey()}
		},
	}
}

func groupCommands() []func(Generator) []string {
	return []func(Generator) []string{
		func(g Generator) []string {
			return g.streamRead("xread", "group\x01g\x01c", "0", g.streamID(), "$", ">")
		},
		func(g Generator) []string {
			return g.streamRead("xreadgroup", "noack", ">", ">", ">", g.streamID(), "$", "0")
		},
		func(g Generator) []string { return g.streamRead("xreadgroup", "noack", ">", ">", ">", "0") },
		func(g Generator) []string {
			return []string{"xgroup", "create", g.streamKey(), g.group(), g.Pick("$", "0", g.streamID()),
				"\x02" + g.Some(2, "mkstream", "MKSTREAM", "entriesread\x01"+g.Pick("0", "3", "-1", "-2", "x"), "foo")}
		},
		func(g Generator) []string {
			return []string{"xgroup", "setid", g.streamKey(), g.group(), g.Pick("$", "0", "-", "+", g.streamID()),
				"\x02" + g.Some(1, "entriesread\x01"+g.Pick("0", "3", "-1", "-2", "x"), "mkstream")}
		},
		func(g Generator) []string {
			if g.Intn(4) > 0 {
				return []string{"xlen", g.streamKey()}
			}
			return []string{"xgroup", "destroy", g.streamKey(), g.group()}
		},
		func(g Generator) []string {
			return []string{"xgroup", g.Pick("createconsumer", "DELCONSUMER"), g.streamKey(), g.group(), g.consumer()}
		},
		func(g Generator) []string {
			return []string{"xack", g.streamKey(), g.group(), "\x02" + g.Some(4, g.streamID(), g.streamID(), g.streamID())}
		},
	}
}

func pendingCommands() []func(Generator) []string {
	return []func(Generator) []string{
		func(g Generator) []string { return []string{"xpending", g.streamKey(), g.group()} },
		func(g Generator) []string {
			return []string{"xpending", g.streamKey(), g.group(), "\x02" + g.Some(1, "idle\x01"+g.Pick("0", "100000000", "-1", "x"), "idle"),
				g.Pick("-", g.streamID()), g.Pick("+", g.streamID()), g.Pick("10", "1", "0", "-1", "x"), "\x02" + g.Some(1, g.consumer())}
		},
		func(g Generator) []string {
			return []string{"xclaim", g.streamKey(), g.group(), g.consumer(), g.Pick("0", "100000000", "-1", "x"), g.streamID(),
				"\x02" + g.Some(3, g.streamID(), g.streamID()), "\x02" + g.claimOptions()}
		},
		func(g Generator) []string {
			return []string{"xautoclaim", g.streamKey(), g.group(), g.consumer(), g.Pick("0", "100000000", "-1", "x"), g.Pick("0", "-", g.streamID()),
				"\x02" + g.Some(2, "justid", "count\x01"+g.Pick("1", "3", "100", "0", "-1", "x", "1000000", "576460752303423488"), "foo")}
		},
		func(g Generator) []string { return []string{"xinfo", "stream", g.streamKey()} },
		func(g Generator) []string {
			return []string{"xinfo", "STREAM", g.streamKey(), "\x02" + g.Pick("full", "FULL\x01count\x01"+g.Pick("0", "1", "3", "-1", "x"), "full\x01count", "foo")}
		},
		func(g Generator) []string { return []string{"xinfo", "groups", g.streamKey()} },
		func(g Generator) []string { return []string{"xinfo", "consumers", g.streamKey(), g.group()} },
	}
}

// LongAgo is a delivery time, in Unix milliseconds. No entry of these tests has been idle for that
// many milliseconds; a small number could be an idle time by chance.
const LongAgo = "50000000"
