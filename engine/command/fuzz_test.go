package command

import (
	"bufio"
	"bytes"
	"io"
	"testing"

	"lockstep/engine"
)

// FuzzHandlers runs any commands on any state: no handler panics, each answers
// exactly one reply, and one that fails has changed nothing.
func FuzzHandlers(f *testing.F) {
	for _, seed := range []string{
		"set\x00k\x00v\x00px\x005\ngetex\x00k\x00persist",
		"setrange\x00k\x005\x00xyz\nlcs\x00k\x00k\x00idx\x00withmatchlen\nappend\x00k\x00z",
		"incrbyfloat\x00k\x001e-4951\nincrbyfloat\x00k\x00-0x1.fffp-16400",
		"mset\x00a\x001\x00b\nmsetnx\x00a\x001\x00b\x002\ndecrby\x00a\x00-9223372036854775808",
		"set\x00k\x00v\nrename\x00k\x00k\ncopy\x00k\x00l\x00db\x001\nmove\x00l\x0015\nswapdb\x000\x0015",
		"scan\x0018446744073709551615\x00match\x00[^\\\x00count\x009223372036854775807",
		"keys\x00[a-\\]*?[\nrandomkey\ndbsize\nflushall\x00async\nlockstep.digest",
		"dump\x00k\nrestore\x00k\x000\x00\x00\nobject\x00encoding\x00k\nobject\x00help",
		"expire\x00k\x009223372036854775807\x00nx\x00gt\npexpireat\x00k\x00-9223372036854775808\nttl\x00k",
		"lockstep.getkeysinslot\x0016383\x002147483647\nlockstep.expire\x00-1\x00k\nlockstep.digest-value\x00k",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		r := newRunner(t)
		r.ks = engine.New(engine.Config{LockSlots: 3})
		r.settings.ValueBytesMax = 1 << 16
		for i, line := range bytes.Split(script, []byte("\n")) {
			if i == 50 {
				return
			}
			args := bytes.Split(line, []byte("\x00"))
			spec, _ := Lookup(args)
			if spec == nil || spec.Run == nil || !spec.CheckArity(len(args)) {
				continue
			}
			before := r.do("lockstep.digest")
			out := r.exec(args...)
			if raw := readAll(t, out); len(raw) != 0 {
				t.Fatalf("%q answers more than one reply: %q", args, out)
			}
			if after := r.do("lockstep.digest"); out[0] == '-' && after != before && args[0][0] != 'l' {
				t.Fatalf("%q failed with %q and changed the keys", args, out)
			}
			r.nowMs += int64(len(line))
		}
	})
}

// readAll takes one reply off raw and returns the rest.
func readAll(t *testing.T, raw []byte) []byte {
	in := bufio.NewReader(bytes.NewReader(raw))
	if _, err := readReply(nil, in); err != nil {
		t.Fatalf("no whole reply in %q: %v", raw, err)
	}
	rest, _ := io.ReadAll(in)
	return rest
}
