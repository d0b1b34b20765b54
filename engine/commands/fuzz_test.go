package commands_test

import (
	"bytes"
	"strings"
	"testing"

	"lockstep/engine"
	"lockstep/engine/commands"
	"lockstep/tests/kit/cmdtest"
)

// FuzzHandlers runs random commands on random state. No handler panics, each writes exactly one
// reply, and a handler that fails has changed nothing.
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
		"xadd\x00s\x00maxlen\x00~\x005\x00*\x00f\x00v\nxadd\x00s\x005-*\x00f\x00v\nxrange\x00s\x00(5-0\x00+\x00count\x002\nxdel\x00s\x005-0\nxtrim\x00s\x00minid\x006",
		"xgroup\x00create\x00s\x00g\x00$\x00mkstream\nxadd\x00s\x001-1\x00f\x00v\nxreadgroup\x00group\x00g\x00c\x00streams\x00s\x00>\nxack\x00s\x00g\x001-1\nxpending\x00s\x00g",
		"xgroup\x00create\x00s\x00g\x000\x00mkstream\nxadd\x00s\x001-1\x00f\x00v\nxclaim\x00s\x00g\x00c\x000\x001-1\x00force\nxautoclaim\x00s\x00g\x00d\x000\x00-\nxinfo\x00stream\x00s\x00full",
		"zadd\x00z\x00gt\x00ch\x001\x00a\x00-inf\x00b\nzadd\x00z\x00incr\x00inf\x00b\nzincrby\x00z\x001e400\x00a\nzrange\x00z\x00(\x00+inf\x00byscore\x00limit\x00-1\x005",
		"zadd\x00z\x000\x00a\x000\x00b\nzrange\x00z\x00[a\x00+\x00bylex\x00rev\nzremrangebylex\x00z\x00-\x00(b\nzmpop\x002\x00y\x00z\x00max\x00count\x009\nbzpopmin\x00z\x000",
		"zadd\x00z\x001\x00a\nzunionstore\x00y\x002\x00z\x00z\x00weights\x00-0\x00inf\x00aggregate\x00min\nzrandmember\x00z\x00-3\x00withscores\nzscan\x00z\x004294967295\x00match\x00[",
		"geoadd\x00g\x00180\x0085.05112878\x00a\x00-180\x000\x00b\ngeosearch\x00g\x00frommember\x00a\x00bybox\x001e300\x000\x00km\ngeoradius\x00g\x000\x000\x00inf\x00m\x00storedist\x00h\ngeohash\x00g\x00a",
		"lockstep.getkeysinslot\x0016383\x002147483647\nlockstep.expire\x00-1\x00k\nlockstep.digest-value\x00k",
		"rpush\x00k\x00a\x001\x00a\nlrem\x00k\x00-1\x00a\nlinsert\x00k\x00after\x001\x00b\nltrim\x00k\x001\x00-1\nlset\x00k\x00-1\x00z",
		"lpush\x00k\x00a\x00b\nlmove\x00k\x00k\x00left\x00right\nlmpop\x002\x00j\x00k\x00left\x00count\x009\nblpop\x00k\x000\nblmpop\x000\x001\x00k\x00right",
		"rpush\x00k\x001\x002\nlpos\x00k\x001\x00rank\x00-1\x00count\x000\x00maxlen\x002\nlpop\x00k\x005\nbrpoplpush\x00k\x00l\x00-1\nlrange\x00k\x00-9\x009",
		"hset\x00h\x00f\x001\x00g\x002\nhpexpire\x00h\x0030\x00FIELDS\x001\x00f\nhincrby\x00h\x00f\x00-1\nhgetall\x00h\nhrandfield\x00h\x00-3\x00withvalues",
		"hsetex\x00h\x00PX\x0050\x00FIELDS\x001\x00f\x00v\nhgetex\x00h\x00EXAT\x001\x00FIELDS\x001\x00f\nhgetdel\x00h\x00FIELDS\x001\x00f\nlockstep.expire\x000\x00h",
		"hset\x00h\x00f\x00x\nhscan\x00h\x000\x00novalues\x00match\x00*\nhincrbyfloat\x00h\x00f\x001\nhpersist\x00h\x00FIELDS\x001\x00f\nhdel\x00h\x00f",
		"setbit\x00k\x00524287\x001\nbitcount\x00k\x00-9\x009\x00bit\nbitpos\x00k\x000\x00-1\nbitop\x00not\x00l\x00k\nbitop\x00and\x00l\x00l\x00k",
		"bitfield\x00k\x00overflow\x00fail\x00incrby\x00i64\x00#3\x00-9223372036854775808\x00set\x00u63\x007\x00-1\nbitfield_ro\x00k\x00get\x00u5\x00524280",
		"pfadd\x00h\x00a\x00b\npfmerge\x00h\x00i\npfcount\x00h\x00i\npfdebug\x00decode\x00h\npfdebug\x00getreg\x00h\npfadd\x00h\x00c",
		"set\x00k\x00v\nbitop\x00xor\x00d" + strings.Repeat("\x00k", 18) + "\npfmerge\x00h" + strings.Repeat("\x00k", 18) + "\nkeys\x00*[" + strings.Repeat("x", 99),
		"sadd\x00s\x00a\x00b\nsdiffstore\x00d\x00s" + strings.Repeat("\x00s", 18) + "\nsinterstore\x00d" + strings.Repeat("\x00s", 18) + "\nsrandmember\x00s\x00-9223372036854775807",
		"set\x00h\x00HYLL\x01...........\x7f\xff\npfadd\x00h\x00x\npfcount\x00h\nset\x00k\x001\x00ifeq\x00x\ndelifeq\x00k\x001",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		r := cmdtest.NewRunner(t)
		r.KS = engine.New(engine.Config{LockSlots: 3})
		r.Settings.ValueBytesMax = 1 << 16
		for i, line := range bytes.Split(script, []byte("\n")) {
			if i == 50 {
				return
			}
			args := bytes.Split(line, []byte("\x00"))
			spec, _ := commands.Lookup(args)
			if spec == nil || spec.Run == nil || !spec.CheckArity(len(args)) {
				continue
			}
			before := r.Do("lockstep.digest")
			out := r.Exec(args...)
			if raw := cmdtest.ReadAll(t, out); len(raw) != 0 {
				t.Fatalf("%q answers more than one reply: %q", args, out)
			}
			if after := r.Do("lockstep.digest"); out[0] == '-' && after != before && !bytes.HasPrefix(bytes.ToLower(args[0]), []byte("lockstep")) {
				t.Fatalf("%q failed with %q and changed the keys", args, out)
			}
			r.NowMs += int64(len(line))
		}
	})
}
