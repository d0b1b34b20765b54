package zsetcmd_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockstep/engine/reply"
	"lockstep/tests/kit/cmdtest"
)

// lexCommands are the commands on ranges of texts. All members of a set have the same score,
// because otherwise the replies mean nothing once a set is large.
var lexCommands = []func(cmdtest.Generator) []string{
	func(g cmdtest.Generator) []string {
		return []string{"zadd", g.Key(), "0", g.ZMember(), "0", g.ZMember(), "0", g.ZMember(), "0", g.ZMember()}
	},
	func(g cmdtest.Generator) []string { return []string{"zlexcount", g.Key(), g.LexBound(), g.LexBound()} },
	func(g cmdtest.Generator) []string {
		return []string{"zremrangebylex", g.Key(), g.LexBound(), g.LexBound()}
	},
	func(g cmdtest.Generator) []string {
		return []string{g.Pick("zrangebylex", "zrevrangebylex"), g.Key(), g.LexBound(), g.LexBound(), "\x02" + g.Some(1, g.Limit(), g.Limit(), "withscores", "rev", "limit")}
	},
	func(g cmdtest.Generator) []string {
		return []string{"zrange", g.Key(), g.LexBound(), g.LexBound(), "bylex", "\x02" + g.Some(2, "rev", "REV", g.Limit(), "withscores")}
	},
	func(g cmdtest.Generator) []string {
		return []string{"zrangestore", g.Key(), g.Key(), g.LexBound(), g.LexBound(), "bylex", "\x02" + g.Some(2, "rev", g.Limit())}
	},
	func(g cmdtest.Generator) []string { return []string{"set", g.Key(), g.Value()} },
	func(g cmdtest.Generator) []string { return []string{"del", g.Key()} },
	func(g cmdtest.Generator) []string { return []string{"object", "encoding", g.Key()} },
	func(g cmdtest.Generator) []string { return []string{"debug-digest"} },
}

// mixedLexCommands are the same commands on small sets with any scores, for which Redis's reply is
// well-defined.
var mixedLexCommands = append(slices.Clone(lexCommands[1:]),
	func(g cmdtest.Generator) []string {
		return []string{"zadd", g.Key(), "\x02" + g.ScoreMembers(cmdtest.Generator.Score)}
	},
	func(g cmdtest.Generator) []string {
		return []string{"zadd", g.Key(), "\x02" + g.ScoreMembers(cmdtest.Generator.Score)}
	},
)

// alwaysSmall is a limit that no set of these tests comes near.
const alwaysSmall = 1000

// differSortedSets is differ with a limit on the entries of small sets.
func differSortedSets(t *testing.T, proto int, seed int64, smallMax int, templates []func(cmdtest.Generator) []string) {
	n := 6000
	if testing.Short() {
		n = 1000
	}
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	r.NowMs = cmdtest.WallMs()
	limit := strconv.Itoa(smallMax)
	names := []string{"zset-max-listpack-entries"}
	if smallMax == alwaysSmall {
		names = append(names, "zset-max-listpack-value")
	}
	for _, name := range names {
		o.Do("config set " + name + " " + limit)
		r.Settings.Set(name, limit)
	}
	if proto == reply.RESP3 {
		o.Do("hello 3")
		r.Proto = reply.RESP3
	}
	g := cmdtest.Generator{Rand: rand.New(rand.NewSource(seed))}
	var history [][][]byte
	for i := range n {
		args := g.Command(templates)
		history = append(history, args)
		got, want := bothSorted(r, o, args)
		if !bytes.Equal(got, want) {
			for _, h := range history[max(0, i-30):i] {
				t.Logf("%q", h)
			}
			t.Fatalf("seed %d, command %d: %q\n got %q\nwant %q", seed, i, args, got, want)
		}
	}
}

// bothSorted is cmdtest.Both, but compares the size of a random choice and the members of a scan.
// Redis 7.0 does not know WITHSCORE of ZRANK, and would wait for a long time if a command was
// changed.
func bothSorted(r *cmdtest.Runner, o *cmdtest.Oracle, args [][]byte) (got, want []byte) {
	switch name, last := strings.ToLower(string(args[0])), string(args[len(args)-1]); {
	case len(args) > 3 && (name == "zrank" || name == "zrevrank"),
		len(args) > 1 && strings.HasPrefix(name, "bzpop") && !slices.Contains(cmdtest.Waits, last),
		name == "bzmpop" && len(args) > 1 && !slices.Contains(cmdtest.Waits, string(args[1])):
		return nil, nil
	}
	switch got, want = cmdtest.Both(r, o, args); strings.ToLower(string(args[0])) {
	case "zscan":
		return cmdtest.SortedPairs(got), cmdtest.SortedPairs(want)
	case "zrandmember":
		return sizeOf(got), sizeOf(want)
	}
	return got, want
}

// sizeOf is the first line of an array and the number of all lines. Errors and nulls stay
// unchanged.
func sizeOf(raw []byte) []byte {
	if raw[0] != '*' && raw[0] != '$' || raw[1] == '-' {
		return raw
	}
	if raw[0] == '$' {
		return raw[:1]
	}
	first, _, _ := bytes.Cut(raw, []byte("\r\n"))
	return fmt.Appendf(nil, "%s %d", first, bytes.Count(raw, []byte("\r\n$")))
}

func TestSortedSetsAnswerAsRedisDoes(t *testing.T) {
	for _, smallMax := range []int{128, 8, 0} {
		for _, proto := range []int{reply.RESP2, reply.RESP3} {
			seed := int64(10*smallMax + proto)
			name := fmt.Sprintf("small to %d, RESP%d", smallMax, proto)
			t.Run(name, func(t *testing.T) { differSortedSets(t, proto, seed, smallMax, cmdtest.SortedSetCommands(false)) })
			t.Run(name+", signed zeros", func(t *testing.T) { differSortedSets(t, proto, seed+1, smallMax, cmdtest.SortedSetCommands(true)) })
			t.Run(name+", texts", func(t *testing.T) { differSortedSets(t, proto, seed+2, smallMax, lexCommands) })
		}
	}
	t.Run("texts of any score", func(t *testing.T) {
		differSortedSets(t, reply.RESP2, 5, alwaysSmall, mixedLexCommands)
	})
}

// TestPlainSetsAreCombined combines sorted sets with plain ones, and runs commands for sorted sets
// only on plain sets.
func TestPlainSetsAreCombined(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	for name, members := range map[string]string{"s1": "abcd", "s2": "cdef"} {
		for _, m := range members {
			o.Do("sadd " + name + " " + string(m))
			r.Do("sadd " + name + " " + string(m))
		}
	}
	for _, line := range []string{
		"zadd z1 1 a 2 c 3 x", "zadd z2 -1 c -inf d inf e",
		"zunion 2 s1 z1 withscores", "zunion 3 s1 s2 z2 weights 2 3 4 withscores", "zunion 2 s1 z2 aggregate min withscores", "zunion 1 s1",
		"zinter 2 s1 s2 withscores", "zinter 3 z1 s1 z2 weights 1 -1 5 withscores", "zinter 2 z1 s1 aggregate max withscores", "zinter 2 s1 none",
		"zinter 2 s1 s1 withscores", "zunion 2 s1 s1 weights 1 2 withscores", "zinter 2 z2 z2 weights 0 0 aggregate min withscores",
		"zdiff 2 s1 z1 withscores", "zdiff 2 z1 s1 withscores", "zdiff 2 s1 s1", "zdiff 2 none s1", "zdiff 1 s1 withscores",
		"zintercard 2 s1 s2", "zintercard 2 s1 s2 limit 1", "zunionstore out 2 s1 z1", "zrange out 0 -1 withscores", "zinterstore out 2 s1 s2",
		"zrange out 0 -1 withscores", "zdiffstore out 2 s1 s2", "zrange out 0 -1 withscores", "zdiffstore s1 2 s1 s2", "type s1", "zinterstore s1 2 s1 none", "type s1",
		"zcard s2", "zadd s2 1 a", "zpopmin s2", "zmpop 1 s2 min", "zrange s2 0 -1", "zscan s2 0", "zrandmember s2", "zrandmember s2 2", "zrangestore d s2 0 -1", "zrank s2 a", "zcount s2 0 1",
	} {
		if got, want := r.Do(line), o.Do(line); got != want {
			t.Errorf("%s\n got %s\nwant %s", line, got, want)
		}
	}
}

// TestZRankWithScore tests an option that is new in Redis 7.2.
func TestZRankWithScore(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Script(`
		zadd z 1 a 2.5 b => :2
		zrank z b withscore => *2 :1 $3 2.5
		zrevrank z b WITHSCORE => *2 :0 $3 2.5
		zrank z x withscore => *-1
		zrank none b withscore => *-1
		zrank z b withscores => -ERR syntax error
		zrank z b withscore x => -ERR wrong number of arguments for 'zrank' command
		zrevrank z b withscore x => -ERR wrong number of arguments for 'zrevrank' command
	`)
	r.Proto = reply.RESP3
	r.Script(`
		zrank z b withscore => *2 :1 ,2.5
		zrank z x withscore => _
	`)
}
