package commands_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"lockstep/engine/command"
	"lockstep/tests/kit/cmdtest"
)

// restCommands are commands that take long over large values. MANY stands for most of their
// elements.
var restCommands = []string{
	"LCS text text2 LEN", "BITCOUNT bytes", "BITPOS bytes 1", "BITOP NOT to bytes",
	"SORT list ALPHA", "SORT list BY nosort GET #", "SORT list ALPHA LIMIT 0 1 STORE to", "SORT_RO set ALPHA LIMIT 0 1", "SORT numbers LIMIT 0 1",
	"SMEMBERS set", "SINTER set set2", "SINTERCARD 2 set apart", "SUNION set set2", "SDIFF set set2", "SDIFF set few few2 few3",
	"SINTERSTORE to set set2", "SUNIONSTORE to set set2", "SDIFFSTORE to set set2",
	"ZRANGE zset 0 -1", "ZUNION 2 zset zset2", "ZINTER 2 zset zset2", "ZDIFF 2 zset zset2", "ZINTERCARD 2 zset set",
	"ZUNIONSTORE to 2 zset zset2", "ZINTERSTORE to 2 zset zset2", "ZDIFFSTORE to 2 zset few", "ZRANGESTORE to zset 0 -1",
	"LRANGE list 0 -1", "HGETALL hash", "KEYS key*", "DUMP zset", "DUMP hash",
	"SRANDMEMBER set MANY", "SRANDMEMBER set -MANY", "HRANDFIELD hash MANY", "HRANDFIELD hash -MANY", "ZRANDMEMBER zset MANY", "ZRANDMEMBER zset -MANY",
	"GEOSEARCH geo FROMLONLAT 15 37 BYRADIUS 9000 KM ASC",
	"LPOS list none", "LPOS list m1 RANK -1", "LINSERT list BEFORE none x", "LREM list 0 none", "LREM list -1 m1",
	"HSCAN hash 0 COUNT MANY MATCH none", "SSCAN set 0 COUNT MANY", "ZSCAN zset 0 COUNT MANY",
	"XRANGE stream - +", "XREAD STREAMS stream 0", "XREADGROUP GROUP g ann STREAMS stream 0", "XREADGROUP GROUP new bob STREAMS stream >",
	"XPENDING stream g - + MANY", "XPENDING stream g IDLE 1000000 - + 1", "XINFO STREAM stream FULL COUNT 0",
	"XAUTOCLAIM stream g bob 0 0 COUNT MANY JUSTID", "XGROUP DELCONSUMER stream new bob",
	// These remove elements from their keys, so they come after the commands that read those keys.
	"ZREMRANGEBYRANK zset2 0 MANY", "ZPOPMIN zset MANY", "SPOP set2 MANY", "SPOP set MANY", "LPOP list MANY", "XTRIM nodes MAXLEN 1",
}

// restOverMany are commands that take long over many arguments. Each gets the argument many times.
var restOverMany = []struct{ command, argument string }{
	{"SADD set", " m%d"}, {"SMISMEMBER set", " m%d"}, {"SREM set", " m%d"}, {"ZADD zset", " 7 m%d"}, {"ZMSCORE zset", " m%d"}, {"ZREM zset", " m%d"},
	{"PFADD hll", " m%d"}, {"pfadd hll", " n%d"}, {"HSET hash", " f%d w"}, {"HMGET hash", " f%d"}, {"HDEL hash", " f%d"}, {"RPUSH list", " m%d"},
	{"XCLAIM stream g cay 0", " %d-1"}, {"XACK stream g", " %d-1"}, {"XDEL stream", " %d-1"},
	{"MSET", " {k}%d v"}, {"MGET", " {k}%d"}, {"EXISTS", " {k}%d"}, {"DEL", " {k}%d"},
}

// fillForRest makes the keys of restCommands with n elements each.
func fillForRest(r *cmdtest.Runner, n int) {
	add := func(command, key string, element func(i int) string) {
		for at := 0; at < n; at += 1000 {
			words := []string{command, key}
			for i := at; i < min(at+1000, n); i++ {
				words = append(words, element(i))
			}
			if got := r.Do(strings.Join(words, " ")); got[0] == '-' {
				r.T.Fatalf("%s: %s", key, got)
			}
		}
	}
	member := func(i int) string { return fmt.Sprintf("m%d", i) }
	for _, key := range []string{"set", "set2"} {
		add("SADD", key, member)
		add("ZADD", "z"+key, func(i int) string { return fmt.Sprintf("%d m%d", i, i) })
	}
	add("SADD", "apart", func(i int) string { return fmt.Sprintf("a%d", i) })
	add("RPUSH", "list", member)
	add("RPUSH", "numbers", func(i int) string { return fmt.Sprint(n - i) })
	add("GEOADD", "geo", func(i int) string { return fmt.Sprintf("%d.%d %d m%d", i%30, i%7, i%60, i) })
	add("HSET", "hash", func(i int) string { return fmt.Sprintf("f%d v", i) })
	for i := range n {
		r.Do(fmt.Sprintf("SET key%d v", i))
		r.Do(fmt.Sprintf("XADD stream %d-1 f v", i))
	}
	r.Settings.StreamNodeEntriesMax = 1
	for i := range n {
		r.Do(fmt.Sprintf("XADD nodes %d-1 f v", i))
	}
	r.Settings.StreamNodeEntriesMax = command.DefaultSettings.StreamNodeEntriesMax
	r.Script(`XGROUP CREATE stream g 0 => +OK
		XGROUP CREATE stream new 0 => +OK`)
	r.Do("XREADGROUP GROUP g ann STREAMS stream >")
	for _, key := range []string{"few", "few2", "few3"} {
		r.Do("SADD " + key + " m1 x")
	}
}

func TestLongCommandsRest(t *testing.T) {
	const most = 30_000
	rests := func(n, length int) map[string]int {
		r := cmdtest.NewRunner(t)
		count := 0
		r.Rest = func() { count++ }
		fillForRest(r, n)
		for key, long := range map[string]int{"text": min(length, 2000), "text2": min(length, 2000), "bytes": length} {
			r.Exec([]byte("SETRANGE"), []byte(key), fmt.Append(nil, long-1), []byte("\x01"))
		}
		all := map[string]int{}
		for _, line := range restCommands {
			count = 0
			if got := r.Do(strings.ReplaceAll(line, "MANY", fmt.Sprint(n*4/5))); got[0] == '-' {
				t.Fatalf("%s: %s", line, got)
			}
			all[line] = count
		}
		payload := bytes.SplitN(r.Exec([]byte("DUMP"), []byte("zset")), []byte("\r\n"), 2)[1]
		count = 0
		if got := r.Exec([]byte("RESTORE"), []byte("again"), []byte("0"), payload[:len(payload)-2]); got[0] == '-' {
			t.Fatalf("RESTORE: %s", got)
		}
		all["RESTORE"] = count
		for _, over := range restOverMany {
			var line strings.Builder
			line.WriteString(over.command)
			for i := range n {
				fmt.Fprintf(&line, over.argument, i)
			}
			count = 0
			if got := r.Do(line.String()); got[0] == '-' {
				t.Fatalf("%s: %s", over.command, got)
			}
			all[over.command] = count
		}
		return all
	}
	small, large := rests(100, 100), rests(most, 4<<20)
	for line := range large {
		// One rest for some tenths of a millisecond of work: not zero rests, and not one rest for
		// each element.
		if small[line] != 0 || large[line] < 3 || large[line] > most/20 {
			t.Errorf("%s: %d rests over little, %d over much", line, small[line], large[line])
		}
	}
}
