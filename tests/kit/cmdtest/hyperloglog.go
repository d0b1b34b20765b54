package cmdtest

import (
	"bytes"
	"strconv"
	"strings"
)

// hllElements are some elements for PFADD, sometimes many.
func (g Generator) hllElements() string {
	n := g.Intn(4)
	if g.Intn(20) == 0 {
		n = g.Intn(400)
	}
	all := make([]string, n)
	for i := range all {
		switch g.Intn(3) {
		case 0:
			all[i] = strconv.Itoa(g.Intn(5000))
		case 1:
			all[i] = strings.Repeat("e", g.Intn(20)) + strconv.Itoa(g.Intn(50))
		default:
			b := make([]byte, 1+g.Intn(30))
			g.Read(b)
			all[i] = strings.ReplaceAll(string(b), "\x01", "x")
		}
	}
	return "\x02" + strings.Join(all, "\x01")
}

// hllText is the text of a HyperLogLog, valid or damaged.
func (g Generator) hllText() string {
	head := "HYLL\x01\x00\x00\x00" + g.Pick("\x00\x00\x00\x00\x00\x00\x00\x80", "\x07\x00\x00\x00\x00\x00\x00\x00")
	switch g.Intn(6) {
	case 0:
		return head + "\x7f\xff"
	case 1:
		return head + "\x40\x02\x84\x80\x88\x7f\xf8\x80\x80"
	case 2:
		// The lengths of the runs do not add up.
		return head + g.Pick("\x7f\xfe", "\x00", "\x7f\xff\x80", "\x80", "")
	case 3:
		return g.Pick("HYLL", "HYLL\x02", "hyll\x01", "HYLL\x00") + strings.Repeat("\x00", g.pick2(11, 12))
	case 4:
		return "HYLL\x00" + strings.Repeat("\x00", 10) + "\x80" + strings.Repeat(g.Pick("\x00", "\x41\x10\x04", "\xff"), 12288)[:12288]
	default:
		return head + strings.Repeat("\x3f", 256)
	}
}

func (g Generator) pick2(a, b int) int {
	if g.Intn(2) == 0 {
		return a
	}
	return b
}

var HLLCommands = []func(Generator) []string{
	func(g Generator) []string { return []string{"pfadd", g.Key(), g.hllElements()} },
	func(g Generator) []string { return []string{"pfadd", g.Key(), g.hllElements()} },
	func(g Generator) []string { return []string{"pfadd", g.Key(), g.hllElements()} },
	func(g Generator) []string { return []string{"pfcount", g.Key()} },
	func(g Generator) []string { return []string{"pfcount", g.Key(), g.Key(), g.Key()} },
	func(g Generator) []string { return []string{"pfmerge", g.Key(), "\x02" + g.Some(2, g.Key(), g.Key())} },
	func(g Generator) []string { return []string{"get", g.Key()} },
	func(g Generator) []string { return []string{"get", g.Key()} },
	func(g Generator) []string { return []string{"strlen", g.Key()} },
	func(g Generator) []string {
		return []string{"pfdebug", g.Pick("encoding", "DECODE", "decode", "decode", "todense", "getreg", "x"), g.Key()}
	},
	func(g Generator) []string {
		return []string{g.Pick("set", "set", "del"), g.Key(), g.Pick("text", "12", g.hllText())}
	},
	func(g Generator) []string { return []string{"set", g.Key(), g.hllText()} },
	func(g Generator) []string { return []string{"del", g.Key()} },
	func(g Generator) []string { return []string{"del", g.Key()} },
	func(g Generator) []string { return []string{"copy", g.Key(), g.Key(), "replace"} },
	func(g Generator) []string { return []string{"pexpireat", g.Key(), "4000000000123"} },
	func(g Generator) []string { return []string{"pexpiretime", g.Key()} },
}

// withoutEstimate overwrites the estimate in a HyperLogLog's header, which Redis stores during
// reads, in a reply of bulk strings.
func withoutEstimate(raw []byte) []byte {
	for at := 0; ; {
		i := bytes.Index(raw[at:], []byte("HYLL"))
		if i < 0 || at+i+16 > len(raw) {
			return raw
		}
		at += i + 4
		copy(raw[at+4:], "estimate")
	}
}
